"""Criteria, as users choose them: by which measure rules are fair, and what else must not get worse."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..arrays import ArrayLike, FloatArray
from ..errors import InputError
from .aligning import aligned
from .checks import check_length
from .messages import PYTHON, Interface, did_you_mean, shown
from .reading import LARGEST, Label, read_column, to_float
from .row_losses import RowLosses
from .sample import Sample

FairnessName = Literal["risk", "selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate"]
"""Measures by which rules are compared between groups, by name."""
AccuracyName = Literal["by-group", "overall"]
"""For whom a rule must be no less accurate: every group, or everybody on average."""
KeepName = Literal["selection-rate", "no-more-selected", "no-fewer-selected"]
"""What share of people an alternative may select: about the same, no more, no fewer."""
TOLERANCE = 0.02
"""By how much the share of people selected may change unless it is said."""
MOST_BY_GROUP = 3
"""Groups at most whose risks are compared together with another measure."""


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """A measure of your own: in each group the weighted mean of ``base`` + ``gain`` times the chance of selection.

    Attributes
    ----------
    weight : number or column (n,)
        How much each row counts, not negative.
    base : number or column (n,)
        Value of a row that is not selected.
    gain : number or column (n,)
        What selection adds to it.
    name : str
        How reports call it, such as "rate of missed patients".

    Examples
    --------
    The share of people in need who are not selected:

    >>> from fairfrontier.criteria import Criterion
    >>> need = [1, 0, 1, 1]
    >>> missed = Criterion(weight=need, base=1, gain=-1, name="rate of missed patients")
    """

    weight: ArrayLike = 1.0
    base: ArrayLike = 0.0
    gain: ArrayLike = 1.0
    name: str = "criterion"


@dataclass(frozen=True, slots=True, eq=False)
class Criteria:
    """What alternatives are asked for.

    Attributes
    ----------
    fairness : name or Criterion
        The measure whose spread between groups must not be larger.
    accuracy : name
        For whom the expected loss must not be higher.
    keep : name, optional
        What share of people may be selected.
    tolerance : float
        By how much that share may be off.
    profit : column (n,), optional
        What selecting each row earns; the total must not be lower.
    """

    fairness: FairnessName | Criterion = "risk"
    accuracy: AccuracyName = "by-group"
    keep: KeepName | None = None
    tolerance: float = 0.0
    profit: ArrayLike | None = None

    @property
    def usual(self) -> bool:
        """Whether only the groups' risks are compared."""
        return self.fairness == "risk" and self.accuracy == "by-group" and self.keep is None and self.profit is None

    @property
    def planar(self) -> bool:
        """Whether two numbers are compared: one overall, and for two groups one difference."""
        alone = self.keep is None and self.profit is None
        return self.accuracy == "overall" and alone and self.fairness != "selection-ratio"

    @property
    def ratio(self) -> bool:
        """Whether the spread is a ratio."""
        return self.fairness == "selection-ratio"

    @property
    def measure(self) -> str:
        """What is compared between groups, in words."""
        if isinstance(self.fairness, Criterion):
            return self.fairness.name
        words = {"risk": "expected loss", "selection-ratio": "selection rate"}
        return words.get(self.fairness, self.fairness.replace("-", " "))

    @property
    def listed(self) -> str:
        """The choices that are not the usual ones, as users make them."""
        own = self.fairness.name if isinstance(self.fairness, Criterion) else self.fairness
        parts = [f"fairness={own!r}"] * (own != "risk") + [f"accuracy={self.accuracy!r}"] * (
            self.accuracy != "by-group"
        )
        parts += [f"keep={self.keep!r}"] * (self.keep is not None) + ["profit"] * (self.profit is not None)
        return ", ".join(parts)

    def describe(self) -> dict[str, object]:
        """Return the choices as plain text and numbers."""
        own = self.fairness.name if isinstance(self.fairness, Criterion) else self.fairness
        kept: dict[str, object] = {} if self.keep is None else {"keep": self.keep, "tolerance": self.tolerance}
        return {"fairness": own, "accuracy": self.accuracy} | kept | ({} if self.profit is None else {"profit": True})

    def question(self, n_groups: int, reference: Label | None = None, *, errors: bool = True) -> str:
        """The question that is answered, in one sentence; ``errors``: whether the loss counts wrong decisions."""
        no_worse = "errs no more often" if errors else "has no higher an expected loss"
        parts = [f"{no_worse} {'in any group' if self.accuracy == 'by-group' else 'overall'}"]
        if self.keep is not None:
            share = {"selection-rate": "about as many", "no-more-selected": "no more", "no-fewer-selected": "no fewer"}
            within = f" (within {100 * self.tolerance:g} percentage points)" if self.tolerance else ""
            parts.append(f"selects {share[self.keep]} people{within}")
        if self.profit is not None:
            parts.append("earns no less")
        return f"Is there a rule that {', '.join(parts)}, and has {self.smaller(n_groups, reference, errors=errors)}?"

    def smaller(self, n_groups: int, reference: Label | None = None, *, errors: bool = True) -> str:
        """What an alternative has less of, in words."""
        rate = "error rates" if errors and self.fairness == "risk" else f"{self.measure}s".replace("losss", "losses")
        if isinstance(self.fairness, Criterion):
            rate = f"the {self.measure}"
        if self.ratio:
            return "a ratio of selection rates, smallest to largest, that is nearer to one"
        if reference is not None and n_groups > 2:
            return f"smaller differences in {rate} to group {reference}"
        return f"a smaller {'difference' if n_groups == 2 else 'range'} {'in' if n_groups == 2 else 'of'} {rate}"


