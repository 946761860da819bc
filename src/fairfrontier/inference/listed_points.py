"""Are the listed points what they are called? Best for a group, by the estimates, and fairest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..data.number_formats import number_text
from ..data.result import ExplainedResult
from ..fit import Fit
from ..frontier.support import Scores, group_means
from .estimates import points_table

ROUNDING = 1e-8
"""Differences up to this share of the largest risk are rounding: the fairest direction is turned by 1e-9."""
TOO_WEAK = "The learner is too weak, or the sample too small, to distinguish these points."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointContradiction(ExplainedResult):
    """A listed point that is not what its name says: ``what`` should be smallest there and is smaller at ``other``.

    ``by`` is the difference and ``standard_error`` that of the difference between the two rules on the same rows.
    """

    point: str
    what: str
    other: str
    by: float
    standard_error: float

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "A point that is not what it is called"

    def _facts(self) -> dict[str, object]:
        return {
            "point": self.point,
            "what": self.what,
            "other": self.other,
            "by": self.by,
            "standard_error": self.standard_error,
        }

    def sentences(self) -> list[str]:
        """Say which estimates contradict each other."""
        return [
            f'"{self.point}" should have the smallest {self.what}, but that of "{self.other}" is '
            f"{number_text(self.by)} smaller (s.e. {number_text(self.standard_error)}). {TOO_WEAK}"
        ]


def point_contradictions(fit: Fit) -> tuple[PointContradiction, ...]:
    """Return the points that are not what they are called, each with the point that contradicts it most.

    The best point of a group must have the smallest risk of that group among the listed points, the fairest one the
    smallest gap. Each is the best of its kind by the learner's predictions; that its estimated risks say otherwise is
    due to outcomes that the learner did not foresee, or to chance.
    """
    labels = fit.sample.groups.pair("The comparison of the best points")
    table = points_table(fit)
    risks, names = table.to_numpy()[:, :2], [str(name) for name in table.index]
    parts = _parts(fit)
    gaps = np.abs(risks[:, 0] - risks[:, 1])
    wanted = [
        (0, f"risk of group {labels[0]}", risks[:, 0], parts[0]),
        (1, f"risk of group {labels[1]}", risks[:, 1], parts[1]),
        (2, "gap", gaps, _gap_parts(parts, risks)),
    ]
    scores, found = fit.plane().function.scores, []
    for own, what, values, rows in wanted:
        other = int(np.argmin(values))
        by = float(values[own] - values[other])
        if by > ROUNDING * float(np.abs(risks).max()):
            error = _standard_error(scores, rows[own] - rows[other])
            found.append(PointContradiction(names[own], what, names[other], by, error))
    return tuple(found)


def _parts(fit: Fit) -> FloatArray:
    """Values (2, 3, n) of rows: a group's risk at a point is the sum of both groups' means of these.

    The risks of a rule are its groups' mean losses. The fairest point on the 45-degree line is no rule of its own: both
    its risks are the weighted sum w'e of the risks e of the rule of its direction q, w = q / (q1 + q2).
    """
    points, function = fit.plane().points, fit.plane().function
    s, t = function.scores, function.scores.t
    best_r = (t[:, 0] < 0.0) | ((t[:, 0] == 0.0) & (t[:, 1] < 0.0))
    best_b = (t[:, 1] < 0.0) | ((t[:, 1] == 0.0) & (t[:, 0] < 0.0))
    losses = [s.losses(moved) for moved in (best_r, best_b, function.selected(points.q_F))]
    member = np.array([s.group == 0, s.group == 1], dtype=float)
    parts = np.array([[own * loss for loss in losses] for own in member])
    if points.position == "crosses":
        weights = points.q_F / points.q_F.sum()
        parts[:, 2] = weights[s.group] * losses[2]
    return parts


def _gap_parts(parts: FloatArray, risks: FloatArray) -> FloatArray:
    """The same (3, n) of the gaps, each with the sign that it has at its point."""
    signs = np.where(risks[:, 0] >= risks[:, 1], 1.0, -1.0)
    gaps: FloatArray = signs[:, None] * (parts[0] - parts[1])
    return gaps


def _standard_error(s: Scores, values: FloatArray) -> float:
    """Standard error of the sum of both groups' means of row values (n,)."""
    _, covariance = group_means(values, s.group, s.weight, s.clusters, counts=s.counts)
    return float(np.sqrt(max(covariance.sum(), 0.0)))
