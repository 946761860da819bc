"""The robust test over repetitions of the cross-fitting: their lottery, and what their disagreement adds."""

from math import acos, pi, sqrt

import numpy as np
import pytest
from support.quick import QUICK

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.frontier.plane import improvement_support
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.dependence import added_variance, disagreement_factor
from fairfrontier.inference.lda.directions import between, robust_grid
from fairfrontier.inference.lda.evidence import lda_evidence
from fairfrontier.inference.p_values import step_size


def plain_added(t, dl, group, weight, q, n_folds, clusters=None):
    """n rho_K times the sum over clusters of squared sums of (x_g w_i dl_i / W_g) sqrt(d_i), as a matrix in x."""
    n_rep, n = len(t), len(dl)
    sums = [sum(weight[i] for i in range(n) if group[i] == g) for g in (0, 1)]
    total = sum(sums)
    cells = {}
    for i in range(n):
        selected = [q[0] * total / sums[0] * t[r][i][0] + q[1] * total / sums[1] * t[r][i][1] > 0 for r in range(n_rep)]
        pairs = [(a, b) for a in range(n_rep) for b in range(n_rep) if a != b]
        d = sum(selected[a] != selected[b] for a, b in pairs) / len(pairs)
        pair = cells.setdefault(i if clusters is None else clusters[i], [0.0, 0.0])
        pair[group[i]] += weight[i] * dl[i] / sums[group[i]] * sqrt(d)
    k = n_folds
    rho = (k - 1) * 2 / pi / (4 * sqrt(2 * k - 3)) / (acos((k - 1) / k) / pi)
    return n * rho * sum(np.outer(pair, pair) for pair in cells.values())


@pytest.mark.parametrize("n_rep", [2, 3, 5])
@pytest.mark.parametrize("clustered", [False, True])
def test_added_variance_is_its_formula(n_rep, clustered):
    rng = np.random.default_rng([n_rep, clustered])
    n = 60
    t = rng.integers(-2, 3, size=(n_rep, n, 2)) / 2.0  # with ties and zeros
    dl, group = rng.normal(size=n), rng.integers(2, size=n)
    weight = rng.integers(0, 3, size=n).astype(float)
    clusters = rng.integers(12, size=n) if clustered else None
    functions = [build_support_function(make_scores(dl**2, dl, own, group, weight, clusters=clusters)) for own in t]
    q = robust_grid(n)
    found = added_variance(functions, q, 5)
    for k in range(0, len(q), 5):
        expected = plain_added(t, dl, group, weight, q[k], 5, clusters)
        np.testing.assert_allclose(found[k], expected, rtol=1e-10, atol=1e-12)


def test_nothing_is_added_where_repetitions_agree():
    rng = np.random.default_rng(0)
    t, dl, group = rng.normal(size=(50, 2)), rng.normal(size=50), rng.integers(2, size=50)
    function = build_support_function(make_scores(dl**2, dl, t, group, np.ones(50)))
    assert not added_variance([function] * 3, robust_grid(50), 5).any()


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_the_factor_supplies_what_noise_lacks(n_folds):
    # decisions about rows with nothing to learn: the sign of the other folds' sum, in two repetitions
    rng = np.random.default_rng(n_folds)
    n, samples = 200, 4000
    values, naive, disagreement = np.empty(samples), np.empty(samples), np.empty(samples)
    for number in range(samples):
        z = rng.standard_normal(n)
        chosen = []
        for _ in range(2):
            fold = rng.permutation(np.arange(n) % n_folds)
            sums = np.bincount(fold, z)
            chosen.append(sums.sum() - sums[fold] > 0.0)
        a = (chosen[0] + chosen[1].astype(float)) / 2 - 0.5
        values[number], naive[number] = a @ z, (a * z) @ (a * z)
        disagreement[number] = (z**2)[chosen[0] != chosen[1]].sum()
    with_added = naive.mean() + disagreement_factor(n_folds) * disagreement.mean()
    assert values.var() > 1.3 * naive.mean()
    # a variance of `samples` values has a relative standard error of about sqrt(2 / samples) = .022
    assert values.var() < 1.1 * with_added
    assert values.var() > (0.7 if n_folds == 2 else 0.85) * with_added


@pytest.fixture(scope="module")
def repeated():
    X, y, group = make_liu_molinari(400, design="balanced", random_state=3)
    ff = FairFrontier(**QUICK | {"n_rep": 3}, n_boot=99, random_state=1).fit(X, y, sensitive_features=group)
    return ff, (X["x2"] > 0.3).to_numpy().astype(float), y, group


def test_robust_test_of_the_lottery_is_its_formula(repeated):
    ff, decisions, y, _ = repeated
    result = ff.test_lda(decisions)
    fit = ff.fit_
    n, root, s = len(y), np.sqrt(len(y)), step_size(len(y))
    contexts = fit.contexts()
    grid = robust_grid(n)
    points = np.mean([c.function.estimate.support_set(grid) for c in contexts], axis=0)
    neighbours, equal = between(grid, points)
    rules, along = np.vstack([grid, grid[neighbours]]), np.vstack([grid, equal])
    loss = np.where(decisions == 1.0, 1.0 - y, y)
    draws = [c.draw(rules, loss[None], hold_rules=True, along=along) for c in contexts]
    e, t = draws[0].risks_hat[0], [c.function.scores.t for c in contexts]
    codes = contexts[0].function.scores.group
    p_values = []
    for k in range(len(rules)):
        x = along[k]
        h = sum(d.h_hat[k] for d in draws) / 3
        drawn = sum(d.h[:, k] for d in draws) / 3
        still = improvement_support(e, x[None])[0]
        z = []
        for b in range(99):
            moved = e + s * root * (draws[0].risks[b, 0] - e)
            z.append(root * (drawn[b] - h) + (improvement_support(moved, x[None])[0] - still) / s)
        z = np.array(z)
        added = x @ plain_added(t, 1.0 - 2.0 * y, codes, np.ones(n), rules[k], ff.n_folds) @ x
        z *= np.sqrt(1.0 + added / z.var())
        p_values.append((1 + np.count_nonzero(z >= root * (still + h))) / 100)
    assert result.p_value == pytest.approx(max(p_values))
    assert (1 + np.count_nonzero(result.evidence.draws >= result.statistic)) / 100 == pytest.approx(result.p_value)


def test_equal_repetitions_test_as_one_does(repeated):
    ff, decisions, y, _ = repeated
    context, losses = ff.fit_.contexts()[0], np.where(decisions == 1.0, 1.0 - y, y)[None]
    options = {"method": "robust", "n_folds": 5}
    once = lda_evidence([context], [losses], np.empty((0, 2)), **options)[0]
    thrice = lda_evidence([context] * 3, [losses] * 3, np.empty((0, 2)), **options)[0]
    assert thrice.p_value == once.p_value
    np.testing.assert_allclose(thrice.draws, once.draws, rtol=1e-9, atol=1e-12)
