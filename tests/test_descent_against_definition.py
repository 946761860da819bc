"""The published intervals of the distance to an F that a search finds: against plain transcriptions."""

import math
from bisect import bisect_left
from dataclasses import replace

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
    replicate_descent,
    search,
    value_at,
)
from fairfrontier.replication.store import Row, open_store
from fairfrontier.replication.table1 import POINTS, draw_sample, replicate, settings, tasks, true_points


def rules_on_line(scores, multiplier):
    """Breakpoints of the line under random weights, and the risk pairs of the rules in the middle between them."""
    c = np.sort(breaks_on_line(scores, multiplier))
    middles = np.concatenate([[c[0] - 1.0], (c[1:] + c[:-1]) / 2.0, [c[-1] + 1.0]])
    return c.tolist(), values_of(scores, on_line(middles), multiplier).tolist()


def value_and_slope(lines, k, c):
    """(1 - k) h^ + k h~ at c and its slope v_b - v_r, of two lines."""
    first, second = (v[bisect_left(breaks, c)] for breaks, v in lines)
    r, b = ((1.0 - k) * first[g] + k * second[g] for g in (0, 1))
    return (-1.0 - c) * r + c * b, b - r


def plain_search(lines, k, c):
    """BFGS of a function of one number, whose matrix is a number; where it stops, and the value there."""
    b, inverse, evaluated, reset_at = c, 1.0, 1, 1
    value, g = value_and_slope(lines, k, c)
    for _ in range(10_000):
        if reset_at == evaluated:
            inverse = 1.0
        start, before = b, g
        way = -inverse * g
        stuck = False
        if way * g < 0.0:
            length = 1.0
            while True:
                b = start + length * way
                stuck = 10.0 + b == 10.0 + start
                if stuck:
                    break
                found = value_and_slope(lines, k, b)[0]
                if found <= value + 1e-4 * length * (way * g):
                    break
                length *= 0.2
            if not stuck and abs(found - value) <= 1.49011611938477e-08 * (abs(value) + 1.49011611938477e-08):
                stuck, value = True, found
            elif stuck:
                b = start
            if not stuck:
                value, g = value_and_slope(lines, k, b)
                evaluated += 1
                step, bend = b - start, g - before
                if step * bend > 0.0:
                    inverse = step * step / (step * bend)  # BFGS in one dimension
                else:
                    reset_at = evaluated
            elif reset_at < evaluated:
                stuck, reset_at = False, evaluated
        elif reset_at == evaluated:
            stuck = True
        else:
            reset_at = evaluated
        if evaluated - reset_at > 2:
            reset_at = evaluated
        if stuck and reset_at == evaluated:
            break
    return b, value_and_slope(lines, k, b)[0]


