"""The robust test on sequential folds: fold k learns from the folds before it alone, which is proven for any learner.

The null is that D(q) = h_C(e*)(-q) + h(q) <= 0 for some q. Take a direction x, and in every tested fold k a rule f_k
that the folds before it determine. With e = (e_r, e_b) the risks of f_k and e* those of the algorithm,

    M_k(x) = x'(e - e*) + kappa_k (e*_r - e*_b) <= D(x),

where kappa_k = 2 lambda max(x_1, 0) - 2 (1 - lambda) max(x_2, 0) for any lambda in [0, 1] that these folds determine:
h_C(e*)(-x) is the larger of two linear functions of e*. So under the null some x has M_k(x) <= 0 for all k. A fold
estimates M_k by the means of its rows in each group, and is studentised by itself:

    z_k = (M_k^ + sqrt(N_k) xi_k) / sqrt(V_k + N_k),    T(x) = sum_k z_k / sqrt(K),

where V_k is the estimated variance of M_k^, xi_k is a standard normal number drawn beforehand, and N_k fills up the
variance of a group of m_g rows to B_g^2 m_g^(-5/3), with B_g the largest size of what a row can contribute. Where a
rule hardly differs from the algorithm, V_k alone would not do: the mean is not normal then, and a learner that copies
the algorithm once it is ahead would reject too often. Given the folds before it, z_k is at most a standard normal
number, up to an error that vanishes as folds grow, so T(x) is, too. The test rejects if T(x) is large in all of many
directions; p = max over x of 1 - Phi(T(x)).

Rules are those of the robust test's grid; for the directions between two of them, that neighbour's which did better in
the tested folds before. ``docs/guarantee.md`` has the theorem and its proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ...arrays import BoolArray, FloatArray, IntArray
from ...data.groups import by_group
from ...frontier.support import Scores
from ...learning.folds import FoldSequence
from ..p_values import ROUNDING
from .directions import robust_grid

MOST_DIRECTIONS = 100_000
"""Directions that are looked at together."""
FURTHEST = 30.0
"""Statistics of single folds are cut here, before they are compared with a t-distribution."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Statistic of the sequential test, the direction (2,) at which it is smallest, and its p-value."""

    statistic: float
    direction: FloatArray
    p_value: float


def sequential_tests(
    scores: Scores, sequence: FoldSequence, losses: FloatArray, fixed: FloatArray, seed: np.random.SeedSequence
) -> list[SequentialTest]:
    """Test J algorithms with row losses (J, n), then fixed risk pairs (F, 2).

    Parameters
    ----------
    scores : Scores
        Losses, groups, weights and nuisance pairs of the tested rows; those of fold k learned from the folds before it.
    sequence : FoldSequence
        The folds.
    losses : array (J, n)
        Losses of the algorithms.
    fixed : array (F, 2)
        Risk pairs without sampling error.
    seed : numpy.random.SeedSequence
        Source of the numbers xi_k.
    """
    grid = robust_grid(len(sequence.fold) + sequence.learning_rows)
    noise = np.random.default_rng(seed).standard_normal(sequence.n_folds)
    moments = rule_moments(scores, sequence, grid, losses)
    free = scores.dl if scores.spread is None else scores.dl / np.where(scores.spread > 0.0, scores.spread, 1.0)
    largest = float(np.abs(free).max())
    values = np.stack([scores.l0, scores.l0 + scores.dl, *losses])
    spread = max(float(np.ptp(values)), largest)
    found = [_test(grid, moments, moments.algorithms[j], noise, (largest, spread)) for j in range(len(losses))]
    return found + [_test(grid, moments, _known(e, moments), noise, (spread, spread)) for e in fixed]


# --- what the folds say about rules and algorithms ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlgorithmMoments:
    """Risks of an algorithm in the tested folds (K, 2), their covariances (K, 2, 2), and those with the rules' risks.

    ``with_rules`` (K, Q, 2, 2): rows belong to the groups of the rule's risks, columns to those of the algorithm's.
    """

    risks: FloatArray
    covariance: FloatArray
    with_rules: FloatArray


@dataclass(frozen=True, slots=True)
class RuleMoments:
    """Risks of the rules of Q directions in the K tested folds (K, Q, 2), and their covariances (K, Q, 2, 2).

    ``units`` (K, 2): how many rows of equal weight, or clusters, the rows of each group in a fold are worth.
    """

    risks: FloatArray
    covariance: FloatArray
    units: FloatArray
    algorithms: tuple[AlgorithmMoments, ...]


