"""Values that the record is made of: counts, shares, levels, pairs and intervals, with the limits of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a value of the record may be, beyond its type, under the names of JSON Schema."""

    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None
    exclusiveMaximum: float | None = None
    minItems: int | None = None
    maxItems: int | None = None
    pattern: str | None = None


Count = Annotated[int, Limits(minimum=0)]
Positive = Annotated[int, Limits(minimum=1)]
Share = Annotated[float, Limits(minimum=0, maximum=1)]
Level = Annotated[float, Limits(exclusiveMinimum=0, exclusiveMaximum=0.5)]
PValue = Annotated[float, Limits(exclusiveMinimum=0, maximum=1)]
Pair = tuple[float, float]
Triple = tuple[float, float, float]
Rates = tuple[Share | None, Share | None]
Counts = Mapping[str, Count]
Texts = tuple[str, ...]
Numbers = tuple[float, ...]
Polygon = tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval."""

    low: float | None
    """Lower end."""
    high: float | None
    """Upper end."""
