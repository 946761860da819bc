"""Settings with which a replication of the published Monte Carlo study takes little time."""

from fairfrontier.replication.table1 import settings
from support.quick import FEW, FEW_PENALTIES


def quick_settings(n_boot=99, directions=60):
    """Settings of the study with learners that look at few penalties in few folds."""
    full = settings(n_boot, directions)
    published = full["published learner"]
    quick = published | {"learner_params": published["learner_params"] | FEW_PENALTIES}
    return full | {"published learner": quick, "own learner": {"learner_params": FEW}}


SMALL = quick_settings() | {"candidates (R, B)": 50}
