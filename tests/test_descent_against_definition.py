"""Intervals of the distance to an F found by descent: against plain transcriptions, and against descents."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support import plain
from support.distance_cases import SEED, B, Case, breaks_on_line, moved_by_group, on_line, values_of
from support.small_samples import fit, rows
from support.small_table1 import SMALL

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.exact import edges_of
from fairfrontier.frontier.support import build_support_function
from fairfrontier.inference.p_values import critical_value, step_size
from fairfrontier.replication.comparison import compare
from fairfrontier.replication.descent import (
    along_line,
    descent_task,
    distance_on_line,
    lowest_value,
    replicate_descent,
    resting_value,
)
from fairfrontier.replication.store import Row, open_store
from fairfrontier.replication.table1 import POINTS, draw_sample, replicate, settings, tasks, true_points


def plain_pieces(scores, multiplier, k):
    """Ends of the pieces of [-5, 5] on which (1 - k) h^ + k h~ is linear, and the risk pairs in force there."""
    ones = np.ones(len(scores.l0))
    inside = np.concatenate([breaks_on_line(scores, ones), breaks_on_line(scores, multiplier)])
    c = np.unique([-5.0, *inside[np.abs(inside) < 5.0], 5.0])
    c = c[np.append(True, np.diff(c) > 1e-12)]  # rounding may tear one breakpoint into two
    for first, last in pairwise(c):
        middle = on_line((first + last) / 2.0)
        yield first, last, ((1.0 - k) * values_of(scores, middle) + k * values_of(scores, middle, multiplier))[0]


def plain_rest(scores, multiplier, k):
    """(1 - k) h^ + k h~ where the integral of its slope v_b - v_r over c, |c| <= 5, is smallest."""
    pairs, height, best, found = {}, 0.0, 0.0, -5.0
    for first, last, v in plain_pieces(scores, multiplier, k):
        pairs.setdefault(first, []).append(v)
        pairs.setdefault(last, []).append(v)
        height += (last - first) * (v[1] - v[0])
        if height < best:
            best, found = height, last
    return float(np.mean([on_line(found)[0] @ v for v in pairs[found]]))


def plain_infimum(scores, multiplier, k):
    """Smallest (1 - k) h^ + k h~ for |c| <= 5."""
    return min(on_line(c)[0] @ v for *ends, v in plain_pieces(scores, multiplier, k) for c in ends)


def tied(scores):
    """The same rows with predictions so coarse that many share a direction."""
    return replace(scores, t=np.round(scores.t * 10.0) / 10.0)


@pytest.mark.parametrize(("value", "plain_value"), [(resting_value, plain_rest), (lowest_value, plain_infimum)])
@pytest.mark.parametrize("kind", ["plain", "weights", "moved", "ties"])
def test_f_and_the_widths_are_those_of_the_definition(kind, value, plain_value):
    scores = Case("weights" if kind == "weights" else "plain", n=44).scores
    scores = {"moved": moved_by_group(scores, 0.1), "ties": tied(scores)}.get(kind, scores)
    function, n = build_support_function(scores), len(scores.l0)
    step, rng = step_size(n), np.random.default_rng(3)
    loss, fixed = rng.random(n), np.array([[0.3, 0.6], [0.5, 0.5]])
    f, risks, half = distance_on_line(function, loss, fixed, value, n_boot=B, alpha=0.1, seed=SEED)
    assert f == pytest.approx(-plain_value(scores, np.ones(n), 0.0), abs=1e-10)

    def risk(weight):
        return np.array([np.average(loss[g], weights=weight[g]) for g in (scores.is_r, ~scores.is_r)])

    own = risk(scores.weight)
    np.testing.assert_allclose(risks, [*fixed, own], atol=1e-12)
    multipliers = plain.weights_of_draws(function, B, SEED)
    f_moves = np.array([(-plain_value(scores, w, step * np.sqrt(n)) - f) / step for w in multipliers])
    e_moves = np.sqrt(n) * np.array([risk(scores.weight * w) - own for w in multipliers])
    for e, width, moves in zip(risks, half, (0.0 * e_moves, 0.0 * e_moves, e_moves), strict=True):
        change = 2.0 * (e[0] - f) * (moves[:, 0] - f_moves) + 2.0 * (e[1] - f) * (moves[:, 1] - f_moves)
        assert width == pytest.approx(critical_value(np.abs(change), 0.1) / np.sqrt(n), rel=1e-7)


@pytest.mark.parametrize("seed", [8, 9])
def test_a_gradient_descent_comes_to_rest_there(seed):
    """Follow the slope of h^ with ever smaller steps, from both sides, and look where that ends."""
    function = fit(rows(2000, seed)).support_function_
    scores = function.scores
    line = along_line(edges_of(function), function.estimate.values, function.estimate.mirror)
    found, lowest = resting_value(line), lowest_value(line)
    assert lowest == pytest.approx(function.estimate.line_infimum().value, abs=1e-12)
    for c in (-3.0, 1.0):
        ends = []
        for k in range(1, 1500):
            v_r, v_b = values_of(scores, on_line(c))[0]
            c -= 3.0 / k**0.75 * (v_b - v_r)
            ends.append(on_line(c)[0] @ values_of(scores, on_line(c))[0])
        assert np.mean(ends[-200:]) == pytest.approx(found, abs=1e-3)
    assert lowest < found - 2e-3  # the infimum lies in a jump that a descent does not see


@pytest.fixture(scope="module")
def replication():
    """Return the arguments of a replication, and what it gives by descent."""
    arguments = (2, 1000, "balanced", SMALL)
    return arguments, replicate_descent(*arguments)


def test_a_replication_by_hand(replication):
    (number, n, design, options), (result, seconds) = replication
    assert set(seconds) == {"descent"}
    sample, truth = draw_sample(number, n, design), true_points(design)
    ff = FairFrontier(random_state=sample.fit_seed, **options["published learner"])
    ff.fit(sample.X, sample.y, sensitive_features=sample.group)
    loss = np.array([(1 - a) if y == 1 else a for a, y in zip(sample.lottery, sample.y, strict=True)])
    e_star = np.array([loss[sample.group == g].mean() for g in ff.groups_])
    points = [truth["R"], truth["B"], truth["(R+B)/2"], e_star]
    expected = {}
    for kind, value in (("descent", resting_value), ("infimum", lowest_value)):
        f, risks, half = distance_on_line(
            ff.support_function_, loss, np.array(points[:3]), value, n_boot=99, alpha=0.05, seed=sample.descent_seed
        )
        np.testing.assert_allclose(risks, points, atol=1e-12)
        expected[f"{kind}: F"] = round(f, 6)
        for name, e, width in zip(("R", "B", "(R+B)/2", "e*"), points, half, strict=True):
            low, high = ((e - f) ** 2).sum() - width, ((e - f) ** 2).sum() + width
            expected[f"{kind}: distance {name}"] = float(not low <= ((truth[name] - truth["F"]) ** 2).sum() <= high)
    assert result == expected
    assert 0.0 < result["infimum: F"] - result["descent: F"] < 0.1
    flags = [value for name, value in result.items() if "distance" in name]
    assert 0.0 < np.mean(flags) < 1.0  # else a constant would do


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_its_place_in_the_table(replication, tmp_path):
    (number, n, design, options), (result, seconds) = replication
    main, main_seconds = replicate(number, n, design, options)
    # the same sample and fit, and so the same infimum, which lies within reach
    assert main["published: distance F r"] == pytest.approx(result["infimum: F"], abs=1e-6)
    store, _ = open_store(tmp_path / "table1.sqlite", settings())
    task = tasks(number + 1, (n,), (design,), options)[-1]
    store.add(Row(task.name, main, None, main_seconds))
    store.add(Row(task.name.replace("000002", "000003"), main, None, main_seconds))
    store.add(Row(descent_task(task).name, result, None, seconds))
    found = compare(store)
    counts = found.table[found.table["test"] == "distance"].groupby("procedure")["replications"].agg(["min", "max"])
    assert tuple(counts.loc["imitation of the published, by descent"]) == (1, 1)
    assert tuple(counts.loc["published test, exact"]) == (2, 2)
    for kind in ("descent", "infimum"):
        rates = found.table[found.table["procedure"] == f"imitation of the published, by {kind}"].set_index("cell")[
            "rate"
        ]
        assert {f"{kind}: distance {name}": rates[name] for name in POINTS}.items() <= result.items()
    assert found.cost.loc[0, "descent"] == seconds["descent"]
