"""The sequential test written out row by row, and hostile learners for it."""

import math

import numpy as np
from scipy import stats

from fairfrontier.frontier.support import Scores
from fairfrontier.inference.lda.directions import robust_grid
from fairfrontier.inference.lda.sequential import sequential_tests
from fairfrontier.learning.folds import FoldSequence

FIXED = np.empty((0, 2))


def plain_statistic(x, scores, sequence, loss, noise, between):
    """T at one direction ``x`` between the directions ``between`` (2, 2) of the grid, by its definition."""
    terms = []
    for k in range(len(noise)):
        rule = _rule(x, scores, sequence, k, between)
        kappa = _kappa(x, scores, sequence, k, loss)
        own = [kappa - x[0], -kappa - x[1]]
        rows = [i for i in range(len(loss)) if sequence.fold[i] == k]
        rule_loss = {i: scores.l0[i] + scores.dl[i] * _selects(rule, scores, sequence, k, i) for i in rows}
        M, influence, units = 0.0, {}, []
        for g in range(2):
            member = [i for i in rows if scores.group[i] == g]
            total = sum(scores.weight[i] for i in member)
            value = {i: x[g] * rule_loss[i] + own[g] * loss[i] for i in member}
            mean = sum(scores.weight[i] * value[i] for i in member) / total
            M += mean
            by_unit = {}
            for i in member:
                unit = i if scores.clusters is None else scores.clusters[i]
                by_unit[unit] = by_unit.get(unit, 0.0) + scores.weight[i]
            units.append(sum(by_unit.values()) ** 2 / sum(w**2 for w in by_unit.values()))
            factor = math.sqrt(units[g] / (units[g] - 1.0))
            for i in member:
                unit = i if scores.clusters is None else scores.clusters[i]
                pair = influence.setdefault(unit, [0.0, 0.0])
                pair[g] += factor * scores.weight[i] * (value[i] - mean) / total
        V = sum((a + b) ** 2 for a, b in influence.values())
        spread = np.ptp([*scores.l0, *(scores.l0 + scores.dl), *loss])
        fill = 0.0
        for g in range(2):
            largest = abs(x[g]) * np.abs(scores.dl).max() + abs(kappa) * max(spread, np.abs(scores.dl).max())
            own_variance = sum(pair[g] ** 2 for pair in influence.values())
            fill += max(largest**2 * units[g] ** (-5 / 3) - own_variance, 0.0)
        z = (M + math.sqrt(fill) * noise[k]) / math.sqrt(V + fill)
        degrees = max(min(units) - 1.0, 1.0)
        terms.append(math.copysign(stats.norm.isf(stats.t.sf(abs(z), degrees)), z))
    return sum(terms) / math.sqrt(len(terms))


def _selects(q, scores, sequence, k, i):
    p = q / sequence.shares[k]
    return float(scores.t[i, 0] * p[0] + scores.t[i, 1] * p[1] > 0.0)


def _mean_risks(values, scores, sequence, k):
    """Risks (2,) in every tested fold before k, averaged over these folds."""
    folds = []
    for j in range(k):
        rows = [i for i in range(len(scores.l0)) if sequence.fold[i] == j]
        folds.append(
            [
                sum(scores.weight[i] * values(i, j) for i in rows if scores.group[i] == g)
                / sum(scores.weight[i] for i in rows if scores.group[i] == g)
                for g in range(2)
            ]
        )
    return np.mean(folds, axis=0)


def _rule(x, scores, sequence, k, between):
    first, second = between
    if k == 0:
        return first if np.arccos(np.clip(x @ first, -1, 1)) <= np.arccos(np.clip(x @ second, -1, 1)) else second
    risks = [
        _mean_risks(
            lambda i, j, q=q: scores.l0[i] + scores.dl[i] * _selects(q, scores, sequence, j, i), scores, sequence, k
        )
        for q in between
    ]
    return second if x @ (risks[1] - risks[0]) > 1e-9 else first


