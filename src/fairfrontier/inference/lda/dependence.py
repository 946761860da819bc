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

Where decisions have a margin repetitions agree and nothing is added. A learner whose repetitions differ for other
reasons than the folds gets more added than is missing, which costs power. This is a model and not a bound: with two
folds it adds too much, and with as many folds as rows that are alike repetitions agree and it adds nothing.
"""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from ...frontier.attainable import Attainable


def disagreement_factor(n_folds: int) -> float:
    """Variance rho_K that is missing for each unit of disagreement between repetitions with K folds."""
    missing = (n_folds - 1) * (2.0 / np.pi) / (4.0 * np.sqrt(2.0 * n_folds - 3.0))
    disagree = np.arccos((n_folds - 1) / n_folds) / np.pi
    return float(missing / disagree)


def added_variance(function: Attainable, q: FloatArray, n_folds: int) -> FloatArray:
    """Variances (k, 2, 2) to add to those of sqrt(n) times the risk pairs of the rules of directions ``q`` (k, 2).

    Nothing without several repetitions of the cross-fitting. Scores of rows of one cluster are summed before squaring.
    """
    s, added = function.scores, np.zeros((len(q), 2, 2))
    if s.n_rep == 1:
        return added
    people, n_rep, n = slice(s.n_obs), s.n_rep, s.n_obs
    group, own = s.group[people], s.weight[people] * s.dl[people] / (s.weight_sums / n_rep)[s.group[people]]
    clusters = np.arange(n) if s.clusters is None else s.clusters[people]
    for k, direction in enumerate(q):
        chance = s.averaged(function.selected(direction))
        rows = np.flatnonzero((chance > 0.0) & (chance < 1.0))
        chance = chance[rows]
        # share of the pairs of repetitions that disagree: 2 c (R - c) / (R (R - 1)) with c of R that select
        disagreeing = 2.0 * chance * (1.0 - chance) * n_rep / (n_rep - 1)
        moved = own[rows] * np.sqrt(disagreeing)
        if s.clustered:
            unit = np.unique(clusters[rows], return_inverse=True)[1]
            sums = np.bincount(2 * unit + group[rows], moved, 2 * len(rows)).reshape(-1, 2)
            added[k] = sums.T @ sums
        else:
            added[k] = np.diag(np.bincount(group[rows], moved**2, 2))
    return n * disagreement_factor(n_folds) * added
