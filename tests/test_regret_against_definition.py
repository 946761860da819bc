"""The regret of learned rules against plain loops over rows and refits, and what is, and is not, moved by it."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from support import plain
from support.codes import group_codes
from support.small_samples import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import InputError
from fairfrontier.frontier.plane import U1, U2, unit_circle
from fairfrontier.frontier.regret import GRID, Regret, estimate_regret, shortfall
from fairfrontier.frontier.sets import feasible_set, sharp_fairest
from fairfrontier.frontier.support import Scores, build_support_function
from fairfrontier.inference.learned import correct
from fairfrontier.learning.cross_fitting import external_nuisance
from fairfrontier.learning.learners import (
    GroupPrediction,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    resolve_learner,
)
from fairfrontier.learning.tasks import Perturbation

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.SmallSampleWarning",
)
CIRCLE = unit_circle(720)
B = 99


def plain_shortfall(scores, refitted, q=CIRCLE):
    """Sum of w_i M t0_i (1{q'M t0_i > 0} - 1{q'M tb_i > 0}) over the sum of the weights, row by row."""
    mu = plain.group_shares(scores)
    p = q / mu
    total = np.zeros((len(q), 2))
    for w, t0, tb in zip(scores.weight, scores.t, refitted, strict=True):
        best = p[:, 0] * t0[0] + p[:, 1] * t0[1] > 0
        chosen = p[:, 0] * tb[0] + p[:, 1] * tb[1] > 0
        total += w * (best.astype(float) - chosen)[:, None] * t0
    return total / scores.weight.sum() / mu


def size_of(scores):
    """Size of the numbers that are summed: rounding is relative to it."""
    own = scores.weight[:, None] * (np.abs(scores.t) + np.abs(scores.l0)[:, None])
    return max(1.0, own.sum() / min(scores.weight[scores.is_r].sum(), scores.weight[~scores.is_r].sum()))


REFITS = ["itself", "noisy", "opposite", "still", "unrelated", "lattice"]


def refit_of(kind, scores, rng):
    t = scores.t
    return {
        "itself": t,
        "noisy": t + rng.normal(size=t.shape) * np.abs(t).mean(),
        "opposite": -t,
        "still": np.zeros_like(t),
        "unrelated": rng.normal(size=t.shape),
        "lattice": rng.integers(-1, 2, size=t.shape).astype(float),
    }[kind]


# --- the regret at a direction ----------------------------------------------------------------------------


@settings(max_examples=120)
@given(plain.score_samples(), st.sampled_from(REFITS))
def test_shortfall_is_a_mean_over_rows_and_the_regret_is_never_negative(case, kind):
    scores, rng = case
    refitted = refit_of(kind, scores, rng)
    found = shortfall(build_support_function(scores), refitted)
    size = size_of(scores)
    np.testing.assert_allclose(found, plain_shortfall(scores, refitted), rtol=0, atol=1e-12 * size)
    values = (found * CIRCLE).sum(axis=1)
    assert values.min() >= -1e-12 * size
    if kind == "itself":  # nothing is lost by the very same rules, to the last bit
        np.testing.assert_array_equal(found, 0.0)


def test_the_opposite_rule_leaves_the_most_and_a_worse_refit_more():
    """The regret of -t0 is the mean of |q'M t0|, and no refit has a larger one."""
    rng = np.random.default_rng(0)
    data = rows(80, 1)
    function = fit(data).support_function_
    scores = function.scores
    most = (shortfall(function, -scores.t) * CIRCLE).sum(axis=1)
    p = CIRCLE / plain.group_shares(scores)
    np.testing.assert_allclose(most, np.abs(p @ scores.t.T).mean(axis=1), atol=1e-13)
    before = np.zeros(GRID)
    noise = rng.normal(size=scores.t.shape)
    for spread in (0.02, 0.1, 0.5):
        values = (shortfall(function, scores.t + spread * noise) * CIRCLE).sum(axis=1)
        assert (values <= most + 1e-13).all()
        assert values.mean() > before.mean()
        before = values


def random_regret(seed=0, refits=3):
    """Shortfalls whose products with their directions are not negative, as those of rules are."""
    rng = np.random.default_rng(seed)
    along, across = rng.exponential(size=(refits, GRID, 1)), rng.normal(size=(refits, GRID, 1))
    return Regret(along * CIRCLE + across * CIRCLE[:, ::-1] * [-1.0, 1.0])


