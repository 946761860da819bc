"""How plausible the margin and the no-kink condition are, and whether covariates reveal the group."""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from ..arrays import AnyArray, BoolArray, FloatArray, IntArray
from ..data.columns import Kind, days_of, kind_of, numbers_of
from ..data.reading import Label, Table
from ..data.result import PlainDict, Result, plain_items
from ..errors import GroupDeterminedWarning, MarginWarning

N_SECTORS = 36
MIN_SECTOR_ROWS = 5
MIN_SECTOR_SHARE = 0.001
MARGIN_WIDTHS = (0.01, 0.02, 0.05)
"""Half-widths of the strip around zero, as shares of the median length of M t."""
AUC_DETERMINED = 0.99
"""From here on the group counts as nearly determined."""
HEAVY_ATOM = 0.25
"""From this share of the weight on, rows with the same direction cast doubt on the margin condition."""
MOST_ROWS = 100_000
"""Most rows whose pairs are described; of more, as many are drawn at random."""
AUC_ROWS = 50_000
"""Most rows used to check single covariates."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagnostics(Result):
    """How the nuisance pairs, scaled by the group shares (M t), are spread.

    Attributes
    ----------
    n_obs : int
        Number of rows described: all, or 100,000 drawn at random.
    n_directions : int
        Distinct directions of M t.
    largest_atom : float
        Largest weighted share of rows with the same direction (or with M t = 0).
    margin_widths : tuple of float
        Half-widths delta of a strip around zero, in units of the median length of M t.
    margin_shares : tuple of float
        For each delta the largest weighted share, over directions q, of rows with ``|q'M t| < delta``.
    margin_exponent : float
        Exponent m with which these shares fall as delta does; the margin condition holds with m = 1
        when the density of q'M t is bounded, and fails when m is 0.
    smallest_sector_share, smallest_sector_rows : float, int
        Weighted share, and rows, of the emptiest of the 36 sectors of 10 degrees.
    largest_gap : float
        Widest arc without any row, in degrees.
    no_kinks_plausible : bool
        Whether every sector holds at least 5 rows and 0.1 percent of the weight.
    group_auc : float
        How well the learner's predictions separate the groups (1: perfectly, 0.5: not at all).
    revealing_covariate : object or None
        Name of the covariate that by itself separates the groups best, if its area under the curve
        exceeds 0.99.
    sees_group : bool
        Whether the rules see the group. Pairs then lie on the axes and have four directions, which is no concern;
        margin shares are of rows whose loss difference is near zero, and that the group is determined is meant.
    """

    n_obs: int
    n_directions: int
    largest_atom: float
    margin_widths: tuple[float, ...]
    margin_shares: tuple[float, ...]
    margin_exponent: float
    smallest_sector_share: float
    smallest_sector_rows: int
    largest_gap: float
    no_kinks_plausible: bool
    group_auc: float
    revealing_covariate: Label | None
    sees_group: bool = False

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Conditions on the nuisance functions"

    def _facts(self) -> dict[str, object]:
        return {
            "n_obs": self.n_obs,
            "n_directions": self.n_directions,
            "largest_atom": self.largest_atom,
            "margin_shares": self.margin_shares,
            "margin_exponent": self.margin_exponent,
            "margin_doubtful": self.margin_doubtful,
            "smallest_sector_rows": self.smallest_sector_rows,
            "largest_gap": self.largest_gap,
            "no_kinks_plausible": self.no_kinks_plausible,
            "group_auc": self.group_auc,
            "group_determined": self.group_determined,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON."""
        more = {
            "margin_widths": self.margin_widths,
            "smallest_sector_share": self.smallest_sector_share,
            "revealing_covariate": None if self.revealing_covariate is None else str(self.revealing_covariate),
        }
        return plain_items(self._facts() | more)

    def _words(self) -> list[str]:
        return self.lines()

    @property
    def margin_doubtful(self) -> bool:
        """Whether too few rows differ in direction, or too many share one, for the margin condition.

        The types of the covariates do not matter: many discrete ones can make as many directions as there are rows.
        """
        return not self.sees_group and (self.few_directions or self.heavy_atom)

    @property
    def few_directions(self) -> bool:
        """Whether the pairs of too few rows differ in direction."""
        return self.n_directions < min(self.n_obs / 10, 1000)

    @property
    def heavy_atom(self) -> bool:
        """Whether one direction, or the pair (0, 0), holds at least a quarter of the weight."""
        return self.largest_atom >= HEAVY_ATOM

    @property
    def group_determined(self) -> bool:
        """Whether a covariate, or the learner's predictions, nearly determine the group."""
        return not self.sees_group and (self.revealing_covariate is not None or self.group_auc > AUC_DETERMINED)

    def lines(self) -> list[str]:
        """Return what a summary says about the conditions, in plain words."""
        shares = ", ".join(
            f"{share:.1%} within {width:g}" for width, share in zip(self.margin_widths, self.margin_shares, strict=True)
        )
        if self.sees_group:
            return [
                "Rules see the group, so the pairs of predictions lie on the axes. Of the rows, "
                f"{shares} median lengths of a predicted loss difference of zero, where either decision is as good; "
                f"the shares fall with exponent {self.margin_exponent:.2f} (1 is ideal, 0 a violation)."
            ]
        verdict = "doubtful" if self.margin_doubtful else "plausible"
        lines = [
            f"Nuisance directions: {self.n_directions} distinct in {self.n_obs} rows, the most frequent "
            f"holds {self.largest_atom:.2%} of the weight.",
            f"Margin condition {verdict}: in the worst direction {shares} median lengths of zero; the "
            f"shares fall with exponent {self.margin_exponent:.2f} (1 is ideal, 0 a violation).",
        ]
        emptiest = (
            f"the emptiest of {N_SECTORS} sectors holds {self.smallest_sector_rows} rows "
            f"({self.smallest_sector_share:.2%}), the widest empty arc is {self.largest_gap:.1f} degrees"
        )
        if self.no_kinks_plausible:
            lines.append(
                f"No kinks: nuisance pairs point in every direction ({emptiest}), so kinks=False is defensible."
            )
        else:
            lines.append(
                f"Kinks cannot be ruled out: some directions are (almost) empty ({emptiest}), so "
                "kinks=False is not defensible; keep kinks=True."
            )
        if self.group_determined:
            lines.append(f"The group is nearly determined: {self.revealed_by()}.")
        return lines

    def revealed_by(self) -> str:
        """Say what nearly determines the group."""
        if self.revealing_covariate is not None:
            return f"covariate {self.revealing_covariate!r} alone separates the groups"
        return f"the learner's predictions separate the groups (area under the curve {self.group_auc:.3f})"


