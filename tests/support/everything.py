"""All numbers that a fitted `FairFrontier` can tell about an algorithm, by name, for comparing two ways to get them."""

from dataclasses import replace

import numpy as np

from fairfrontier.inference.distance.metrics import read_metric

METRICS = ("sqeuclidean", "euclidean", "cityblock", "chebyshev")
ANGLE = np.linspace(0.1, 0.1 + 2 * np.pi, 12, endpoint=False)
Q = np.vstack([np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]), [[-1, 0], [0, -1], [1, 0], [0, 1], [1, -1], [-1, 1]]])
"""Directions all round, the axes among them."""


def estimates(ff, decisions):
    """Points, sets and curves, without draws."""
    found = {
        "points": ff.points_.to_numpy()[:, :2],
        "point directions": ff.points_.to_numpy()[:, 2:],
        "support": ff.support(Q),
        "support set": ff.support_set(Q),
        "covariance": ff.support_covariance(Q[::3]),
        "feasible set": ff.feasible_set().vertices,
        "area": ff.feasible_set().area,
        "frontier": ff.frontier(n_points=20).points,
        "pareto frontier": ff.pareto_frontier(n_points=20).points,
    }
    risks = ff.risks(decisions)
    found |= {"risk": risks.risk, "standard error": risks.standard_error, "selection rate": risks.selection_rate}
    found["criterion"] = ff.frontier().criterion(risks.risk)
    return found


LDA = {
    "robust": {},
    "sharp": {"method": "sharp"},
    "paper": {"method": "paper"},
    "paper on a grid": {"method": "paper", "directions": 40},
    "paper without kinks": {"method": "paper", "kinks": False},
    "robust with a capacity": {"capacity": 0.4},
    "sharp with a capacity": {"method": "sharp", "capacity": 0.4},
}


def lda_tests(ff, decisions):
    """The test for a less discriminatory alternative, by every method."""
    found = {}
    for name, options in LDA.items():
        test = ff.test_lda(decisions, **options)
        found |= {
            f"lda {name}: statistic": test.statistic,
            f"lda {name}: critical value": test.critical_value,
            f"lda {name}: p-value": test.p_value,
            f"lda {name}: feasibility p-value": test.evidence.feasibility_p_value,
            f"lda {name}: gain bound": test.evidence.gain_bound.upper(0.05),
            f"lda {name}: draws": test.draws,
        }
        if test.witness is not None:
            found[f"lda {name}: gain"] = test.witness.gain
            found[f"lda {name}: intervals of the gain"] = test.witness.intervals(0.05)
    return found


def point_tests(ff, decisions):
    """Tests that the algorithm, R, B and F lie on a frontier, and that R and B are the best points."""
    points = ff.points_.to_numpy()[:, :2]
    found = {}
    for kind in ("frontier", "pareto"):
        for derivative in ("numerical", "contact"):
            test = getattr(ff, f"test_{kind}")
            options = {"directions": 60, "derivative": derivative}
            for name, result in (("points", test(points, **options)), ("own", test(decisions=decisions, **options))):
                found |= {
                    f"{kind} {derivative} {name}: statistic": result.statistic,
                    f"{kind} {derivative} {name}: critical value": result.critical_value,
                    f"{kind} {derivative} {name}: p-value": result.p_value,
                }
    for directions in ("exact", 40):
        best = ff.test_best_points(points[:2], points[1:], directions=directions)
        found |= {
            f"best points {directions}: statistic": best.statistic,
            f"best points {directions}: critical value": best.critical_value,
            f"best points {directions}: p-value": best.p_value,
        }
    return found


