"""What a ban of the group costs, in a record."""

from __future__ import annotations

from ..inference.ban.result import BanCost
from .basis import numbers
from .frame import BanPoint, BanRecord

NO_LIMIT = "The largest share of people that a rule may select does not apply here: both sides are of rules without it."


def ban(found: BanCost | None, capacity: float | None = None) -> BanRecord | None:
    """Fill the record from the result, if the question was asked; say that a ``capacity`` does not apply."""
    if found is None:
        return None
    low, high = found.intervals[..., 0], found.intervals[..., 1]
    points = [
        BanPoint(
            name=name,
            without=numbers(found.without[j]),
            seeing=numbers(found.seeing[j]),
            cost=numbers(found.cost[j]),
            low=numbers(low[j]),
            high=numbers(high[j]),
            gap_change=float(found.gap_change[j]),
            gap_low=float(found.gap_intervals[j, 0]),
            gap_high=float(found.gap_intervals[j, 1]),
        )
        for j, name in enumerate(found.names)
    ]
    remarks = found.remarks() if capacity is None else [*found.remarks(), NO_LIMIT]
    return BanRecord(points=tuple(points), remarks=tuple(remarks))