def diagnose(
    t: FloatArray,
    mu: FloatArray,
    group: IntArray,
    *,
    X: Table | None = None,
    weight: FloatArray | None = None,
    group_auc: float | None = None,
    free: BoolArray | None = None,
    sees_group: bool = False,
) -> Diagnostics:
    """Describe how nuisance pairs are spread.

    Parameters
    ----------
    t : (n, 2) array
        Nuisance pairs, one column per group.
    mu : (2,) array
        Group shares.
    group : (n,) integer array
        Codes of the two groups.
    X : data frame, (n, p) array or None
        Covariates.
    weight : (n,) array, optional
        Row weights.
    group_auc : float, optional
        Area under the curve of out-of-fold group probabilities; by default that of the difference
        of the lengths |t_r| / mu_r - |t_b| / mu_b.
    free : (n,) boolean array, optional
        Rows about which a rule can decide; others, fixed by bounds, make no atom.
    sees_group : bool
        Whether the rules see the group.

    Returns
    -------
    Diagnostics
    """
    if len(t) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(t), MOST_ROWS, replace=False))
        t, group = t[rows], group[rows]
        X = X.iloc[rows] if isinstance(X, pd.DataFrame) else None if X is None else X[rows]
        weight, free = None if weight is None else weight[rows], None if free is None else free[rows]
    first = group == 0
    w = np.ones(len(t)) if weight is None else np.asarray(weight, dtype=np.float64)
    w = w / w.sum()
    scaled = t / mu
    length = np.hypot(scaled[:, 0], scaled[:, 1])
    angle = np.arctan2(scaled[:, 1], scaled[:, 0])
    n_directions, largest_atom = _atoms(angle, length, w if free is None else w * free)
    median = float(np.median(length))
    if sees_group:
        shares = tuple(float(w[length < width * median].sum()) for width in MARGIN_WIDTHS)
    else:
        shares = tuple(largest_strip_share(angle, length, w, width * median) for width in MARGIN_WIDTHS)
    sector_rows, sector_share, gap = _sectors(angle[length > 0], w[length > 0])
    if group_auc is None:
        score = np.abs(scaled[:, 0]) - np.abs(scaled[:, 1])
        group_auc = float(roc_auc_score(first, score, sample_weight=w))
    return Diagnostics(
        n_obs=len(t),
        n_directions=n_directions,
        largest_atom=largest_atom,
        margin_widths=MARGIN_WIDTHS,
        margin_shares=shares,
        margin_exponent=_exponent(shares),
        smallest_sector_share=sector_share,
        smallest_sector_rows=sector_rows,
        largest_gap=gap,
        no_kinks_plausible=sector_rows >= MIN_SECTOR_ROWS and sector_share >= MIN_SECTOR_SHARE,
        group_auc=group_auc,
        revealing_covariate=None if X is None or sees_group else _revealing_covariate(X, first, w),
        sees_group=sees_group,
    )