def test_values_at_grid_directions_are_the_products():
    regret = random_regret()
    assert regret.n_refits == 3
    expected = (regret.shortfall * CIRCLE).sum(axis=2)
    assert expected.min() >= 0.0
    np.testing.assert_allclose(regret.pairs(CIRCLE), regret.shortfall, atol=1e-11)
    np.testing.assert_allclose(regret.values(CIRCLE), expected, atol=1e-11)
    np.testing.assert_allclose(regret.mean(CIRCLE), expected.mean(axis=0), atol=1e-11)
    np.testing.assert_allclose(regret.mean_pair(CIRCLE), regret.shortfall.mean(axis=0), atol=1e-11)
    # the axes have no rounding at all, whatever the sign of their zeros
    for q, number in (((1.0, 0.0), 0), ((1.0, -0.0), 0), ((0.0, 1.0), 180), ((-1.0, -0.0), 360), ((0.0, -1.0), 540)):
        np.testing.assert_array_equal(regret.pairs(np.array([q]))[:, 0], regret.shortfall[:, number])


@settings(max_examples=60)
@given(st.lists(st.floats(-7.0, 7.0), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_between_grid_directions_the_pair_is_interpolated(angles, scale):
    regret, angle = random_regret(1), np.array(angles)
    q = np.column_stack([np.cos(angle), np.sin(angle)])
    knots = np.arange(GRID) * 2.0 * np.pi / GRID
    for number, pairs in enumerate(regret.shortfall):
        expected = np.column_stack([np.interp(angle, knots, own, period=2.0 * np.pi) for own in pairs.T])
        np.testing.assert_allclose(regret.pairs(q)[number], expected, atol=1e-10)
        product = np.maximum((expected * q).sum(axis=1), 0.0)
        np.testing.assert_allclose(regret.values(q)[number], product, atol=1e-10)
    assert regret.values(q).min() >= 0.0
    # homogeneous of degree one, as h is; the pair of risks does not depend on the length
    np.testing.assert_allclose(regret.values(scale * q), scale * regret.values(q), atol=1e-10 * max(scale, 1.0))
    np.testing.assert_allclose(regret.mean_pair(scale * q), regret.mean_pair(q), atol=1e-10)


def test_values_are_cut_at_zero():
    q = unit_circle(50, 0.003)
    opposed = Regret(np.broadcast_to(-CIRCLE, (2, GRID, 2)))
    np.testing.assert_array_equal(opposed.values(q), 0.0)
    assert (opposed.pairs(q) * q).sum(axis=2).max() < 0.0


# --- random weights ---------------------------------------------------------------------------------------


def numbered_rows(n, weight=None):
    """Rows whose only covariate is their number."""
    rng = np.random.default_rng(2)
    return TrainingRows(
        np.arange(n, dtype=float)[:, None], rng.normal(size=n), group_codes(rng.random(n) < 0.5), 2, weight
    )


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_exponential_numbers_times_the_users(weighted, clustered):
    n, seed = 60, np.random.SeedSequence(4)
    rng = np.random.default_rng(3)
    own = rng.exponential(size=n) if weighted else None
    clusters = rng.permutation(np.arange(n) % 12) if clustered else None
    train = np.sort(rng.choice(n, 40, replace=False))
    found = Perturbation(seed, clusters, False).apply(numbered_rows(n, own), train)
    numbers = np.random.default_rng(seed).standard_exponential(12 if clustered else n)
    expected = np.array([numbers[clusters[i] if clustered else i] for i in train])
    if weighted:
        expected *= own[train]
    np.testing.assert_array_equal(found.X[:, 0], train)
    np.testing.assert_allclose(found.weight, expected / expected.mean(), rtol=1e-13)
    assert found.weight.mean() == pytest.approx(1.0)
    # other training rows of the same refit keep their numbers
    other = np.arange(30, n)
    again = Perturbation(seed, clusters, False).apply(numbered_rows(n, own), other)
    both = np.intersect1d(train, other)
    ratio = found.weight[np.isin(train, both)] / again.weight[np.isin(other, both)]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


@pytest.mark.parametrize("clustered", [False, True])
def test_learners_without_weights_see_whole_units_drawn_with_replacement(clustered):
    n, seed = 60, np.random.SeedSequence(5)
    given_rows = numbered_rows(n)
    codes = np.random.default_rng(1).permutation(np.arange(n) % 15) if clustered else None
    unit = np.arange(n) if codes is None else codes
    train = np.flatnonzero(unit % 3 != 0)  # folds keep clusters together
    found = Perturbation(seed, codes, True).apply(given_rows, train)
    present = np.unique(unit[train])
    drawn = list(np.random.default_rng(seed).choice(present, len(present)))
    times = np.array([drawn.count(unit[i]) for i in train])
    assert found.weight is None
    np.testing.assert_array_equal(found.X[:, 0], np.repeat(train, times))
    picked = found.X[:, 0].astype(int)
    np.testing.assert_array_equal(found.dl, given_rows.dl[picked])
    np.testing.assert_array_equal(found.group, given_rows.group[picked])
    assert set(times) >= {0, 1, 2}
    if not clustered:
        assert len(picked) == len(train)


# --- refits -----------------------------------------------------------------------------------------------


def refitting(learner, kind="plain", n=90, **options):
    """A fit with the correction, on rows with weights or clusters if the kind says so."""
    rng, data, arguments = np.random.default_rng(7), rows(n, 3), {}
    if kind == "weights":
        arguments["sample_weight"] = rng.exponential(size=n) * (rng.random(n) < 0.9)
    if kind == "clusters":
        arguments["clusters"] = [f"c{code}" for code in rng.permutation(np.arange(n) % 30)]
    settings_ = {"n_folds": 3, "n_rep": 1, "n_refits": 2, "n_boot": B, "random_state": 1} | options
    ff = FairFrontier(learner=learner, bias_correction="regret", **settings_)
    return ff.fit(data.X, data.y, sensitive_features=data.g, **arguments)


def refit_seeds(ff):
    """Seeds of the random weights of each refit, and of the source of those of the fits."""
    third = child_seeds(np.random.SeedSequence(ff.random_state), 3)[2]
    weights, fits = child_seeds(third, 2)
    return child_seeds(weights, ff.n_rep * ff.n_refits), fits


def classes_by_hand(ff, estimator, seed, resample):
    """One refit of `estimator` for dl 1{group}, out of fold, with scikit-learn alone."""

    def refit(fold):
        sample = ff.sample_
        n = sample.n_obs
        unit = np.arange(n) if sample.clusters is None else sample.clusters
        dl = 1.0 - 2.0 * sample.y
        pairs = np.full((n, 2), np.nan)
        for k in np.unique(fold):
            train, held, keywords = np.flatnonzero(fold != k), np.flatnonzero(fold == k), {}
            rng = np.random.default_rng(seed)
            if resample:
                units = np.unique(unit[train])
                drawn = rng.choice(units, len(units))
                train = np.concatenate([np.repeat(i, np.sum(drawn == unit[i])) for i in train])
            else:
                w = rng.standard_exponential(unit.max() + 1)[unit] * sample.weight
                keywords["sample_weight"] = w[train] / w[train].mean()
            for g, member in enumerate(((sample.group == 0), (sample.group == 1))):
                z = dl * member
                estimator.fit(sample.X[train], z[train].astype(int), **keywords)
                pairs[held, g] = estimator.predict_proba(sample.X[held]) @ estimator.classes_
        return pairs

    return refit


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_refits_of_a_learner_with_weights_by_hand(kind):
    ff = refitting(LogisticRegression(), kind, n_rep=2)
    seeds, _ = refit_seeds(ff)
    assert ff.regret_.shortfall.shape == (2, GRID, 2)
    stacked, n = ff.support_function_.scores, ff.n_obs_
    for j in range(2):
        expected = []
        for repetition, t in enumerate(ff.nuisance_.predictions):
            refit = classes_by_hand(ff, LogisticRegression(), seeds[2 * repetition + j], resample=False)
            once = {name: getattr(stacked, name)[:n] for name in ("l0", "dl", "group", "weight")}
            expected.append(plain_shortfall(Scores(**once, t=t), refit(ff.nuisance_.folds[repetition])))
            assert (expected[-1] * CIRCLE).sum(axis=1).max() > 1e-4
        assert not np.allclose(*expected, rtol=0, atol=1e-3)
        # the rule of a direction is a lottery between the repetitions', and its regret the mean of theirs
        np.testing.assert_allclose(ff.regret_.shortfall[j], np.mean(expected, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_refits_of_a_learner_without_weights_by_hand(kind):
    ff = refitting(KNeighborsClassifier(11), kind)
    seeds, _ = refit_seeds(ff)
    for j, seed in enumerate(seeds):
        pairs = classes_by_hand(ff, KNeighborsClassifier(11), seed, resample=True)(ff.nuisance_.folds[0])
        expected = plain_shortfall(ff.support_function_.scores, pairs)
        np.testing.assert_allclose(ff.regret_.shortfall[j], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        resolve_learner("factored-logit", tune_on_folds=False),
        "factored-logit",
        RandomForestClassifier(5, min_samples_leaf=5),
    ],
    ids=["tuned once", "tuned in every fold", "random"],
)
def test_refits_use_the_tuning_and_a_seed_of_their_own_for_every_fit(learner):
    """Component by component through the learner, in the order refit, fold, component."""
    ff = refitting(learner, "weights")
    model, sample = resolve_learner(learner), ff.sample_
    weight = sample.weight / sample.weight.mean()
    given_rows = TrainingRows(sample.X, 1.0 - 2.0 * sample.y, sample.group, 2, weight)
    fold, (seeds, fits) = ff.nuisance_.folds[0], refit_seeds(ff)
    fit_seeds = iter(child_seeds(fits, 2 * 3 * len(model.components(2))))
    tuning = ff.nuisance_.tuning
    in_fold = {}
    if not tuning:
        source = child_seeds(child_seeds(np.random.SeedSequence(ff.random_state), 3)[2], 3)[2]
        tune_seeds = iter(child_seeds(source, 3 * len(model.components(2))))
        for k in (1, 2, 3):
            own = given_rows.take(np.flatnonzero(fold != k))
            in_fold |= {(k, name): model.tune(name, own, next(tune_seeds)) for name in model.components(2)}
    for j in range(2):
        w = np.random.default_rng(seeds[j]).standard_exponential(sample.n_obs) * weight
        pairs = np.empty((sample.n_obs, 2))
        for k in (1, 2, 3):
            train, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            training = replace(given_rows.take(train), weight=w[train] / w[train].mean())
            parts = {
                name: model.fit(name, training, next(fit_seeds), tuning.get(name, in_fold.get((k, name)))).predict(
                    sample.X[held]
                )
                for name in model.components(2)
            }
            pairs[held] = model.combine(parts).delta_theta
        expected = plain_shortfall(ff.support_function_.scores, pairs)
        np.testing.assert_allclose(ff.regret_.shortfall[j], expected, rtol=0, atol=1e-12)


def test_bounds_leave_less_to_lose():
    """Rows between bounds lose the spread of their bounds only; the refits are the same."""
    data, options = (
        rows(90, 3),
        {"n_folds": 3, "n_rep": 1, "n_refits": 2, "random_state": 1, "bias_correction": "regret"},
    )
    upper = np.where(np.arange(90) % 3 == 0, 0.2, 0.9)
    found = [
        FairFrontier(learner=LogisticRegression(), **options).fit(data.X, data.y, sensitive_features=data.g, **bounds)
        for bounds in ({}, {"lower": 0.2, "upper": upper})
    ]
    free, bounded = (ff.regret_.values(CIRCLE) for ff in found)
    seeds, _ = refit_seeds(found[1])
    pairs = classes_by_hand(found[1], LogisticRegression(), seeds[0], resample=False)(found[1].nuisance_.folds[0])
    expected = plain_shortfall(found[1].support_function_.scores, pairs)
    np.testing.assert_allclose(found[1].regret_.shortfall[0], expected, rtol=0, atol=1e-12)
    assert (bounded <= 0.7 * free + 1e-12).all()
    assert bounded.max() > 0.0


def test_the_seed_decides_every_bit():
    small = {"n": 60, "n_folds": 2}
    expected = refitting(LogisticRegression(), n_rep=2, **small)
    for n_jobs in (1, 2):
        with parallel_config(backend="threading"):  # processes take seconds to start
            again = refitting(LogisticRegression(), n_rep=2, n_jobs=n_jobs, **small)
        np.testing.assert_array_equal(expected.regret_.shortfall, again.regret_.shortfall)
    other = refitting(LogisticRegression(), n_rep=2, random_state=2, **small)
    assert not np.array_equal(other.regret_.shortfall, expected.regret_.shortfall)
    # the refits of one fit differ from each other
    assert len(np.unique(expected.regret_.shortfall.reshape(2, -1), axis=0)) == 2
    # with more of them the first ones stay as they are
    few, more = (refitting(LogisticRegression(), n_refits=k, **small).regret_.shortfall for k in (2, 3))
    np.testing.assert_array_equal(more[:2], few)


# --- a learner that knows the answer ----------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """A fitted component that reads its prediction off a covariate."""

    column: int

    def predict(self, X):
        return GroupPrediction(np.asarray(X)[:, self.column])


class Oracle(Learner):
    """Predicts the last two covariates, whatever it is trained on."""

    name = "oracle"

    def components(self, n_groups):
        return (0, 1)

    def fit(self, component, rows, seed, tuning=None):
        return Known(component - 2)

    def combine(self, parts):
        return Prediction((parts[0], parts[1]))


def test_a_perfect_learner_has_no_regret_and_nothing_is_corrected():
    data = rows(120, 4)
    X = np.hstack([data.X, data.t])
    plain_fit, corrected = (
        FairFrontier(learner=Oracle(), n_rep=1, n_boot=B, random_state=1, n_refits=3, bias_correction=correction).fit(
            X, data.y, sensitive_features=data.g
        )
        for correction in (None, "regret")
    )
    assert plain_fit.regret_ is None
    np.testing.assert_array_equal(corrected.regret_.shortfall, np.zeros((3, GRID, 2)))
    np.testing.assert_array_equal(corrected.points_, plain_fit.points_)
    np.testing.assert_array_equal(corrected.feasible_set().vertices, plain_fit.feasible_set().vertices)
    np.testing.assert_array_equal(corrected.frontier().points, plain_fit.frontier().points)
    (low, high), (lowest, highest) = (
        ff.distance_to_fairest(risks=[0.4, 0.5]).conf_int() for ff in (corrected, plain_fit)
    )
    assert lowest <= low < high <= highest  # without refits the interval allows for what they would have told


def test_the_estimate_is_of_the_size_of_the_true_regret_and_shrinks_with_the_rows():
    q, means = CIRCLE[::10], {}
    for n in (150, 1200):
        estimated, true = [], []
        for seed in range(3):
            data = rows(n, seed)
            ff = FairFrontier(
                learner="factored-logit",
                learner_params={"n_penalties": 20, "n_tuning_folds": 2},
                n_folds=2,
                n_rep=1,
                n_refits=3,
                bias_correction="regret",
                random_state=seed,
            ).fit(data.X, data.y, sensitive_features=data.g)
            scores = ff.support_function_.scores
            estimated.append(ff.regret_.mean(q).mean())
            truth = plain_shortfall(replace(scores, t=data.t), scores.t, q)  # what the learned rules really lose
            true.append((truth * q).sum(axis=1).mean())
        means[n] = np.mean(estimated), np.mean(true)
    for estimate, truth in means.values():
        assert truth / 3.0 < estimate < 3.0 * truth
    assert means[1200][0] < 0.4 * means[150][0]


# --- what moves and what does not -------------------------------------------------------------------------

N = 160
ROOT = np.sqrt(N)
STEP = ROOT**-0.49


@pytest.fixture(scope="module")
def pair():
    """The same fit without and with the correction, the regret by plain loops, algorithms and risk pairs."""
    data = rows(N, 2)
    fits = [
        FairFrontier(
            learner=LogisticRegression(),
            n_folds=3,
            n_rep=1,
            n_refits=4,
            n_boot=B,
            random_state=5,
            bias_correction=correction,
        ).fit(data.X, data.y, sensitive_features=data.g)
        for correction in (None, "regret")
    ]
    seeds, _ = refit_seeds(fits[1])
    folds = fits[1].nuisance_.folds[0]
    refits = [classes_by_hand(fits[1], LogisticRegression(), seed, resample=False)(folds) for seed in seeds]
    at_grid = np.array([plain_shortfall(fits[1].support_function_.scores, t) for t in refits])

    def moves(q):
        """Move (4, k, 2) of the pairs of risks at directions (k, 2), interpolated by angle."""
        angle, knots = np.arctan2(q[:, 1], q[:, 0]), np.arange(720) * 2.0 * np.pi / 720
        return np.array(
            [np.column_stack([np.interp(angle, knots, x, period=2.0 * np.pi) for x in own.T]) for own in at_grid]
        )

    rng = np.random.default_rng(1)
    return SimpleNamespace(
        plain=fits[0],
        corrected=fits[1],
        scores=fits[1].support_function_.scores,
        moves=moves,
        regrets=lambda q: np.maximum((moves(q) * q).sum(axis=2), 0.0),
        decisions={"coin": rng.integers(0, 2, N), "rule": (data.t.sum(axis=1) < 0).astype(int)},
        points=np.array([[0.45, 0.5], [0.3, 0.35], [0.2, 0.25], [0.6, 0.1]]),
    )


def test_the_nuisances_and_the_support_function_stay(pair):
    np.testing.assert_array_equal(pair.corrected.nuisance_.predictions, pair.plain.nuisance_.predictions)
    np.testing.assert_array_equal(pair.corrected.support(CIRCLE), pair.plain.support(CIRCLE))
    np.testing.assert_allclose(pair.corrected.regret_.values(CIRCLE), pair.regrets(CIRCLE), atol=1e-12)
    assert pair.regrets(CIRCLE).mean() > 1e-3  # there is something to correct


def test_points_move_by_the_mean_regret_of_their_rules(pair):
    before, after = (ff.points_.to_numpy() for ff in (pair.plain, pair.corrected))
    for number, u in enumerate((U1, U2)):
        move = pair.moves(u[None]).mean(axis=0)[0]
        np.testing.assert_allclose(after[number, :2], plain.support_set(pair.scores, u) + move, atol=1e-12)
        assert after[number, number] <= before[number, number]  # the best rule is at least as good for its group
    # F: the direction stays, and h at it grows by the regret
    np.testing.assert_array_equal(after[:, 2:], before[:, 2:])
    q = after[2, 2:] / -after[2, 2:].sum()
    regret = float(pair.moves(q[None]).mean(axis=0)[0] @ q)
    np.testing.assert_allclose(after[2, :2], -(plain.h(pair.scores, q) + regret), atol=1e-9)
    np.testing.assert_allclose(after[2, :2], before[2, :2] - regret, atol=1e-9)
    assert regret > 0.0


def test_the_fairest_point_to_one_side_of_the_line_moves_as_a_pair(pair):
    """Group b loses one more whatever is decided: the set lies above the line, supported by (1, -1)."""
    higher = replace(pair.scores, l0=pair.scores.l0 + ~pair.scores.is_r)
    function = build_support_function(higher)
    F, q, position = sharp_fairest(function, pair.corrected.regret_)
    assert position == "above"
    np.testing.assert_allclose(q, np.array([1.0, -1.0]) / np.sqrt(2.0))
    expected = plain.support_set(higher, q) + pair.moves(q[None]).mean(axis=0)[0]
    np.testing.assert_allclose(F, expected, atol=1e-12)
    np.testing.assert_allclose(sharp_fairest(function)[0], plain.support_set(higher, q), atol=1e-12)


def test_the_feasible_set_is_cut_out_by_the_corrected_half_planes(pair):
    before, after = pair.plain.feasible_set(), pair.corrected.feasible_set()
    assert after.contains(before.vertices).all()
    assert after.area > before.area
    arcs = plain.arcs(pair.scores)
    angle = np.array([start for start, _, _ in arcs])
    q = np.column_stack([np.cos(angle), np.sin(angle)])
    both = [np.array([arcs[j - shift][2] for j in range(len(arcs))]) for shift in (0, 1)]
    bound = np.min([(q * own).sum(axis=1) for own in both], axis=0) + pair.regrets(q).mean(axis=0)
    rng = np.random.default_rng(3)
    centre = after.vertices.mean(axis=0)
    corners = after.vertices[rng.integers(len(after.vertices), size=400)]
    points = centre + (corners - centre) * rng.uniform(0.9, 1.1, size=(400, 1))
    excess = (points @ q.T - bound).max(axis=1)
    clear = np.abs(excess) > 1e-9
    np.testing.assert_array_equal(after.contains(points[clear]), excess[clear] < 0.0)
    assert 50 < (excess < 0.0).sum() < 350
    # by itself: no regret, no move
    none = Regret(np.zeros((2, GRID, 2)))
    estimate = pair.plain.support_function_.estimate
    np.testing.assert_array_equal(feasible_set(estimate, none).vertices, feasible_set(estimate).vertices)


def test_curves_are_support_sets_moved_by_the_mean_pair(pair):
    for curve in (pair.corrected.frontier(n_points=41), pair.corrected.pareto_frontier(n_points=41)):
        inner = curve.directions[1:-1]
        expected = [plain.support_set(pair.scores, q) for q in inner] + pair.moves(inner).mean(axis=0)
        np.testing.assert_allclose(curve.points[1:-1], expected, atol=1e-12)
    pareto = pair.corrected.pareto_frontier()
    np.testing.assert_allclose(pareto.points[[0, -1]], pair.corrected.points_.to_numpy()[:2, :2], atol=1e-12)


def test_draws_take_one_refit_after_the_other(pair):
    context = pair.corrected.feasible_set().context
    q = unit_circle(7, 0.1)
    draws = context.draw(q)
    moved, values = correct(context, draws), pair.regrets(q)
    np.testing.assert_allclose(moved.h_hat, draws.h_hat + values.mean(axis=0), atol=1e-12)
    for b in range(B):
        np.testing.assert_allclose(moved.h[b], draws.h[b] + values[b % 4], atol=1e-12)
    np.testing.assert_array_equal(moved.risks, draws.risks)
    without = DrawingContext(context.function, B, context.seed)
    assert correct(without, draws) is draws


def test_the_band_moves_and_allows_for_the_spread_of_the_refits(pair):
    q = unit_circle(1000)
    context = pair.plain.feasible_set().context
    multipliers = plain.weights_of_draws(context.function, B, context.seed)
    error = np.sqrt(np.diag(pair.plain.support_covariance(q)) / N)
    values, h = pair.regrets(q), pair.plain.support(q)
    shifts = values - values.mean(axis=0)
    scores = context.function.scores
    sup = [np.nanmax(np.abs(plain.studentised(scores, m, q, shifts[b % 4]))) for b, m in enumerate(multipliers)]
    band = pair.corrected.feasible_set().confidence_band()
    np.testing.assert_allclose(band.sup_t, sup, rtol=1e-8)
    width = np.sort(sup)[int(np.ceil(0.95 * B)) - 1] * error
    np.testing.assert_allclose(band.upper(q), h + values.mean(axis=0) + width, atol=1e-9)
    np.testing.assert_allclose(band.lower(q), h + values.mean(axis=0) - width, atol=1e-9)


@pytest.mark.parametrize("kind", ["fairness-accuracy", "pareto"])
def test_frontier_tests_move_in_their_feasibility_only(pair, kind):
    test = "test_frontier" if kind == "fairness-accuracy" else "test_pareto"
    before, after = (getattr(ff, test)(pair.points, directions=80) for ff in (pair.plain, pair.corrected))
    np.testing.assert_array_equal(after.separation, before.separation)
    assert (after.feasibility <= before.feasibility).all()
    assert (after.feasibility < before.feasibility).any()
    assert after.separation.max() > 0.0
    # statistic and draws under the null, loop by loop
    circle = unit_circle(80, endpoint=True)
    first, last = (0.75, 1.75) if kind == "fairness-accuracy" else (1.0, 1.5)
    part = unit_circle(80, first * np.pi, last * np.pi, endpoint=True)
    context = pair.plain.feasible_set().context
    on_circle, on_part = context.draw(circle), context.draw(part)
    values = pair.regrets(circle)
    h, z_part = on_circle.h_hat + values.mean(axis=0), on_part.z_h()
    for k, e in enumerate(pair.points):
        if kind == "pareto":
            inner = part @ e - on_part.h_hat
        else:
            inner = -np.array([plain.improvement_support(e, -q) for q in part]) - on_part.h_hat
        excess = circle @ e - h
        assert after.feasibility[k] == pytest.approx(ROOT * max(excess.max(), 0.0), abs=1e-9)
        null = []
        for b in range(B):
            z = ROOT * (on_circle.h[b] + values[b % 4] - h)
            feasibility = ((excess - STEP * z).max() - excess.max()) / STEP
            separation = ((inner - STEP * z_part[b]).max() - inner.max()) / STEP
            null.append(max(feasibility, 0.0) + max(-separation, 0.0))
        total = after.feasibility[k] + after.separation[k]
        assert after.p_value[k] == (1 + sum(x >= total - 1e-9 for x in null)) / (1 + B)
        assert after.critical_value[k] == pytest.approx(np.sort(null)[B - 5] + 1e-6, abs=1e-9)


def test_algorithms_on_the_frontier_move_in_their_feasibility_only(pair):
    options = {"decisions": pair.decisions, "directions": 80}
    before, after = (ff.test_frontier(**options) for ff in (pair.plain, pair.corrected))
    np.testing.assert_array_equal(after.points, before.points)
    np.testing.assert_array_equal(after.separation, before.separation)
    circle = unit_circle(80, endpoint=True)
    h = pair.plain.support(circle) + pair.regrets(circle).mean(axis=0)
    for e, feasibility in zip(after.points, after.feasibility, strict=True):
        assert feasibility == pytest.approx(ROOT * max((circle @ e - h).max(), 0.0), abs=1e-9)


def test_questions_of_feasibility_move_and_the_opposite_question_does_not(pair):
    sets = [ff.feasible_set() for ff in (pair.plain, pair.corrected)]
    q = unit_circle(1000)
    h = pair.plain.support(q) + pair.regrets(q).mean(axis=0)
    for e in pair.points[2:]:
        before, after = (each.test(e) for each in sets)
        assert after.statistic == pytest.approx(ROOT * max((q @ e - h).max(), 0.0), abs=1e-9)
        assert after.statistic < before.statistic
    square = np.array([[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]])
    contains = [each.test_contains(square).statistic for each in sets]
    assert contains[1] < contains[0]
    inside = [each.test_contained_in(0.2 + 0.6 * square) for each in sets]
    assert inside[0].statistic == inside[1].statistic > 0.0
    np.testing.assert_array_equal(inside[0].draws, inside[1].draws)


@pytest.mark.parametrize("method", ["robust", "sharp", "paper"])
def test_no_bit_of_the_test_for_alternatives_depends_on_the_correction(pair, method):
    arguments = [{"decisions": pair.decisions}, {"risks": {"a": [0.5, 0.5], "b": [0.3, 0.35]}}]
    for options in arguments:
        before, after = (ff.test_lda(**options, method=method) for ff in (pair.plain, pair.corrected))
        assert list(before) == list(after)
        assert before.summary() == after.summary()
        for name in before:
            one, other = before[name], after[name]
            for what in ("statistic", "p_value", "verdict", "p_value_adjusted", "robust_p_value", "critical_value"):
                assert getattr(one, what) == getattr(other, what), what
            np.testing.assert_array_equal(one.draws, other.draws)
            assert one.to_dict() == other.to_dict()


def test_the_summary_tells_the_regret_at_the_three_points(pair):
    text = pair.corrected.summary()
    assert "Estimated regret of the learned rules" in text
    assert "4 refits" in text
    assert "regret" not in pair.plain.summary()
    for name, q in zip(pair.corrected.points_.index, pair.corrected.points_.to_numpy()[:, 2:], strict=True):
        values = pair.regrets(q[None])[:, 0] / np.abs(q).sum()
        line = next(line for line in text.splitlines() if line.startswith(f"  {name}: "))
        assert f"{values.mean():.4f} (from refit to refit +-{values.std(ddof=1):.4f})" in line


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"bias_correction": "other"},
        {"bias_correction": True},
        {"bias_correction": "Regret"},
        {"n_refits": 1},
        {"n_refits": 2.5},
        {"n_refits": True},
        {"n_refits": "3"},
        {"n_refits": None},
    ],
)
def test_corrections_that_cannot_be_made_are_refused(options):
    data = rows(60)
    with pytest.raises(InputError, match=f"{next(iter(options))} must be") as caught:
        FairFrontier(learner=LogisticRegression(), **({"bias_correction": "regret"} | options)).fit(
            data.X, data.y, sensitive_features=data.g
        )
    assert caught.value.code == "bad-option"


def test_there_is_nothing_to_refit_behind_predictions_from_outside():
    data = rows(60)
    with pytest.raises(InputError, match="refits the learner") as caught:
        fit(data, X=data.X, options={"bias_correction": "regret"})
    assert caught.value.code == "bad-option"
    sample, dl = make_sample(data.X, data.y, data.g), 1.0 - 2.0 * data.y
    nuisance, function = external_nuisance(sample, dl, data.t), fit(data).support_function_
    with pytest.raises(InputError, match="refits the learner") as caught:
        estimate_regret(
            sample,
            dl,
            resolve_learner(LogisticRegression()),
            nuisance,
            (function,),
            n_refits=2,
            seed=np.random.SeedSequence(1),
        )
    assert caught.value.code == "bad-option"


def test_numpy_numbers_of_refits_are_numbers():
    assert refitting(LogisticRegression(), n=60, n_folds=2, n_refits=np.int64(2)).regret_.n_refits == 2
