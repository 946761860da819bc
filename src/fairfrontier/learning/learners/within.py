"""Learners for rules that see the group: E[dl | x, G = g] instead of E[dl 1{G = g} | x]."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .base import (
    Component,
    FittedPart,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    fit_learner,
    group_code,
)


def within_groups(learner: Learner) -> Learner:
    """Return the learner of E[dl | x, G = g] that belongs to a learner.

    A learner that models it as a factor hands on that factor. Any other, such as one model of dl 1{G = g} per group, is
    fitted to the rows of each group by themselves: dividing its predictions by P(G = g | x) would take another model
    and fail where that chance is small.
    """
    if learner.sees_group:
        return learner
    return FactorLearner(learner) if learner.factored else SeparateLearner(learner)


def without_groups(learner: Learner) -> Learner:
    """Return the learner to which a learner of `within_groups` belongs."""
    return learner.learner if isinstance(learner, FactorLearner | SeparateLearner) else learner


@dataclass(frozen=True, slots=True)
class FactorLearner(Learner):
    """The factor E[dl | x, G = g] of a factored learner; the model of the group is fitted, too, and handed on.

    Attributes
    ----------
    learner : Learner
        The factored learner.
    """

    learner: Learner

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the factored learner."""
        return self.learner.name

    @property
    def tunes_once(self) -> bool:  # type: ignore[override]
        """As the factored learner."""
        return self.learner.tunes_once

    @property
    def sees_group(self) -> bool:
        """Yes."""
        return True

    @property
    def takes_gaps(self) -> bool:
        """As the factored learner."""
        return self.learner.takes_gaps

    @property
    def candidate_names(self) -> tuple[str, ...]:
        """As of the factored learner."""
        return self.learner.candidate_names

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """As of the factored learner."""
        return self.learner.components(n_groups)

    def check(self, rows: TrainingRows) -> None:
        """As the factored learner."""
        self.learner.check(rows)

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """As the factored learner."""
        return self.learner.tune(component, rows, seed)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """As the factored learner."""
        return self.learner.fit(component, rows, seed, tuning)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Take the factor."""
        combined = self.learner.combine(parts)
        if combined.within is None:
            raise TypeError(f"the learner {self.name!r} is called factored and hands on no factor")
        return replace(combined, groups=combined.within)


@dataclass(frozen=True, slots=True)
class SeparateLearner(Learner):
    """A learner fitted to the rows of each group by themselves, as if there were one group only.

    Attributes
    ----------
    learner : Learner
        The learner; of one group its nuisance function is E[dl | x].
    """

    learner: Learner

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the learner."""
        return self.learner.name

    @property
    def tunes_once(self) -> bool:  # type: ignore[override]
        """As the learner."""
        return self.learner.tunes_once

    @property
    def sees_group(self) -> bool:
        """Yes."""
        return True

    @property
    def takes_gaps(self) -> bool:
        """As the learner."""
        return self.learner.takes_gaps

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """One component per group."""
        return tuple(range(n_groups))

    def check(self, rows: TrainingRows) -> None:
        """Refuse what the learner refuses of any group's rows."""
        for code in range(rows.n_groups):
            self.learner.check(_alone(rows, code))

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the learner on the rows of one group."""
        own, names = _alone(rows, group_code(component)), self.learner.components(1)
        return {
            name: self.learner.tune(name, own, child)
            for name, child in zip(names, child_seeds(seed, len(names)), strict=True)
        }

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit the learner to the rows of one group."""
        return fit_learner(self.learner, _alone(rows, group_code(component)), seed, tuning)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Put the groups side by side."""
        found: list[Prediction] = [parts[code] for code in range(len(parts))]
        details = [(code, what, value) for code, own in enumerate(found) for _, what, value in own.details]
        scores = [
            replace(score, code=code) for code, own in enumerate(found) for score in own.candidates if score.code == 0
        ]
        return Prediction(tuple(own.groups[0] for own in found), details=tuple(details), candidates=tuple(scores))


def _alone(rows: TrainingRows, code: int) -> TrainingRows:
    """Return the rows of one group as those of the only group."""
    own = rows.members(code)
    return replace(own, group=np.zeros(len(own.dl), dtype=own.group.dtype), n_groups=1)