def _kappa(x, scores, sequence, k, loss):
    share = 0.5
    if k > 0:
        r, b = _mean_risks(lambda i, j: loss[i], scores, sequence, k)
        share = 0.5 if abs(r - b) < 1e-9 else float(r > b)
    return 2.0 * share * max(x[0], 0.0) - 2.0 * (1.0 - share) * max(x[1], 0.0)


def edge_and_noise(n, rng):
    """Half of the people where y = 1 in one group and 0 in the other, coins elsewhere; a lottery has no alternative."""
    group, edge = rng.integers(2, size=n), rng.random(n) < 0.5
    y = np.where(edge, group == 0, rng.random(n) < 0.5) * 1.0
    return group, edge, y


def hostile_p_value(learner, n, n_folds, n_learning, rng):
    """p-value of the sequential test of a fair lottery, without an alternative, with a hostile learner.

    * "signs": rows that are noise are selected by the product of the signs of all folds before;
    * "means": by the sign of the mean of all rows before;
    * "stops": by a fair coin of each fold until the fold's statistics add up to a rejection, then as the lottery does.
    """
    group, edge, y = edge_and_noise(n, rng)
    fold = rng.permutation(np.arange(n) % n_folds)
    dl, t = 1.0 - 2.0 * y, np.zeros((n, 2))
    t[edge] = (-0.5, 0.5)
    # the lottery as an algorithm of its own: a rule that equals it has the same decisions
    decisions = np.full(n, 0.5) if learner != "stops" else rng.integers(2, size=n) * 1.0
    ahead, shares = 0.0, []
    for k in range(n_learning, n_folds):
        past, rows = fold < k, np.flatnonzero((fold == k) & ~edge)
        shares.append([np.mean(group[past] == g) for g in range(2)])
        if learner == "signs":
            sign = np.prod([np.sign(dl[(fold == j) & ~edge].sum() or 1.0) for j in range(k)])
            t[rows] = 0.05 * sign
        elif learner == "means":
            t[rows] = 0.05 * np.sign(dl[past & ~edge].mean())
        elif ahead > 1.645 * np.sqrt(n_folds - n_learning):
            t[rows] = np.where(decisions[rows, None] > 0.5, -0.05, 0.05)
        else:
            t[rows] = -0.05 * rng.choice([-1.0, 1.0])
        gain = (0.5 - 0.5 * np.sign(t[rows].sum(axis=1)) - decisions[rows]) * dl[rows]
        ahead += (
            -gain.mean() / (gain.std() / np.sqrt(len(rows)) + 1e-9) if learner == "stops" and gain.std() > 0 else 0.0
        )
    tested = fold >= n_learning
    scores = Scores(y[tested], dl[tested], t[tested], group[tested], np.ones(tested.sum()))
    sequence = FoldSequence(fold[tested] - n_learning, np.array(shares), int((~tested).sum()))
    losses = (y + decisions * dl)[tested][None]
    seed = np.random.SeedSequence(int(rng.integers(2**31)))
    return sequential_tests(scores, sequence, losses, FIXED, seed)[0].p_value


def random_case(rng, n=60, n_folds=3, weighted=False, clustered=False, ties=False):
    """Scores and folds with few rows; ties, weights and clusters on request."""
    group = rng.permutation(np.arange(n) % 2)
    y = rng.integers(2, size=n) * 1.0
    t = rng.integers(-1, 2, size=(n, 2)) * 1.0 if ties else rng.normal(size=(n, 2))
    weight = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    fold = rng.permutation(np.arange(n) % n_folds)
    clusters = None
    if clustered:  # within folds, of both groups
        clusters = np.unique(fold * n + rng.integers(6, size=n), return_inverse=True)[1]
    scores = Scores(y, 1.0 - 2.0 * y, t, group, weight, clusters)
    return scores, FoldSequence(fold, rng.uniform(0.3, 0.7, (n_folds, 1)) * [1.0, 0.0] + [0.0, 0.5], 10)


def grid_of(sequence):
    """The grid of directions that the test uses."""
    return robust_grid(len(sequence.fold) + sequence.learning_rows)
