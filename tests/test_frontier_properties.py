"""What holds of every `FairFrontier`: its definitions, symmetries, invariances and reports."""

import pickle
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from support import plain
from support.codes import group_codes
from support.quick import QUICK
from support.small_samples import fit, learned, rows

from fairfrontier import FairFrontier, cost_loss
from fairfrontier.errors import (
    DroppedRowsWarning,
    FairFrontierWarning,
    GroupDeterminedWarning,
    MarginWarning,
    MissingDependencyError,
    NotFittedError,
)
from fairfrontier.frontier import sweep
from fairfrontier.frontier.capacity import cap
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.sets import attained_hull
from fairfrontier.frontier.support import make_scores
from fairfrontier.inference.estimates import drawn as shape_of

Q = unit_circle(23, 0.05)


# --- definitions --------------------------------------------------------------------------------------


def absolute_loss(d, y):
    return np.abs(d - 1.5 * y)


LOSSES = {
    "classification": ("classification", lambda d, y: float(d != y)),
    "squared": ("squared", lambda d, y: (d - y) ** 2),
    "costs": (
        cost_loss(1.0, 3.0),
        lambda d, y: 1.0 if (d, y) == (1, 0) else 3.0 if (d, y) == (0, 1) else 0.0,
    ),
    "custom": (absolute_loss, lambda d, y: abs(d - 1.5 * y)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_everything_equals_its_definition(name, weighted):
    given_loss, plain_loss = LOSSES[name]
    data = rows(150)
    w = np.random.default_rng(1).exponential(size=150) if weighted else np.ones(150)
    y = data.y + (0.3 * data.X[:, 2] if name == "squared" else 0.0)
    l0, l1 = (np.array([plain_loss(d, outcome) for outcome in y]) for d in (0, 1))
    scale = np.abs(l1 - l0).max()  # pairs in the units of the loss, or the learner counts as weak
    t = data.t * scale - (0.2 if name == "costs" else 0.0)
    with warnings.catch_warnings():  # such pairs need not be good predictions
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = fit(data, y=y, t=t, options={"loss": given_loss}, sample_weight=w if weighted else None)
    scores = make_scores(l0, l1 - l0, t, group_codes(data.g == 1), w)

    np.testing.assert_allclose(ff.support(Q), [plain.h(scores, q) for q in Q], rtol=0, atol=1e-12)
    expected_set = np.array([plain.support_set(scores, q) for q in Q])
    np.testing.assert_allclose(ff.support_set(Q), expected_set, rtol=0, atol=1e-12)

    # R and B are support sets in (-1, 0) and (0, -1); on the 45-degree line F is -h, twice, in the direction of the
    # line q1 + q2 = -1 that minimises the plug-in criterion
    risks = ff.points_.to_numpy()[:, :2]
    R, B = plain.support_set(scores, (-1, 0)), plain.support_set(scores, (0, -1))
    np.testing.assert_allclose(risks[:2], [R, B], rtol=0, atol=1e-12)
    q = ff.points_.to_numpy()[2, 2:]
    outer = [plain.plug_in(scores, x) for x in ((1.0, -1.0), (-1.0, 1.0))]
    if min(outer) >= 0.0:
        q = q / -q.sum()
        scaled = t / plain.group_shares(scores)
        breaks = scaled[:, 0] / (scaled[:, 1] - scaled[:, 0])  # q't = 0 at q = (-1 - c, c)
        criterion = [plain.plug_in(scores, (-1.0 - c, c)) for c in np.concatenate([breaks, breaks + 0.01, [0.0, -1.0]])]
        assert plain.plug_in(scores, q) <= min(criterion) + 1e-7
        np.testing.assert_allclose(risks[2], np.full(2, -plain.h(scores, q)), rtol=0, atol=1e-10)
    else:
        towards = np.array([1, -1]) if outer[0] < 0.0 else np.array([-1, 1])
        np.testing.assert_allclose(risks[2], plain.support_set(scores, towards), rtol=0, atol=1e-12)
    above, below = R[0] < R[1], B[0] > B[1]
    expected = "balanced" if above == below else "1-skewed" if above else "0-skewed"
    assert ff.configuration_ == expected

    # curves are support sets in their directions; the feasible set satisfies every half plane
    for curve in (ff.frontier(n_points=21), ff.pareto_frontier(n_points=21)):
        inner = slice(1, -1)
        np.testing.assert_allclose(
            curve.points[inner],
            [plain.support_set(scores, q) for q in curve.directions[inner]],
            rtol=0,
            atol=1e-12,
        )
        np.testing.assert_allclose(np.hypot(*curve.directions.T), 1.0, rtol=0, atol=1e-12)
    polygon = ff.feasible_set()
    assert polygon.contains(polygon.vertices.mean(axis=0)).all()
    assert (polygon.support(Q) <= ff.support(Q) + 1e-9).all()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_risks_and_covariance_by_definition(weighted, clustered):
    n = 120
    data, rng = rows(n, 2), np.random.default_rng(3)
    w = rng.exponential(size=n) if weighted else np.ones(n)
    clusters = rng.integers(0, 25, n) if clustered else np.arange(n)
    a = rng.random(n)
    ff = fit(data, sample_weight=w if weighted else None, clusters=clusters if clustered else None)
    found = ff.risks(a)
    assert found.groups == (1, 0)
    for j, label in enumerate((1, 0)):
        member = [i for i in range(n) if data.g[i] == label]
        total = sum(w[i] for i in member)
        loss = {i: a[i] * (1 - data.y[i]) + (1 - a[i]) * data.y[i] for i in member}
        mean = sum(w[i] * loss[i] for i in member) / total
        parts = dict.fromkeys(clusters, 0.0)
        for i in member:
            parts[clusters[i]] += w[i] * (loss[i] - mean) / total
        assert found.risk[j] == pytest.approx(mean, abs=1e-13)
        assert found.standard_error[j] == pytest.approx(np.sqrt(sum(x**2 for x in parts.values())), abs=1e-13)
        assert found.selection_rate[j] == pytest.approx(sum(w[i] * a[i] for i in member) / total, abs=1e-13)
    assert found.gap == pytest.approx(found.risk[0] - found.risk[1])
    frame = found.to_frame()
    assert list(frame.index) == [1, 0]
    np.testing.assert_array_equal(frame["risk"], found.risk)

    q = Q[:3]
    mu = np.array([w[data.g == 1].sum(), w[data.g == 0].sum()]) / w.sum()
    influence = {c: np.zeros(len(q)) for c in clusters}
    for i in range(n):
        j = 0 if data.g[i] == 1 else 1
        for k, x in enumerate(q):
            loss = (1 - data.y[i]) if data.t[i] @ (x / mu) > 0 else data.y[i]
            influence[clusters[i]][k] += w[i] * x[j] / mu[j] * (loss - ff.support_set(x)[0, j])
    omega = n / w.sum() ** 2 * sum(np.outer(x, x) for x in influence.values())
    np.testing.assert_allclose(ff.support_covariance(q), omega, rtol=1e-10, atol=1e-12)


def test_frontier_tolerance_and_membership():
    ff = fit(rows())
    assert ff.frontier().tolerance == pytest.approx(np.sqrt(np.log(400) / 400))
    assert ff.pareto_frontier(tolerance=0.25).tolerance == 0.25
    loose, tight = ff.frontier(tolerance=0.1), ff.frontier(tolerance=0.0)
    np.testing.assert_array_equal(loose.points, tight.points)
    near = ff.frontier().points[100] + [0.03, 0.03]
    assert loose.contains(near).all()
    assert not tight.contains(near).any()


# --- the same data in another form --------------------------------------------------------------------


def test_numpy_pandas_and_polars_give_the_same_bits():
    data = rows(300)
    names = ["a", "b", "c"]
    expected = learned(data)
    frame = pd.DataFrame(data.X, columns=names, index=np.arange(300)[::-1])
    in_pandas = FairFrontier(**QUICK, n_folds=3, random_state=1).fit(
        frame, pd.Series(data.y, index=frame.index), sensitive_features=pd.Series(data.g, index=frame.index)
    )
    in_polars = FairFrontier(**QUICK, n_folds=3, random_state=1).fit(
        pl.DataFrame(data.X, schema=names), pl.Series(data.y), sensitive_features=pl.Series(data.g)
    )
    a = np.linspace(0.0, 1.0, 300)
    for found, decisions in ((in_pandas, pd.Series(a, index=frame.index)), (in_polars, pl.Series(a))):
        np.testing.assert_array_equal(found.nuisance_.predictions, expected.nuisance_.predictions)
        pd.testing.assert_frame_equal(found.points_, expected.points_, check_exact=True)
        np.testing.assert_array_equal(found.support(Q), expected.support(Q))
        np.testing.assert_array_equal(found.risks(decisions).risk, expected.risks(a).risk)


def test_labels_change_names_only():
    data = rows(300)
    expected = learned(data)
    found = FairFrontier(**QUICK, n_folds=3, random_state=1, positive="sick").fit(
        data.X,
        np.where(data.y == 1, "sick", "well"),
        sensitive_features=np.where(data.g == 1, "red", "blue"),
    )
    assert found.groups_ == ("red", "blue")
    np.testing.assert_array_equal(found.points_.to_numpy(), expected.points_.to_numpy())
    assert list(found.points_.index) == ["best for red", "best for blue", "fairest"]
    assert list(found.points_.columns) == ["risk red", "risk blue", "direction red", "direction blue"]
    assert found.configuration_ == expected.configuration_.replace("1", "red").replace("0", "blue")
    assert list(found.risks(data.y).to_frame().index) == ["red", "blue"]


@pytest.mark.parametrize("seed", range(4))
def test_exchanging_the_groups_mirrors_the_plane(seed):
    data = rows(250, seed)
    one = fit(data, options={"groups": (1, 0)})
    other = fit(data, t=data.t[:, ::-1], options={"groups": (0, 1)})
    assert (one.groups_, other.groups_) == ((1, 0), (0, 1))
    ours, theirs = one.points_.to_numpy()[:, :2], other.points_.to_numpy()[:, :2]
    # R and B change places, to the last digit or two: opposite half circles are summed from opposite ends
    np.testing.assert_allclose(ours[:2], theirs[[1, 0], ::-1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(ours[2], theirs[2, ::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.support(Q), other.support(Q[:, ::-1]), rtol=0, atol=1e-12)
    assert one.configuration_ == other.configuration_
    assert one.feasible_set().area == pytest.approx(other.feasible_set().area, abs=1e-10)
    a = data.X[:, 0] > 0
    np.testing.assert_array_equal(one.risks(a).risk, other.risks(a).risk[::-1])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed):
    data = rows(200, 5)
    order = np.random.default_rng(seed).permutation(200)
    w = np.linspace(0.5, 2.0, 200)
    expected, found = fit(data, sample_weight=w), fit(data.at(order), sample_weight=w[order])
    np.testing.assert_allclose(found.points_, expected.points_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.support(Q), expected.support(Q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.support_covariance(Q[:4]), expected.support_covariance(Q[:4]), atol=1e-11)
    assert found.configuration_ == expected.configuration_


def test_whole_weights_stand_for_repeated_rows():
    data = rows(200)
    times = np.random.default_rng(2).integers(1, 4, 200)
    weighted, repeated = fit(data, sample_weight=times), fit(data.at(np.repeat(np.arange(200), times)))
    np.testing.assert_allclose(weighted.points_, repeated.points_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(weighted.support(Q), repeated.support(Q), rtol=0, atol=1e-12)


def test_rows_repeated_within_clusters_leave_standard_errors_as_they_were():
    data = rows(200)
    twice = np.repeat(np.arange(200), 2)
    once, clustered, naive = fit(data), fit(data.at(twice), clusters=twice), fit(data.at(twice))
    a = data.X[:, 0] > 0
    np.testing.assert_allclose(clustered.risks(a[twice]).standard_error, once.risks(a).standard_error, rtol=1e-12)
    assert (naive.risks(a[twice]).standard_error < 0.8 * once.risks(a).standard_error).all()
    # Omega is the covariance of sqrt(n) h, and n has doubled
    np.testing.assert_allclose(clustered.support_covariance(Q) / 2, once.support_covariance(Q), rtol=1e-10, atol=1e-12)


def test_unit_costs_are_classification_loss():
    data = rows(200)
    costs = fit(data, options={"loss": cost_loss(1, 1)})
    np.testing.assert_array_equal(costs.points_.to_numpy(), fit(data).points_.to_numpy())


# --- dropped rows -------------------------------------------------------------------------------------


def test_dropping_rows_keeps_everything_aligned():
    data = rows(300)
    rng = np.random.default_rng(4)
    X, y = data.X.copy(), data.y.astype(float)
    X[rng.choice(300, 20, replace=False), 1] = np.nan
    y[rng.choice(300, 10, replace=False)] = np.nan
    kept = np.flatnonzero(~np.isnan(X).any(axis=1) & ~np.isnan(y))
    lower = rng.random(300) * 0.3
    upper, a, w = 1.0 - rng.random(300) * 0.3, rng.random(300), rng.exponential(size=300)
    clusters = rng.integers(0, 40, 300)

    with pytest.warns(DroppedRowsWarning, match=r"Dropped \d+ of 300 rows"):
        found = fit(
            data,
            X=X,
            y=y,
            options={"missing": "drop"},
            sample_weight=w,
            clusters=clusters,
            lower=lower,
            upper=upper,
        )
    alone = data.at(kept)
    expected = fit(
        alone,
        X=alone.X,
        sample_weight=w[kept],
        clusters=clusters[kept],
        lower=lower[kept],
        upper=upper[kept],
    )
    pd.testing.assert_frame_equal(found.points_, expected.points_, check_exact=True)
    assert (found.n_obs_, found.sample_.n_given) == (len(kept), 300)
    np.testing.assert_array_equal(found.sample_.rows, kept)
    # decisions are given for all rows, as the data were
    np.testing.assert_array_equal(found.risks(a).risk, expected.risks(a[kept]).risk)
    np.testing.assert_array_equal(found.risks(a).standard_error, expected.risks(a[kept]).standard_error)
    gone = np.setdiff1d(np.arange(300), kept)
    lost = {label: int((data.g[gone] == label).sum()) for label in (1, 0)}
    assert found.sample_.dropped == lost
    text = found.summary()
    assert f"dropped for missing values: {len(gone)}" in text
    assert all(f"{label}: {count}" in text for label, count in lost.items())


def test_folds_of_the_user_are_aligned_with_dropped_rows():
    data = rows(300)
    X = data.X.copy()
    X[5:25, 0] = np.nan
    folds = np.arange(300) % 3
    options = QUICK | {"random_state": 1}
    with pytest.warns(DroppedRowsWarning):
        found = FairFrontier(**options, folds=folds, missing="drop").fit(X, data.y, sensitive_features=data.g)
    kept = np.r_[0:5, 25:300]
    expected = FairFrontier(**options, folds=folds[kept]).fit(X[kept], data.y[kept], sensitive_features=data.g[kept])
    np.testing.assert_array_equal(found.nuisance_.predictions, expected.nuisance_.predictions)


# --- bounds on the rules ------------------------------------------------------------------------------


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.9), (0.0, 0.5), (0.4, 0.6), (0.3, 1.0)])
def test_equal_bounds_mix_the_set_with_the_two_constant_rules(lower, upper):
    data = rows()
    free, bounded = fit(data), fit(data, lower=lower, upper=upper)
    never, always = free.risks(np.zeros(400)).risk, free.risks(np.ones(400)).risk
    # l0 + (lower + (upper - lower) 1{k > 0}) dl, averaged
    expected = (upper - lower) * free.support(Q) + Q @ ((1 - upper) * never + lower * always)
    np.testing.assert_allclose(bounded.support(Q), expected, rtol=0, atol=1e-12)
    narrower, wider = bounded.feasible_set(), free.feasible_set()
    assert narrower.area == pytest.approx((upper - lower) ** 2 * wider.area, rel=1e-6)
    assert wider.contains(narrower.vertices).all()
    by_row = fit(data, lower=np.full(400, lower), upper=np.full(400, upper))
    np.testing.assert_array_equal(by_row.support(Q), bounded.support(Q))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_narrower_bounds_never_enlarge_the_set(seed):
    """With pairs that are each row's own loss difference h is an in-sample maximum, so this is exact."""
    rng = np.random.default_rng(seed)
    data = rows(40, 3)
    dl = 1.0 - 2.0 * data.y
    t = np.column_stack([dl * (data.g == 1), dl * (data.g == 0)])
    low, inner_low, inner_high, high = np.sort(rng.random((4, 40)), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        free = fit(data, t=t)
        wide = fit(data, t=t, lower=low, upper=high)
        narrow = fit(data, t=t, lower=inner_low, upper=inner_high)
    q = unit_circle(60, 0.01)
    assert (narrow.support(q) <= wide.support(q) + 1e-12).all()
    assert (wide.support(q) <= free.support(q) + 1e-12).all()
    assert free.feasible_set().contains(wide.feasible_set().vertices).all()
    assert (wide.feasible_set().support(q) >= narrow.feasible_set().support(q) - 1e-9).all()


def test_equal_lower_and_upper_leave_one_point():
    data = rows()
    a = np.random.default_rng(6).random(400)
    with pytest.warns(MarginWarning):
        ff = fit(data, lower=a, upper=a)
    only = ff.risks(a).risk
    np.testing.assert_allclose(ff.points_.to_numpy()[:2, :2], [only, only], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ff.support_set(Q), np.tile(only, (len(Q), 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ff.support(Q), Q @ only, rtol=0, atol=1e-12)
    vertices = ff.feasible_set().vertices
    np.testing.assert_allclose(vertices, np.tile(only, (len(vertices), 1)), rtol=0, atol=1e-9)


# --- repetitions and randomness -----------------------------------------------------------------------


def test_the_seed_decides_every_bit():
    """Jobs and other processes: see `test_reproducibility.py`."""
    data = rows(200)
    expected, again, with_sequence = (
        learned(data, n_rep=2, random_state=seed) for seed in (1, 1, np.random.SeedSequence(1))
    )
    for found in (again, with_sequence):
        np.testing.assert_array_equal(found.nuisance_.predictions, expected.nuisance_.predictions)
        np.testing.assert_array_equal(found.points_, expected.points_)
    assert not np.array_equal(learned(data, n_rep=2, random_state=2).points_, expected.points_)


def test_fitting_twice_forgets_the_first_fit():
    first, second = rows(200, 1), rows(250, 2)
    ff = fit(first)
    ff.fit(None, second.y, sensitive_features=second.g, external_nuisance=second.t)
    pd.testing.assert_frame_equal(ff.points_, fit(second).points_, check_exact=True)
    assert ff.n_obs_ == 250


def test_pickled_fits_answer_as_before():
    data = rows(200)
    ff = learned(data, loss=cost_loss(1.0, 2.0))
    copy = pickle.loads(pickle.dumps(ff))
    pd.testing.assert_frame_equal(copy.points_, ff.points_, check_exact=True)
    np.testing.assert_array_equal(copy.support(Q), ff.support(Q))
    np.testing.assert_array_equal(copy.risks(data.y).standard_error, ff.risks(data.y).standard_error)
    assert copy.summary() == ff.summary()


def test_clones_keep_parameters_and_forget_the_fit():
    ff = learned(rows(200), alpha=0.1, n_rep=2, learner_params={"tune_on_folds": True})
    copy = clone(ff)
    assert copy.get_params() == ff.get_params()
    with pytest.raises(NotFittedError):
        copy.summary()
    assert copy.set_params(alpha=0.2).alpha == 0.2
    data = rows(200)
    pd.testing.assert_frame_equal(
        copy.fit(data.X, data.y, sensitive_features=data.g).points_, ff.points_, check_exact=True
    )


def test_any_regressor_learns():
    data = rows(400)
    ff = FairFrontier(learner=LinearRegression(), n_rep=1, random_state=1, n_folds=2)
    ff.fit(data.X, data.y, sensitive_features=data.g)
    # out-of-fold predictions of a linear regression of dl 1{group} on the covariates
    dl, held = 1.0 - 2.0 * data.y, ff.nuisance_.folds[0] == 1
    model = LinearRegression().fit(data.X[~held], (dl * (data.g == 1))[~held])
    np.testing.assert_allclose(ff.nuisance_.predictions[0, held, 0], model.predict(data.X[held]), atol=1e-10)


# --- reports and warnings -----------------------------------------------------------------------------


def test_summary_speaks_the_users_language():
    data = rows(300)
    ff = FairFrontier(**QUICK, n_folds=3, random_state=1).fit(
        data.X, data.y, sensitive_features=np.where(data.g == 1, "north", "south")
    )
    text = ff.summary()
    counts = ff.sample_.counts
    assert f"300 (group south: {counts['south']}, group north: {counts['north']})" in text
    assert "factored-logit, 3 folds" in text
    assert "classification" in text
    assert f"Configuration: {ff.configuration_}" in text
    assert "dropped" not in text
    for name, point in ff.points_.iterrows():
        line = next(line for line in text.splitlines() if line.startswith(str(name)))
        assert [f"{value:.4f}" for value in point] == line.removeprefix(str(name)).split()
    for label in ("north", "south"):  # one R2 and one log loss per fold
        own = ff.nuisance_.quality.query("group == @label")
        assert len(own) == 3
        line = next(line for line in text.splitlines() if line.startswith(f"  group {label}: R2"))
        assert " ".join(f"{value:.3f}" for value in own["r2"]) in line
        assert " ".join(f"{value:.3f}" for value in own["log_loss"]) in line
    assert all(line in text for line in ff.diagnostics_.lines())
    assert "predictions supplied from outside" in fit(data).summary()


def test_progress_goes_to_standard_error_only_when_asked(capsys):
    learned(rows(200))
    assert capsys.readouterr() == ("", "")
    learned(rows(200), verbose=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Learning the nuisance functions" in printed.err


def test_few_directions_are_warned_of_unless_jittered():
    data = rows(600)
    coarse = np.round(data.X[:, :2]).clip(-1, 1)
    with pytest.warns(MarginWarning, match="distinct directions"):
        plain_fit = learned(data, X=coarse)
    jittered = learned(data, X=coarse, jitter=0.01)
    assert jittered.diagnostics_.n_directions > plain_fit.diagnostics_.n_directions
    angles = [np.arctan2(*ff.nuisance_.predictions[0].T) for ff in (plain_fit, jittered)]
    turned = np.abs(np.angle(np.exp(1j * (angles[1] - angles[0]))))
    assert 0.0 < turned.max() <= 0.01 + 1e-12


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.ColumnsWarning")
def test_a_covariate_that_is_the_group_is_warned_of():
    data = rows(300)
    X = pd.DataFrame(data.X, columns=["a", "b", "c"]).assign(district=data.g)
    with pytest.warns(GroupDeterminedWarning, match="'district'"):
        ff = fit(data, X=X)
    assert "'district' alone separates the groups" in ff.summary()


def test_plot_names_groups_and_algorithms():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    data = rows(200)
    ff = fit(data, g=np.where(data.g == 1, "red", "blue"))
    names = {f"algorithm {i}": np.full(200, i / 5) for i in range(6)}  # more than there are markers
    figure, ax = plt.subplots()
    assert ff.plot(ax, decisions=names) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"best for red", "best for blue", "fairest", *names} <= set(labels)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("risk of group red", "risk of group blue")
    low, high = ax.get_xlim()
    for a in names.values():  # everything drawn is in view
        assert ((low < ff.risks(a).risk) & (ff.risks(a).risk < high)).all()
    near = ff.plot(decisions={"in use": names["algorithm 2"]}, zoom=True)
    assert near.get_xlim()[1] - near.get_xlim()[0] < high - low
    corner = np.vstack([ff.points_.to_numpy()[:, :2], shape_of(ff.fit_).curve, ff.risks(names["algorithm 2"]).risk])
    assert (near.get_xlim()[0] < corner.min()) & (corner.max() < near.get_xlim()[1])
    plt.close(near.figure)
    limited = ff.plot(capacity=0.1)
    lines = {line.get_label(): line.get_xydata() for line in limited.get_lines()}
    np.testing.assert_array_equal(
        lines["fairness-accuracy frontier (estimate)"], shape_of(ff.fit_, 0.1).curve, strict=True
    )
    (drawn,) = limited.patches
    attained = attained_hull(cap(ff.support_function_, 0.1).estimate)
    np.testing.assert_allclose(drawn.get_xy()[:-1], attained, atol=1e-12)
    assert len(attained) != len(attained_hull(ff.support_function_.estimate))
    plt.close(limited.figure)
    single = ff.plot(decisions=data.y)
    assert "algorithm" in [text.get_text() for text in single.get_legend().get_texts()]
    plt.close(figure)
    plt.close(single.figure)


def test_interactive_plots_have_everything_in_view():
    pytest.importorskip("plotly")
    data = rows(200)
    ff = fit(data, g=np.where(data.g == 1, "<r>", "<b>"))
    in_use = np.where(np.arange(200) % 3, 1.0, 0.25)
    figure = ff.plot_interactive({"in use": in_use})
    by_name = {trace.name: trace for trace in figure.data}
    assert list(by_name)[-4:] == ["R: best for &lt;r&gt;", "B: best for &lt;b&gt;", "F: fairest", "in use"]
    found = ff.risks(in_use)
    assert (by_name["in use"].x[0], by_name["in use"].y[0]) == tuple(found.risk)
    assert f"selection rate: {found.selection_rate[0]:.1%} of \u2068&lt;r&gt;\u2069" in by_name["in use"].hovertext[0]
    shape = shape_of(ff.fit_)
    curve = by_name["frontier (estimate)"]
    np.testing.assert_allclose(np.column_stack([curve.x, curve.y]), shape.curve, atol=1e-8)
    low, high = figure.layout.xaxis.range
    assert low < min(shape.corners.min(), found.risk.min()) < max(shape.corners.max(), found.risk.max()) < high
    near = ff.plot_interactive({"in use": in_use}, zoom=True, capacity=0.5).layout.xaxis.range
    assert near[1] - near[0] < high - low


def test_plots_without_matplotlib_say_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "fairfrontier.report.figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"fairfrontier\[plots\]"):
        fit(rows(200)).plot()


def test_results_do_not_change_when_inputs_do():
    data = rows(200)
    held = replace(data, t=data.t.copy())
    ff = fit(held)
    expected = ff.support(Q)
    points = ff.points_.copy()
    held.t[:] = 0.0
    np.testing.assert_array_equal(ff.support(Q), expected)
    assert ff.feasible_set().area > 0
    np.testing.assert_array_equal(ff.support_covariance(Q[:2]), fit(data).support_covariance(Q[:2]))
    pd.testing.assert_frame_equal(ff.points_, points)


# --- the sort behind the support function -------------------------------------------------------------


def _pairs_to_sort(kind, n, rng):
    if kind == "lattice":  # many equal angles, zeros, opposite vectors
        return rng.integers(-2, 3, size=(n, 2)).astype(float)
    if kind == "nearly parallel":  # angles that agree in all leading digits
        return np.column_stack([np.ones(n), 1.0 + rng.normal(size=n) * 1e-14])
    if kind == "any size":
        return rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-300, 308, size=(n, 1))
    return rng.normal(size=(n, 2))


@pytest.mark.parametrize("n", [1, 2, 50, 3000])
@pytest.mark.parametrize("kind", ["random", "lattice", "nearly parallel", "any size"])
def test_rows_are_sorted_by_angle_and_then_by_number(kind, n):
    t = _pairs_to_sort(kind, n, np.random.default_rng(n))
    a, b, sign, order = sweep.fold_and_sort(t)
    assert sorted(order) == np.flatnonzero((t != 0).any(axis=1)).tolist()
    np.testing.assert_array_equal(t[order], sign[:, None] * np.column_stack([a, b]))
    assert ((b > 0) | ((b == 0) & (a > 0))).all()
    key = -(a / 2) / (np.abs(a) / 2 + b / 2)  # rises with the angle
    np.testing.assert_array_equal(np.lexsort((order, key)), np.arange(len(order)))


def test_the_smallest_and_largest_numbers_are_sorted():
    t = np.array([[-1.7e308, 1.7e308], [5e-324, 0.0], [1.7e308, 1.7e308], [0.0, -5e-324]])
    _, _, sign, order = sweep.fold_and_sort(t)
    assert order.tolist() == [1, 2, 3, 0]
    assert sign.tolist() == [1, 1, -1, 1]


def test_plot_shows_awkward_names_verbatim():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import io

    import matplotlib.pyplot as plt

    data = rows(200)
    ff = fit(data, g=np.where(data.g == 1, "_red", "$blue$"))
    ax = ff.plot(decisions={r"$\bad$": data.y, "_hidden": data.y, "x" * 300: data.y})
    ax.figure.savefig(io.BytesIO())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert r"\$\bad\$" in labels
    assert any("_hidden" in label for label in labels)
    assert max(map(len, labels)) <= 60
    plt.close(ax.figure)


def test_regions_are_drawn_with_their_holes():
    pytest.importorskip("matplotlib")
    from fairfrontier.report.figure import _with_holes

    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for outer in (square, square[::-1]):
        for inner in (0.25 + square / 2, (0.25 + square / 2)[::-1]):
            ring = _with_holes([outer, inner, square + 3.0])
            signs = []
            for part in ring.to_polygons(closed_only=False):
                x, y = part.T
                signs.append(np.sign(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)))
            assert signs == [1, -1, 1]
