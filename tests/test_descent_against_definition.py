"""Intervals of the distance to an F found by descent: against plain transcriptions, and against descents."""

from itertools import pairwise

import numpy as np
import plain
import pytest
from distance_cases import SEED, B, Case, breaks_on_line, moved_by_group, on_line, values_of
from test_frontier_properties import fit, rows
from test_replication_table1 import SMALL

from fairfrontier.inference._exact import edges_of
from fairfrontier.inference.levels import critical_value, step_size
from fairfrontier.replication.comparison import compare
from fairfrontier.replication.descent import along_line, descent_task, distance_by_descent, replicate_descent
from fairfrontier.replication.descent import resting_value as resting
from fairfrontier.replication.store import Row, open_store
from fairfrontier.replication.table1 import POINTS, replicate, settings, tasks
from fairfrontier.support import build_support_function


def plain_rest(scores, multiplier, k):
    """(1 - k) h^ + k h~ where the integral of its slope v_b - v_r over c, |c| <= 5, is smallest."""
    ones = np.ones(len(scores.l0))
    inside = np.concatenate([breaks_on_line(scores, ones), breaks_on_line(scores, multiplier)])
    c = np.unique([-5.0, *inside[np.abs(inside) < 5.0], 5.0])
    pairs, height, best, found = {}, 0.0, 0.0, c[0]
    for first, last in pairwise(c):
        middle = on_line((first + last) / 2.0)
        v = ((1.0 - k) * values_of(scores, middle) + k * values_of(scores, middle, multiplier))[0]
        pairs.setdefault(first, []).append(v)
        pairs.setdefault(last, []).append(v)
        height += (last - first) * (v[1] - v[0])
        if height < best:
            best, found = height, last
    return float(np.mean([on_line(found)[0] @ v for v in pairs[found]]))


@pytest.mark.parametrize("kind", ["plain", "weights", "moved"])
def test_f_and_the_widths_are_those_of_the_definition(kind):
    scores = moved_by_group(Case().scores, 0.1) if kind == "moved" else Case(kind).scores
    function, n = build_support_function(scores), len(scores.l0)
    step, rng = step_size(n), np.random.default_rng(3)
    loss, fixed = rng.random(n), np.array([[0.3, 0.6], [0.5, 0.5]])
    f, risks, half = distance_by_descent(function, loss, fixed, n_boot=B, alpha=0.1, seed=SEED)
    assert f == pytest.approx(-plain_rest(scores, np.ones(n), 0.0), abs=1e-10)

    def risk(weight):
        return np.array([np.average(loss[g], weights=weight[g]) for g in (scores.is_r, ~scores.is_r)])

    own = risk(scores.weight)
    np.testing.assert_allclose(risks, [*fixed, own], atol=1e-12)
    multipliers = plain.weights_of_draws(function, B, SEED)
    f_moves = np.array([(-plain_rest(scores, w, step * np.sqrt(n)) - f) / step for w in multipliers])
    e_moves = np.sqrt(n) * np.array([risk(scores.weight * w) - own for w in multipliers])
    for e, width, moves in zip(risks, half, (0.0 * e_moves, 0.0 * e_moves, e_moves), strict=True):
        change = 2.0 * (e[0] - f) * (moves[:, 0] - f_moves) + 2.0 * (e[1] - f) * (moves[:, 1] - f_moves)
        assert width == pytest.approx(critical_value(np.abs(change), 0.1) / np.sqrt(n), rel=1e-7)


@pytest.mark.parametrize("seed", [8, 9])
def test_a_gradient_descent_comes_to_rest_there(seed):
    """Follow the slope of h^ with ever smaller steps, from both sides, and look where that ends."""
    function = fit(rows(2000, seed)).support_function_
    scores = function.scores
    breaks, points = along_line(edges_of(function), function.estimate.values, function.estimate.mirror)
    found, lowest = resting(breaks, points), function.estimate.line_infimum().value
    for c in (-3.0, 1.0):
        ends = []
        for k in range(1, 1500):
            v_r, v_b = values_of(scores, on_line(c))[0]
            c -= 3.0 / k**0.75 * (v_b - v_r)
            ends.append(on_line(c)[0] @ values_of(scores, on_line(c))[0])
        assert np.mean(ends[-200:]) == pytest.approx(found, abs=1e-3)
    assert lowest < found - 2e-3  # the infimum lies in a jump that a descent does not see


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_a_replication_and_its_place_in_the_table(tmp_path):
    number, n, design, options = 4, 1000, "skewed", SMALL
    result, seconds = replicate_descent(number, n, design, options)
    assert set(result) == {"descent: F", *(f"descent: distance {name}" for name in POINTS)}
    assert set(seconds) == {"descent"}
    assert replicate_descent(number, n, design, options)[0] == result
    assert replicate_descent(number + 1, n, design, options)[0] != result
    main, main_seconds = replicate(number, n, design, options)
    # the same sample and fit: the infimum is lower, so the F from it is higher, but not far away
    assert 0.0 < main["published: distance F r"] - result["descent: F"] < 0.1
    store, _ = open_store(tmp_path / "table1.sqlite", settings())
    task = next(task for task in tasks(number + 1, (n,), (design,), options) if task.name.endswith("000004"))
    store.add(Row(task.name, main, None, main_seconds))
    store.add(Row(task.name.replace("000004", "000005"), main, None, main_seconds))
    store.add(Row(descent_task(task).name, result, None, seconds))
    found = compare(store)
    counts = found.table[found.table["test"] == "distance"].groupby("procedure")["replications"].agg(["min", "max"])
    assert tuple(counts.loc["as published, F by descent"]) == (1, 1)
    assert tuple(counts.loc["as published"]) == (2, 2)
    by_descent = found.table[found.table["procedure"] == "as published, F by descent"].set_index("cell")["rate"]
    assert {f"descent: distance {name}": by_descent[name] for name in POINTS}.items() <= result.items()
    assert found.cost.loc[0, "descent"] == seconds["descent"]