USUAL = Criteria()
"""The groups' risks and nothing else."""


def read_criteria(
    fairness: Any = "risk",
    accuracy: Any = "by-group",
    keep: Any = None,
    keep_tolerance: float | None = None,
    profit: ArrayLike | None = None,
    interface: Interface = PYTHON,
) -> Criteria:
    """Read users' choices; those that contradict each other are refused."""
    _check_fairness(fairness, interface)
    _check_name(accuracy, "accuracy", get_args(AccuracyName), interface)
    if keep is not None:
        _check_name(keep, "keep", get_args(KeepName), interface)
    return Criteria(fairness, accuracy, keep, _read_tolerance(keep_tolerance, keep, interface), profit)


def _check_fairness(fairness: Any, interface: Interface) -> None:
    if not isinstance(fairness, Criterion):
        _check_name(fairness, "fairness", get_args(FairnessName), interface, " or a Criterion")
    elif not isinstance(fairness.name, str) or not fairness.name.strip():
        raise InputError(
            "bad-option",
            f"The name of a Criterion must be text, such as 'rate of missed patients', got {shown(fairness.name)}.",
        )


def _read_tolerance(tolerance: float | None, keep: KeepName | None, interface: Interface) -> float:
    """Return by how much the share of people selected may change, by default what goes with ``keep``."""
    name = interface.name("keep_tolerance" if interface is PYTHON else "keep-tolerance")
    if tolerance is not None and keep is None:
        raise InputError(
            "bad-option",
            f"{name} says how exactly the share of people selected is kept: say with {interface.name('keep')} that it "
            f"is, or leave {name} out.",
        )
    number = isinstance(tolerance, numbers.Real) and not isinstance(tolerance, bool)
    if tolerance is not None and not (number and 0.0 <= tolerance < 1.0):
        raise InputError("bad-option", f"{name} must be a share of at least 0 and below 1, got {shown(tolerance)}.")
    if tolerance == 0.0 and keep == "selection-rate":
        raise InputError(
            "bad-option",
            f"{name} of 0 asks for exactly the same share of people, which no data can show: "
            f"allow a little, such as 0.01, or ask for "
            f"{interface.option('keep', 'no-more-selected')}.",
        )
    if tolerance is not None:
        return float(tolerance)
    return TOLERANCE if keep == "selection-rate" else 0.0


def _check_name(
    value: Any, option: str, known: tuple[str, ...], interface: Interface = PYTHON, others: str = ""
) -> None:
    if not isinstance(value, str) or value not in known:
        close = did_you_mean(value, known) if isinstance(value, str) else ""
        raise InputError(
            "bad-option",
            f"{interface.name(option)} must be one of {', '.join(known)}{others if interface is PYTHON else ''}; got "
            f"{shown(value)}.{close}",
        )


class RowMeasure(NamedTuple):
    """A measure, row by row: how much each row counts, its value without selection, and what selection adds, (n,)."""

    weight: FloatArray
    base: FloatArray
    change: FloatArray


