"""Fitted objects whose set lies anywhere about the line of equal risks, and support sets by their definition."""

from dataclasses import replace

import numpy as np
from scipy.spatial import distance as scipy_distance

from fairfrontier.bootstrap.weights import RandomWeights
from support import plain
from support.lda_cases import fit_arguments
from support.small_samples import fit, rows

N, B = 160, 99
ROOT = np.sqrt(N)
SEED = np.random.SeedSequence(12)
METRICS = {
    "sqeuclidean": scipy_distance.sqeuclidean,
    "euclidean": scipy_distance.euclidean,
    "cityblock": scipy_distance.cityblock,
    "chebyshev": scipy_distance.chebyshev,
}
NOBODY = np.empty((0, 2))
ENDS = np.array([[1.0, -1.0], [-1.0, 1.0]])


def on_line(c):
    """The directions u1 - c(1, -1) = (-1 - c, c)."""
    c = np.atleast_1d(np.asarray(c, dtype=float))
    return np.column_stack([-1.0 - c, c])


def values_of(scores, q, multiplier=None):
    """Support sets (k, 2) at directions (k, 2) by their definition, with the weights multiplied if asked for."""
    weight = scores.weight if multiplier is None else scores.weight * multiplier
    mu = plain.group_shares(replace(scores, weight=weight))
    p = q / mu
    treated = scores.t[:, :1] * p[:, 0] + scores.t[:, 1:] * p[:, 1] > 0.0
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    means = [weight[g] @ loss[g] / weight[g].sum() for g in (scores.is_r, ~scores.is_r)]
    return np.column_stack(means)


def moved_by_group(scores, shift):
    """The same rows with a constant added to the losses of group b."""
    return replace(scores, l0=scores.l0 + shift * ~scores.is_r)


def breaks_on_line(scores, multiplier):
    """All c at which the rule of u1 - c(1, -1) changes: q'M t = 0."""
    mu = plain.group_shares(replace(scores, weight=scores.weight * multiplier))
    a, b = (scores.t / mu).T
    with np.errstate(divide="ignore", invalid="ignore"):
        c = a / (b - a)
    return c[np.abs(c) < 1000.0]


def perturbed_infimum(scores, multiplier, k):
    """Smallest (1 - k) h^ + k h~ for c in [-1000, 1000], from the ends of every piece on which both are linear."""
    ones = np.ones(len(scores.l0))
    c = np.sort(np.concatenate([breaks_on_line(scores, ones), breaks_on_line(scores, multiplier), [-1000.0, 1000.0]]))
    wide = np.diff(c) > 1e-11 * (1.0 + np.abs(c[1:]))
    first, last = c[:-1][wide], c[1:][wide]
    middle = on_line((first + last) / 2.0)
    v = (1.0 - k) * values_of(scores, middle) + k * values_of(scores, middle, multiplier)
    return min(float((on_line(end) * v).sum(axis=1).min()) for end in (first, last))


def loss_with_gap(gap, scale=1.0):
    """Classification loss on y mod 2, and `gap` more for the rows with y >= 2, those of group b."""

    def loss(d, y):
        return scale * (np.abs(d - y % 2) + gap * (y >= 2))

    return loss


class Case:
    """A fitted object whose set is moved up by `gap`, with algorithms and fixed risk pairs."""

    def __init__(self, kind="plain", gap=0.0, n=N, scale=1.0, **options):
        rng = np.random.default_rng(11)
        self.data, self.gap, self.scale = rows(n, 2), gap, scale
        arguments = fit_arguments(kind, n, rng)
        trust = 3.0 if kind == "overconfident" else 1.0  # the same rules, said to be better than they are
        options = {"n_boot": B, "loss": loss_with_gap(gap, scale)} | options
        y, t = self.data.y + 2.0 * (self.data.g == 0), trust * scale * self.data.t
        self.ff = fit(self.data, y=y, t=t, options=options, **arguments)
        self.decisions = {
            "coin": rng.integers(0, 2, n).astype(float),
            "rule": (self.data.t.sum(axis=1) < 0).astype(float),
            "lottery": rng.random(n),
        }
        self.context = self.ff.feasible_set().context
        self.scores = self.context.function.scores
        F = self.ff.fairest_point().risk
        near = {"fairest": 0.0, "on the line": 0.01, "off the line": np.array([0.01, 0.04])}
        self.points = {name: F + scale * move for name, move in near.items()}

    def losses(self, name):
        """Row losses of an algorithm, or None for a fixed pair; of the kept rows."""
        if name not in self.decisions:
            return None
        y, g = self.data.y.astype(float), self.data.g
        loss = self.scale * (y + self.decisions[name] * (1.0 - 2.0 * y) + self.gap * (g == 0))
        return loss[self.ff.sample_.rows]

    def results(self, **options):
        """(name, result, its risks and losses or None) for all algorithms and points."""
        algorithms = self.ff.distance_to_fairest(self.decisions, randomised=True, **options)
        points = self.ff.distance_to_fairest(risks=self.points, **options)
        for name in (*self.decisions, *self.points):
            found = algorithms[name] if name in algorithms else points[name]
            yield name, found, self.losses(name)

    def risk(self, name):
        if name in self.points:
            return self.points[name]
        s, loss = self.scores, self.losses(name)
        return np.array([np.average(loss[g], weights=s.weight[g]) for g in (s.is_r, ~s.is_r)])


