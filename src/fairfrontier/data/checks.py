"""Checks of single options and arrays, each written once and used by every room."""

from __future__ import annotations

import numbers

import numpy as np

from ..arrays import AnyArray, ArrayLike, FloatArray, IntArray
from ..errors import InputError
from .messages import shown
from .reading import LARGEST, SMALLEST, read_column, to_float

MIN_DRAWS = 99
"""Fewest draws that any procedure accepts."""


def check_alpha(alpha: float, name: str = "alpha") -> float:
    """Return the level ``alpha``, which messages call ``name``, if it lies strictly between 0 and 0.5."""
    is_number = isinstance(alpha, numbers.Real) and not isinstance(alpha, bool)
    if not is_number or not 0 < alpha < 0.5:
        raise InputError(
            "bad-alpha", f"{name} must lie strictly between 0 and 0.5; got {alpha!r}. A usual choice is 0.05."
        )
    return float(alpha)


def check_integer(
    value: int, name: str, *, least: int, most: int | None = None, most_is: str = "", code: str = "bad-option"
) -> int:
    """Return ``value`` if it is an integer of at least ``least`` and at most ``most``, which ``most_is`` explains."""
    integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    too_large = integer and most is not None and value > most
    if not integer or too_large or value < least:
        limits = f"of at most {most}" if too_large else f"of at least {least}"
        if most_is:
            limits = f"between {least} and {most_is} ({most})"
        raise InputError(code, f"{name} must be an integer {limits}; got {shown(value)}.")
    return int(value)


def check_n_jobs(n_jobs: int | None, name: str = "n_jobs") -> None:
    """Refuse a number of parallel jobs that joblib cannot use."""
    integer = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not integer or n_jobs == 0):
        raise InputError("bad-option", f"{name} must be an integer other than 0 (-1: all processors); got {n_jobs!r}.")


def check_length(values: AnyArray, name: str, n: int) -> None:
    """Refuse a column of another length than ``n``."""
    if values.size != n:
        raise InputError("length-mismatch", f"{name} must have one value per row, {n} in all; got {values.size}.")


def check_probabilities(
    values: ArrayLike,
    name: str,
    n: int,
    *,
    code: str = "bad-probability",
    advice: str = "Rescale or correct them.",
    positions: IntArray | None = None,
) -> FloatArray:
    """Return `values` as a float array (n,) if all lie in [0, 1].

    Parameters
    ----------
    values : column (n,)
        Probabilities, or decisions.
    name : str
        How messages call them.
    n : int
        Number expected.
    code : str
        Error code for values that are missing, not numbers or outside [0, 1].
    advice : str
        What to do with values outside [0, 1].
    positions : integer array (n,), optional
        Positions of the values in the users' table, for messages; default 0, 1, ....

    Returns
    -------
    array (n,)
    """
    column = read_column(values, name)
    check_length(column.values, name, n)
    if column.missing.any():
        raise InputError(
            code, f"{name} has {int(column.missing.sum())} missing values; give a number in [0, 1] per row."
        )
    numbers_ = to_float(column.values, name, code, "Give numbers in [0, 1].")
    outside = np.flatnonzero(~((numbers_ >= 0) & (numbers_ <= 1)))
    if outside.size:
        row = outside[0] if positions is None else positions[outside[0]]
        raise InputError(
            code,
            f"{name} must lie in [0, 1]; {outside.size} of {n} do not, "
            f"the first is {numbers_[outside[0]]:g} in row {row}. {advice}",
        )
    return numbers_


def check_directions(q: ArrayLike, n_groups: int = 2) -> FloatArray:
    """Return directions as a float array (k, G), by default of two groups; a single one becomes (1, G)."""
    directions = _tuples(q, "bad-direction", "Directions", nonzero=True, n=n_groups)
    size = np.abs(directions).max(axis=1)
    if size.max() > LARGEST or size.min() < SMALLEST:
        raise InputError(
            "bad-direction",
            f"Directions must have a size between {SMALLEST:g} and {LARGEST:g}, got "
            f"{directions[(size > LARGEST) | (size < SMALLEST)][0]}; h of a multiple is the multiple of h.",
        )
    return directions


