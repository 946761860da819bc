"""Folds for cross-fitting: stratified, independent, in sequence, or the user's own."""

import warnings
from dataclasses import dataclass

import numpy as np

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.checks import check_integer
from ..data.messages import shown
from ..data.sample import Sample
from ..errors import InputError, ManyFoldsWarning

MIN_GROUP_ROWS = 2
"""Rows of each group that every fold must hold."""

MOST_LISTED = 8
"""Small groups at most that an error lists."""
MOST_FOLDS = 10
"""More folds than this are warned of."""
SCHEMES = ("stratified", "independent", "sequential")
"""How folds may be made."""
MOST_STRATA = 10
"""Most strata that clusters are balanced by; of more, neighbours are put together. Even: two halves stay apart."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldSequence:
    """Folds in the order in which they were learned from and tested.

    Attributes
    ----------
    fold : integer array (n,)
        Fold of every tested row, coded 0, ..., K - 1 in the order of the tests.
    shares : array (K, 2)
        Weighted shares of the groups in all folds before each tested one.
    learning_rows : int
        Rows of the first folds, which are used for learning only.
    """

    fold: IntArray
    shares: FloatArray
    learning_rows: int

    @property
    def n_folds(self) -> int:
        """Number of tested folds."""
        return len(self.shares)


def make_folds(
    sample: Sample,
    n_folds: int,
    n_rep: int,
    rng: np.random.Generator,
    folds: str | ArrayLike | None = None,
) -> IntArray:
    """Assign every row to a fold, once per repetition.

    Parameters
    ----------
    sample : Sample
        The rows; clusters, if any, are never split.
    n_folds : int
        Number of folds, between 2 and the number of rows; ignored when `folds` is an array.
    n_rep : int
        Number of repetitions.
    rng : numpy.random.Generator
        Source of randomness.
    folds : None, "stratified", "independent", "sequential" or integer array
        None and "stratified" balance the groups. They do not balance outcomes: a fold in which outcomes are as frequent
        as in the others tells a learner what to expect of it. "independent" draws each row's fold uniformly.
        "sequential" deals rows to folds of the same size, whatever their group, so that a fold says nothing about the
        next. An array of shape (n,) or (n_rep, n) is used as it is.

    Returns
    -------
    (n_rep, n) array
        Folds numbered 1, 2, ... in every repetition.
    """
    check_integer(n_rep, "n_rep", least=1)
    if folds is not None and not isinstance(folds, str):
        return _user_folds(sample, folds, n_rep)
    check_integer(n_folds, "n_folds", least=2, most=sample.n_obs, most_is="the number of rows", code="bad-folds")
    scheme = "stratified" if folds is None else folds
    if scheme not in SCHEMES:
        raise InputError(
            "bad-folds",
            f"folds must be None, {', '.join(map(repr, SCHEMES))} or an array of fold numbers, not {folds!r}.",
        )
    result = np.empty((n_rep, sample.n_obs), dtype=np.intp)
    for repetition in result:
        repetition[:] = _random_folds(sample, n_folds, rng, scheme)
        _check_group_rows(sample, repetition, n_folds, scheme, rng)
    return result + 1


def n_learning_folds(n_folds: int) -> int:
    """How many of the first sequential folds are used for learning only: a fifth."""
    return -(-n_folds // 5)


def warn_of_many_folds(n_folds: int, stacklevel: int = 3) -> None:
    """Warn if there are so many folds that their dependence may matter.

    Where decisions are noise, fold k adds S Z_k to an estimate, S the sign of the sum of the other folds' errors: its
    variance is 1 + (K - 1)(2 / pi) / sqrt(2 K - 3) times the one that is estimated as if folds were independent.
    """
    if n_folds > MOST_FOLDS:
        factor = 1.0 + (n_folds - 1.0) * (2.0 / np.pi) / np.sqrt(2.0 * n_folds - 3.0)
        warnings.warn(
            f"{n_folds} folds: the rules of different folds share most of their training rows, and where decisions are "
            f"noise the variance of an estimate can be {factor:.1f} times the one that tests use, so that they reject "
            'too often. Use n_folds of 5 to 10, or folds="sequential", which is proven for any learner.',
            ManyFoldsWarning,
            stacklevel=stacklevel,
        )


def sequence_of(sample: Sample, folds: IntArray) -> FoldSequence:
    """Return the tested part of sequential folds (n,), numbered from 1."""
    first = 1 + n_learning_folds(int(folds.max()))
    shares = []
    for k in range(first, int(folds.max()) + 1):
        past = np.bincount(sample.group[folds < k], sample.weight[folds < k], minlength=len(sample.groups))
        shares.append(past / past.sum())
    tested = folds >= first
    return FoldSequence(folds[tested] - first, np.array(shares), int(np.count_nonzero(~tested)))


def deal(strata: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Deal rows to folds 0, ..., n_folds - 1 like cards, stratum after stratum.

    Sizes, of a fold and of any run of consecutive strata in it, differ by at most one between folds.
    """
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = np.arange(len(strata)) % n_folds
    return rng.permutation(n_folds)[folds]