def rule_moments(scores: Scores, sequence: FoldSequence, grid: FloatArray, losses: FloatArray) -> RuleMoments:
    """Estimate the risks of rules and algorithms in every tested fold, with their joint covariance."""
    K, Q, J = sequence.n_folds, len(grid), len(losses)
    risks, covariance, units = np.empty((K, Q, 2)), np.empty((K, Q, 2, 2)), np.empty((K, 2))
    own, own_covariance, with_rules = np.empty((J, K, 2)), np.empty((J, K, 2, 2)), np.empty((J, K, Q, 2, 2))
    for k in range(K):
        rows = np.flatnonzero(sequence.fold == k)
        means = _FoldMeans(scores, rows)
        units[k] = means.units
        algorithms = [means.of(loss[rows]) for loss in losses]
        for j, (mean, influence) in enumerate(algorithms):
            own[j, k], own_covariance[j, k] = mean, means.covariance(influence, influence)
        t, l0, dl = scores.t[rows], scores.l0[rows], scores.dl[rows]
        for i, p in enumerate(grid / sequence.shares[k]):
            selected = t[:, 0] * p[0] + t[:, 1] * p[1] > 0.0
            risks[k, i], influence = means.of(l0 + dl * selected)
            covariance[k, i] = means.covariance(influence, influence)
            for j, (_, other) in enumerate(algorithms):
                with_rules[j, k, i] = means.covariance(influence, other)
    algorithms_of = tuple(AlgorithmMoments(own[j], own_covariance[j], with_rules[j]) for j in range(J))
    return RuleMoments(risks, covariance, units, algorithms_of)


