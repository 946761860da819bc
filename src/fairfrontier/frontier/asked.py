"""The criteria that users ask for, at the rows of a sample: values, predictions, and what must not get worse.

For every group g the measure has t_g(x) = E[w psi 1{G = g} | x], with w psi as in `data.criteria`. For selection rates
that is P(G = g | x); for an outcome of 0 or 1 all others follow from it and the loss differences,

    E[dl 1{G = g} | x] = dl(0) P(G = g | x) + (dl(1) - dl(0)) E[Y 1{G = g} | x].

Numbers of everybody are sums over the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import FloatArray, IntArray
from ..data.criteria import Criteria, Criterion, RowMeasure, read_profit, row_measure
from ..data.row_losses import RowLosses
from ..data.sample import Sample
from ..errors import InputError
from .criteria import CriteriaRows, LinearCriterion, criteria_rows
from .fan import Aims, Kept

Predict = Callable[[FloatArray], FloatArray]
"""From values z (n,) of the rows to predictions (n_rep, n, G) of E[z 1{G = g} | x]."""


Learned = Literal["group", "measure", "profit"]
"""What may have to be learned beside the loss differences."""


@dataclass(frozen=True, slots=True, eq=False)
class CriteriaPredictions:
    """Predictions at rows, each (n_rep, n, G).

    Of the ``measure``, E[weight change 1{G = g} | x]; if they are needed, of the groups' chances P(G = g | x),
    ``selected``, and of E[profit 1{G = g} | x].
    """

    measure: FloatArray
    selected: FloatArray | None
    profit: FloatArray | None

    def columns(self, chosen: Criteria, risk: FloatArray) -> FloatArray:
        """Predictions (n_rep n, J) of all criteria, with those of the loss differences ``risk`` (n_rep, n, G)."""
        by_group = chosen.accuracy == "by-group"
        found = [risk if by_group else risk.sum(axis=2, keepdims=True)]
        if self.profit is not None:
            found.append(-self.profit.sum(axis=2, keepdims=True))
        if not (by_group and chosen.fairness == "risk"):
            found.append(self.measure)
        if self.selected is not None:
            found.append(self.selected.sum(axis=2, keepdims=True))
        both = np.concatenate(found, axis=2)
        return both.reshape(-1, both.shape[2])

    def among(self, rows: IntArray, codes: list[int], chance: FloatArray) -> CriteriaPredictions:
        """Return those of rows of some groups, who have these ``chance`` (n_rep, n, 1) of being in one of them."""
        own = [None if t is None else t[:, rows][:, :, codes] for t in (self.measure, self.selected, self.profit)]
        divided = [None if t is None else np.divide(t, chance, out=np.zeros_like(t), where=chance > 0.0) for t in own]
        assert divided[0] is not None
        return CriteriaPredictions(divided[0], divided[1], divided[2])


@dataclass(frozen=True, slots=True, eq=False)
class AskedCriteria:
    """What is asked for, at the rows.

    The choices, the ``measure`` compared between groups, what selecting each row earns, ``profit`` (n,), if that
    counts, and the predictions.
    """

    chosen: Criteria
    measure: RowMeasure
    profit: FloatArray | None
    predictions: CriteriaPredictions

    def take(self, rows: IntArray, codes: list[int], chance: FloatArray) -> AskedCriteria:
        """Return rows of some groups, who have these ``chance`` (n_rep, n, 1) of being in one of them."""
        return AskedCriteria(
            self.chosen,
            RowMeasure(*(column[rows] for column in self.measure)),
            None if self.profit is None else self.profit[rows],
            self.predictions.among(rows, codes, chance),
        )

    def aims(self, n_groups: int, reference: int | None = None) -> Aims:
        """What must not get worse, by positions of the criteria of `rows`."""
        c = self.chosen
        risks = n_groups if c.accuracy == "by-group" else 1
        lower = risks + (c.profit is not None)
        own = c.fairness == "risk" and c.accuracy == "by-group"
        spread = tuple(range(n_groups) if own else range(lower, lower + n_groups))
        n = max(lower, spread[-1] + 1)
        signs = {"selection-rate": (1, -1), "no-more-selected": (1,), "no-fewer-selected": (-1,)}
        kept = () if c.keep is None else tuple(Kept(n, sign, c.tolerance) for sign in signs[c.keep])
        return Aims(
            n_criteria=n + bool(kept),
            lower=lower,
            spread=spread,
            measure="ratio" if c.ratio else "range",
            reference=reference,
            kept=kept,
            further=lower - risks,
        )

    def names(self, groups: Sequence[object]) -> tuple[str, ...]:
        """What the criteria are called, in the order of `rows`."""
        c = self.chosen
        by_group = c.accuracy == "by-group"
        found = [f"risk of {label}" for label in groups] if by_group else ["overall risk"]
        found += ["minus profit"] * (c.profit is not None)
        if not (by_group and c.fairness == "risk"):
            found += [f"{c.measure} of {label}" for label in groups]
        return (*found, *(["share selected"] if c.keep is not None else []))

    def rows(
        self,
        sample: Sample,
        losses: RowLosses,
        predictions: FloatArray,
        lower: FloatArray | None = None,
        upper: FloatArray | None = None,
    ) -> CriteriaRows:
        """The rows of all repetitions with the criteria in the order of `aims`."""
        columns = self.predictions.columns(self.chosen, predictions)
        own = [
            LinearCriterion(*measure, t) for measure, t in zip(self._measures(sample, losses), columns.T, strict=True)
        ]
        return criteria_rows(own, sample.weight, clusters=sample.clusters, lower=lower, upper=upper)

    def scales(self, sample: Sample, losses: RowLosses) -> FloatArray:
        """Mean weight (J,) of the rows in each criterion: predictions over it are predicted changes of it."""
        return np.array([np.average(own.weight, weights=sample.weight) for own in self._measures(sample, losses)])

    def _measures(self, sample: Sample, losses: RowLosses) -> list[RowMeasure]:
        """The criteria row by row."""
        n, everybody = sample.n_obs, np.ones(sample.n_obs)
        risk, c = RowMeasure(everybody, losses.l0, losses.dl), self.chosen
        by_group = c.accuracy == "by-group"
        found = _by_group(risk, sample) if by_group else [risk]
        if self.profit is not None:
            found.append(RowMeasure(everybody, np.zeros(n), -self.profit))
        if not (by_group and c.fairness == "risk"):
            found += _by_group(self.measure, sample)
        return found + [RowMeasure(everybody, np.zeros(n), everybody)] * (c.keep is not None)


def _by_group(measure: RowMeasure, sample: Sample) -> list[RowMeasure]:
    weight, base, change = measure
    return [RowMeasure(weight * (sample.group == g), base, change) for g in range(len(sample.groups))]


def measures_of(chosen: Criteria, sample: Sample, losses: RowLosses) -> tuple[RowMeasure, FloatArray | None]:
    """The measure compared between groups, and what selecting each row earns (n,) if that counts; both checked."""
    profit = None if chosen.profit is None else read_profit(chosen.profit, sample)
    return row_measure(chosen.fairness, sample, losses), profit


def values_to_learn(
    chosen: Criteria, measures: tuple[RowMeasure, FloatArray | None], *, group_known: bool
) -> dict[Learned, FloatArray]:
    """Values z (n,) of the rows whose E[z 1{G = g} | x] is needed beside that of the loss differences.

    ``group_known``: whether there are predictions of the groups' chances.
    """
    measure, profit = measures
    found: dict[Learned, FloatArray] = {}
    if not group_known and (_rates(chosen) or chosen.keep is not None):
        found["group"] = np.ones(len(measure.weight))
    if isinstance(chosen.fairness, Criterion):
        found["measure"] = measure.weight * measure.change
    if profit is not None:
        found["profit"] = profit
    return found


def ask_criteria(
    chosen: Criteria,
    sample: Sample,
    losses: RowLosses,
    predictions: FloatArray,
    *,
    measures: tuple[RowMeasure, FloatArray | None],
    group: FloatArray | None,
    predict: Predict | None,
) -> AskedCriteria:
    """Put the criteria together with their predictions.

    ``predictions`` (n_rep, n, G) of the loss differences, ``group`` (n_rep, n, G) of the groups' chances if a learner
    models them; ``predict`` learns what is missing. Without a learner what is missing is refused. ``measures``: what
    `measures_of` found.
    """
    learned = {}
    for name, values in values_to_learn(chosen, measures, group_known=group is not None).items():
        if predict is None:
            what = {
                "group": f"fairness={chosen.fairness!r}" if _rates(chosen) else f"keep={chosen.keep!r}",
                "measure": f"The criterion {chosen.measure!r}",
                "profit": "`profit`",
            }[name]
            raise InputError(
                "bad-nuisance",
                f"{what} needs predictions that `external_nuisance` does not have: leave it out, so that a learner is "
                "fitted.",
            )
        learned[name] = predict(values)
    differences = loss_differences(chosen, sample, losses)
    return AskedCriteria(
        chosen, measures[0], measures[1], predict_criteria(chosen, differences, predictions, group, learned)
    )


def predict_criteria(
    chosen: Criteria,
    differences: tuple[float, float] | None,
    predictions: FloatArray,
    group: FloatArray | None,
    learned: Mapping[Learned, FloatArray],
) -> CriteriaPredictions:
    """Predictions of the criteria from those of the loss differences, of the groups' chances, and what was learned."""
    group = learned.get("group", group)
    if isinstance(chosen.fairness, Criterion):
        t = learned["measure"]
    elif chosen.fairness == "risk":
        t = predictions
    else:
        assert group is not None
        t = group
        if differences is not None:
            at_zero, at_one = differences
            positive = (predictions - at_zero * group) / (at_one - at_zero)
            t = positive if chosen.fairness == "true-positive-rate" else group - positive
    return CriteriaPredictions(t, group if chosen.keep is not None else None, learned.get("profit"))


def loss_differences(chosen: Criteria, sample: Sample, losses: RowLosses) -> tuple[float, float] | None:
    """Loss differences of outcomes 0 and 1, if rates among people with one of these outcomes are asked for."""
    if chosen.fairness not in ("true-positive-rate", "false-positive-rate"):
        return None
    at_zero, at_one = (float(losses.dl[sample.y == value][0]) for value in (0.0, 1.0))
    if at_zero == at_one:
        raise InputError(
            "bad-loss",
            f"fairness={chosen.fairness!r} needs a loss whose difference between the two decisions depends on the "
            'outcome, such as "classification".',
        )
    return at_zero, at_one


def _rates(chosen: Criteria) -> bool:
    return not isinstance(chosen.fairness, Criterion) and chosen.fairness != "risk"
