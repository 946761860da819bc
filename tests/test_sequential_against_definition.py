"""The robust test on sequential folds: against its definition row by row, in fits, and refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.sequential_cases import FIXED, grid_of, hostile_p_value, plain_statistic, random_case

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError
from fairfrontier.inference.lda.sequential import (
    Between,
    directions_between,
    rule_moments,
    sequential_tests,
    statistics_at,
)

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
LEARNER = {"learner": LogisticRegression()}
KINDS = [{}, {"weighted": True}, {"clustered": True}, {"weighted": True, "clustered": True, "ties": True}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lottery", [True, False])
def test_statistics_are_those_of_the_definition(kind, lottery):
    rng = np.random.default_rng(len(kind) + lottery)
    scores, sequence = random_case(rng, **kind)
    decisions = np.full(60, 0.5) if lottery else (scores.t[:, 0] > 0) * 1.0
    loss = scores.l0 + decisions * scores.dl
    grid, noise = grid_of(sequence), rng.normal(size=3)
    moments = rule_moments(scores, sequence, grid, loss[None])
    spread = float(np.ptp([scores.l0, scores.l0 + scores.dl, loss]))
    sizes = (1.0, max(spread, 1.0))
    everything = next(directions_between(grid, float(moments.units.sum())))
    # two directions of the grid may be the same up to rounding: which one is nearer has no meaning there
    wide = np.linalg.norm(np.diff(grid, axis=0), axis=1) > 1e-9
    at = rng.choice(np.flatnonzero(wide[everything.first]), 12)
    some = Between(everything.x[at], everything.first[at], everything.nearer_second[at])
    found = statistics_at(some, moments, moments.algorithms[0], noise, sizes)
    expected = [
        plain_statistic(x, scores, sequence, loss, noise, grid[[i, i + 1]])
        for x, i in zip(some.x, some.first, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_smallest_statistic_decides_and_directions_cover_the_half_circle():
    rng = np.random.default_rng(4)
    scores, sequence = random_case(rng, n=200)
    loss, grid = scores.l0 + 0.5 * scores.dl, grid_of(sequence)
    seed = np.random.SeedSequence(5)
    test = sequential_tests(scores, sequence, loss[None], FIXED, seed)[0]
    noise = np.random.default_rng(seed).standard_normal(3)
    moments = rule_moments(scores, sequence, grid, loss[None])
    blocks = list(directions_between(grid, float(moments.units.sum())))
    T = np.concatenate([statistics_at(b, moments, moments.algorithms[0], noise, (1.0, 1.0)) for b in blocks])
    assert test.statistic == T.min()
    x = np.vstack([b.x for b in blocks])
    assert (x.sum(axis=1) <= 1e-12).all()
    angle = np.unwrap(np.arctan2(x[:, 1], x[:, 0]))
    assert np.diff(angle).max() < 0.8 * 200 ** (-5 / 6)
    np.testing.assert_allclose(np.ptp(angle), np.pi)


def test_a_fixed_pair_is_an_algorithm_without_sampling_error():
    scores, sequence = random_case(np.random.default_rng(6), n=120)
    pairs = np.array([[0.05, 0.1], [0.9, 0.8]])
    seed = np.random.SeedSequence(1)
    known = sequential_tests(scores, sequence, np.empty((0, 120)), pairs, seed)
    constant = sequential_tests(scores, sequence, pairs[:, scores.group], FIXED, seed)
    for one, other in zip(known, constant, strict=True):
        np.testing.assert_allclose(one.statistic, other.statistic, rtol=1e-9)
    assert known[0].p_value > 0.9 > known[1].p_value


@pytest.mark.parametrize("learner", ["signs", "means", "stops"])
def test_hostile_learners_rarely_reject(learner):
    p = [hostile_p_value(learner, 200, 5, 1, np.random.default_rng([k, 8])) for k in range(10)]
    assert np.mean(np.array(p) <= 0.05) <= 0.3  # the Monte Carlo study has the rate


@pytest.fixture(scope="module")
def fitted():
    data = make_liu_molinari(400, design="skewed", random_state=3)
    ff = FairFrontier(**LEARNER, folds="sequential", n_boot=99, random_state=2)
    return data, ff.fit(data.X, data.y, sensitive_features=data.sensitive_features)


def test_folds_learn_from_those_before_them(fitted):
    data, ff = fitted
    assert ff.n_obs_ == 320
    assert ff.sample_.learning_rows == 80
    assert np.isfinite(ff.nuisance_.predictions).all()
    assert set(ff.nuisance_.folds[0]) == {2, 3, 4, 5}
    assert ff.nuisance_.tuning == {}
    # outcomes of a fold and of later ones change nothing before them
    late = ff.sample_.rows[ff.nuisance_.folds[0] >= 4]
    y = np.array(data.y)
    y[late] = 1 - y[late]
    other = FairFrontier(**LEARNER, folds="sequential", n_boot=99, random_state=2)
    other.fit(data.X, y, sensitive_features=data.sensitive_features)
    same = ff.nuisance_.folds[0] <= 4
    assert (other.sample_.rows == ff.sample_.rows).all()
    assert (other.nuisance_.predictions[0, same] == ff.nuisance_.predictions[0, same]).all()
    assert (other.nuisance_.predictions[0, ~same] != ff.nuisance_.predictions[0, ~same]).any()


def test_folds_say_nothing_about_group_and_outcome(fitted):
    data, ff = fitted
    y, group = 1 - np.array(data.y), 1 - np.array(data.sensitive_features)
    other = FairFrontier(**LEARNER, folds="sequential", n_boot=99, random_state=2).fit(
        data.X, y, sensitive_features=group
    )
    assert (other.nuisance_.folds == ff.nuisance_.folds).all()
    assert (other.sample_.rows == ff.sample_.rows).all()


def test_tests_rules_and_words_follow(fitted, tmp_path):
    data, ff = fitted
    decisions = np.random.default_rng(0).integers(2, size=400)
    test = ff.test_lda(decisions)
    assert test.sequential
    assert test.to_dict()["sequential"] is True
    assert test.p_value == test.robust_p_value
    assert abs(test.critical_value - 1.645) < 0.1
    assert "folds in sequence: proven for any learner" in test.summary()
    assert ff.test_lda(decisions, method="sharp").robust_p_value == test.p_value
    assert "80 more for learning only" in ff.summary()
    assert "5 folds in sequence" in ff.summary()
    assert ff.risks(decisions).risk.shape == (2,)
    assert len(ff.alternatives(decisions, 3).table)
    assert ff.rule("utilitarian").predict(data.X.iloc[:4]).shape == (4,)
    ff.report(tmp_path / "report.html", decisions)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Every fold learned only from the folds before it" in page
    assert "80 rows were used for learning only" in page


@pytest.mark.parametrize(
    ("options", "match"),
    [({"n_rep": 2}, "n_rep=2"), ({"bias_correction": "regret"}, "bias_correction='regret'")],
)
def test_what_does_not_go_together_is_refused(options, match):
    data = make_liu_molinari(100, random_state=3)
    ff = FairFrontier(**LEARNER, folds="sequential", **options)
    with pytest.raises(InputError, match=match):
        ff.fit(data.X, data.y, sensitive_features=data.sensitive_features)


def test_capacities_and_outside_predictions_are_refused(fitted):
    data, ff = fitted
    with pytest.raises(InputError, match="does not support `capacity`"):
        ff.test_lda((data.X["x2"] > 0.5).astype(int), capacity=0.9)
    with pytest.raises(InputError, match="cannot be seen"):
        FairFrontier(folds="sequential").fit(
            None, data.y, sensitive_features=data.sensitive_features, external_nuisance=np.zeros((400, 2))
        )
