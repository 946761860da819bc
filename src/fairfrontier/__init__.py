"""Estimation and inference for the fairness-accuracy frontier of decision algorithms."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import criteria, datasets, errors, results
    from .data.losses import Loss, cost_loss
    from .data.models import Thresholded
    from .data.risks import Risks
    from .estimator import FairFrontier
    from .rules.classifier import FrontierRule
    from .rules.evaluation import Evaluation, evaluate
    from .rules.linear import LinearFrontierRule

    __version__: str

__all__ = [
    "Evaluation",
    "FairFrontier",
    "FrontierRule",
    "LinearFrontierRule",
    "Loss",
    "Risks",
    "Thresholded",
    "__version__",
    "cost_loss",
    "criteria",
    "datasets",
    "errors",
    "evaluate",
    "results",
]

_MODULES = {
    "Evaluation": "rules.evaluation",
    "FairFrontier": "estimator",
    "FrontierRule": "rules.classifier",
    "LinearFrontierRule": "rules.linear",
    "Loss": "data.losses",
    "Risks": "data.risks",
    "Thresholded": "data.models",
    "cost_loss": "data.losses",
    "evaluate": "rules.evaluation",
}
"""The module in which each public object is defined; it is imported when the object is first used."""


def __getattr__(name: str) -> object:
    value: object
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("fairfrontier")
        except PackageNotFoundError:  # a source tree that is not installed
            value = "unknown"
    elif name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    elif name in __all__:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
