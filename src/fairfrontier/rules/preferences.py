"""Preferences between the groups' risks, by weights, by name or by direction, and the direction of each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..arrays import ArrayLike, FloatArray
from ..data.checks import check_directions
from ..data.reading import Label
from ..errors import InputError
from ..fit import Fit
from ..frontier.attainable import Attainable
from ..frontier.capacity import lowest_level
from ..frontier.mixtures import Predicted, smallest_largest, smallest_range
from ..frontier.trade_off import PROJECTION

Weights: TypeAlias = str | Sequence[float] | FloatArray | None
"""A name of `PREFERENCES`, "best-for:<label>", or a non-negative number per group; None means "utilitarian"."""
BEST_FOR = "best-for:"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the direction of a preference may depend on.

    ``attainable`` is called, and may then take its time, only for preferences that depend on the attainable risks: the
    support function of two groups, or the predictions for more. ``box``: whether rules see the group without a
    capacity, so that the attainable risks are a box.
    """

    groups: tuple[Label, ...]
    shares: FloatArray
    attainable: Callable[[], Attainable | Predicted]
    box: bool = False


def _utilitarian(setting: Setting) -> FloatArray:
    return _unit(np.full(len(setting.groups), -1.0))


def _population(setting: Setting) -> FloatArray:
    return _unit(-setting.shares)


def _majority(setting: Setting) -> FloatArray:
    return _best_for(setting, int(np.argmax(setting.shares)))


def _rawlsian(setting: Setting) -> FloatArray:
    # min over rules of the larger risk = max over weights w of min over rules of w'e, so w minimises h(-w)
    found = setting.attainable()
    if isinstance(found, Predicted):
        return _unit(-smallest_largest(found).weights)
    return lowest_level(found.plug_in().h, np.pi, 1.5 * np.pi)


def _egalitarian(setting: Setting) -> FloatArray:
    if setting.box:  # it lies on a flat edge, whose points all have the same direction
        raise InputError(
            "bad-option",
            "There is no rule for the preference 'egalitarian' among rules that see the group without a capacity. The "
            "fairest point is attained there only by making decisions about the groups better off worse on purpose, "
            "which helps nobody. Take another preference, such as 'rawlsian' or weights of the groups, or state a "
            'capacity, or take rules="group-blind".',
        )
    found = setting.attainable()
    if isinstance(found, Predicted):
        return _unit(-smallest_range(found).weights)
    return found.plug_in().fairest_direction()


def _best_for(setting: Setting, code: int) -> FloatArray:
    direction = np.zeros(len(setting.groups))
    direction[code] = -1.0
    return direction


PREFERENCES: dict[str, Callable[[Setting], FloatArray]] = {
    "utilitarian": _utilitarian,
    "population": _population,
    "majority": _majority,
    "rawlsian": _rawlsian,
    "egalitarian": _egalitarian,
}
"""Preferences by name; besides, "best-for:<label>"."""


def preferred_direction(weights: Weights, direction: ArrayLike | None, setting: Setting) -> FloatArray:
    """Return the unit direction (G,) of a preference: weights of the groups' risks, a name, or any direction."""
    if direction is not None:
        if weights is not None:
            raise InputError("bad-option", "Give either `weights` or `direction`, and not both.")
        q = check_directions(direction, len(setting.groups))
        if len(q) != 1:
            raise InputError("bad-direction", f"A rule has one direction, got {len(q)}.")
        return _unit(q[0])
    if weights is None:
        weights = "utilitarian"
    if not isinstance(weights, str):
        return _unit(-_read_weights(weights, len(setting.groups)))
    if weights in PREFERENCES:
        return PREFERENCES[weights](setting)
    labels = [str(label) for label in setting.groups]
    if weights.startswith(BEST_FOR):
        wanted = weights.removeprefix(BEST_FOR)
        if wanted not in labels:
            raise InputError("unknown-group", f"{weights!r} names no group; the groups are {labels}.")
        return _best_for(setting, labels.index(wanted))
    names = [*PREFERENCES, *(f"{BEST_FOR}{label}" for label in labels)]
    close = difflib.get_close_matches(weights, names, n=1)
    raise InputError(
        "bad-option",
        f"`weights` must be {_numbers(len(labels))} or one of {names}, got {weights!r}."
        + (f" Did you mean {close[0]!r}?" if close else ""),
    )


def criteria_direction(fit: Fit, weights: Weights, direction: ArrayLike | None) -> FloatArray:
    """Return the direction (J,) of the criteria of a fit that compares others than the groups' risks.

    By default that of the rule with the smallest overall risk. A pair is a direction of overall risk and gap, where
    these are the two numbers compared.
    """
    asked, groups = fit.asked, fit.sample.groups
    assert asked is not None
    names = asked.names(groups.labels)
    if weights is not None:
        raise InputError(
            "bad-option",
            f"`weights` are those of the groups' risks, and this fit has other criteria: {fit.criteria.listed}. Pass "
            "a test whose alternative is to be deployed, or `direction` with a number for each criterion, negative for "
            f"those that are to be low: {', '.join(names)}.",
        )
    if direction is None:
        overall = fit.criteria.accuracy == "overall"
        return np.concatenate([[-1.0] if overall else -groups.shares, np.zeros(len(names))])[: len(names)]
    pair = fit.criteria.planar and len(groups) == 2 and np.shape(direction) in ((2,), (1, 2))
    q = check_directions(direction, 2 if pair else len(names))
    if len(q) != 1:
        raise InputError("bad-direction", f"A rule has one direction, got {len(q)}.")
    found: FloatArray = (q @ PROJECTION if pair else q)[0]
    return found


def _numbers(n_groups: int) -> str:
    return "a pair of non-negative numbers" if n_groups == 2 else f"{n_groups} non-negative numbers"


def _read_weights(weights: Sequence[float] | FloatArray, n_groups: int) -> FloatArray:
    try:
        found = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n_groups,) or not np.isfinite(found).all() or (found < 0.0).any() or not found.any():
        raise InputError(
            "bad-option",
            f"`weights` must be a name or {_numbers(n_groups)}, one per group and not "
            f"{'both' if n_groups == 2 else 'all'} zero, got {weights!r}.",
        )
    return found


def _unit(q: FloatArray) -> FloatArray:
    unit: FloatArray = q / np.hypot.reduce(q)
    return unit
