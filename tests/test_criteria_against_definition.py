"""Criteria of all kinds: slacks and support functions against plain sums, existence against programmes."""

from dataclasses import replace

import numpy as np
import pytest
from support.criteria_cases import ZERO, one_case

from fairfrontier.frontier.criteria import LinearCriterion, criteria_rows
from fairfrontier.frontier.fan import Aims, Kept, Ratio
from fairfrontier.frontier.rule_values import RuleValuer, slacks
from fairfrontier.frontier.standing import stand
from fairfrontier.frontier.trade_off import make_trade_off
from fairfrontier.inference.fan.cells import Refinement, cut_cells

N, GROUPS = 90, 3


def drawn(seed=0, *, clustered=False, bounded=False, repeated=1, tied=False):
    """Rows with a loss overall, a rate by group among some of them, and the share selected."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(N) % GROUPS)
    y = (rng.random(N) < 0.5).astype(float)
    weight = rng.exponential(size=N)
    among = np.where(y == 1, rng.integers(1, 3, N), 0).astype(float)  # some count double, some not at all
    parts = [(np.ones(N), y, 1.0 - 2.0 * y)]
    parts += [(among * (group == g), np.full(N, 0.1), np.full(N, 0.8)) for g in range(GROUPS)]
    parts += [(np.ones(N), np.zeros(N), np.ones(N))]
    t = rng.normal(size=(repeated * N, len(parts)))
    t = np.round(t) if tied else t
    clusters = np.unique(rng.integers(0, N // 2, N), return_inverse=True)[1] if clustered else None
    lower, upper = (rng.random(N) * 0.3, 1.0 - rng.random(N) * 0.3) if bounded else (None, None)
    own = [LinearCriterion(*part, t[:, j]) for j, part in enumerate(parts)]
    rows = criteria_rows(own, weight, clusters=clusters, lower=lower, upper=upper)
    decisions = (rng.random(N) < 0.5).astype(float)
    folds = rng.integers(0, 3, N) if clusters is None else rng.integers(0, 3, N)[clusters]
    low, high = np.zeros(N) if lower is None else lower, np.ones(N) if upper is None else upper
    units = np.arange(N) if clusters is None else clusters
    return rows, decisions, folds, (parts, t, weight, units, low, high)


def mean(part, a, weight):
    own = weight * part[0]
    return (own * (part[1] + a * part[2])).sum() / own.sum()


def plain_rule(p, parts, t, weight, low, high):
    """Chances (n,) of the lottery between the repetitions' rules that minimise p'c by the predictions."""
    scale = np.array([weight.sum() / (weight * part[0]).sum() for part in parts])
    each = [np.where(own * scale @ p < 0.0, high, low) for own in t.reshape(-1, len(weight), len(parts))]
    return np.mean(each, axis=0)


SPREAD = (1, 2, 3)
KEPT = (Kept(4, 1, 0.03), Kept(4, -1, 0.05))
AIMS = {
    "range": Aims(5, 1, SPREAD),
    "kept": Aims(5, 1, SPREAD, kept=KEPT),
    "reference": Aims(5, 1, SPREAD, reference=1),
    "ratio": Aims(5, 1, SPREAD, "ratio", kept=KEPT[:1]),
}
CASES = [
    {},
    {"tied": True},
    {"clustered": True, "bounded": True},
    {"repeated": 2},
    {"repeated": 3, "clustered": True, "bounded": True, "tied": True},
]


def plain_widths(aims, chosen_with, weight, decisions, folds, parts):
    """Widths with other weights of the rows, the criteria chosen on other folds held."""
    found = []
    for width in aims.widths:
        if not isinstance(width, tuple):
            found.append(width)
            continue
        top = bottom = 0.0
        for fold in np.unique(folds):
            inside, outside = (folds == fold).astype(float), (folds != fold).astype(float)
            rest = [mean(part, decisions, chosen_with * outside) for part in parts]
            size = (chosen_with * inside).sum() / chosen_with.sum()
            own = [mean(part, decisions, weight * inside) if k in SPREAD else 0.0 for k, part in enumerate(parts)]
            if isinstance(width, Ratio):
                top += size * own[min(width.members, key=lambda g: rest[g])]
                bottom += size * own[max(width.members, key=lambda g: rest[g])]
            else:
                g, h = max(width, key=lambda pair: rest[pair[0]] - rest[pair[1]])
                top += size * (own[g] - own[h])
        found.append(top / bottom if isinstance(width, Ratio) else top)
    return np.array(found)


@pytest.mark.kernels
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", AIMS)
def test_slacks_against_plain_sums(kind, case, monkeypatch):
    for module in ("rule_values", "standing"):  # what may be lost has tests of its own
        monkeypatch.setattr(f"fairfrontier.frontier.{module}.UNSEEN", 0.0)
    aims = AIMS[kind]
    rows, a, folds, (parts, t, weight, units, low, high) = drawn(3, **case)
    standing = replace(stand(rows, a, aims.widths, folds), factor=0.0)  # rules held
    criteria = np.array([mean(part, a, weight) for part in parts])
    widths = plain_widths(aims, weight, weight, a, folds, parts)
    np.testing.assert_allclose(standing.theta, np.concatenate([criteria, widths]), atol=1e-12)
    fan = aims.fan(standing.theta)
    rng = np.random.default_rng(1)
    lam = rng.dirichlet(np.ones(fan.cones.shape[1]), len(fan.cones))
    corners = np.einsum("cd,cdj->cj", lam, fan.corners)
    values = RuleValuer(rows, standing, n_jobs=2)(corners[:, :5])
    found = slacks(values, standing, np.arange(len(corners)), corners)

    def slack(cone, weights, unit_weight, rule):
        """The weighted slack, each written out, with everything estimated by other weights of the rows."""
        w = weight * unit_weight
        now, new = (np.array([mean(part, x, w) for part in parts]) for x in (a, rule))
        width = plain_widths(aims, weight, w, a, folds, parts)
        total = 0.0
        for m, share in zip(cone, weights, strict=True):
            p, room = fan.directions[m], fan.rooms[m]
            g, h = int(p.argmax()), int(p.argmin())
            if m < aims.lower:
                total += share * (now[m] - new[m])
            elif fan.width_of[m] >= len(aims.widths) - len(aims.kept):  # a share that is kept
                total += share * (width[fan.width_of[m]] - p.sum() * (new[4] - now[4]))
            elif aims.measure == "ratio":
                total += share * (new[h] - width[0] * new[int(fan.turns[m].argmax())])
            else:
                total += share * (width[room[5:].argmax()] - (new[g] - new[h]))
        return total

    for k in rng.choice(len(corners), 2, replace=False):
        rule = plain_rule(corners[k, :5], parts, t, weight, low, high)
        own = fan.cones[k], lam[k]
        assert slack(*own, np.ones(N), rule) == pytest.approx(found.value[k], abs=1e-12)
        step, variance = 1e-5, 0.0
        for u in np.unique(units):
            up, down = (slack(*own, 1.0 + s * step * (units == u), rule) for s in (1, -1))
            variance += ((up - down) / (2 * step)) ** 2
        assert np.sqrt(variance) == pytest.approx(found.error[k], rel=1e-5)


@pytest.mark.kernels
@pytest.mark.parametrize("case", CASES, ids=str)
def test_support_functions_against_the_formula(case):
    rows, _, _, (parts, t, weight, _, low, high) = drawn(5, **case)
    projection = np.array([[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0, 0.0]])  # overall loss, gap of two groups
    found = make_trade_off(rows, projection)
    rng = np.random.default_rng(2)
    q = np.vstack([rng.normal(size=(20, 2)), [[-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]])
    scale = np.array([weight.sum() / (weight * part[0]).sum() for part in parts])
    nobody = projection @ np.array([mean(part, low, weight) for part in parts])
    for direction, h, learned, point in zip(
        q, found.estimate.h(q), found.plug_in.h(q), found.estimate.support_set(q), strict=True
    ):
        p = -(direction @ projection)
        rule = plain_rule(p, parts, t, weight, low, high)
        z = projection @ np.array([mean(part, rule, weight) for part in parts])
        np.testing.assert_allclose(point, z, atol=1e-12)
        assert h == pytest.approx(direction @ z, abs=1e-12)
        # const + E[(q'P t(x))_+], the mean over the repetitions
        gain = np.maximum((t * scale) @ projection.T @ direction, 0.0).reshape(-1, N).mean(axis=0)
        assert learned == pytest.approx(
            direction @ nobody + (weight * (high - low) * gain).sum() / weight.sum(), abs=1e-12
        )
        np.testing.assert_allclose(found.weights(direction[None])[0], p)


def test_nobody_can_be_selected():
    rows, _, _, (parts, _, weight, _, _, _) = drawn(5)
    rows = rows._replace(spread=np.zeros(N))
    found = make_trade_off(rows, np.eye(2, 5))
    nobody = [mean(part, np.zeros(N), weight) for part in parts[:2]]
    np.testing.assert_allclose(found.estimate.support_set([[1.0, 1.0], [-1.0, 0.0]]), [nobody] * 2, atol=1e-12)


@pytest.mark.parametrize("kind", AIMS)
def test_cells_fill_the_cones_of_all_aims(kind):
    rows, a, folds, _ = drawn(3)
    aims = AIMS[kind]
    standing = stand(rows, a, aims.widths, folds)
    fan = aims.fan(standing.theta)
    cells = cut_cells(rows, standing, fan, Refinement(300, loss=0.01, band=3.0, hopeless=-np.inf))
    assert len(cells.rules) > len(fan.cones)

    def volume(spanned):  # of simplices of fewer corners than criteria
        gram = np.einsum("cdj,cej->cde", spanned, spanned)
        return np.sqrt(np.maximum(np.linalg.det(gram), 0.0)).sum()

    # rays in units of the mean size of what they are predicted to change
    rays = np.array([p / (rows.mass * np.abs(rows.vectors @ p)).sum() for p in fan.directions])
    p = cells.corners[:, :5]
    assert volume(p[cells.members]) == pytest.approx(volume(rays[fan.cones]), rel=1e-9)


def check(numbers):
    for case in map(one_case, numbers):
        assert (case["cells"] > ZERO) == (case["programme"] > ZERO), case
        assert case["own"] >= case["programme"] - ZERO, case  # corners are weights, and the programme has the least
        assert (case["cells"] <= ZERO) or case["improvement"] > ZERO, case


@pytest.mark.parametrize("start", range(0, 60, 30))
def test_existence_against_linear_programmes(start):
    check(range(start, start + 30))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(60, 500, 110))
def test_existence_against_more_linear_programmes(start):
    check(range(start, start + 110))