def what_determines(
    X: Table | None, group: IntArray, n_groups: int, weight: FloatArray, chances: FloatArray
) -> str | None:
    """Say what nearly determines the group, so that the groups can be told apart; None if nothing does.

    ``chances`` (n, G) are predictions that are larger the likelier a group is.
    """
    members = [group == g for g in range(1 if n_groups == 2 else n_groups)]
    if X is not None:
        names = [_revealing_covariate(X, own, weight) for own in members]
        if all(name is not None for name in names):
            return f"covariates separate the groups ({', '.join(dict.fromkeys(map(repr, names)))})"
    ranks = [np.unique(chances[:, g], return_inverse=True)[1] for g in range(len(members))]
    auc = min(weighted_auc(codes, own, weight) for codes, own in zip(ranks, members, strict=True))
    if auc > AUC_DETERMINED:
        return f"the learner's predictions separate the groups (area under the curve {auc:.3f})"
    return None


def warn(diagnostics: Diagnostics, *, jitter: float = 0.0, stacklevel: int = 2) -> None:
    """Warn about doubtful conditions.

    Parameters
    ----------
    diagnostics : Diagnostics
        What `diagnose` returned.
    jitter : float
        The jitter already applied to the nuisance pairs; with it common directions are no concern.
    stacklevel : int
        As for `warnings.warn`, counted from the caller.
    """
    if diagnostics.margin_doubtful and jitter == 0.0:
        reasons = []
        if diagnostics.few_directions:
            reasons.append(
                f"the nuisance pairs of {diagnostics.n_obs} rows have only {diagnostics.n_directions} "
                "distinct directions"
            )
        if diagnostics.heavy_atom:
            reasons.append(f"{diagnostics.largest_atom:.1%} of the weight lies in one direction of the nuisance pairs")
        warnings.warn(
            f"The margin condition is doubtful: {' and '.join(reasons)}. A small jitter, for example jitter=0.01 "
            "(--jitter 0.01 on the command line), spreads the directions at little cost.",
            MarginWarning,
            stacklevel=stacklevel + 1,
        )
    if diagnostics.group_determined:
        warnings.warn(
            f"The group is nearly determined: {diagnostics.revealed_by()}. Rules may then treat the groups "
            "separately, and the comparison with rules that cannot see the group loses its meaning; leave "
            "out covariates that stand for the group if this is not intended.",
            GroupDeterminedWarning,
            stacklevel=stacklevel + 1,
        )


def largest_strip_share(angle: FloatArray, length: FloatArray, weight: FloatArray, delta: float) -> float:
    """Return the largest weight, over directions q, of rows with |q'v| < delta, v = length at angle.

    Exact, by one sort: a row longer than delta lies in the strip for q within arcsin(delta / length)
    of a right angle to v, a shorter one for every q.
    """
    short = length < delta
    base = float(weight[short].sum())
    long = ~short & (delta > 0.0)
    if not long.any():
        return base
    w = weight[long]
    half = np.arcsin(np.minimum(delta / length[long], 1.0))
    # q and -q count the same rows, so angles are taken modulo pi
    start = np.mod(angle[long] + np.pi / 2 - half, np.pi)
    end = start + 2 * half
    wraps = end > np.pi
    open_at_zero = float(w[wraps].sum())
    position = np.concatenate([end, end[wraps] - np.pi, start])
    change = np.concatenate([-w, -w[wraps], w])
    # intervals are open: at equal positions ends (listed first) come before starts
    order = np.argsort(position, kind="stable")
    inside = open_at_zero + np.cumsum(change[order])[position[order] < np.pi]
    return base + max(open_at_zero, float(inside.max(initial=0.0)))


