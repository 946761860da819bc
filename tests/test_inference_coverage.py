"""Monte Carlo: bootstrap variances and coverage of the bands when the nuisance functions are the true ones."""

import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.special import expit, ndtr, ndtri

from fairfrontier import FairFrontier
from fairfrontier.datasets import liu_molinari_truth
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.inference.bands import BAND_DIRECTIONS

pytestmark = pytest.mark.slow

N, N_BOOT, JOBS = 2000, 300, 2
STRIDE = 14  # every fourteenth direction of the band: 72 of 1,000
SHARES = np.array([0.6, 0.4])
DESIGNS = ("balanced", "skewed")


def design_rows(uniform, latent_group, latent_y, design):
    """Group, outcome and true nuisance pairs from uniform numbers: (n, 4) for the covariates that matter."""
    low, high = ndtr(-3.0), ndtr(3.0)
    x1, x4 = ndtri(low + uniform[:, 0] * (high - low)), ndtri(low + uniform[:, 3] * (high - low))
    x2, x3 = uniform[:, 1], 0.5 + np.sin(np.arcsin(2.0 * uniform[:, 2] - 1.0) / 3.0)  # Beta(2, 2)
    if design == "balanced":
        in_r, in_b = expit(x1 + x2 + 0.5 * x3), expit(-x1 - 0.5 * x2 + x4)
    else:
        in_r, in_b = expit(2.0 * (x1 + x2 + x3)), expit(0.7 * (x1 + 0.5 * x2 + 0.6 * x4))
    group = (latent_group < SHARES[0]).astype(int)
    y = (latent_y < np.where(group == 1, in_r, in_b)).astype(int)
    return y, group, SHARES * np.column_stack([1.0 - 2.0 * in_r, 1.0 - 2.0 * in_b])


def independent_rows(rng, design):
    return design_rows(rng.random((N, 4)), rng.random(N), rng.random(N), design)


def clustered_rows(rng, design, size=5):
    """Clusters with correlated covariates, groups and outcomes; each row by itself is as in the design."""

    def shared(share, columns):
        common = np.repeat(rng.normal(size=(N // size, columns)), size, axis=0)
        return ndtr(np.sqrt(share) * common + np.sqrt(1.0 - share) * rng.normal(size=(N, columns)))

    y, group, t = design_rows(shared(0.95, 4), shared(0.8, 1)[:, 0], shared(0.7, 1)[:, 0], design)
    return y, group, t, np.repeat(np.arange(N // size), size)


def fitted(y, group, t, seed, clusters=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return FairFrontier(n_boot=N_BOOT, random_state=seed).fit(
            None, y, sensitive_features=group, external_nuisance=t, clusters=clusters
        )


def covers(band, q, truth):
    return bool(((band.lower(q) <= truth) & (truth <= band.upper(q))).all())


def one_independent(seed, design, q, truth):
    ff = fitted(*independent_rows(np.random.default_rng(seed), design), seed)
    feasible = ff.feasible_set()
    few = q[::STRIDE]
    held = np.sqrt(N) * feasible.context.draw(few, hold_rules=True).h
    draws = np.sqrt(N) * feasible.context.draw(few).h
    band = feasible.confidence_band()
    return (
        held.var(axis=0, ddof=1),
        draws.var(axis=0, ddof=1),
        np.diag(ff.support_covariance(few)),
        np.sqrt(N) * (ff.support(few) - truth[::STRIDE]),
        [covers(band, q, truth), covers(band, few, truth[::STRIDE])],
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_bootstrap_variance_and_coverage_of_the_band(design):
    q = unit_circle(BAND_DIRECTIONS)
    truth = liu_molinari_truth(design).support(q)
    n_rep = 2000
    found = Parallel(n_jobs=JOBS, batch_size=50)(
        delayed(one_independent)(seed, design, q, truth) for seed in range(n_rep)
    )
    held, bootstrap, influence, error = (np.array([f[i] for f in found]) for i in range(4))
    held_ratio, ratio = (x.mean(axis=0) / influence.mean(axis=0) for x in (held, bootstrap))
    against_sampling = bootstrap.mean(axis=0) / error.var(axis=0)
    everywhere, on_few = np.mean([f[4] for f in found], axis=0)
    print(
        f"\n{design}: bootstrap variance / influence-function variance {ratio.mean():.4f} on average, "
        f"{ratio.min():.4f} to {ratio.max():.4f} (rules held: "
        f"{held_ratio.min():.4f} to {held_ratio.max():.4f}); "
        f"/ sampling variance {against_sampling.mean():.3f} on average, "
        f"{against_sampling.min():.3f} to {against_sampling.max():.3f}; largest bias / standard deviation "
        f"{np.abs(error.mean(axis=0) / error.std(axis=0)).max():.3f}; coverage of the 95% band {everywhere:.4f} on "
        f"{len(q)} directions, {on_few:.4f} on {len(q[::STRIDE])}"
    )
    assert ratio.mean() == pytest.approx(1.0, abs=0.05)
    # where many rows are nearly indifferent the draws of mu change rules: an error of order n^(-1/2)
    np.testing.assert_allclose(ratio, 1.0, atol=0.08)
    np.testing.assert_allclose(against_sampling, 1.0, atol=0.15)  # a sampling variance is known to 3%
    np.testing.assert_allclose(held_ratio, 1.0, atol=0.05)  # the draws of the band
    assert everywhere == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / n_rep))
    assert everywhere <= on_few <= 0.99


def one_clustered(seed, design, q, truth):
    y, group, t, clusters = clustered_rows(np.random.default_rng(seed), design)
    with_clusters = fitted(y, group, t, seed, clusters).feasible_set().confidence_band()
    without = fitted(y, group, t, seed).feasible_set().confidence_band()
    return covers(with_clusters, q, truth), covers(without, q, truth)


def test_clusters_are_needed_and_enough():
    q = unit_circle(BAND_DIRECTIONS)
    truth = liu_molinari_truth("balanced").support(q)
    n_rep = 1000
    found = Parallel(n_jobs=JOBS, batch_size=25)(
        delayed(one_clustered)(seed, "balanced", q, truth) for seed in range(n_rep)
    )
    clustered, ignored = np.mean(found, axis=0)
    print(f"\nclusters of 5: coverage of the 95% band {clustered:.3f} with clusters, {ignored:.3f} without")
    assert abs(clustered - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / n_rep)
    assert ignored < clustered - 0.1