class _FoldMeans:
    """Means by group in one fold, and their influences by row or cluster."""

    def __init__(self, scores: Scores, rows: IntArray) -> None:
        self.weight, group = scores.weight[rows], scores.group[rows]
        self.by_group = by_group(group, 2)
        self.clusters: IntArray | None = None
        if scores.clusters is not None:
            self.clusters = np.unique(scores.clusters[rows], return_inverse=True)[1]
        own = [self._by_unit(self.weight * (group == g)) for g in range(2)]
        # (sum of weights)^2 / sum of squared weights, of rows or clusters
        self.units = np.array([float(w.sum()) ** 2 / float((w**2).sum()) for w in own])
        # a variance estimated from m units is too small by (m - 1) / m
        self.factor = np.sqrt(self.units / np.maximum(self.units - 1.0, 1e-9))

    def of(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means (2,) of values (m,) by group, and the influences (units, 2) on them."""
        means, influence = np.empty(2), np.zeros((len(values), 2))
        for g, rows in enumerate(self.by_group):
            w = self.weight[rows]
            total = float(w.sum())
            means[g] = float((w * values[rows]).sum()) / total
            influence[rows, g] = self.factor[g] * w * (values[rows] - means[g]) / total
        return means, np.column_stack([self._by_unit(column) for column in influence.T])

    def covariance(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Covariance (2, 2) of two pairs of means from their influences."""
        # sums, not products of matrices: the last bits of these depend on how many threads the library uses
        products = [[float((one[:, g] * other[:, h]).sum()) for h in range(2)] for g in range(2)]
        return np.array(products)

    def _by_unit(self, column: FloatArray) -> FloatArray:
        return column if self.clusters is None else np.bincount(self.clusters, column).astype(np.float64)


def _known(e: FloatArray, moments: RuleMoments) -> AlgorithmMoments:
    """Moments of a fixed risk pair."""
    K, Q = moments.risks.shape[:2]
    return AlgorithmMoments(np.tile(e, (K, 1)), np.zeros((K, 2, 2)), np.zeros((K, Q, 2, 2)))


# --- the test -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Between:
    """Directions ``x`` (m, 2) between neighbours of a grid, with the positions (m,) of the first neighbour.

    ``nearer_second`` (m,): whether the second one is nearer.
    """

    x: FloatArray
    first: IntArray
    nearer_second: BoolArray


def directions_between(grid: FloatArray, n: float) -> Iterator[Between]:
    """All directions that are tested, some cells of the grid at a time: sqrt(n) log n in every cell, and its ends."""
    angle = np.unwrap(np.arctan2(grid[:, 1], grid[:, 0]))
    steps = int(np.ceil(np.sqrt(n) * np.log(n)))
    at = np.linspace(0.0, 1.0, steps + 1)
    many = max(1, MOST_DIRECTIONS // len(at))
    for start in range(0, len(grid) - 1, many):
        cells = np.arange(start, min(start + many, len(grid) - 1))
        turned = angle[cells][:, None] + np.diff(angle)[cells][:, None] * at
        x = np.stack([np.cos(turned), np.sin(turned)], axis=-1)
        x[:, 0], x[:, -1] = grid[cells], grid[cells + 1]
        nearer = np.tile(at > 0.5, len(cells))
        yield Between(x.reshape(-1, 2), np.repeat(cells, len(at)), nearer)


def _test(
    grid: FloatArray,
    moments: RuleMoments,
    algorithm: AlgorithmMoments,
    noise: FloatArray,
    sizes: tuple[float, float],
) -> SequentialTest:
    """Go through all directions; the smallest T decides."""
    smallest, at = np.inf, grid[0]
    for directions in directions_between(grid, float(moments.units.sum())):
        T = statistics_at(directions, moments, algorithm, noise, sizes)
        j = int(np.argmin(T))
        if T[j] < smallest:
            smallest, at = float(T[j]), directions.x[j]
    return SequentialTest(smallest, at, float(ndtr(-smallest)))


def statistics_at(
    directions: Between,
    moments: RuleMoments,
    algorithm: AlgorithmMoments,
    noise: FloatArray,
    sizes: tuple[float, float],
) -> FloatArray:
    """T (m,) at directions.

    ``sizes``: the largest difference that a rule can make to the loss of a row, and the largest difference between
    two losses.
    """
    total = np.zeros(len(directions.x))
    for k in range(len(noise)):
        kappa = _kappa(directions.x, algorithm.risks[:k])
        rule = directions.first + _second_is_better(directions, moments.risks[:k])
        total += _studentised(directions.x, kappa, _Fold(k, moments, algorithm), rule, noise[k], sizes)
    return np.asarray(total / np.sqrt(len(noise)))


def _kappa(x: FloatArray, past: FloatArray) -> FloatArray:
    """Return kappa (m,) by the sign of the algorithm's gap in the tested folds before (k, 2); half way without one."""
    gap = float(past[:, 0].mean() - past[:, 1].mean()) if len(past) else 0.0
    share = 0.5 if abs(gap) <= ROUNDING * float(np.abs(past).max(initial=0.0)) else float(gap > 0.0)
    return np.asarray(2.0 * share * np.maximum(x[:, 0], 0.0) - 2.0 * (1.0 - share) * np.maximum(x[:, 1], 0.0))


def _second_is_better(directions: Between, past: FloatArray) -> BoolArray:
    """Whether the second neighbour's rule is used (m,): by the rules' risks (k, Q, 2) in the tested folds before."""
    if len(past) == 0:
        return directions.nearer_second
    risks = past.mean(axis=0)
    change = risks[directions.first + 1] - risks[directions.first]
    better: BoolArray = (directions.x * change).sum(axis=1) > ROUNDING * float(np.abs(risks).max())
    return better


@dataclass(frozen=True, slots=True)
class _Fold:
    """One tested fold."""

    k: int
    moments: RuleMoments
    algorithm: AlgorithmMoments


def _studentised(
    x: FloatArray, kappa: FloatArray, fold: _Fold, rule: IntArray, xi: float, sizes: tuple[float, float]
) -> FloatArray:
    """z_k (m,) of rules (m,) at directions (m, 2), turned into the normal number that is as extreme as a t is."""
    k, rules, algorithm = fold.k, fold.moments, fold.algorithm
    own = np.column_stack([kappa, -kappa]) - x  # M = x'e + own'e*
    M = (x * rules.risks[k, rule]).sum(axis=1) + own @ algorithm.risks[k]
    V, V_by_group = np.zeros(len(x)), np.zeros((len(x), 2))
    for g in range(2):
        for h in range(2):
            part = x[:, g] * x[:, h] * rules.covariance[k, rule, g, h]
            part += own[:, g] * own[:, h] * algorithm.covariance[k, g, h]
            part += 2.0 * x[:, g] * own[:, h] * algorithm.with_rules[k, rule, g, h]
            V += part
            if g == h:
                V_by_group[:, g] = np.maximum(part, 0.0)
    units = rules.units[k]
    largest = np.abs(x) * sizes[0] + np.abs(kappa)[:, None] * sizes[1]
    fill = np.maximum(largest**2 * units ** (-5.0 / 3.0) - V_by_group, 0.0).sum(axis=1)
    z = (M + np.sqrt(fill) * xi) / np.sqrt(np.maximum(V, 0.0) + fill)
    tail = ndtri(stdtr(max(float(units.min()) - 1.0, 1.0), -np.minimum(np.abs(z), FURTHEST)))
    return np.asarray(-np.sign(z) * np.maximum(tail, -FURTHEST))
