"""Tables with and without copied rows, and a plain account of what tells them apart."""

import itertools
import math

import numpy as np
import pandas as pd

HOW = ("2 copies", "3 copies", "10 copies", "group to parity", "outcome to parity")
NEAR = ("2 near copies", "group interpolated to parity")
"""Copies that have no twins: with noise added, or between two rows of the same group and outcome, as by SMOTE."""


def normal_rows(n, rng, share=0.5, success=0.5):
    """Five normal covariates; group and outcome by chance, of which one share is of group 1 and the other succeeds."""
    return pd.DataFrame(rng.normal(size=(n, 5))), (rng.random(n) < share).astype(int), (rng.random(n) < success) * 1.0


def discrete_rows(n, rng, steps=(1.0, 1.0, 0.5), effect=1.0):
    """Dependent normal covariates rounded to steps; group and outcome depend on them."""
    shared = rng.normal(size=n)
    X = np.column_stack([np.round((0.5 * shared + rng.normal(size=n)) / step) for step in steps])
    group = (rng.random(n) < 1 / (1 + np.exp(-shared))).astype(int)
    chance = 1 / (1 + np.exp(-effect * (X[:, 0] + group - 0.5)))
    return pd.DataFrame(X), group, (rng.random(n) < chance) * 1.0


def copied_rows(rows, how, rng):
    """The same rows several times, or with the smaller group (or outcome) drawn again up to the size of the other."""
    X, group, y = rows
    if how.endswith("copies"):
        at = np.repeat(np.arange(len(y)), int(how.split()[0]))
    else:
        labels, counts = np.unique(group if how.startswith("group") else y, return_counts=True)
        small = np.flatnonzero((group if how.startswith("group") else y) == labels[counts.argmin()])
        at = np.concatenate([np.arange(len(y)), rng.choice(small, counts.max() - counts.min())])
    at = rng.permutation(at)
    return X.iloc[at].reset_index(drop=True), group[at], y[at]


def near_copies(rows, how, rng):
    """Every row twice, the second time with a little noise; or the smaller group filled up by interpolated rows."""
    X, group, y = rows
    values = X.to_numpy()
    if how.startswith("2"):
        made, at = values + 0.01 * rng.normal(size=values.shape), np.arange(len(y))
    else:
        counts = np.bincount(group, minlength=2)
        at = rng.choice(np.flatnonzero(group == counts.argmin()), counts.max() - counts.min())
        made = np.empty((len(at), values.shape[1]))
        for j, i in enumerate(at):
            alike = np.flatnonzero((group == group[i]) & (y == y[i]))
            near = alike[np.argsort(((values[alike] - values[i]) ** 2).sum(axis=1))[1:6]]
            made[j] = values[i] + rng.random() * (values[rng.choice(near)] - values[i])
    order = rng.permutation(len(y) + len(at))
    together = (np.vstack([values, made]), np.append(group, group[at]), np.append(y, y[at]))
    X, group, y = (column[order] for column in together)
    return pd.DataFrame(X), group, y


def plain_explained_share(X, group, y, j, member):
    """o_j / o of the rows ``member``, by looking at every pair of rows; column j is the group if j is the last."""
    table = [(*row, g) for row, g in zip(X.itertuples(index=False), group, strict=True)]
    rest = [(*row[:j], *row[j + 1 :]) for row in table]
    n = len(y)
    near = [sum(rest[i] == rest[k] for k in range(n)) - 1 for i in range(n)]
    sums = dict.fromkeys(itertools.product((True, False), repeat=2), 0.0)
    unit = [0.0, 0.0]
    for i in np.flatnonzero(member):
        others = [k for k in range(n) if k != i and rest[k] == rest[i]]
        for k in others:
            sums[table[i][j] == table[k][j], y[i] == y[k]] += 1.0 / near[i]
        share = sum(table[i][j] == table[k][j] for k in others) / max(near[i], 1)
        unit[0], unit[1] = unit[0] + share**2, unit[1] + share
    if sums[True, True] == 0.0:
        return math.inf
    weight = 2.0 * unit[0] / unit[1]
    pairs = sums[True, False] / weight
    limit = weight * (pairs + 3.3 * math.sqrt(pairs + 1.0) + 3.3)
    return limit * sums[False, True] / (sums[False, False] + 1.0) / sums[True, True]
