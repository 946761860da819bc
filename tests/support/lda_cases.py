"""Fitted objects with algorithms and fixed risk pairs, for the tests of LDA."""

import numpy as np

from fairfrontier.inference.lda.evidence import lda_evidence
from support import plain
from support.small_samples import fit, rows

N, B = 160, 99
METHODS = ("robust", "sharp", "paper")


def fit_arguments(kind, n, rng):
    """What a fit of n rows is given besides them: "weights", "clusters", "bounds", or nothing for other kinds."""
    if kind == "weights":
        return {"sample_weight": rng.exponential(size=n) * (rng.random(n) < 0.9)}
    if kind == "clusters":
        return {"clusters": rng.permutation(np.arange(n) % (n // 4))}
    if kind == "bounds":
        return {"lower": 0.1, "upper": np.where(rng.random(n) < 0.5, 0.8, 1.0)}
    return {}


class Case:
    """A fitted object, three algorithms (a coin, a useful rule, a lottery) and two fixed pairs."""

    def __init__(self, kind, n=N):
        rng = np.random.default_rng(11)
        self.data = rows(n, 2)
        arguments = fit_arguments(kind, n, rng)
        self.ff = fit(self.data, options={"n_boot": B}, **arguments)
        self.decisions = {
            "coin": rng.integers(0, 2, n).astype(float),
            "rule": (self.data.t.sum(axis=1) < 0).astype(float),
            "lottery": rng.random(n),
        }
        self.points = {"fixed": [0.4, 0.45], "on the line": [0.45, 0.45]}
        self.context = self.ff.feasible_set().context
        self.function = self.context.function
        self.root = np.sqrt(n)
        self.step = np.sqrt(n) ** (-0.5 + 0.01)

    def results(self, method, **options):
        """(name, result, losses of the algorithm or None) for all algorithms and points."""
        l0 = self.data.y.astype(float)
        algorithms = self.ff.test_lda(self.decisions, method=method, randomised=True, **options)
        for name, a in self.decisions.items():
            yield name, algorithms[name], l0 + a * (1 - 2 * l0)
        points = self.ff.test_lda(risks=self.points, method=method, **options)
        for name in self.points:
            yield name, points[name], None

    def drawn(self):
        """(evidence, losses of the algorithm or None) of the robust test by draws for all algorithms and points."""
        decisions, fixed = np.array(list(self.decisions.values())), np.array(list(self.points.values()))
        drawing, losses = self.ff.fit_.drawing(decisions, None)
        found = lda_evidence(drawing, losses, fixed, method="robust", n_folds=self.ff.fit_.nuisance.n_folds)
        return zip(found, [*losses, *[None] * len(fixed)], strict=True)

    def draw(self, q, losses, e, hold_rules=False):
        """h^ (K,), sqrt(n)(h~ - h^) (B, K) and sqrt(n)(e~ - e^) (B, 2) at the directions."""
        draws = self.context.draw(q, None if losses is None else losses[None], hold_rules=hold_rules)
        z_e = np.zeros((B, 2)) if losses is None else draws.z_risks()[:, 0]
        if losses is not None:
            np.testing.assert_allclose(e, draws.risks_hat[0], atol=1e-13)
        return draws.h_hat, draws.z_h(), z_e


def at_direction(case, q, h, z_h, e, z_e):
    """sqrt(n) D^(q) and its draws at one direction, loop by loop."""
    still = plain.improvement_support(e, -q)
    draws = []
    for b in range(B):
        moved = plain.improvement_support(e + case.step * z_e[b], -q)
        draws.append(z_h[b] + (moved - still) / case.step)
    return case.root * (still + h), np.array(draws)


def numbers_of(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in numbers_of(v)]
    if isinstance(value, list):
        return [x for v in value for x in numbers_of(v)]
    return [value] if isinstance(value, float) else []


def rule_values(scores, q):
    """h at directions (K, 2) by its definition, whatever the weights."""
    mu = plain.group_shares(scores)
    treated = scores.t @ (q / mu).T > 0
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    means = [np.average(loss[rows_], axis=0, weights=scores.weight[rows_]) for rows_ in (scores.is_r, ~scores.is_r)]
    return q[:, 0] * means[0] + q[:, 1] * means[1]


def with_arc_ends(scores, dense, low=0.0, high=2 * np.pi):
    """Angles of a dense grid and of both sides of every breakpoint, between low and high."""
    scaled = scores.t / plain.group_shares(scores)
    angle = np.arctan2(scaled[:, 1], scaled[:, 0])
    ends = np.concatenate([angle + k * np.pi / 2 for k in (-1, 1)])[:, None] + [-1e-10, 1e-10]
    every = np.concatenate([dense, (ends.ravel() - low) % (2 * np.pi) + low])
    return every[(every >= low) & (every <= high)]
