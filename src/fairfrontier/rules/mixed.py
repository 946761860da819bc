"""Lotteries between rules of the frontier, by any criteria: what a test has shown to be an alternative, deployed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.criteria import Criteria
from ..data.reading import Table
from ..data.sample import Sample
from ..errors import InputError
from ..frontier.asked import Learned, predict_criteria
from ..frontier.capacity import NO_CUTOFF, Cutoff, find_cutoff
from ..frontier.rule_class import read_rules
from ..learning.learners import FittedLearner
from .classifier import FrontierRule


class Predicted(NamedTuple):
    """Predictions (n, J) for criteria, under the name that predictions of a learner have."""

    delta_theta: FloatArray


@dataclass(frozen=True, slots=True)
class FittedCriteria:
    """Predicts the criteria of new rows: ``risk`` the loss differences, ``others`` what else was learned.

    ``differences``: the loss differences of outcomes 0 and 1, where rates need them.
    """

    chosen: Criteria
    differences: tuple[float, float] | None
    risk: FittedLearner
    others: Mapping[Learned, FittedLearner]

    def predict(self, table: Table) -> Predicted:
        """Return predictions at the rows of a table, as they are for the rows of a fit."""
        found = self.risk.predict(table)
        risk, group = found.delta_theta[None], found.group_probabilities
        learned = {name: own.predict(table).delta_theta[None] for name, own in self.others.items()}
        chances = None if group is None else group[None]
        return Predicted(
            predict_criteria(self.chosen, self.differences, risk, chances, learned).columns(self.chosen, risk)
        )


@dataclass(frozen=True, slots=True)
class Mixed:
    """What a lottery is made of: ``directions`` (L, J) with ``shares`` (L,), and the ``scales`` (J,) of predictions."""

    directions: FloatArray
    shares: FloatArray
    scales: FloatArray


class MixedRule(FrontierRule):
    """A lottery between rules, each best for a direction of the criteria, as a scikit-learn classifier.

    `FairFrontier.rule` makes it of the alternative that a test has shown, and of directions of other criteria than the
    groups' risks. It is learned from all rows there, and cannot be fitted by itself. Its parameters are those of
    `FrontierRule`.

    Attributes
    ----------
    directions_ : (L, J) array
        Directions of the criteria, one for each rule; negative coordinates want low criteria.
    shares_ : (L,) array
        How often each rule decides.
    cutoffs_ : tuple of Cutoff (L,)
        Of each rule: value of its score above which it selects, and the chance of those at it.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, **_: Any) -> Self:
        """Refuse: what the rule is made of is known to the `FairFrontier` that made it."""
        raise InputError(
            "bad-option",
            "This rule was made by a FairFrontier of what its test has found, or of its criteria, and cannot be fitted "
            "by itself: fit a FairFrontier to the new rows and ask its `rule`.",
        )

    def settle_mixed(self, sample: Sample, classes: Any, mixed: Mixed, fitted: Any) -> Self:
        """Take directions and what was learned elsewhere from the rows of a sample, and fit the cut-offs."""
        self.directions_, self.shares_, self._scales = mixed.directions, mixed.shares, mixed.scales
        self.cutoffs_: tuple[Cutoff, ...] = (NO_CUTOFF,) * len(mixed.shares)
        return self.settle(sample, classes, mixed.directions[0], fitted)

    def _recalibrate(self, table: Table, weight: FloatArray, group: IntArray | None) -> None:
        lower, upper = self._bounds(table, len(weight))
        if self.capacity is not None:
            each = self._each(table, group).T
            self.cutoffs_ = tuple(find_cutoff(k, weight, self.capacity, lower, upper - lower) for k in each)

    def _each(self, table: Table, group: IntArray | None) -> FloatArray:
        """Scores (n, L) of the rules."""
        t = read_rules(self.rules).vectors(self._fitted.predict(table).delta_theta, group)
        found: FloatArray = t @ (self.directions_ / self._scales).T
        return found

    def decision_function(self, X: ArrayLike, *, sensitive_features: ArrayLike | None = None) -> FloatArray:
        """Return the score (n,) of a single rule; of a lottery the chance of selection less one half."""
        if len(self.shares_) == 1:
            own: FloatArray = self._each(self._read(X), self._groups(X, sensitive_features))[:, 0]
            return own
        chance: FloatArray = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1] - 0.5
        return chance

    def predict_proba(self, X: ArrayLike, *, sensitive_features: ArrayLike | None = None) -> FloatArray:
        """Return the chances (n, 2) of decisions 0 and 1."""
        table = self._read(X)
        scores = self._each(table, self._groups(X, sensitive_features)).T
        each = zip(self.shares_, self.cutoffs_, scores, strict=True)
        chosen = np.sum([share * cutoff.chances(k) for share, cutoff, k in each], axis=0)
        lower, upper = self._bounds(table, len(table))
        selected = np.clip(lower + (upper - lower) * chosen, 0.0, 1.0)
        return np.column_stack([1.0 - selected, selected])
