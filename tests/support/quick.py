"""Learners that tune in little time, for tests to which their quality does not matter."""

FEW = {"n_penalties": 20, "n_tuning_folds": 3}
"""The fewest penalties that may be tried, in few folds: options of the lassos."""
QUICK = {"learner": "factored-logit", "learner_params": FEW}
"""Options of a fit."""
