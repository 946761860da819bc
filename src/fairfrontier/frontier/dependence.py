"""What the dependence between folds adds to the variance of a rule's value.

The rule that decides in fold k was learned from fold l, and the rule of l from k. Where a decision is noise, because at
that row nothing can be learned, it has the sign of what the other folds happened to show, and the folds' contributions
are correlated. Draws hold the rules, so they do not show it.

Let z_i be the scores of rows whose decision is noise, with K folds. The sum of a_i z_i then has the variance
(1 + (K - 1)(2 / pi) / sqrt(2 K - 3)) / 4 per squared score instead of 1 / 4. Two repetitions of the cross-fitting learn
from training rows that agree in a share of (K - 1) / K, so they decide differently about such a row with probability
arccos((K - 1) / K) / pi. The ratio of the two,

    rho_K = (K - 1)(2 / pi) / (4 sqrt(2 K - 3)) / (arccos((K - 1) / K) / pi),

turns the disagreement between repetitions, which can be seen, into the variance that is missing:

    added(x) = n rho_K sum_i (x_g w_i dl_i)^2 d_i / W_g^2,    d_i = share of pairs of repetitions that disagree about i.

Where decisions are certain repetitions agree and nothing is added. A learner whose repetitions differ for other
reasons than the folds gets more added than is missing, which costs power. This is a model and not a bound: with two
folds it adds too much, and with as many folds as rows that are alike repetitions agree and it adds nothing.

A step (see `rule_values`) changes a decision in proportion to the score, and the score of row i contains outcomes of
others, say in an average with weights w_ij = w_ji. The sum of z_i times the mean change of R repetitions then has twice
the variance that is estimated with changes held, whatever K. Repetitions agree in a share of (K - 1) / K of the rows
that they learn from, so with S_i^2 the variance between the changes of row i

    added(x) = (K - 1 + 1 / R) sum_i (x_g w_i dl_i)^2 S_i^2 / W_g^2.

Where changes follow from averages in another way, as at 0 and 1, both sides are multiplied by the squared slope, and
less is missing where scores of different rows do not move together. So for learners that average outcomes this is what
is missing, the more exactly the smoother they are. But sums of such products are skewed to the right: those of averages
in v cells have a chi-squared law with v degrees of freedom, which exceeds the normal 5% point of its own variance in up
to 7% of samples. With half as much again added (`SKEWED`) it is 5.8% for one cell, 5.2% for ten and less for many.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from .attainable import Attainable

SKEWED = 1.5
"""So many times what is missing of a step's variance is added, because the sum of noise is not normal."""


def disagreement_factor(n_folds: int) -> float:
    """Variance rho_K that is missing for each unit of disagreement between repetitions with K folds."""
    missing = (n_folds - 1) * (2.0 / np.pi) / (4.0 * np.sqrt(2.0 * n_folds - 3.0))
    disagree = np.arccos((n_folds - 1) / n_folds) / np.pi
    return float(missing / disagree)


def step_factor(n_folds: int, n_rep: int) -> float:
    """The same for steps, whose disagreement is twice the variance between the changes of R repetitions."""
    return SKEWED * (n_folds - 1 + 1.0 / n_rep) / 2.0


def added_variance(function: Attainable, q: FloatArray, n_folds: int) -> FloatArray:
    """Variances (k, 2, 2) to add to those of sqrt(n) times the risk pairs of the rules of directions ``q`` (k, 2).

    Nothing without several repetitions of the cross-fitting. Scores of rows of one cluster are summed before squaring.
    """
    s, added = function.scores, np.zeros((len(q), 2, 2))
    if s.n_rep == 1:
        return added
    people = slice(s.n_obs)
    own = s.weight[people] * s.dl[people] / (s.weight_sums / s.n_rep)[s.group[people]]
    clusters = s.clusters[people] if s.clustered and s.clusters is not None else None
    for k, direction in enumerate(q):
        chance = s.averaged(function.selected(direction))
        added[k] = covariance_of_disagreement(own, chance, s.n_rep, s.group[people], 2, clusters)
    return s.n_obs * disagreement_factor(n_folds) * added


def covariance_of_disagreement(
    scores: FloatArray,
    chance: FloatArray,
    n_rep: int,
    group: IntArray,
    n_groups: int,
    clusters: IntArray | None = None,
) -> FloatArray:
    """Sum (G, G) over clusters, or rows, of the products of their scores (n,) times the root of the disagreement.

    ``chance`` (n,): the share of the ``n_rep`` repetitions that select a row. Times rho_K it is what is missing.
    """
    rows = np.flatnonzero((chance > 0.0) & (chance < 1.0))
    chance = chance[rows]
    # share of the pairs of repetitions that disagree: 2 c (R - c) / (R (R - 1)) with c of R that select
    moved = scores[rows] * np.sqrt(2.0 * chance * (1.0 - chance) * n_rep / (n_rep - 1))
    if clusters is None:
        return np.diag(np.bincount(group[rows], moved**2, n_groups))
    unit = np.unique(clusters[rows], return_inverse=True)[1]
    sums = np.bincount(n_groups * unit + group[rows], moved, n_groups * len(rows)).astype(np.float64)
    found: FloatArray = sums.reshape(-1, n_groups).T @ sums.reshape(-1, n_groups)
    return found
