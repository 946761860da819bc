"""Preferences between the two groups' risks, by weights, by name or by direction, and the direction of each."""

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
from ..frontier.attainable import Attainable
from ..frontier.capacity import lowest_level
from ..frontier.plane import U1, U2

Weights: TypeAlias = str | Sequence[float] | FloatArray | None
"""A name of `PREFERENCES`, "best-for:<label>", or a pair of non-negative numbers; None means "utilitarian"."""
BEST_FOR = "best-for:"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the direction of a preference may depend on.

    ``function`` is called, and may then take its time, only for preferences that depend on the attainable risks.
    """

    groups: tuple[Label, Label]
    shares: FloatArray
    function: Callable[[], Attainable]


def _utilitarian(setting: Setting) -> FloatArray:
    return _unit(np.array([-1.0, -1.0]))


def _population(setting: Setting) -> FloatArray:
    return _unit(-setting.shares)


def _majority(setting: Setting) -> FloatArray:
    return (U1 if setting.shares[0] >= setting.shares[1] else U2).copy()


def _rawlsian(setting: Setting) -> FloatArray:
    # min over rules of the larger risk = max over weights w of min over rules of w'e, so w minimises h(-w)
    return lowest_level(setting.function().plug_in().h, np.pi, 1.5 * np.pi)


def _egalitarian(setting: Setting) -> FloatArray:
    return setting.function().plug_in().fairest_direction()


PREFERENCES: dict[str, Callable[[Setting], FloatArray]] = {
    "utilitarian": _utilitarian,
    "population": _population,
    "majority": _majority,
    "rawlsian": _rawlsian,
    "egalitarian": _egalitarian,
}
"""Preferences by name; besides, "best-for:<label>"."""


def preferred_direction(weights: Weights, direction: ArrayLike | None, setting: Setting) -> FloatArray:
    """Return the unit direction (2,) of a preference: weights of the two groups' risks, a name, or any direction."""
    if direction is not None:
        if weights is not None:
            raise InputError("bad-option", "Give either `weights` or `direction`, and not both.")
        q = check_directions(direction)
        if len(q) != 1:
            raise InputError("bad-direction", f"A rule has one direction, got {len(q)}.")
        return _unit(q[0])
    if weights is None:
        weights = "utilitarian"
    if not isinstance(weights, str):
        return _unit(-_read_weights(weights))
    if weights in PREFERENCES:
        return PREFERENCES[weights](setting)
    labels = [str(label) for label in setting.groups]
    if weights.startswith(BEST_FOR):
        wanted = weights.removeprefix(BEST_FOR)
        if wanted not in labels:
            raise InputError("unknown-group", f"{weights!r} names no group; the groups are {labels}.")
        return (U1, U2)[labels.index(wanted)].copy()
    names = [*PREFERENCES, *(f"{BEST_FOR}{label}" for label in labels)]
    close = difflib.get_close_matches(weights, names, n=1)
    raise InputError(
        "bad-option",
        f"`weights` must be a pair of non-negative numbers or one of {names}, got {weights!r}."
        + (f" Did you mean {close[0]!r}?" if close else ""),
    )


def _read_weights(weights: Sequence[float] | FloatArray) -> FloatArray:
    try:
        pair = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        pair = np.empty(0)
    if pair.shape != (2,) or not np.isfinite(pair).all() or (pair < 0.0).any() or not pair.any():
        raise InputError(
            "bad-option",
            "`weights` must be a name or a pair of non-negative numbers, one per group and not both zero, got "
            f"{weights!r}.",
        )
    return pair


def _unit(q: FloatArray) -> FloatArray:
    unit: FloatArray = q / np.hypot(*q)
    return unit
