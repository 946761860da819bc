"""Is the learner good enough? Its own rules beside an algorithm, on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ...arrays import FloatArray
from ...data.number_formats import number_text, points_text, share_text
from ...data.reading import Label
from ...data.result import ExplainedResult, PlainDict, labels, plain_items
from ...frontier.attainable import Attainable
from ...frontier.plane import U1, U2
from ...frontier.support import Scores, group_means
from ..p_values import ROUNDING


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnerCheck(ExplainedResult):
    """Rules of the learner beside an algorithm: what a learner that misses signal cannot reach, it cannot improve on.

    All differences are the algorithm's risk less that of a rule of the learner, on the same rows, so a positive one
    speaks for the learner. Their standard errors are those of paired differences: group means are estimated anew,
    weights and clusters are respected, rules are held.

    Attributes
    ----------
    groups : tuple of labels
        The two groups, in the order of every pair.
    share : float
        Share of people that the algorithm selects.
    difference, standard_error : arrays (2,)
        Against the rule that selects the same share of people, those for whom the predicted reduction of the expected
        loss, -(t_r + t_b), is largest; people tied at the cut-off are selected by lot, and the rule is judged in
        expectation over it.
    best_difference, best_standard_error : arrays (2,)
        For each group against the learner's best rule for that group.
    best_p_value : array (2,)
        One-sided p-values of the null that the algorithm is no better for the group than that rule.
    in_shares : bool
        Whether risks are shares of wrong decisions.
    """

    groups: tuple[Label, Label]
    share: float
    difference: FloatArray
    standard_error: FloatArray
    best_difference: FloatArray
    best_standard_error: FloatArray
    best_p_value: FloatArray
    in_shares: bool

    @property
    def z(self) -> FloatArray:
        """Differences (2,) at the same share of selected people, in standard errors."""
        return in_standard_errors(self.difference, self.standard_error)

    @property
    def best_z(self) -> FloatArray:
        """Differences (2,) to the learner's best rule for each group, in standard errors."""
        return in_standard_errors(self.best_difference, self.best_standard_error)

    def better_for(self, alpha: float) -> tuple[Label, ...]:
        """Groups for which the algorithm does better than the learner's best rule, beyond chance at level ``alpha``.

        Each group is tested at alpha / 2, so that the chance of naming any group wrongly is at most alpha.
        """
        return tuple(
            label
            for label, p in zip(self.groups, self.best_p_value.tolist(), strict=True)
            if p <= alpha / len(self.groups)
        )

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Is the learner good enough for this algorithm?"

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "share": self.share,
            "difference": self.difference,
            "standard_error": self.standard_error,
            "z": self.z,
            "best_difference": self.best_difference,
            "best_standard_error": self.best_standard_error,
            "best_z": self.best_z,
            "best_p_value": self.best_p_value,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON."""
        return plain_items(self._facts() | {"in_shares": self.in_shares})

    def sentences(self) -> list[str]:
        """Say in plain words how the learner's rules compare with the algorithm."""
        (r, b), verb = self.groups, "errs" if self.in_shares else "has a risk"
        chosen = self._compared(self.difference, self.standard_error)
        best = self._compared(self.best_difference, self.best_standard_error)
        return [
            f"At the same share of selected people as the algorithm ({share_text(self.share)}), the learner's own rule "
            f"{verb} {chosen[0].format(f'group {r}')} and {chosen[1].format(f'group {b}')}.",
            f"Compared with the algorithm, the learner's best rule for group {r} {verb} "
            f"{best[0].format('that group')}, and its best rule for group {b} {verb} {best[1].format('that group')}.",
        ]

    def _compared(self, differences: FloatArray, errors: FloatArray) -> list[str]:
        pairs = zip(differences.tolist(), errors.tolist(), strict=True)
        return [_compared(difference, error, self.in_shares) for difference, error in pairs]


def _compared(difference: float, error: float, in_shares: bool) -> str:
    """By how much a rule is better or worse than an algorithm, with room for the name of a group."""
    if in_shares:
        size, off = points_text(abs(difference), unit=""), points_text(error, unit="")
        words = f"{size} points {'less' if difference > 0.0 else 'more'} often" if size.strip("0.") else "as often"
    else:
        size, off = number_text(abs(difference)), number_text(error)
        words = f"{size} {'lower' if difference > 0.0 else 'higher'}" if size.strip("0.") else "as high"
    return f"{words} for {{}} (s.e. {off})"


def check_learner(
    function: Attainable, decisions: FloatArray, losses: FloatArray, *, groups: tuple[Label, Label], in_shares: bool
) -> LearnerCheck:
    """Compare an algorithm with ``decisions`` and ``losses`` of all rows with rules of the learner behind it."""
    s = function.scores
    share = min(float((s.weight * decisions).sum() / s.weight.sum()), 1.0)
    moved = at_share(s, share)
    difference, errors = _paired(s, losses - s.losses(moved), losses)
    best, best_errors = np.empty(2), np.empty(2)
    for g, q in enumerate((U1, U2)):
        means, spread = _paired(s, losses - s.losses(function.selected(q)), losses)
        best[g], best_errors[g] = means[g], spread[g]
    p_values: FloatArray = stats.norm.cdf(in_standard_errors(best, best_errors))
    return LearnerCheck(groups, share, difference, errors, best, best_errors, p_values, in_shares)


def at_share(scores: Scores, share: float) -> FloatArray:
    """How far (n,) the learner's rule that selects a share of people moves each row to its upper bound.

    Rows come in order of k = -(t_r + t_b) per unit of selection, the predicted reduction of the expected loss; those
    tied at the cut-off are moved equally far, by the chance that meets the share. A share outside what bounds allow is
    met as nearly as they allow.
    """
    s = scores
    spread = np.ones(len(s.t)) if s.spread is None else s.spread
    lower = np.zeros(len(s.t)) if s.lower is None else s.lower
    k = -np.divide(s.t.sum(axis=1), spread, out=np.zeros(len(s.t)), where=spread > 0.0)
    mass = s.weight * spread
    room = share * float(s.weight.sum()) - float((s.weight * lower).sum())
    order = np.argsort(-k, kind="stable")
    taken = np.cumsum(mass[order])
    if room <= 0.0 or room >= float(taken[-1]) * (1.0 - ROUNDING):
        return np.full(len(k), float(room > 0.0))
    value = k[order[int(np.searchsorted(taken, room, side="right"))]]
    slack = ROUNDING * float(np.abs(k).max())
    above, tied = k > value + slack, np.abs(k - value) <= slack
    chance = float(np.clip((room - mass[above].sum()) / mass[tied].sum(), 0.0, 1.0))
    moved: FloatArray = above + chance * tied
    return moved


def in_standard_errors(difference: FloatArray, error: FloatArray) -> FloatArray:
    """Differences in standard errors; infinite where nothing varies, 0 where there is no difference either."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / error
    ratio: FloatArray = np.where(difference == 0.0, 0.0, z)
    return ratio


def _paired(s: Scores, difference: FloatArray, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Group means (2,) of row differences (n,) and their standard errors; what is rounding only becomes 0."""
    means, covariance = group_means(difference, s.group, s.weight, s.clusters)
    errors = np.sqrt(np.diag(covariance))
    rounding = ROUNDING * float(np.abs(losses).max())
    return np.where(np.abs(means) > rounding, means, 0.0), np.where(errors > rounding, errors, 0.0)
