"""Learners of the nuisance functions: presets by name, scikit-learn estimators, and your own."""

from .base import (
    Component,
    DirectLearner,
    FactoredLearner,
    FittedLearner,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    fit_learner,
)
from .composite import PartiallyLinearLearner, StackLearner, simplex_weights
from .encoding import NumericColumns
from .estimators import Family
from .predictions import GroupPrediction, log_loss
from .presets import PRESETS, read_learner, resolve_learner
from .within import within_groups, without_groups

__all__ = [
    "PRESETS",
    "Component",
    "DirectLearner",
    "FactoredLearner",
    "Family",
    "FittedLearner",
    "GroupPrediction",
    "Learner",
    "NumericColumns",
    "PartiallyLinearLearner",
    "Prediction",
    "StackLearner",
    "TrainingRows",
    "child_seeds",
    "fit_learner",
    "log_loss",
    "read_learner",
    "resolve_learner",
    "simplex_weights",
    "within_groups",
    "without_groups",
]
