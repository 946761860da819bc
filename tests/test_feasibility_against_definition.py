"""The studentised test that an algorithm's risks are attainable: loops over draws, what varies not, size, power."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.feasibility_study import DESIGNS, NULLS, p_values, rejection_rates
from support.lda_cases import B, Case, N
from support.small_samples import fit, rows

from fairfrontier.bootstrap.draws import Draws
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.plane import off_breakpoint
from fairfrontier.inference.lda.evidence import DirectionTests
from fairfrontier.inference.lda.witness import menu_directions

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.FewDrawsWarning",
)


def directions(n, outermost):
    """The circle, the best directions of both groups and the outermost one."""
    k = 4 * int(np.ceil(len(plain.robust_grid(n)) / 4))
    circle = [[np.cos(2 * np.pi * j / k), np.sin(2 * np.pi * j / k)] for j in range(k)]
    return np.array([*circle, [-1.0, 0.0], [0.0, -1.0], off_breakpoint(outermost)])


def studentised(excess, z):
    """T and p-value from excesses (K,) and draws (B, K), both times sqrt(n), loop by loop."""
    spread = [np.sqrt(np.mean((z[:, k] - z[:, k].mean()) ** 2)) for k in range(len(excess))]
    still = [k for k in range(len(excess)) if spread[k] < 1e-9]
    if any(excess[k] > 1e-9 for k in still):
        return np.inf, 1 / (1 + len(z))
    varying = [k for k in range(len(excess)) if k not in still]
    statistic = max([excess[k] / spread[k] for k in varying], default=0.0)
    if statistic <= 0:
        return 0.0, 1.0
    largest = [max(draw[k] / spread[k] for k in varying) for draw in z]
    return statistic, (1 + sum(x >= statistic - 1e-9 for x in largest)) / (1 + len(z))


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "bounds"])
def test_statistic_and_p_value(kind):
    case = Case(kind)
    rng, y = np.random.default_rng(5), case.data.y
    rule = case.decisions["rule"]
    # some people are decided rightly who were not: outside the set by more or less
    case.decisions |= {f"mended {k}": np.where(rng.random(N) < k / 10, y, rule) for k in (1, 2, 4)}
    case.points |= {"good": [0.2, 0.3], "nearly": [0.28, 0.4]}
    outside = 0
    for _, test, losses in case.results("sharp"):
        e = test.risk
        most = case.function.estimate.max_excess(e)
        assert most.value == pytest.approx(plain.max_excess(case.function.scores, e), abs=1e-9)
        found = test.evidence.feasibility_t, test.evidence.feasibility_p_value
        assert test.feasibility == pytest.approx(case.root * max(most.value, 0.0), abs=1e-12)
        if most.value <= 0.0:
            assert found == (0.0, 1.0)
            continue
        outside += 1
        q = directions(N, most.direction)
        h, z_h, z_e = case.draw(q, losses, e, hold_rules=True)
        excess = np.array([case.root * (x @ e - h[k]) for k, x in enumerate(q)])
        z = np.array([[x @ z_e[b] - z_h[b, k] for k, x in enumerate(q)] for b in range(B)])
        statistic, p = studentised(excess, z)
        assert found[0] == pytest.approx(statistic, rel=1e-9, abs=1e-9)
        assert found[1] == p
    assert outside >= 4


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_ties_zeros_and_directions_without_variation(seed):
    """Draws on a lattice, some directions without variation, some with an excess there."""
    rng = np.random.default_rng(seed)
    n, k, n_boot = 50, 6, 19
    q = np.array([[np.cos(a), np.sin(a)] for a in rng.uniform(0, 2 * np.pi, k)])
    h_hat = rng.integers(-3, 4, k) / 4.0
    h = h_hat + rng.integers(-2, 3, (n_boot, k)) / 8.0
    e = rng.integers(-2, 3, 2) / 4.0
    e_draws = np.tile(e, (n_boot, 1)) if rng.random() < 0.5 else e + rng.integers(-2, 3, (n_boot, 2)) / 8.0
    for j in range(k):
        if rng.random() < 0.3:
            h[:, j] = h_hat[j] + (e_draws - e) @ q[j]  # z is rounding only
            if rng.random() < 0.7:
                h_hat[j], h[:, j] = q[j] @ e, h[:, j] - h_hat[j] + q[j] @ e  # and so is the excess
    draws = Draws(q, h_hat, h, np.empty((0, 2)), np.empty((n_boot, 0, 2)), n)
    root = np.sqrt(n)
    z = root * ((e_draws - e) @ q.T - (h - h_hat))
    statistic, p = DirectionTests(draws, e, e_draws, np.zeros(k)).feasibility(np.arange(k))
    expected, expected_p = studentised(root * (q @ e - h_hat), z)
    assert statistic == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert p == expected_p


def test_an_excess_where_nothing_varies_is_infeasible():
    data = rows(N, 2)
    y = np.where(data.g == 1, data.y, 1)
    t = np.column_stack([data.t[:, 0], np.full(N, 0.1)])  # nobody of the second group is worth selecting: all err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = fit(data, y=y, t=t, options={"n_boot": B})
    test = ff.test_lda(risks=[0.5, 0.9])
    assert test.evidence.feasibility_t == np.inf
    assert test.evidence.feasibility_p_value == 1 / (1 + B)
    assert test.verdict == "not-comparable"
    assert test.to_dict()["feasibility_t"] is None
    assert "in a direction in which nothing varies" in test.summary()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        right = fit(data, y=y, t=t * [1.0, -1.0], options={"n_boot": B})  # all are selected, nobody errs
    assert right.test_lda(risks=[0.2, 0.0]).evidence.feasibility_t < np.inf


def test_a_deficit_in_a_large_group_is_seen_beside_a_small_one():
    """The published statistic mixes the groups' noise: there 5 standard errors drown."""
    small = [p_values(number, "small group", n_boot=99) for number in range(3)]
    assert (np.array(small)[:, len(NULLS) :] <= 0.05).all()


def test_draws_round_the_circle_only_where_an_algorithm_lies_outside(monkeypatch):
    case = Case("plain")
    drawn, draw = [], type(case.context).draw

    def counting(self, q, *arguments, **options):
        drawn.append(len(q))
        return draw(self, q, *arguments, **options)

    monkeypatch.setattr(type(case.context), "draw", counting)
    case.ff.test_lda(case.decisions["coin"])
    case.ff.test_lda(case.data.y)
    of_the_menu = 2 * len(menu_directions())  # the coin can be improved on, so it is compared with a menu of rules
    assert drawn[1] >= drawn[0] - of_the_menu + len(plain.robust_grid(N))


def test_small_study():
    size, power = rejection_rates(40, "even", n_boot=99)
    assert size.max() <= 0.125
    assert power.min() >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_size_and_power(design):
    """Size at most 5%, up to twice the Monte Carlo error; power at least 95% at a deficit of 5 standard errors."""
    size, power = rejection_rates(400, design, n_boot=199)
    assert size.max() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert power.min() >= 0.95
