"""Formats of numbers in texts: levels, p-values, shares and risks, each written once."""

from __future__ import annotations

import math
from decimal import Decimal

ABSENT = "n/a"
"""What is written for a number that does not exist."""


def confidence_text(alpha: float) -> str:
    """1 - alpha in percent, never rounded up to 100%."""
    return f"{100 - Decimal(f'{100 * alpha:.4g}'):f}%"


def p_value_text(value: float, alpha: float) -> str:
    """Three decimals; more where rounding would put the p-value on the other side of the level."""
    if value < 0.0005:
        return "<0.001"
    digits = 3
    while digits < 9 and (float(f"{value:.{digits}f}") <= alpha) != (value <= alpha):
        digits += 1
    return f"{value:.{digits}f}"


def number_text(value: float | None, digits: int = 4) -> str:
    """A number with a fixed number of decimals; no sign before a zero."""
    if value is None or not math.isfinite(value):
        return ABSENT
    text = f"{value:.{digits}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


def share_text(value: float | None, digits: int = 1) -> str:
    """A share in percent."""
    text = number_text(None if value is None else 100.0 * value, digits)
    return text if text == ABSENT else f"{text}%"


def points_text(value: float | None, digits: int = 2, unit: str = " pts") -> str:
    """A difference of shares in percentage points."""
    text = number_text(None if value is None else 100.0 * value, digits)
    return text if text == ABSENT else f"{text}{unit}"