def check_risks(e: ArrayLike, n_groups: int = 2) -> FloatArray:
    """Return risks as a float array (k, G), by default pairs; a single point becomes (1, G)."""
    return _tuples(e, "bad-risks", "Risk pairs" if n_groups == 2 else "Risks", nonzero=False, n=n_groups)


def check_bounds(lower: ArrayLike | None, upper: ArrayLike | None, n: int) -> tuple[FloatArray, FloatArray]:
    """Return bounds 0 <= lower <= upper <= 1 as arrays (n,); numbers apply to every row."""
    bounds = []
    for name, given, default in (("lower", lower, 0.0), ("upper", upper, 1.0)):
        bound = np.asarray(default if given is None else given, dtype=float)
        if bound.shape not in ((), (n,)):
            raise InputError(
                "bad-bounds",
                f"`{name}` must be a number or one number per row ({n}), got shape {bound.shape}.",
            )
        bounds.append(np.broadcast_to(bound, n))
    low, high = bounds
    wrong = np.flatnonzero(~((low >= 0.0) & (low <= high) & (high <= 1.0)))
    if len(wrong):
        i = wrong[0]
        raise InputError(
            "bad-bounds",
            f"Bounds must satisfy 0 <= lower <= upper <= 1 in every row; {len(wrong)} rows do not, the first "
            f"is row {i} with lower={low[i]!r}, upper={high[i]!r}.",
        )
    return low, high


def _tuples(values: ArrayLike, code: str, what: str, *, nonzero: bool, n: int = 2) -> FloatArray:
    try:
        found = np.atleast_2d(np.asarray(values, dtype=float))
    except (TypeError, ValueError) as error:
        raise InputError(code, f"{what} must be numbers of shape (k, {n}) or ({n},): {error}.") from error
    if found.ndim != 2 or found.shape[1] != n or len(found) == 0:
        raise InputError(code, f"{what} must have shape (k, {n}) or ({n},), got {np.shape(values)}.")
    if not np.isfinite(found).all():
        raise InputError(code, f"{what} must be finite, got {found[~np.isfinite(found).all(axis=1)][0]}.")
    if nonzero and (found == 0.0).all(axis=1).any():
        raise InputError(code, f"{what} must not be ({', '.join('0' * n)}): it points nowhere.")
    return found


def check_draws(n_boot: int, alpha: float | None = None, name: str = "n_boot") -> int:
    """Return the number of draws if it is an integer of at least 99 and large enough for ``alpha``."""
    check_integer(n_boot, name, least=MIN_DRAWS, code="bad-draws")
    if alpha is not None and alpha * (n_boot + 1) < 1.0:
        raise InputError(
            "bad-draws",
            f"{n_boot} draws cannot give a p-value as small as alpha={alpha}: at least "
            f"{int(np.ceil(1.0 / alpha)) - 1} are needed.",
        )
    return int(n_boot)


def check_level(alpha: float, n_boot: int, names: tuple[str, str] = ("alpha", "n_boot")) -> float:
    """Return ``alpha`` if it is a level and the draws are enough to reach it; ``names`` are those in messages."""
    level = check_alpha(alpha, names[0])
    check_draws(n_boot, level, names[1])
    return level


def check_n_directions(directions: int | str | None) -> int | None:
    """Read the `directions` option: None or "exact" for all directions, or a number of grid directions."""
    if directions is None or directions == "exact":
        return None
    integer = isinstance(directions, numbers.Integral) and not isinstance(directions, bool)
    if not integer or int(directions) < 8:
        raise InputError("bad-option", f'`directions` must be "exact" or an integer of at least 8; got {directions!r}.')
    return int(directions)


def check_capacity(capacity: float, name: str = "`capacity`") -> float:
    """Return the largest share of people that may be selected if it lies in (0, 1]."""
    is_number = isinstance(capacity, numbers.Real) and not isinstance(capacity, bool)
    if not is_number or not 0.0 < capacity <= 1.0:
        raise InputError(
            "bad-capacity",
            f"{name} must be a share of people, above 0 and at most 1, got {capacity!r}; 3% is 0.03.",
        )
    return float(capacity)
