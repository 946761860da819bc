"""Do decisions depend on the group? Noticed where people alike in everything else are decided about differently."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from ..arrays import BoolArray, FloatArray, IntArray
from .columns import Kind, kind_of, numbers_of
from .messages import shown
from .reading import Label

FEWEST = 5
"""Rows, or pairs of rows, that must speak for it."""
NEIGHBOURS = 20
"""Rows next to each other in a score that are compared."""
CLEAR = 5.0
"""Standard errors by which groups must differ among neighbours, so that false alarms are rare in many columns."""
NO_LOTTERY = 4.0
"""Standard errors from which another column tells who is selected among neighbours of one group."""


def group_specific(decisions: FloatArray, X: pd.DataFrame, group: IntArray, labels: Sequence[Label]) -> str | None:
    """Say how decisions (n,) depend on the group beyond the columns of X, or None if that is not seen.

    Three patterns are looked for: the decisions are a threshold in one column with another threshold in each group;
    they are such thresholds but for a lottery near them, with other chances in each group; or rows with the same
    covariates have the same decision within a group, and another one between groups. Decisions that depend on the
    group in another way, or by chance, are not noticed. A threshold in one column that serves all groups explains them
    without the group.
    """
    if not np.isin(decisions, (0.0, 1.0)).all():
        return None
    selected = decisions == 1.0
    scores = {name: x for name in X.columns if (x := _numbers(X[name])) is not None}
    if any(_common_threshold(selected, x) for x in scores.values()):
        return None
    for name, x in scores.items():
        if found := _thresholds(selected, name, x, group, labels):
            return found
    for name, x in scores.items():
        if found := _lottery(selected, name, x, X, group, labels):
            return found
    return _same_covariates(selected, X, group, len(labels))


def _numbers(column: pd.Series) -> FloatArray | None:
    """The values of a column that may be a score; None if it is of another kind or has gaps."""
    if kind_of(column) is Kind.CATEGORY:
        return None
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype):
        return None
    values = numbers_of(column)
    return None if np.isnan(values).any() else values


def _common_threshold(selected: BoolArray, x: FloatArray) -> bool:
    """Whether one threshold in a column tells all decisions."""
    if selected.all() or not selected.any():
        return True
    return bool(x[selected].min() > x[~selected].max() or x[selected].max() < x[~selected].min())


def _cuts(selected: BoolArray, x: FloatArray, group: IntArray, n_groups: int) -> list[tuple[float, float]] | None:
    """In each group the highest value left out and the lowest selected; None if a group is all in or all out."""
    cuts = []
    for code in range(n_groups):
        own = group == code
        if not selected[own].any() or selected[own].all():
            return None
        cuts.append((float(x[own & ~selected].max()), float(x[own & selected].min())))
    return cuts


def _thresholds(
    selected: BoolArray, name: Hashable, values: FloatArray, group: IntArray, labels: Sequence[Label]
) -> str | None:
    """Whether decisions are a threshold in a column, and one of its own in each group."""
    for sign, word in ((1.0, "above"), (-1.0, "below")):
        x = sign * values
        cuts = _cuts(selected, x, group, len(labels))
        if cuts is None or any(out >= lowest for out, lowest in cuts):
            continue
        # a common threshold would lie between the highest value left out and the lowest selected of all groups
        low, high = min(lowest for _, lowest in cuts), max(highest for highest, _ in cuts)
        if int(((x >= low) & (x <= high)).sum()) >= FEWEST and low <= high:
            each = [f"{word} {sign * out:.4g} in group {label}" for label, (out, _) in zip(labels, cuts, strict=True)]
            return f"at the same {shown(name)} they differ by group: selected are those {', '.join(each)}"
    return None


def _lottery(
    selected: BoolArray, name: Hashable, values: FloatArray, X: pd.DataFrame, group: IntArray, labels: Sequence[Label]
) -> str | None:
    """Whether decisions are thresholds in a column but for a lottery near them, with other chances in each group.

    In every group most rows lie where all are selected or none. Among neighbours in the score the groups are then
    compared by the test of Mantel and Haenszel. If any other column tells, within a group, who of the neighbours is
    selected, it is no lottery, and that column rather than the group may explain it.
    """
    for sign in (1.0, -1.0):
        x = sign * values
        cuts = _cuts(selected, x, group, len(labels))
        if cuts is None:
            continue
        out, lowest = np.array(cuts).T
        inside = (x >= lowest[group]) & (x <= out[group])
        if any(inside[group == code].mean() > 0.5 for code in range(len(labels))):
            continue
        near = np.flatnonzero((x >= lowest.min()) & (x <= out.max()))
        order = near[np.argsort(x[near], kind="stable")]
        stratum = np.arange(len(order)) // NEIGHBOURS
        z = {label: apart(selected[order], group[order] == k, stratum) for k, label in enumerate(labels)}
        most = max(z, key=lambda label: abs(z[label]))
        if abs(z[most]) >= CLEAR and not _told(selected, X.drop(columns=[name]), order, stratum, group):
            more = "more" if z[most] > 0.0 else "less"
            return (
                f"at about the same {shown(name)} they differ by group: near the threshold group {most} is selected "
                f"{more} often than others, by {abs(z[most]):.1f} standard errors"
            )
    return None


def apart(selected: BoolArray, own: BoolArray, stratum: IntArray) -> float:
    """By how many standard errors rows are selected more often than others of their stratum (Mantel and Haenszel)."""
    n, m = np.bincount(stratum).astype(float), np.bincount(stratum, own)
    s, both = np.bincount(stratum, selected), np.bincount(stratum, selected & own)
    # given the margins the number selected of its own rows has mean m s / n and a hypergeometric variance
    variance = np.divide(m * (n - m) * s * (n - s), n**2 * (n - 1.0), out=np.zeros(len(n)), where=n > 1.0)
    total = float(variance.sum())
    return float((both - m * s / n).sum() / np.sqrt(total)) if total > 0.0 else 0.0


def _told(selected: BoolArray, X: pd.DataFrame, order: IntArray, stratum: IntArray, group: IntArray) -> bool:
    """Whether another column tells, within groups, which of the neighbours are selected."""
    cell = np.unique(stratum * (int(group.max()) + 1) + group[order], return_inverse=True)[1]
    for name in X.columns:
        column = X[name].iloc[order]
        if kind_of(X[name]) is Kind.CATEGORY:
            each = [(column == value).to_numpy(dtype=bool) for value in column.dropna().unique()]
        else:
            x = pd.Series(pd.factorize(column, sort=True)[0])
            each = [(x > x.groupby(cell).transform("median")).to_numpy(dtype=bool)]
        if any(abs(apart(selected[order], own, cell)) >= NO_LOTTERY for own in each):
            return True
    return False


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
