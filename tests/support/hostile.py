"""Hostile populations of finitely many cells, whose true risks are sums: small groups, clusters, weights, skew, edges.

A cell has a probability, the share of group r (coded 0) in it, and the chance of the outcome in each group. Under the
classification loss its pair is t = (w (1 - 2 p_r), (1 - w)(1 - 2 p_b)).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm


@dataclass(frozen=True)
class Population:
    """Cells: probability, share of group r, chances of the outcome in group r and b, and covariates (k, d)."""

    chance: np.ndarray
    share: np.ndarray
    p_r: np.ndarray
    p_b: np.ndarray
    x: np.ndarray

    @property
    def t(self):
        """True pairs (k, 2)."""
        return np.column_stack([self.share * (1 - 2 * self.p_r), (1 - self.share) * (1 - 2 * self.p_b)])

    @property
    def mu(self):
        """Group shares (2,)."""
        first = float(self.chance @ self.share)
        return np.array([first, 1.0 - first])

    def risks(self, decisions):
        """Risks (..., 2) of rules that select people of the cells with chances (..., k)."""
        of = np.stack([self.p_r, self.p_b], axis=1)
        by_group = self.chance[:, None] * np.column_stack([self.share, 1.0 - self.share]) / self.mu
        a = np.asarray(decisions, dtype=float)
        return a @ (by_group * (1.0 - of)) + (1.0 - a) @ (by_group * of)

    def points(self, q):
        """Support set (m, 2) at directions (m, 2)."""
        return self.risks((np.atleast_2d(q) / self.mu) @ self.t.T > 0.0)

    def h(self, q):
        """Support function (m,) at directions (m, 2)."""
        q = np.atleast_2d(q)
        return (q * self.points(q)).sum(axis=1)

    def people(self, cells, rng):
        """Group codes and outcomes of people of these cells."""
        group = (rng.random(len(cells)) >= self.share[cells]).astype(np.intp)
        y = rng.random(len(cells)) < np.where(group == 0, self.p_r[cells], self.p_b[cells])
        return group, y.astype(float)

    def sample(self, n, rng):
        """Cells, group codes and outcomes of n people."""
        cells = rng.choice(len(self.chance), n, p=self.chance)
        return cells, *self.people(cells, rng)

    def fairest(self):
        """The point on the 45-degree line with the smallest risk, where the set crosses it: its risk."""
        c = np.linspace(-30.0, 30.0, 60_001)
        return float(-self.h(np.column_stack([-1.0 - c, c])).min())


def uniform_cells(share, p_r, p_b, k=1500):
    """Cells of equal probability at fixed uniform points of the unit square, with functions of them."""
    u = np.random.default_rng(5).random((k, 2))
    columns = [np.broadcast_to(f(u[:, 0], u[:, 1]), k).astype(float) for f in (share, p_r, p_b)]
    return Population(np.full(k, 1.0 / k), *columns, u)


def minority(share):
    """A small group r."""
    return uniform_cells(lambda a, b: share, lambda a, b: expit(4 * (a - 0.5)), lambda a, b: expit(4 * (b - 0.5)))


def smooth():
    """Both groups alike in size, with different best rules."""
    return uniform_cells(
        lambda a, b: 0.3 + 0.4 * b, lambda a, b: expit(6 * (a - 0.3)), lambda a, b: expit(-3 * (a - 0.7) + 3 * b)
    )


def skewed():
    """Group r is predicted well, group b hardly."""
    return uniform_cells(
        lambda a, b: 0.5,
        lambda a, b: expit(8 * (a - 0.5)),
        lambda a, b: expit(2 * (a - 0.5) + 0.3 * (b - 0.5)),
    )


def skew_family(k):
    """Gap of B: k = 6, 4, 2, 0 about .044, .108, .180, .254; k = 7.6 about the boundary of weak skew."""
    return uniform_cells(
        lambda a, b: 0.5, lambda a, b: expit(6 * (a - 0.5) + k * (b - 0.5)), lambda a, b: expit(5 * (b - 0.5)), 3000
    )


def useless(p_r=0.9, p_b=0.2, k=50):
    """Covariates without information: every rule lies on one straight edge."""
    return Population(
        np.full(k, 1.0 / k), np.full(k, 0.5), np.full(k, p_r), np.full(k, p_b), np.arange(k, dtype=float)[:, None]
    )


def clustered(population, n_clusters, size, alike, correlation, rng):
    """Cells, group codes, outcomes and clusters: cells repeat in a cluster, group and outcome by normal scores."""
    cluster = np.repeat(np.arange(n_clusters), size)
    own = rng.choice(len(population.chance), n_clusters, p=population.chance)
    free = rng.choice(len(population.chance), len(cluster), p=population.chance)
    cells = np.where(rng.random(len(cluster)) < alike, own[cluster], free)
    scores = []
    for _ in range(2):
        common = rng.normal(size=n_clusters)[cluster]
        own_part = rng.normal(size=len(cluster))
        scores.append(norm.cdf(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own_part))
    group = (scores[0] >= population.share[cells]).astype(np.intp)
    y = scores[1] < np.where(group == 0, population.p_r[cells], population.p_b[cells])
    return cells, group, y.astype(float), cluster


def weighted(population, n, c, rng):
    """Cells, group codes, outcomes and weights of n people, each sampled by outcome and group.

    A person is taken with a known chance, one after the other, until there are n: so chances are exactly as said.
    """
    found = []
    while sum(len(cells) for cells, *_ in found) < n:
        cells, group, y = population.sample(20 * n, rng)
        chance = expit(-3 + c * (2 * y - 1) + (group == 0) + population.x[cells, 0] - 0.5)
        kept = rng.random(len(cells)) < chance
        found.append((cells[kept], group[kept], y[kept], 1.0 / chance[kept]))
    return tuple(np.concatenate(column)[:n] for column in zip(*found, strict=True))
