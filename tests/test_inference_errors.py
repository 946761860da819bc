"""Everything that tests and confidence sets refuse, with its code and its advice."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.small_samples import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.data.checks import check_n_directions
from fairfrontier.errors import InputError, NotFittedError

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.SmallSampleWarning")  # of the bands of few rows
N = 300
DATA = rows(N, 0)
COIN = np.random.default_rng(0).integers(0, 2, N).astype(float)
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def ff():
    return fit(DATA, options={"n_boot": 99})


def changed(value, row=3):
    copy = np.array(COIN, dtype=object if isinstance(value, str) or value is None else float)
    copy[row] = value
    return copy


def scores():
    return np.random.default_rng(1).random(N)


BAD_DECISIONS = {
    "above 1": (changed(1.5), {}, "bad-decisions", "must lie in [0, 1]; 1 of 300 do not, the first is 1.5 in row 3"),
    "below 0": (changed(-0.1), {}, "bad-decisions", "the first is -0.1 in row 3"),
    "infinite": (changed(INF), {}, "bad-decisions", "[0, 1]"),
    "out of range although a lottery": (changed(1.5), {"randomised": True}, "bad-decisions", "1.5 in row 3"),
    "missing": (changed(NAN), {}, "bad-decisions", "1 missing values"),
    "none": (changed(None), {}, "bad-decisions", "1 missing values"),
    "missing in a frame": (pd.DataFrame({"a": COIN, "b": changed(NAN)}), {}, "bad-decisions", "decisions of 'b'"),
    "missing in polars": (
        {"b": pl.Series([None, *COIN[1:].tolist()])},
        {},
        "bad-decisions",
        "decisions of 'b' has 1 missing",
    ),
    "missing score": (changed(NAN), {"threshold": 0.5}, "bad-decisions", "1 missing"),
    "infinite score": (changed(INF), {"threshold": 0.5}, "bad-decisions", "1 missing or infinite"),
    "masked score": (np.ma.MaskedArray(COIN, np.arange(N) == 3), {"threshold": 0.5}, "bad-decisions", "missing"),
    "masked decision": (np.ma.MaskedArray(COIN, np.arange(N) == 3), {}, "bad-decisions", "missing"),
    "text": (changed("yes"), {}, "bad-decisions", "must hold numbers"),
    "text as score": (changed("yes"), {"threshold": 0.5}, "bad-decisions", "must"),
    "text that looks like scores": (COIN.astype(str), {"threshold": 0.5}, "bad-decisions", "must"),
    "too short": (COIN[:-1], {}, "length-mismatch", "one value per row, 300"),
    "too long": (np.append(COIN, 1.0), {}, "length-mismatch", "got 301"),
    "too short among several": ({"a": COIN, "b": COIN[:-1]}, {}, "length-mismatch", "'b'"),
    "too short a score": (scores()[:-1], {"threshold": 0.5}, "length-mismatch", "one value per row, 300"),
    "transposed": (np.vstack([COIN, COIN]), {}, "length-mismatch", "300"),
    "three dimensions": (np.zeros((N, 2, 2)), {}, "length-mismatch", "one column"),
    "a number": (1.0, {}, "length-mismatch", "one column"),
    "no algorithm": ({}, {}, "bad-decisions", "at least one"),
    "no columns": (np.empty((N, 0)), {}, "bad-decisions", "at least one"),
    "a frame without columns": (pd.DataFrame(index=range(N)), {}, "bad-decisions", "at least one"),
    "scores": (scores(), {}, "bad-decisions", "decisions must be 0 or 1, but 300 of 300 lie strictly between 0 and 1"),
    "one score": (
        {"a": changed(0.5)},
        {},
        "bad-decisions",
        "'a' must be 0 or 1, but 1 of 300 lie strictly",
    ),
    "scores with both readings": (scores(), {"randomised": True, "threshold": 0.5}, "bad-option", "contradict"),
    **{
        f"threshold {threshold!r}": (scores(), {"threshold": threshold}, "bad-option", "finite number")
        for threshold in (NAN, INF, "half", True, [0.5])
    },
}


@pytest.mark.parametrize("call", ["test_lda", "test_frontier", "test_pareto"])
@pytest.mark.parametrize("name", BAD_DECISIONS)
def test_decisions_are_refused(ff, call, name):
    decisions, options, code, fragment = BAD_DECISIONS[name]
    with pytest.raises(InputError, match=re.escape(fragment)) as caught:
        getattr(ff, call)(decisions=decisions, **options)
    assert caught.value.code == code


def test_scores_are_refused_with_advice(ff):
    with pytest.raises(InputError, match=r"threshold=.*randomised=True; treating a score as a lottery"):
        ff.test_lda(scores())


def test_two_names_that_read_the_same_are_not_silently_merged(ff):
    for arguments in (
        {"decisions": {1: COIN, "1": 1 - COIN}},
        {"risks": {1: [0.4, 0.4], "1": [0.5, 0.5]}},
    ):
        with pytest.raises(InputError, match="name"):
            ff.test_lda(**arguments)


BAD_RISKS = {
    "above what the loss allows": ([0.4, 1.2], "bad-risks", "from [0.0, 0.0] to [1.0, 1.0]; got [0.4, 1.2]"),
    "below what the loss allows": ([[0.4, 0.4], [-0.1, 0.5]], "bad-risks", "got [-0.1, 0.5]"),
    "missing": ([0.4, NAN], "bad-risks", "finite"),
    "infinite": ([0.4, INF], "bad-risks", "finite"),
    "three numbers": ([0.1, 0.2, 0.3], "bad-risks", "shape (k, 2)"),
    "one number": (0.5, "bad-risks", "shape (k, 2)"),
    "none at all": (np.empty((0, 2)), "bad-risks", "shape (k, 2)"),
    "text": (["a", "b"], "bad-risks", "numbers"),
}


@pytest.mark.parametrize("call", ["test_lda", "test_frontier", "test_pareto"])
@pytest.mark.parametrize("name", BAD_RISKS)
def test_risks_are_refused(ff, call, name):
    risks, code, fragment = BAD_RISKS[name]
    with pytest.raises(InputError, match=re.escape(fragment)) as caught:
        getattr(ff, call)(**{"risks" if call == "test_lda" else "e": risks})
    assert caught.value.code == code


def test_an_empty_mapping_of_risks_is_refused(ff):
    with pytest.raises(InputError) as caught:
        ff.test_lda(risks={})
    assert caught.value.code == "bad-risks"


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_the_range_of_risks_is_that_of_the_loss_up_to_four_standard_errors():
    rng = np.random.default_rng(0)
    y = rng.normal(size=N)
    dl = 1 - 2 * y
    t = np.where((DATA.g == 1)[:, None], [1.0, 0.1], [0.1, 1.0]) * dl[:, None] + 0.1 * rng.normal(size=(N, 2))
    ff = fit(DATA, y=y, t=t, options={"loss": "squared", "n_boot": 99})
    for f, side in ((np.minimum, -1.0), (np.maximum, 1.0)):
        own = [f(y**2, (1 - y) ** 2)[DATA.g == g] for g in (1, 0)]
        end = np.array([values.mean() for values in own])
        error = np.array([values.std() / np.sqrt(len(values)) for values in own])
        assert ff.test_lda(risks=end + side * (4.0 * error - 1e-6)).p_value > 0
        with pytest.raises(InputError, match="what the loss allows"):
            ff.test_lda(risks=end + side * (4.0 * error + 1e-6))


@pytest.mark.parametrize("call", ["test_lda", "test_frontier", "test_pareto"])
def test_decisions_or_risks_and_not_both(ff, call):
    name = "risks" if call == "test_lda" else "e"
    for arguments in ({}, {"decisions": COIN, name: [0.4, 0.4]}):
        with pytest.raises(InputError, match="either `decisions`") as caught:
            getattr(ff, call)(**arguments)
        assert caught.value.code == "bad-decisions"
        assert f"`{name}`" in str(caught.value)  # calls its own argument by its own name


ASKED = {
    "test_lda": lambda ff, alpha: ff.test_lda(COIN, alpha=alpha),
    "test_frontier": lambda ff, alpha: ff.test_frontier([0.4, 0.4], alpha=alpha),
    "test_frontier of decisions": lambda ff, alpha: ff.test_frontier(decisions=COIN, alpha=alpha),
    "test_pareto": lambda ff, alpha: ff.test_pareto([0.4, 0.4], alpha=alpha),
    "frontier_confidence_set": lambda ff, alpha: ff.frontier_confidence_set(alpha),
    "pareto_confidence_set": lambda ff, alpha: ff.pareto_confidence_set(alpha),
    "confidence_band": lambda ff, alpha: ff.feasible_set().confidence_band(alpha),
    "test of feasibility": lambda ff, alpha: ff.feasible_set().test([0.4, 0.4], alpha),
    "test of containing": lambda ff, alpha: ff.feasible_set().test_contains([[0.4, 0.4]], alpha),
    "test of being contained": lambda ff, alpha: ff.feasible_set().test_contained_in([[0.4, 0.4]], alpha),
}


@pytest.mark.parametrize("call", ASKED)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, -0.1, 0.7, NAN, "0.05", True])
def test_levels_are_refused(ff, call, alpha):
    with pytest.raises(InputError, match=r"strictly between 0 and 0\.5") as caught:
        ASKED[call](ff, alpha)
    assert caught.value.code == "bad-alpha"


@pytest.mark.parametrize("alpha", [0.0, 0.5, NAN, "0.05"])
def test_levels_are_refused_when_judging_again(ff, alpha):
    feasible = ff.feasible_set()
    for result in (
        ff.test_lda(COIN),
        ff.test_frontier([0.4, 0.4]),
        ff.pareto_confidence_set(directions=20),
        feasible.confidence_band(),
        feasible.test([0.4, 0.4]),
    ):
        with pytest.raises(InputError) as caught:
            result.at(alpha)
        assert caught.value.code == "bad-alpha"


@pytest.mark.parametrize("call", ASKED)
def test_too_few_draws_for_the_level(ff, call):
    with pytest.raises(InputError, match="at least 199 are needed") as caught:
        ASKED[call](ff, 0.005)
    assert caught.value.code == "bad-draws"


def test_too_few_draws_for_another_level(ff):
    feasible = ff.feasible_set()
    for result in (
        ff.test_lda(COIN),
        ff.test_frontier([0.4, 0.4]),
        ff.pareto_confidence_set(directions=20),
        feasible.confidence_band(),
        feasible.test([0.4, 0.4]),
    ):
        with pytest.raises(InputError) as caught:
            result.at(0.005)
        assert caught.value.code == "bad-draws", type(result)


@pytest.mark.parametrize("call", ASKED)
@pytest.mark.parametrize("n_boot", [98, 0, -1, 99.5, "1000", None, True])
def test_number_of_draws_is_refused(call, n_boot):
    with pytest.raises(InputError, match="at least 99") as caught:
        ASKED[call](fit(DATA, options={"n_boot": n_boot}), None)
    assert caught.value.code == "bad-draws"


@pytest.mark.parametrize("call", [*ASKED])
def test_nothing_is_told_before_fitting(call):
    with pytest.raises(NotFittedError, match="call `fit` first"):
        ASKED[call](FairFrontier(), None)


@pytest.mark.parametrize(
    ("call", "options", "fragment"),
    [
        ("test_lda", {"method": "best"}, "'robust', 'sharp', 'paper'"),
        ("test_lda", {"method": None}, "`method` must be one of"),
        *[
            ("test_lda", {"method": "paper", "directions": d}, "an integer of at least 8")
            for d in (7, 0, -1, 100.0, "all", True)
        ],
        *[("test_frontier", {"directions": d}, "an integer") for d in (7, 1000.5, "exact", None, True)],
        *[("test_pareto", {"directions": d}, "an integer") for d in (7, "exact")],
        ("test_frontier", {"derivative": "exact"}, "'numerical', 'contact'"),
        ("test_pareto", {"derivative": None}, "`derivative` must be one of"),
    ],
)
def test_options_are_refused(ff, call, options, fragment):
    with pytest.raises(InputError, match=re.escape(fragment)) as caught:
        getattr(ff, call)(decisions=COIN, **options)
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize("call", ["frontier_confidence_set", "pareto_confidence_set"])
@pytest.mark.parametrize("directions", [7, "exact", None, 9.5])
def test_directions_of_regions_are_refused(ff, call, directions):
    with pytest.raises(InputError, match="an integer") as caught:
        getattr(ff, call)(directions=directions)
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize("side", ["both", None, 1])
def test_sides_of_bands_are_refused(ff, side):
    with pytest.raises(InputError, match="two-sided") as caught:
        ff.feasible_set().confidence_band(side=side)
    assert caught.value.code == "bad-option"


def test_points_given_to_sets_are_refused(ff):
    feasible = ff.feasible_set()
    region = ff.pareto_confidence_set(directions=20)
    for ask in (feasible.test, feasible.test_contains, feasible.test_contained_in, region.contains):
        for wrong in ([0.4, NAN], [1.0, 2.0, 3.0], "x", []):
            with pytest.raises(InputError) as caught:
                ask(wrong)
            assert caught.value.code == "bad-risks"
    with pytest.raises(InputError, match="one risk pair"):
        feasible.test([[0.4, 0.4], [0.5, 0.5]])
    band = feasible.confidence_band()
    for wrong in ([0.0, 0.0], [NAN, 1.0]):
        with pytest.raises(InputError) as caught:
            band.upper(wrong)
        assert caught.value.code == "bad-direction"


def test_rows_left_out_at_fitting_need_no_decision_but_lengths_are_those_given():
    y = DATA.y.astype(float).copy()
    y[:5] = NAN
    with pytest.warns(match="Dropped 5 of 300 rows"):
        ff = fit(DATA, y=y, options={"missing": "drop", "n_boot": 99})
    whole = ff.test_lda(COIN)
    rest = fit(rows(N, 0).at(np.arange(5, N)), options={"n_boot": 99}).test_lda(COIN[5:])
    assert whole.p_value == rest.p_value
    np.testing.assert_allclose(whole.draws, rest.draws, atol=1e-12)
    with pytest.raises(InputError, match="one value per row, 300"):
        ff.test_lda(COIN[5:])


def test_eight_directions_are_the_fewest():
    assert check_n_directions(8) == 8
    with pytest.raises(InputError, match="at least 8; got 7"):
        check_n_directions(7)
