"""Estimation and inference for the fairness-accuracy frontier of decision algorithms."""

from importlib.metadata import version as _version

from .estimation import Risks
from .evaluation import Evaluation, evaluate
from .frontier import FairFrontier
from .linear_rules import LinearFrontierRule
from .losses import Loss, cost_loss
from .rules import FrontierRule

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
