"""Overall risk against a gap over all rules: support function, errors and polygons by loops, the curve, the picture."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.path import Path
from scipy.optimize import linprog
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.trade_off import PROJECTION
from fairfrontier.inference.fan.forms import criteria_forms
from fairfrontier.inference.fan.questions import criteria_of
from fairfrontier.inference.trade_off import DIRECTIONS

N = 500


def fitted(n=N, **options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["u", "v", "w"])
    group = np.where(X["w"] + rng.normal(size=n) > 0, "a", "b")
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X["u"] - X["w"]))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = FairFrontier(**(QUICK | {"accuracy": "overall", "n_boot": 499, "random_state": 0} | options))
        ff.fit(X, y, sensitive_features=group)
    return ff, X, y, group


@pytest.fixture(scope="module")
def found():
    return fitted(fairness="selection-rate")


def test_values_and_errors_against_loops(found):
    ff, _, y, group = found
    rows = criteria_of(ff.fit_)
    q = unit_circle(12)
    p = -(q @ PROJECTION)
    criteria, covariance = criteria_forms(rows, p)
    chances = ff.fit_.nuisance.group_probabilities[0]
    t = ff.fit_.nuisance.predictions[0]
    first, second = (group == label for label in ff.groups_)
    influences = []
    for k, (loss_weight, gap_weight) in enumerate(q):
        score = loss_weight * t.sum(axis=1) + gap_weight * (
            chances[:, 0] / first.mean() - chances[:, 1] / second.mean()
        )
        rule = score > 0.0
        wrong = (rule != y).mean()
        rates = rule[first].mean(), rule[second].mean()
        np.testing.assert_allclose(criteria[k], [wrong, *rates], atol=1e-12)
        own = loss_weight * ((rule != y) - wrong) / N
        own = own + gap_weight * np.where(first, (rule - rates[0]) / first.sum(), -(rule - rates[1]) / second.sum())
        influences.append(own)
    np.testing.assert_allclose(covariance, np.array(influences) @ np.array(influences).T, atol=1e-14)


def test_polygons_and_curve(found):
    ff = found[0]
    curve = ff.trade_off()
    p = -(unit_circle(DIRECTIONS) @ PROJECTION)
    criteria, _ = criteria_forms(criteria_of(ff.fit_), p)
    h = -np.einsum("fj,fj->f", p, criteria)
    q = unit_circle(DIRECTIONS)
    for polygon, side in ((curve.inner, -1.0), (curve.outer, 1.0)):
        support = (q @ polygon.T).max(axis=1)
        assert (side * (support - h) >= -1e-9).mean() > 0.95  # the hull may lie inside where h is not convex
        assert (support <= h + 1e-9).all() or side > 0
    assert (q @ curve.vertices.T).max(axis=1) == pytest.approx(np.minimum(h, (q @ curve.vertices.T).max(axis=1)))
    assert curve.compatible(curve.vertices).all()
    assert curve.contains(curve.inner).all()
    risk, gap = curve.curve.T
    assert risk[0] == pytest.approx(criteria[np.argmin(np.abs(q - [-1.0, 0.0]).sum(axis=1)), 0])
    assert abs(gap[-1]) < 0.5 * abs(gap[0])  # it ends where the gap is predicted to vanish
    assert risk[-1] >= risk[0]
    assert len(curve.directions) == len(curve.curve)
    # the table: the smallest risk of a point of the polygon with such a gap
    table = curve.to_frame([0.0, 0.05, 0.1])
    for limit, line in table.iterrows():
        for name, polygon in (("risk", curve.vertices), ("risk low", curve.outer), ("risk high", curve.inner)):
            shares = np.ones((1, len(polygon)))
            across = np.vstack([polygon[:, 1], -polygon[:, 1]])
            solved = linprog(polygon[:, 0], across, [limit, limit], shares, [1.0], method="highs")
            assert line[name] == pytest.approx(solved.fun, abs=1e-8)
    assert (table["risk low"] <= table["risk"]).all()
    assert (table["risk"] <= table["risk high"]).all()
    assert not curve.compatible([[0.0, 0.0]])[0]
    refused("bad-option", "finite numbers of at least 0", lambda: curve.to_frame([-0.1]))
    refused("bad-option", "gaps must hold numbers", lambda: curve.to_frame("none"))


def test_confidence_set_of_the_frontier(found):
    """By loops over points: in the outer polygon, and no point of the inner one is better with no wider a gap."""
    curve = found[0].trade_off()
    rng = np.random.default_rng(1)
    low, high = curve.outer.min(axis=0), curve.outer.max(axis=0)
    points = np.vstack([low + (high - low) * rng.random((150, 2)), curve.curve[::20]])
    for point, inside in zip(points, curve.on_frontier(points), strict=True):
        shares = np.ones((1, len(curve.outer)))
        reached = linprog(np.zeros(len(curve.outer)), None, None, np.vstack([curve.outer.T, shares]), [*point, 1.0])
        across = np.vstack([curve.inner[:, 1], -curve.inner[:, 1]])
        better = linprog(curve.inner[:, 0], across, np.full(2, abs(point[1])), np.ones((1, len(curve.inner))), [1.0])
        expected = reached.status == 0 and not (better.status == 0 and better.fun < point[0])
        assert inside == expected, point
    assert curve.on_frontier(curve.curve).all()
    # the polygon that is drawn has the same points, but for the gaps between those at which it is made
    drawn = Path(curve.region).contains_points(points, radius=0.0)
    assert np.mean(drawn == curve.on_frontier(points)) > 0.97
    assert curve.on_frontier(points).mean() < 0.5


def test_rules_that_were_not_learned_here_lie_in_the_outer_polygon(found):
    ff, X, y, group = found
    curve = ff.trade_off()
    first, second = (group == label for label in ff.groups_)
    for score in (X["u"], X["u"] + X["w"], X["v"], -X["u"]):
        rule = score > 0.2
        assert curve.compatible([[(rule != y).mean(), rule[first].mean() - rule[second].mean()]])[0]


def test_what_is_not_planar_is_refused():
    refused("bad-option", "needs a fit with accuracy", lambda: fitted(200, accuracy="by-group")[0].trade_off())
    kept = fitted(200, fairness="selection-rate", keep="selection-rate")[0]
    refused("bad-option", "this one has fairness='selection-rate'", kept.trade_off)
    planar = fitted(200)[0]
    for ask in (planar.feasible_set, planar.frontier, planar.frontier_confidence_set):
        refused("bad-option", "band of overall risk and gap are those of `trade_off`", ask)


def test_picture(found):
    ff, X, _, _ = found
    axes = ff.plot(decisions={"in use": (X["u"] > 0).astype(int)}, zoom=True)
    assert "gap in selection rate" in axes.get_xlabel()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "in use" in labels
    assert "95% band, outer" in labels
    assert "95% confidence set of the frontier" in labels
    refused("bad-option", "A plot with a region", lambda: ff.plot(capacity=0.2))