def deal_training_rows(
    strata: IntArray, n_folds: int, rng: np.random.Generator, clusters: IntArray | None = None
) -> IntArray:
    """Deal training rows to inner folds 0, 1, ..., none of them empty: whole clusters, if there are any.

    There are at most as many folds as rows or clusters. A single cluster cannot be kept together: its rows are dealt.
    """
    if clusters is not None:
        labels, codes = np.unique(clusters, return_inverse=True)
        if len(labels) > 1:
            return _deal_clusters(codes, strata, min(n_folds, len(labels)), rng)[codes]
    return deal(strata, min(n_folds, len(strata)), rng)


def _random_folds(sample: Sample, n_folds: int, rng: np.random.Generator, scheme: str) -> IntArray:
    if scheme == "independent":
        if sample.clusters is None:
            return rng.integers(n_folds, size=sample.n_obs)
        return rng.integers(n_folds, size=int(sample.clusters.max()) + 1)[sample.clusters]
    if scheme == "sequential":
        unit = np.arange(sample.n_obs) if sample.clusters is None else sample.clusters
        return deal(np.zeros(int(unit.max()) + 1, dtype=np.intp), n_folds, rng)[unit]
    strata = len(sample.groups) - 1 - sample.group
    if sample.clusters is None:
        return deal(strata, n_folds, rng)
    most = max(MOST_STRATA, len(sample.groups))  # groups stay apart
    return _deal_clusters(sample.clusters, strata, n_folds, rng, most)[sample.clusters]


def _deal_clusters(
    clusters: IntArray, strata: IntArray, n_folds: int, rng: np.random.Generator, most: int = MOST_STRATA
) -> IntArray:
    """Put whole clusters, large ones first, where they disturb the balance of the strata least."""
    m, n_strata = int(clusters.max()) + 1, int(strata.max()) + 1
    if n_strata > most:
        strata, n_strata = strata * most // n_strata, most
    counts = np.bincount(n_strata * clusters + strata, minlength=n_strata * m).reshape(m, n_strata).astype(np.float64)
    counts = counts[:, counts.any(axis=0)]
    sizes = counts.sum(axis=1, keepdims=True)
    # shares of each stratum, and of all rows, that a cluster holds
    shares = np.hstack([counts, sizes]) / np.append(counts.sum(axis=0), sizes.sum())
    order = rng.permutation(m)
    order = order[np.argsort(-sizes[order, 0], kind="stable")]
    held = np.zeros((n_folds, shares.shape[1]))
    folds = np.empty(m, dtype=np.intp)
    for cluster in order:
        # (held + s)^2 - held^2 = 2 held s + s^2, and s^2 is the same in every fold
        fold = int(np.argmin(held @ shares[cluster]))
        held[fold] += shares[cluster]
        folds[cluster] = fold
    return folds


def _too_small(sample: Sample, folds: IntArray, n_folds: int) -> int | None:
    """Code of the group with the fewest rows in a fold if these are too few, or None."""
    n_groups = len(sample.groups)
    counts = np.bincount(n_groups * folds + sample.group, minlength=n_groups * n_folds).reshape(n_folds, n_groups)
    smallest = counts.min(axis=0)
    return None if smallest.min() >= MIN_GROUP_ROWS else int(np.argmin(smallest))


