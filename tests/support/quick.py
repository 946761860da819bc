"""Learners that tune in little time, for tests to which their quality does not matter."""

from fairfrontier import FairFrontier

FEW_PENALTIES = {"n_penalties": 20, "n_tuning_folds": 3}
"""The fewest penalties that may be tried, in few folds: options of the lassos."""
FEW = FEW_PENALTIES | {"tune_on_folds": False}
"""The same, tuned once."""
QUICK_LEARNER = {"learner": "factored-logit", "learner_params": FEW}
"""Options of a rule."""
QUICK = QUICK_LEARNER | {"n_rep": 1}
"""Options of a fit."""
FEW_BY_NAME = {"auto": {"max_iter": 10}, "factored-logit": FEW, "factored-boosting": {"max_iter": 10}}


def quick_frontier(learner, **options):
    """Stand in for `FairFrontier` where an audit makes it."""
    return FairFrontier(learner=learner, learner_params=FEW_BY_NAME.get(learner), **options)


def quickly(n_boot):
    """Return what stands in for `FairFrontier` where an audit makes it and no learner is to be told from another."""
    return lambda **options: FairFrontier(**options | QUICK | {"n_folds": 2, "n_boot": n_boot})
