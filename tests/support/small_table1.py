"""Settings with which a replication of the published Monte Carlo study takes little time."""

import numpy as np

from fairfrontier.replication.table1 import settings
from support.quick import FEW, FEW_PENALTIES


def quick_settings(n_boot=99, directions=60):
    """Settings of the study with learners that look at few penalties in few folds."""
    full = settings(n_boot, directions)
    published = full["published learner"]
    quick = published | {"learner_params": published["learner_params"] | FEW_PENALTIES}
    return full | {"published learner": quick, "own learner": {"learner_params": FEW}}


SMALL = quick_settings() | {"candidates (R, B)": 50}


def rough_points(design):
    """Stand in for `true_points`, which takes seconds, in runs of which no number is looked at."""
    r, b, f = np.array([[0.29, 0.64], [0.63, 0.27], [0.42, 0.42]])
    return {"R": r, "B": b, "(R+B)/2": (r + b) / 2.0, "e*": np.array([0.45, 0.45]), "F": f}