def p_value_at_fairest(f, f_draws, e, e_draws):
    """Bootstrap p-value of e = F by the Mahalanobis distance of e - F, draw by draw."""
    error = np.array([e_draws[b] - f_draws[b] for b in range(B)])
    centre = e - f
    if np.ptp(e_draws, axis=0).max() == 0.0:  # only f varies, so the difference moves along (1, 1) and nowhere else
        if abs(centre[0] - centre[1]) > 1e-9:
            return 1.0 / (1.0 + B)
        reaching = [abs(f_draws[b] - f) >= abs(centre[0]) - 1e-12 for b in range(B)]
        return (1 + sum(reaching)) / (1 + B)
    mean = error.mean(axis=0)
    covariance = sum(np.outer(x - mean, x - mean) for x in error) / (B - 1)
    inverse = np.linalg.inv(covariance)
    reaching = [(x - centre) @ inverse @ (x - centre) >= centre @ inverse @ centre - 1e-12 for x in error]
    return (1 + sum(reaching)) / (1 + B)


def sharp_interval(metric, f, f_draws, e, e_draws, shifts, alpha=0.05):
    """Quantiles of the recomputed distance, at F and at F less each of the shifts; the lower end 0 if e may be F."""
    ends, p = [], []
    for shift in (0.0, *shifts):
        distances = [METRICS[metric](e_draws[b], [f_draws[b] - shift] * 2) for b in range(B)]
        ends.append(np.quantile(distances, [alpha / 2.0, 1.0 - alpha / 2.0]))
        p.append(p_value_at_fairest(f - shift, f_draws - shift, e, e_draws))
    low, high = np.min(ends), np.max(ends)
    # F's own interval may hold a point nearer than any draw
    quantiles = [np.quantile(f_draws - shift, [alpha / 2.0, 1.0 - alpha / 2.0]) for shift in (0.0, *shifts)]
    bounds = np.min(quantiles), np.max(quantiles)
    # of all these metrics the nearest point of the line is the one in the middle
    low = min(low, METRICS[metric](e, [np.clip(np.mean(e), *bounds)] * 2))
    return (0.0 if max(p) > alpha else low), high, max(p)


def turned_draws(context, q):
    """Draws (B,) of F's coordinate: the rule of q held, valued in the direction that it has under the drawn shares."""
    s, found = context.function.scores, []
    n = len(s.l0)
    unit = np.arange(n) if s.clusters is None else s.clusters
    stream = RandomWeights(context.seed, int(unit.max()) + 1).stream()
    losses = s.l0 + s.dl * (s.t @ (q / plain.group_shares(s)) > 0.0)
    for b in range(context.n_boot):
        w = s.weight * stream.draw(b)[unit]
        sums = np.array([w[s.is_r].sum(), w[~s.is_r].sum()])
        e_r, e_b = (w * losses)[s.is_r].sum() / sums[0], (w * losses)[~s.is_r].sum() / sums[1]
        x_r, x_b = sums / sums.sum() / plain.group_shares(s) - 1.0
        c = q[1] + q[1] * (1.0 + q[1]) * (x_b - x_r)
        found.append(e_r * (1.0 + c) - e_b * c)
    return np.array(found)
