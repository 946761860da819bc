"""Do decisions depend on the group? Noticed where people alike in everything else are decided about differently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..arrays import BoolArray, FloatArray, IntArray
from .columns import Kind, kind_of, numbers_of
from .messages import shown
from .reading import Label

FEWEST = 5
"""Rows, or pairs of rows, that must speak for it."""


def group_specific(decisions: FloatArray, X: pd.DataFrame, group: IntArray, labels: Sequence[Label]) -> str | None:
    """Say how decisions (n,) depend on the group beyond the columns of X, or None if that is not seen.

    Two patterns are looked for: the decisions are a threshold in one column with another threshold in each group; or
    rows with the same covariates have the same decision within a group, and another one between groups. Decisions that
    depend on the group in another way, or by chance, are not noticed.
    """
    if not np.isin(decisions, (0.0, 1.0)).all():
        return None
    selected = decisions == 1.0
    for name in X.columns:
        if kind_of(X[name]) is not Kind.CATEGORY and (found := _thresholds(selected, X[name], group, labels)):
            return found
    return _same_covariates(selected, X, group, len(labels))


def _thresholds(selected: BoolArray, column: pd.Series, group: IntArray, labels: Sequence[Label]) -> str | None:
    """Whether decisions are a threshold in a column, and one of its own in each group."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype):
        return None
    values = numbers_of(column)
    if np.isnan(values).any():
        return None
    for sign, word in ((1.0, "above"), (-1.0, "below")):
        x, cuts = sign * values, []
        for code in range(len(labels)):
            own = group == code
            if not selected[own].any() or selected[own].all():
                break
            highest_out, lowest_in = float(x[own & ~selected].max()), float(x[own & selected].min())
            if highest_out >= lowest_in:
                break
            cuts.append((highest_out, lowest_in))
        if len(cuts) < len(labels):
            continue
        # a common threshold would lie between the highest value left out and the lowest selected of all groups
        low, high = min(lowest for _, lowest in cuts), max(highest for highest, _ in cuts)
        if int(((x >= low) & (x <= high)).sum()) >= FEWEST and low <= high:
            each = [f"{word} {sign * out:.4g} in group {label}" for label, (out, _) in zip(labels, cuts, strict=True)]
            return f"at the same {shown(column.name)} they differ by group: selected are those {', '.join(each)}"
    return None


def _same_covariates(selected: BoolArray, X: pd.DataFrame, group: IntArray, n_groups: int) -> str | None:
    """Whether rows with the same covariates are decided about alike within groups, and not between them."""
    cell = np.unique(pd.util.hash_pandas_object(X, index=False).to_numpy(), return_inverse=True)[1]
    n_cells = int(cell.max()) + 1
    count = np.bincount(cell * n_groups + group, minlength=n_cells * n_groups).reshape(n_cells, n_groups).astype(float)
    chosen = np.bincount(cell * n_groups + group, selected, n_cells * n_groups).reshape(n_cells, n_groups)
    left = count - chosen
    # pairs of rows of one cell: within a group, and in all
    pairs_within = float((count * (count - 1.0)).sum()) / 2.0
    differ_within = float((chosen * left).sum())
    pairs = float((count.sum(axis=1) * (count.sum(axis=1) - 1.0)).sum()) / 2.0 - pairs_within
    differ = float((chosen.sum(axis=1) * left.sum(axis=1)).sum()) - differ_within
    if differ_within > 0.0 or pairs_within < FEWEST or differ < FEWEST:
        return None
    return (
        f"people with the same covariates are decided about differently in {differ:,.0f} of {pairs:,.0f} pairs of "
        f"different groups, and in none of {pairs_within:,.0f} pairs of one group"
    )