def skew_tests(ff):
    """Tests of group skew, and the confidence set of the best points."""
    found = {}
    for method in ("sharp", "paper"):
        skew = ff.test_group_skew(method=method)
        found |= {
            f"skew {method}: statistic": skew.statistic,
            f"skew {method}: critical value": skew.critical_value,
            f"skew {method}: p-value": skew.p_value,
        }
        if skew.closest is None:
            found[f"skew {method}: gaps"] = np.array([gap.estimate for gap in skew.gaps])
            points = skew.confidence_set
            found |= {"skew set: R": points.outline_r, "skew set: B": points.outline_b}
        else:
            found[f"skew {method}: closest"] = skew.closest
    return found


def sets(ff):
    """Confidence bands and sets."""
    points = ff.points_.to_numpy()[:, :2]
    estimated = ff.feasible_set()
    found = {}
    for side in ("two-sided", "lower", "upper"):
        band = estimated.confidence_band(side=side)
        found |= {
            f"band {side}: critical value": band.critical_value,
            f"band {side}: inner": band.inner,
            f"band {side}: outer": band.outer,
        }
        if side != "upper":
            found[f"band {side}: lower"] = band.lower(Q)
        if side != "lower":
            found[f"band {side}: upper"] = band.upper(Q)
    for name, test in (
        ("feasible", estimated.test(points[2])),
        ("contains", estimated.test_contains(points)),
        ("contained", estimated.test_contained_in(points)),
    ):
        found |= {f"set test {name}: statistic": test.statistic, f"set test {name}: p-value": test.p_value}
    for kind in ("frontier", "pareto"):
        region = getattr(ff, f"{kind}_confidence_set")(directions=60)
        found |= {
            f"{kind} region: x": region.x,
            f"{kind} region: y": region.y,
            f"{kind} region: p-value": region.p_value,
            f"{kind} region: area": region.area,
        }
    return found


DISTANCES = {"sharp": {}, "paper": {"method": "paper"}, "paper with kinks": {"method": "paper", "kinks": True}}


def distances(ff, decisions, metrics=METRICS):
    """Distances to the fairest point, and that point, with intervals."""
    found = {}
    for name, options in DISTANCES.items():
        asked = ff.distance_to_fairest(decisions, **options)
        for metric in metrics:  # what is drawn does not depend on it
            distance = replace(asked, metric=read_metric(metric))
            found[f"distance {name} {metric}"] = np.array([distance.estimate, *distance.conf_int()])
        found[f"fairest {name}"] = distance.fairest.risk
        found[f"fairest {name}: interval"] = distance.fairest.conf_int()
        found[f"fairest {name}: direction"] = distance.fairest.direction
    return found


def rules(ff, X, decisions):
    """Rules to deploy and alternatives to the algorithm, for learners that can decide on new rows."""
    found = {}
    for preference in ("utilitarian", "rawlsian", "egalitarian"):
        for capacity in (None, 0.2):
            rule = ff.rule(preference, capacity=capacity)
            found[f"rule {preference} {capacity}: direction"] = rule.direction_
            found[f"rule {preference} {capacity}: k"] = rule.decision_function(X)
            found[f"rule {preference} {capacity}: chances"] = rule.predict_proba(X)
    for name, options in {"cross-fitted": {}, "held out": {"held_out": True}, "capped": {"capacity": 0.4}}.items():
        table = ff.alternatives(decisions, 5, **options).table
        found[f"alternatives {name}"] = table.drop(columns="role").astype(float).to_numpy()
    return found


def everything(ff, decisions):
    """All but the rules, as arrays."""
    found = estimates(ff, decisions) | lda_tests(ff, decisions) | point_tests(ff, decisions)
    found |= skew_tests(ff) | sets(ff) | distances(ff, decisions)
    return {name: np.asarray(value, dtype=float) for name, value in found.items()}


def differing(one, other):
    """Names of the arrays of which not all bits agree."""
    assert one.keys() == other.keys()
    return [
        name
        for name in one
        if np.asarray(one[name]).shape != np.asarray(other[name]).shape
        or np.asarray(one[name]).tobytes() != np.asarray(other[name]).tobytes()
    ]