def row_measure(fairness: FairnessName | Criterion, sample: Sample, losses: RowLosses) -> RowMeasure:
    """The measure at the rows of a sample; every group must have rows that count.

    Rates of true and false positives count the rows whose outcome is 1, or 0, alone.
    """
    n = sample.n_obs
    if fairness == "risk":
        return RowMeasure(np.ones(n), losses.l0, losses.dl)
    if isinstance(fairness, Criterion):
        found = _own_measure(fairness, sample)
    elif fairness in ("selection-rate", "selection-ratio"):
        found = RowMeasure(np.ones(n), np.zeros(n), np.ones(n))
    else:
        if not sample.binary_outcome:
            raise InputError(
                "outcome-not-binary",
                f"fairness={fairness!r} counts people by an outcome of 0 or 1, and the outcome has other values. "
                'Choose fairness="selection-rate" or "risk", or pass a Criterion.',
            )
        among = sample.y == (1.0 if fairness == "true-positive-rate" else 0.0)
        found = RowMeasure(among.astype(np.float64), np.zeros(n), np.ones(n))
    _check_defined(fairness, found, sample)
    return found


def _own_measure(criterion: Criterion, sample: Sample) -> RowMeasure:
    weight, base, gain = (
        _column(getattr(criterion, name), f"{name} of the criterion", sample) for name in ("weight", "base", "gain")
    )
    found = RowMeasure(weight, base, gain)
    if (found.weight < 0.0).any():
        raise InputError(
            "bad-weights",
            f"weight of the criterion {criterion.name!r} must not be negative: a row counts or does not count. Put the "
            "sign into base and gain.",
        )
    return found


def _column(given: ArrayLike, name: str, sample: Sample) -> FloatArray:
    """A number for every row, or a column of the rows given, at the rows of the sample."""
    n = sample.n_given
    column = np.full(n, given) if np.ndim(given) == 0 else aligned(given, sample.index, name)
    read = read_column(column, name)
    check_length(read.values, name, n)
    if read.missing[sample.rows].any():
        raise InputError(
            "missing-values",
            f"{name} has {int(read.missing[sample.rows].sum())} missing values; give a number for every row.",
        )
    found = to_float(read.values[sample.rows], name, "non-finite", "Give numbers.")
    if not np.isfinite(found).all() or np.abs(found).max() > LARGEST:
        raise InputError("non-finite", f"{name} must be finite numbers of at most {LARGEST:g} in size.")
    return found


def _check_defined(fairness: FairnessName | Criterion, measure: RowMeasure, sample: Sample) -> None:
    for label, rows in zip(sample.groups, sample.rows_by_group, strict=True):
        if not (measure.weight[rows] * sample.weight[rows]).sum() > 0.0:
            what = f"fairness={fairness!r}" if isinstance(fairness, str) else f"the criterion {fairness.name!r}"
            who = {"true-positive-rate": "an outcome of 1", "false-positive-rate": "an outcome of 0"}
            whose = who.get(fairness, "a positive weight") if isinstance(fairness, str) else "a positive weight"
            raise InputError(
                "undefined-rate",
                f"{what} is not defined for group {label!r}: no row of it has {whose}. Leave the group out with "
                "`groups`, merge it with another with `merge`, or choose another measure.",
            )


def read_profit(profit: ArrayLike, sample: Sample) -> FloatArray:
    """What selecting each row of a sample earns, (n,)."""
    found = _column(profit, "profit", sample)
    if not (found > 0.0).any():
        raise InputError(
            "bad-option",
            "profit has no positive value, so that selecting nobody would earn most. If these are costs, pass what "
            "selecting the row earns less what it costs.",
        )
    return found


def check_criteria_of_groups(criteria: Criteria, n_groups: int, interface: Interface = PYTHON) -> None:
    """Refuse the risks of many groups together with another measure."""
    if criteria.accuracy != "by-group" or criteria.fairness == "risk" or n_groups <= MOST_BY_GROUP:
        return
    raise InputError(
        "too-many-groups",
        f"The risks of all groups together with another measure ({criteria.measure}) are compared for at most "
        f"{MOST_BY_GROUP} groups, and there are {n_groups}. Ask for {interface.option('accuracy', 'overall')}, choose "
        f"some by {interface.name('groups')}, or put some together by {interface.name('merge')}.",
    )