def plain_start(line):
    """Adam along the slope from the best of the same 20,000 random c."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED.entropy, spawn_key=(*SEED.spawn_key, 0)))
    every = rng.uniform(-1000.0, 1000.0, 20_000).tolist()
    c, mean, square = min(every, key=lambda c: value_and_slope((line, line), 0.0, c)[0]), 0.0, 0.0
    for k in range(1, 20_001):
        slope = value_and_slope((line, line), 0.0, c)[1]
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        c -= 0.08 * (mean / (1 - 0.9**k)) / (math.sqrt(square / (1 - 0.999**k)) + 1e-8)
    return c


def tied(scores):
    """The same rows with predictions so coarse that many share a direction."""
    return replace(scores, t=np.round(scores.t * 10.0) / 10.0)


@pytest.mark.parametrize("kind", ["plain", "weights", "moved", "ties"])
def test_f_and_the_widths_are_those_of_the_definition(kind):
    scores = Case("weights" if kind == "weights" else "plain", n=44).scores
    scores = {"moved": moved_by_group(scores, 0.1), "ties": tied(scores)}.get(kind, scores)
    function, n = build_support_function(scores), len(scores.l0)
    step, rng = step_size(n), np.random.default_rng(3)
    loss, fixed = rng.random(n), np.array([[0.3, 0.6], [0.5, 0.5]])
    f, risks, half = distance_on_line(function, loss, fixed, n_boot=B, alpha=0.1, seed=SEED)
    line = rules_on_line(scores, np.ones(n))
    start, f_plain = plain_search((line, line), 0.0, plain_start(line))
    assert f == pytest.approx(-f_plain, abs=1e-8)

    def risk(weight):
        return np.array([np.average(loss[g], weights=weight[g]) for g in (scores.is_r, ~scores.is_r)])

    own = risk(scores.weight)
    np.testing.assert_allclose(risks, [*fixed, own], atol=1e-12)
    multipliers = plain.weights_of_draws(function, B, SEED)
    drawn = [plain_search((line, rules_on_line(scores, w)), step * np.sqrt(n), start)[1] for w in multipliers]
    f_moves = np.array([(-value - f) / step for value in drawn])
    e_moves = np.sqrt(n) * np.array([risk(scores.weight * w) - own for w in multipliers])
    for e, width, moves in zip(risks, half, (0.0 * e_moves, 0.0 * e_moves, e_moves), strict=True):
        change = 2.0 * (e[0] - f) * (moves[:, 0] - f_moves) + 2.0 * (e[1] - f) * (moves[:, 1] - f_moves)
        assert width == pytest.approx(critical_value(np.abs(change), 0.1) / np.sqrt(n), rel=1e-6)


@pytest.mark.parametrize("seed", [8, 9])
def test_the_search_stops_where_nothing_leads_down(seed):
    """From many starts: no step along the slope, however short, lowers the value by its share of what is predicted."""
    function = fit(rows(2000, seed)).support_function_
    line = along_line(edges_of(function), function.estimate.values, function.estimate.mirror)
    lowest, values = function.estimate.line_infimum().value, []
    for start in np.linspace(-4.0, 3.0, 29):
        c = search(line, line, 0.0, start)
        values.append(value_at(line, line, 0.0, c))
        at = int(np.searchsorted(line[0], c))
        slope = line[1][at, 1] - line[1][at, 0]
        assert value_at(line, line, 0.0, start) >= values[-1] >= lowest - 1e-12
        for length in 0.2 ** np.arange(1, 20):
            further = value_at(line, line, 0.0, c - length * slope)
            enough = further <= values[-1] - 1e-4 * length * slope**2
            assert not enough or values[-1] - further < 1e-6 or abs(slope) < 0.5
    assert min(values) < lowest + 0.01
    assert max(values) > lowest + 1e-3  # a search need not find the infimum


@pytest.fixture(scope="module")
def replication():
    """Return the arguments of a replication, and what it gives by descent."""
    arguments = (2, 1000, "balanced", SMALL)
    return arguments, replicate_descent(*arguments)


def test_a_replication_by_hand(replication):
    (number, n, design, options), (result, seconds) = replication
    assert set(seconds) == {"quasi-Newton"}
    sample, truth = draw_sample(number, n, design), true_points(design)
    ff = FairFrontier(n_rep=1, random_state=sample.fit_seed, **options["published learner"])
    ff.fit(sample.X, sample.y, sensitive_features=sample.group)
    loss = np.array([(1 - a) if y == 1 else a for a, y in zip(sample.lottery, sample.y, strict=True)])
    e_star = np.array([loss[sample.group == g].mean() for g in ff.groups_])
    points = [truth["R"], truth["B"], truth["(R+B)/2"], e_star]
    expected = {}
    f, risks, half = distance_on_line(
        ff.support_function_, loss, np.array(points[:3]), n_boot=99, alpha=0.05, seed=sample.descent_seed
    )
    np.testing.assert_allclose(risks, points, atol=1e-12)
    expected["quasi-Newton: F"] = round(f, 6)
    for name, e, width in zip(("R", "B", "(R+B)/2", "e*"), points, half, strict=True):
        low, high = ((e - f) ** 2).sum() - width, ((e - f) ** 2).sum() + width
        missed = not low <= ((truth[name] - truth["F"]) ** 2).sum() <= high
        expected[f"quasi-Newton: distance {name}"] = float(missed)
    assert result == expected


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_its_place_in_the_table(replication, tmp_path):
    (number, n, design, options), (result, seconds) = replication
    main, main_seconds = replicate(number, n, design, options)
    # the same sample and fit; a search does not find less than the infimum
    assert main["published: distance F r"] >= result["quasi-Newton: F"] - 1e-6
    store, _ = open_store(tmp_path / "table1.sqlite", settings())
    task = tasks(number + 1, (n,), (design,), options)[-1]
    store.add(Row(task.name, main, None, main_seconds))
    store.add(Row(task.name.replace("000002", "000003"), main, None, main_seconds))
    store.add(Row(descent_task(task).name, result, None, seconds))
    found = compare(store)
    counts = found.table[found.table["test"] == "distance"].groupby("procedure")["replications"].agg(["min", "max"])
    assert tuple(counts.loc["as published"]) == (1, 1)
    assert tuple(counts.loc["published test, exact"]) == (2, 2)
    distances = found.table[found.table["test"] == "distance"]
    rates = distances[distances["procedure"] == "as published"].set_index("cell")["rate"]
    assert {f"quasi-Newton: distance {name}": rates[name] for name in POINTS}.items() <= result.items()
    assert found.cost.loc[0, "quasi-Newton"] == seconds["quasi-Newton"]
