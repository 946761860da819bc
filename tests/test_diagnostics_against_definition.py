"""Diagnostics against plain transcriptions, and when they warn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.codes import group_codes

from fairfrontier.errors import GroupDeterminedWarning, MarginWarning
from fairfrontier.learning.diagnostics import diagnose, largest_strip_share, warn, weighted_auc

MU = (0.6, 0.4)


def pairs(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) * MU, group_codes(rng.random(n) < 0.6)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 2.0))
def test_strip_share_is_the_maximum_over_directions(seed, delta):
    rng = np.random.default_rng(seed)
    v, w = rng.normal(size=(12, 2)), rng.uniform(0.1, 1, 12)
    v[rng.random(12) < 0.2] = 0.0
    length, angle = np.hypot(v[:, 0], v[:, 1]), np.arctan2(v[:, 1], v[:, 0])
    got = largest_strip_share(angle, length, w, delta)
    # the share changes only where |q'v_i| = delta for some row; look just beside these directions
    long = length >= delta
    half = np.arcsin(delta / length[long])
    turns = [
        a + s * np.pi / 2 + e * h + d
        for a, h in zip(angle[long], half, strict=True)
        for s in (1, -1)
        for e in (1, -1)
        for d in (1e-9, -1e-9)
    ]
    best = max(
        sum(w[i] for i in range(12) if abs(np.cos(turn) * v[i, 0] + np.sin(turn) * v[i, 1]) < delta)
        for turn in [*turns, 0.0]
    )
    assert got == pytest.approx(best)


def test_strip_of_rows_in_one_direction():
    # nine rows share a direction: at right angles to it all of them are in every strip
    angle, length = np.r_[np.full(9, 0.3), 0.3 + np.pi / 2], np.ones(10)
    assert largest_strip_share(angle, length, np.full(10, 0.1), 0.01) == pytest.approx(0.9)
    assert largest_strip_share(angle, length, np.full(10, 0.1), 2.0) == pytest.approx(1.0)
    assert largest_strip_share(angle, length, np.full(10, 0.1), 0.0) == 0.0


@pytest.mark.parametrize("n_values", [1, 2, 5, 1000])
def test_area_under_the_curve(n_values):
    rng = np.random.default_rng(n_values)
    values, first, w = rng.integers(0, n_values, 200), rng.random(200) < 0.3, rng.integers(0, 3, 200).astype(float)
    codes = np.unique(values, return_inverse=True)[1]
    assert weighted_auc(codes, first, w) == pytest.approx(roc_auc_score(first, values, sample_weight=w), abs=1e-12)
    assert weighted_auc(codes, first, np.where(first, 0.0, w)) == 0.5  # no pair to compare


def test_figures_by_plain_loops():
    t, group = pairs(600)
    t[:40] = t[0]
    t[40:45] = 0.0
    w = np.random.default_rng(1).uniform(0.5, 2, 600)
    found = diagnose(t, MU, group, weight=w)
    share = w / w.sum()
    scaled = [(a / MU[0], b / MU[1]) for a, b in t]
    degrees = [np.degrees(np.arctan2(b, a)) % 360 for a, b in scaled]
    moving = [i for i in range(600) if scaled[i] != (0.0, 0.0)]
    sectors = [[i for i in moving if 10 * k <= degrees[i] < 10 * (k + 1)] for k in range(36)]
    assert found.n_directions == 600 - 39 - 5
    assert found.largest_atom == pytest.approx(share[:40].sum())
    assert found.smallest_sector_rows == min(map(len, sectors))
    assert found.smallest_sector_share == pytest.approx(min(sum(share[i] for i in s) for s in sectors))
    ordered = sorted(degrees[i] for i in moving)
    assert found.largest_gap == pytest.approx(max(np.diff([*ordered, ordered[0] + 360])))
    score = [abs(a) - abs(b) for a, b in scaled]
    assert found.group_auc == pytest.approx(roc_auc_score(group == 0, score, sample_weight=w))


def test_spread_out_pairs_are_fine():
    t, group = pairs()
    found = diagnose(t, MU, group, X=np.random.default_rng(1).normal(size=(4000, 2)))
    assert found.no_kinks_plausible
    assert not found.margin_doubtful
    assert 0.8 < found.margin_exponent < 1.1
    assert any("kinks=False is defensible" in line for line in found.lines())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn(found)


def test_an_empty_direction_speaks_against_no_kinks():
    t, group = pairs()
    angle = np.arctan2(t[:, 1] / MU[1], t[:, 0] / MU[0])
    t[np.abs(angle - 1.0) < 0.15] *= -1
    found = diagnose(t, MU, group)
    assert not found.no_kinks_plausible
    assert found.largest_gap > np.degrees(0.3)
    assert any("kinks=False is not defensible" in line for line in found.lines())


def test_few_directions_warn_unless_jittered():
    t, group = pairs()
    t = t[np.arange(4000) % 30]
    found = diagnose(t, MU, group)
    assert found.n_directions == 30
    assert found.margin_exponent < 0.5
    with pytest.warns(MarginWarning, match="only 30 distinct directions.*jitter=0.01"):
        warn(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn(found, jitter=0.01)


def test_discrete_covariates_do_not_matter_if_directions_differ():
    """649 rows, covariates with few values each, 649 directions: nothing is discrete about the predictions."""
    rng = np.random.default_rng(2)
    t, group = rng.normal(size=(649, 2)) * MU, group_codes(rng.random(649) < 0.6)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 5, 649) for j in range(30)})
    found = diagnose(t, MU, group, X=X)
    assert found.n_directions == 649
    assert not found.margin_doubtful
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn(found)


@pytest.mark.parametrize("zero", [False, True])
def test_one_heavy_atom_warns(zero):
    t, group = pairs()
    t[:1000] = 0.0 if zero else t[0] * np.linspace(1, 2, 1000)[:, None]
    found = diagnose(t, MU, group)
    assert not found.few_directions
    assert found.heavy_atom
    assert found.margin_doubtful
    with pytest.warns(MarginWarning, match="25.0% of the weight lies in one direction.*--jitter 0.01"):
        warn(found)
    lighter = diagnose(t, MU, group, weight=np.where(np.arange(4000) < 1000, 0.9, 1.0))
    assert not lighter.margin_doubtful
    # rows about which bounds leave nothing to decide make no atom
    assert not diagnose(t, MU, group, free=np.arange(4000) >= 1000).margin_doubtful


@pytest.mark.parametrize("kind", ["number", "category", "code"])
def test_a_covariate_that_reveals_the_group_warns(kind):
    t, group = pairs()
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=4000), "id": [f"row {i}" for i in range(4000)]})
    assert diagnose(t, MU, group, X=X).revealing_covariate is None
    X["g"] = {
        "number": -3.0 * (group == 0) + rng.uniform(size=4000),
        "category": np.where(group == 0, "x", rng.choice(["y", "z"], 4000)),
        "code": np.where(group == 0, 1, rng.choice([0, 2], 4000)),
    }[kind]
    found = diagnose(t, MU, group, X=X)
    assert found.revealing_covariate == "g"
    assert "covariate 'g' alone" in found.lines()[-1]
    with pytest.warns(GroupDeterminedWarning, match="covariate 'g' alone"):
        warn(found)


@pytest.mark.parametrize("how", ["probability", "pairs"])
def test_predictions_that_reveal_the_group_warn(how):
    t, group = pairs()
    found = diagnose(t, MU, group, group_auc=0.995)
    if how == "pairs":
        t = np.where(np.column_stack([group == 0, group == 1]), np.sign(t) + t, 0.01 * t)
        found = diagnose(t, MU, group)
    with pytest.warns(GroupDeterminedWarning, match="the learner's predictions"):
        warn(found)
