"""The exceptions and warnings of the package, each with a documented meaning."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

__all__ = [
    "ERROR_CODES",
    "CapacityWarning",
    "ColumnsWarning",
    "CopiedRowsWarning",
    "DroppedRowsWarning",
    "EmptySetWarning",
    "FairFrontierError",
    "FairFrontierWarning",
    "FewDrawsWarning",
    "GroupDeterminedWarning",
    "InputError",
    "LearnerError",
    "ManyFoldsWarning",
    "MarginWarning",
    "MissingDependencyError",
    "NotFittedError",
    "NotShownWarning",
    "SmallSampleWarning",
    "WeakLearnerWarning",
]

ERROR_CODES: Mapping[str, str] = MappingProxyType(
    {
        "empty-data": "There are no rows, or no columns, to work with.",
        "bad-index": "Row labels of pandas inputs repeat, so that rows in another order cannot be matched.",
        "length-mismatch": "Inputs that describe the same rows have different lengths or shapes.",
        "one-group": "Only one group is present; two are compared.",
        "too-many-groups": "More groups are present than can be compared: mostly two, some tests take more.",
        "missing-group": "A rule that sees the group was asked to decide without it. Pass `sensitive_features=`.",
        "unknown-group": "A group label is not usable or not present in the data.",
        "group-too-small": "A group has too few rows for the number of folds, or fewer than two groups are as large as "
        "asked for.",
        "constant-outcome": "The outcome has a single value, so there is nothing to predict.",
        "outcome-not-binary": "The loss needs a 0/1 outcome and the outcome is something else.",
        "non-finite": "A number is infinite or not a number where it must be finite.",
        "missing-values": "Values are missing and no instruction says what to do with them.",
        "bad-weights": "Weights are negative, not numbers, sum to zero in a group, or lie outside 1e-50 to 1e50.",
        "bad-probability": "A probability lies outside [0, 1].",
        "bad-decisions": "The decisions of an algorithm are not one number in [0, 1] per row.",
        "bad-model": "A model to be audited is not fitted, needs columns that are not there, or predicts other labels.",
        "bad-alpha": "The level alpha does not lie strictly between 0 and 0.5.",
        "bad-folds": "The folds, or their number, cannot be used for cross-fitting.",
        "bad-loss": "The loss is unknown, or not one finite number per row, the largest of size 1e-50 to 1e50.",
        "bad-bounds": "The bounds on decision rules are not 0 <= lower <= upper <= 1 in every row.",
        "bad-capacity": "The capacity is not a share in (0, 1], or the lower bounds exceed it.",
        "bad-direction": "A direction is not a pair of numbers, the larger of size 1e-50 to 1e50.",
        "bad-risks": "Risks are not finite pairs of numbers, one number per group.",
        "bad-option": "An option, or the form of an input, is not among the accepted ones.",
        "unknown-learner": "No learner preset has this name.",
        "bad-learner": "The learner lacks the methods needed, or does not suit the loss.",
        "bad-features": "The covariates cannot be used: missing, not numeric, or of another shape.",
        "bad-nuisance": "Nuisance predictions supplied from outside are not a finite array (n, groups) within 1e50.",
        "group-determined": "Covariates nearly determine the group, so that a ban of it is empty and has no cost.",
        "undefined-rate": "A rate or ratio is not defined: nobody of a group counts for it, or nobody is selected.",
        "bad-draws": "The number of bootstrap draws, or the draws themselves, cannot be used.",
        "bad-file": "A file cannot be read as a table, or a report cannot be written where it should be.",
        "rows-needed": "Rows were read in parts and counted, and what is asked for needs the rows themselves.",
        "no-download": "A public file cannot be downloaded, or what came is not that file.",
    }
)
"""Every code an `InputError` may carry, with its meaning."""


class FairFrontierError(Exception):
    """Base of every error raised on purpose by this package."""


class InputError(FairFrontierError, ValueError):
    """Something handed to the package cannot be used.

    Parameters
    ----------
    code : str
        One of `ERROR_CODES`; stable, so that programs can react to it.
    message : str
        What was expected, what came, and what to do.

    Attributes
    ----------
    code : str
        The code given.
    """

    code: str

    def __init__(self, code: str, message: str) -> None:
        if code not in ERROR_CODES:
            raise KeyError(f"{code!r} is not one of the documented error codes {sorted(ERROR_CODES)}")
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str]]:
        """Keep the code when the error travels between processes."""
        return type(self), (self.code, str(self))


class LearnerError(FairFrontierError, RuntimeError):
    """A learner failed while it was fitted or while it predicted."""


if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

    class NotFittedError(FairFrontierError, _SklearnNotFittedError):  # type: ignore[misc]
        """A result was asked for before `fit` was called."""


class MissingDependencyError(FairFrontierError, ImportError):
    """An optional dependency is needed and not installed."""


class FairFrontierWarning(UserWarning):
    """Base of every warning raised on purpose by this package."""


class WeakLearnerWarning(FairFrontierWarning):
    """A nuisance predicts no better than its mean."""


class ManyFoldsWarning(FairFrontierWarning):
    """So many folds that their dependence may make tests reject too often."""


class MarginWarning(FairFrontierWarning):
    """So few distinct nuisance values that the margin condition is doubtful."""


class GroupDeterminedWarning(FairFrontierWarning):
    """Covariates, or a learner's predictions, nearly determine the group."""


class DroppedRowsWarning(FairFrontierWarning):
    """Rows were left out: with missing values, as asked, or of groups that a rule does not compare."""


class ColumnsWarning(FairFrontierWarning):
    """Covariates look like identifiers, or like copies or consequences of the outcome or the group."""


class CopiedRowsWarning(FairFrontierWarning):
    """Rows repeat beyond what the distribution of the covariates explains; they are kept together as clusters."""


class CapacityWarning(FairFrontierWarning):
    """An algorithm selects more people than the rules it is compared with may."""


class FewDrawsWarning(FairFrontierWarning):
    """So few draws that no p-value adjusted for several algorithms can be as small as the level."""


class EmptySetWarning(FairFrontierWarning):
    """An estimated or confidence set came out empty."""


class SmallSampleWarning(FairFrontierWarning):
    """Groups have so few people or clusters, or so unequal weights or losses, that results often fail."""


class NotShownWarning(FairFrontierWarning):
    """A rule was selected that is estimated to improve on an algorithm, but the test does not show an improvement."""


def __getattr__(name: str) -> type[FairFrontierError]:
    """Define `NotFittedError` when it is first used: its base class takes long to import."""
    if name != "NotFittedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError

    class NotFittedError(FairFrontierError, SklearnNotFittedError):  # type: ignore[misc]
        """A result was asked for before `fit` was called."""

        __qualname__ = name

    return globals().setdefault(name, NotFittedError)  # type: ignore[no-any-return]


def __dir__() -> list[str]:
    return sorted(__all__)
