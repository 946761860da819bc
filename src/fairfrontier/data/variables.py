"""The variables of a sample: outcome, weights, decisions, scores. Each check of such a column is written here, once.

``name`` is how messages call the column: the argument in Python, the option and the column on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray, FloatArray, IntArray
from ..errors import InputError
from .groups import by_group
from .losses import SQUARED_DECISIONS
from .messages import PYTHON, Interface, listed
from .reading import (
    LARGEST,
    SMALLEST,
    Column,
    Label,
    count_infinite,
    label_codes,
    plain_label,
    refuse_infinite,
    to_float,
)


def read_outcome(
    values: AnyArray,
    *,
    name: str = "y",
    positive: Label | None = None,
    binary: bool = False,
    interface: Interface = PYTHON,
    people: int | None = None,
) -> FloatArray:
    """Return outcomes as numbers, of which there are at least two different ones.

    Parameters
    ----------
    values : array (n,)
        Outcomes, none missing: numbers or booleans, or two labels together with ``positive``.
    name : str
        How messages call the outcome.
    positive : label, optional
        The outcome to be coded 1; the other one is coded 0.
    binary : bool
        Whether the loss needs an outcome coded 0/1.
    interface : Interface
        How messages write options.
    people : int, optional
        How many rows have these outcomes; default one for each.

    Returns
    -------
    array (n,)
    """
    if positive is None:
        y = _numeric_outcome(values, name, binary, interface)
    else:
        y = _code_positive(values, name, positive, interface)
    if np.all(y == y[0]):
        raise InputError(
            "constant-outcome",
            f"{name} is {plain_label(values[0])!r} in all {people or y.size} rows, so there is nothing to predict. "
            "Check that it is the right column, and how rows were filtered.",
        )
    return y


def _code_positive(values: AnyArray, name: str, positive: Label, interface: Interface) -> FloatArray:
    labels = label_codes(values, name, "outcome-not-binary")[1]
    if len(labels) > 2:
        raise InputError(
            "outcome-not-binary",
            f"{interface.option('positive', repr(positive))} needs an outcome of two values; {name} has {len(labels)}: "
            f"{listed(labels, 5)}. Merge them into two.{_for_numbers(labels, interface)}",
        )
    if positive not in labels:
        raise InputError(
            "outcome-not-binary",
            f"{interface.option('positive', repr(positive))} is not a value of {name}, which has {listed(labels)}. "
            "Choose one of these.",
        )
    return np.asarray(values == positive, dtype=np.float64)


def _numeric_outcome(values: AnyArray, name: str, binary: bool, interface: Interface) -> FloatArray:
    choice = f"choose the one that counts as 1: {interface.option('positive', '<label>')}."
    text = isinstance(values[0], str)
    labels = f"Its labels are {listed(sorted({str(value) for value in values}), 6)}; if" if text else "If"
    code = "outcome-not-binary" if binary else "non-finite"
    y = to_float(values, name, code, f"{labels} there are two labels, {choice}")
    refuse_infinite({name: count_infinite(y)})
    other = np.unique(y[(y != 0) & (y != 1)]) if binary else y[:0]
    if other.size:
        raise InputError(
            "outcome-not-binary",
            f"This loss needs an outcome coded 0/1, but {name} also has {other.size} other values, such as "
            f"{other[0]:g}. If there are two values, {choice}{_for_numbers(other, interface)}",
        )
    return y


def _for_numbers(values: Iterable[object], interface: Interface) -> str:
    """Say which loss takes an outcome of these values, if they are numbers, and what a decision is there."""
    try:
        for value in values:
            float(str(value))
    except ValueError:
        return ""
    loss = interface.option("loss", repr("squared"))
    return f" For a numeric outcome use {loss}: {SQUARED_DECISIONS}; put the outcome into units where that makes sense."


def read_weights(values: AnyArray, codes: IntArray, labels: Sequence[Label], name: str = "sample_weight") -> FloatArray:
    """Return sampling weights: finite, none negative, and in each group some of a usable size."""
    weight = weight_numbers(values, name)
    check_weights(weight, codes, labels, name)
    return weight


def weight_numbers(values: AnyArray, name: str = "sample_weight") -> FloatArray:
    """Return sampling weights as numbers, all finite and none negative."""
    advice = "Give one finite, non-negative number per row."
    weight = to_float(values, name, "bad-weights", advice)
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise InputError(
            "bad-weights",
            f"{name} has {bad.size} values that are negative or infinite, the first is {weight[bad[0]]:g}. {advice}",
        )
    return weight


def check_weights(weight: FloatArray, codes: IntArray, labels: Sequence[Label], name: str = "sample_weight") -> None:
    """Refuse sampling weights unless some in each group have a usable size."""
    for label, rows in zip(labels, by_group(codes, len(labels)), strict=True):
        largest = float(weight[rows].max())
        if largest == 0.0:
            raise InputError("bad-weights", f"{name} sums to zero in group {label!r}. Give some of its rows weight.")
        if not SMALLEST <= largest <= LARGEST:
            raise InputError(
                "bad-weights",
                f"In group {label!r} the largest value of {name} is {largest:.3g}; it must lie between {SMALLEST:g} "
                f"and {LARGEST:g}. Only ratios of weights matter: divide them by their mean.",
            )


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do if a column of decisions holds scores, or probabilities of being selected."""

    scores: str
    lottery: str


ADVICE = Advice(
    "If they are scores, set the cut-off: threshold=<number> selects everybody above it.",
    " If each is a probability of being selected (a lottery), pass randomised=True; treating a score as a lottery "
    "flatters every alternative.",
)


def check_decisions(a: FloatArray, name: str, advice: Advice = ADVICE) -> None:
    """Refuse numbers in [0, 1] that are not decisions 0 or 1."""
    between = np.count_nonzero((a > 0.0) & (a < 1.0))
    if between:
        raise InputError(
            "bad-decisions",
            f"{name} must be 0 or 1, but {between} of {len(a)} lie strictly between 0 and 1. "
            f"{advice.scores}{advice.lottery}",
        )


def read_scores(column: Column, name: str) -> FloatArray:
    """Return scores as finite numbers."""
    scores = to_float(column.values[~column.missing], name, "bad-decisions", "Scores are numbers: give one per row.")
    bad = int(np.count_nonzero(column.missing)) + int(np.count_nonzero(~np.isfinite(scores)))
    if bad:
        raise InputError(
            "bad-decisions", f"{name} has {bad} missing or infinite values; give one finite number per row."
        )
    return scores


def check_names(names: Sequence[str]) -> None:
    """Refuse algorithms of the same name."""
    if len(set(names)) < len(names):
        raise InputError("bad-decisions", f"Algorithms must have different names; got {listed(names)}.")