def _check_group_rows(sample: Sample, folds: IntArray, n_folds: int, scheme: str, rng: np.random.Generator) -> None:
    code = _too_small(sample, folds, n_folds)
    if code is None:
        return
    member = sample.group == code
    label, rows = sample.groups.labels[code], int(member.sum())
    found = f"group {label!r} has {rows} rows"
    most = min(sample.counts.values()) // MIN_GROUP_ROWS
    if sample.clusters is not None:
        inside = len(np.unique(sample.clusters[member]))
        found += f" in {inside} clusters"
        most = min(most, inside)
    largest = next(
        (
            k
            for k in range(min(most, n_folds), 1, -1)
            if _too_small(sample, _random_folds(sample, k, rng, "stratified"), k) is None
        ),
        None,
    )
    if largest is None:
        advice = "no number of folds works: more rows of that group are needed"
    elif scheme != "stratified" and largest == n_folds:
        advice = "use folds=None (stratified folds), which works with this n_folds"
    else:
        advice = f"the largest n_folds that works is {largest}"
        advice += " (with stratified folds)" if scheme != "stratified" else ""
    raise InputError(
        "group-too-small",
        f"Every fold needs at least {MIN_GROUP_ROWS} rows of each group, but {found}, too few for "
        f"{n_folds} {scheme} folds; {advice}.{_small_groups(sample, n_folds)}",
    )


def _small_groups(sample: Sample, n_folds: int) -> str:
    """Name all small groups and say what can be done about them, if some remain without them."""
    small = {label: count for label, count in sample.counts.items() if count < MIN_GROUP_ROWS * n_folds}
    if len(sample.groups) - len(small) < 2 or not small:
        return ""
    every = [f"{shown(label)} ({count:,} rows)" for label, count in small.items()]
    texts = ", ".join(every[:MOST_LISTED] + ["..."] * (len(every) > MOST_LISTED))
    return f" Groups this small: {texts}. Choose others with groups=, or put some together by merge=."


def _user_folds(sample: Sample, folds: ArrayLike, n_rep: int) -> IntArray:
    n = sample.n_given
    given = np.asarray(folds)
    if given.dtype.kind not in "iu":
        raise InputError("bad-folds", f"folds must be an array of integers, not of type {given.dtype}.")
    if given.ndim not in (1, 2) or given.shape[-1] != n:
        raise InputError(
            "bad-folds",
            f"folds must have shape ({n},) or (n_rep, {n}), one number per row, not {given.shape}.",
        )
    given = np.atleast_2d(given)[:, sample.rows]
    if len(given) != n_rep and n_rep != 1:
        raise InputError("bad-folds", f"folds describe {len(given)} repetition(s), but n_rep={n_rep} was asked for.")
    result = np.empty(given.shape, dtype=np.intp)
    for repetition, row in enumerate(given):
        labels, codes = np.unique(row, return_inverse=True)
        if len(labels) < 2:
            raise InputError("bad-folds", f"folds need at least two different numbers, all are {labels.tolist()}.")
        n_groups = len(sample.groups)
        counts = np.bincount(n_groups * codes + sample.group, minlength=n_groups * len(labels)).reshape(-1, n_groups)
        totals = counts.sum(axis=0)
        for part, bad in (("", counts == 0), ("the complement of ", counts == totals)):
            if bad.any():
                fold, code = np.argwhere(bad)[0]
                raise InputError(
                    "bad-folds",
                    f"Every fold and its complement must hold every group, but {part}fold "
                    f"{labels[fold]} has no row of group {sample.groups.labels[code]!r}.",
                )
        if sample.clusters is not None:
            first = np.full(int(sample.clusters.max()) + 1, -1, dtype=np.intp)
            first[sample.clusters] = codes
            split = np.flatnonzero(first[sample.clusters] != codes)
            if len(split):
                cluster = sample.clusters[split[0]]
                rows = np.flatnonzero(sample.clusters == cluster)
                n_split = len(np.unique(sample.clusters[split]))
                raise InputError(
                    "bad-folds",
                    f"The rows of a cluster must lie in one fold, but {n_split} "
                    f"cluster(s) are split; for example rows {rows[:5].tolist()} share a cluster and lie in "
                    f"folds {np.unique(row[rows]).tolist()}.",
                )
        result[repetition] = codes + 1
    return result
