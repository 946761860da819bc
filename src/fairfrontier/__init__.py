"""Estimation and inference for the fairness-accuracy frontier of decision algorithms."""

from importlib.metadata import version as _version

from .data.losses import Loss, cost_loss
from .data.risks import Risks
from .estimator import FairFrontier
from .rules.classifier import FrontierRule
from .rules.evaluation import Evaluation, evaluate
from .rules.linear import LinearFrontierRule

__version__ = _version("fairfrontier")

__all__ = [
    "Evaluation",
    "FairFrontier",
    "FrontierRule",
    "LinearFrontierRule",
    "Loss",
    "Risks",
    "__version__",
    "cost_loss",
    "evaluate",
]
