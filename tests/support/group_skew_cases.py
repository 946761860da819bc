"""Samples for the test of group skew, fitted objects with its parts, and draws counted by plain loops."""

import numpy as np

from fairfrontier.inference.group_skew import skew_points
from support.lda_cases import Case
from support.small_samples import Rows, fit

B = 99
ONE_DRAW = 1 / (1 + B)
METHODS = ("sharp", "paper")
SIDES = (True, False)
CASES = (("plain", 100), ("weights", 60), ("clusters", 80), ("bounds", 120))


def two_sided_rows(n=200, seed=0):
    """What predicts one outcome in group 1 predicts the other in group 0: best points on different sides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    g = (rng.random(n) < 0.5).astype(int)
    p1 = np.where(X[:, 0] + 0.01 * X[:, 1] > 0, 0.95, 0.05)
    p0 = np.where(X[:, 0] - 0.01 * X[:, 1] > 0, 0.05, 0.95)
    y = (rng.random(n) < np.where(g == 1, p1, p0)).astype(int)
    noise = 1 + 0.1 * rng.random((n, 2))
    return Rows(X, y, g, noise * np.column_stack([0.5 * (1 - 2 * p1), 0.5 * (1 - 2 * p0)]))


def one_sided_rows(n=200, seed=0):
    """The outcome of group 1 can be predicted and that of group 0 hardly: group 0 always has the higher risk."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    g = (rng.random(n) < 0.5).astype(int)
    p1, p0 = np.where(X[:, 0] > 0, 0.97, 0.03), 0.5 + 0.08 * np.tanh(X[:, 0] + X[:, 1])
    y = (rng.random(n) < np.where(g == 1, p1, p0)).astype(int)
    noise = 1 + 0.1 * rng.random((n, 2))
    return Rows(X, y, g, noise * np.column_stack([0.5 * (1 - 2 * p1), 0.5 * (1 - 2 * p0)]))


class Skew:
    """A fitted object, both results of the test and the parts they were made from."""

    def __init__(self, kind, n):
        self.case = Case(kind, n)
        self.ff = self.case.ff
        self.context = self.case.context
        self.parts = {method: skew_points(self.context, method) for method in METHODS}
        self.tests = {method: self.ff.test_group_skew(method=method) for method in METHODS}


def reaching(r, b, R, B_):
    """Number of draws (k,) at or above T for pairs of points, row by row."""
    (t_r, d_r), (t_b, d_b) = r.test(R), b.test(B_)
    return np.array([np.count_nonzero(d >= t - 1e-11) for t, d in zip(t_r + t_b, d_r + d_b, strict=True)])


def in_both_orders(data):
    """Fits whose first group is the one or the other."""
    yield fit(data, options={"n_boot": B, "groups": (1, 0)})
    yield fit(data, t=data.t[:, ::-1], options={"n_boot": B, "groups": (0, 1)})


def side_grid(point, spacing, above, shift=0.37):
    """A grid of one side, of no relation to the lattices of the search, and points on the line."""
    cell = spacing / np.sqrt(point.n_obs)
    axis = np.arange(-0.4, 1.4, cell) + shift * cell
    every = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    own = every[(every[:, 1] >= every[:, 0]) if above else (every[:, 1] <= every[:, 0])]
    line = np.arange(-0.4, 1.4, cell / 2)
    return np.vstack([own, np.column_stack([line, line])])


def reached(point, points):
    """Number of draws (k,) at or above T."""
    return np.array([np.count_nonzero(d >= t - 1e-11) for t, d in zip(*point.test(points), strict=True)])