def _columns(X: Table) -> list[tuple[Label, AnyArray, bool]]:
    """Name, values and whether numeric, of every column."""
    if isinstance(X, pd.DataFrame):
        return [_column(name, X.iloc[:, j]) for j, name in enumerate(X.columns)]
    return [(j, X[:, j], True) for j in range(X.shape[1])]


def _column(name: Label, column: pd.Series) -> tuple[Label, AnyArray, bool]:
    kind = kind_of(column)
    if kind is Kind.CATEGORY:
        return name, column.to_numpy(dtype=object), False
    return name, days_of(column) if kind in (Kind.DATE, Kind.DURATION) else numbers_of(column), True


def _atoms(angle: FloatArray, length: FloatArray, weight: FloatArray) -> tuple[int, float]:
    moving = length > 0
    _, codes = np.unique(np.round(angle[moving], 9), return_inverse=True)
    shares = np.bincount(codes, weight[moving])
    return len(shares), max(float(shares.max(initial=0.0)), float(weight[~moving].sum()))


def _sectors(angle: FloatArray, weight: FloatArray) -> tuple[int, float, float]:
    """Rows and share of the emptiest sector, and the widest gap between neighbouring angles in degrees."""
    if not len(angle):
        return 0, 0.0, 360.0
    turn = np.mod(angle / (2 * np.pi), 1.0)
    sector = np.minimum((turn * N_SECTORS).astype(np.intp), N_SECTORS - 1)
    rows = np.bincount(sector, minlength=N_SECTORS)
    share = np.bincount(sector, weight, minlength=N_SECTORS)
    sorted_turn = np.sort(turn)
    gaps = np.diff(sorted_turn, append=sorted_turn[0] + 1.0)
    return int(rows.min()), float(share.min()), float(360.0 * gaps.max())


def _exponent(shares: tuple[float, ...]) -> float:
    """Slope of log share in log width between the narrowest and the widest strip."""
    if shares[0] <= 0.0:
        return 1.0
    return float(np.log(shares[-1] / shares[0]) / np.log(MARGIN_WIDTHS[-1] / MARGIN_WIDTHS[0]))


def _revealing_covariate(X: Table, first: BoolArray, weight: FloatArray) -> Label | None:
    step = -(-len(X) // AUC_ROWS)
    group, w = first[::step], weight[::step]
    best_name, best = None, AUC_DETERMINED
    for name, values, numeric in _columns(X):
        auc = _column_auc(values[::step], numeric, group, w)
        if auc > best:
            best_name, best = name, auc
    return best_name


def _column_auc(values: AnyArray, numeric: bool, first: BoolArray, weight: FloatArray) -> float:
    """How well one covariate separates the groups, by its order or, with few values, by their table."""
    if numeric:  # missing values are below all others
        values = np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1.0, values)
    keys = values if numeric else values.astype(str)
    levels, codes = np.unique(keys, return_inverse=True)
    auc = 0.5
    if numeric:
        auc = weighted_auc(codes, first, weight)
        auc = max(auc, 1.0 - auc)
    if len(levels) < 2 or (numeric and len(levels) > 20):
        return auc
    # share of the first group by level, learned on one half of the rows and judged on the other
    rate = np.empty(len(codes))
    for half in (0, 1):
        learn = np.arange(len(codes)) % 2 == half
        total = np.bincount(codes[learn], weight[learn], minlength=len(levels))
        members = np.bincount(codes[learn], (weight * first)[learn], minlength=len(levels))
        overall = members.sum() / max(total.sum(), np.finfo(float).tiny)
        share = np.divide(members, total, out=np.full(len(levels), overall), where=total > 0)
        rate[~learn] = share[codes[~learn]]
    return max(auc, weighted_auc(np.unique(rate, return_inverse=True)[1], first, weight))


def weighted_auc(codes: IntArray, first: BoolArray, weight: FloatArray) -> float:
    """Area under the curve of values by their ranks 0, 1, ...: the chance that one of the first group is above others.

    Ties count half; 0.5 if one of the groups has no weight.
    """
    own = np.bincount(codes, np.where(first, weight, 0.0))
    others = np.bincount(codes, np.where(first, 0.0, weight))
    pairs = own.sum() * others.sum()
    return float(own @ (np.cumsum(others) - 0.5 * others) / pairs) if pairs > 0.0 else 0.5
