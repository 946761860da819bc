"""The criteria that users ask for, at the rows of a sample: values, predictions, and what must not get worse.

For every group g the measure has t_g(x) = E[w psi 1{G = g} | x], with w psi as in `data.criteria`. For selection rates
that is P(G = g | x); for an outcome of 0 or 1 all others follow from it and the loss differences,

    E[dl 1{G = g} | x] = dl(0) P(G = g | x) + (dl(1) - dl(0)) E[Y 1{G = g} | x].

Numbers of everybody are sums over the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, eq=False)
class AskedCriteria:
    """What is asked for, at the rows.

    Attributes
    ----------
    chosen : Criteria
        The choices.
    measure : RowMeasure
        The measure compared between groups, row by row.
    t : array (n_rep, n, G)
        Predictions of E[weight change 1{G = g} | x] of the measure.
    selected : array (n_rep, n, G) or None
        Predictions of P(G = g | x), if the share selected is kept.
    profit : array (n,) or None
        What selecting each row earns.
    t_profit : array (n_rep, n, G) or None
        Predictions of E[profit 1{G = g} | x].
    """

    chosen: Criteria
    measure: RowMeasure
    t: FloatArray
    selected: FloatArray | None
    profit: FloatArray | None
    t_profit: FloatArray | None

    def take(self, rows: IntArray, codes: list[int], chance: FloatArray) -> AskedCriteria:
        """Return rows of some groups, who have these ``chance`` (n_rep, n, 1) of being in one of them."""

        def among(t: FloatArray | None) -> FloatArray | None:
            own = None if t is None else t[:, rows][:, :, codes]
            return None if own is None else np.divide(own, chance, out=np.zeros_like(own), where=chance > 0.0)

        t = among(self.t)
        assert t is not None
        return AskedCriteria(
            self.chosen,
            RowMeasure(*(column[rows] for column in self.measure)),
            t,
            among(self.selected),
            None if self.profit is None else self.profit[rows],
            among(self.t_profit),
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

    def rows(
        self,
        sample: Sample,
        losses: RowLosses,
        predictions: FloatArray,
        lower: FloatArray | None = None,
        upper: FloatArray | None = None,
    ) -> CriteriaRows:
        """The rows of all repetitions with the criteria in the order of `aims`."""
        n, everybody = sample.n_obs, np.ones(sample.n_obs)
        risk = RowMeasure(everybody, losses.l0, losses.dl)
        c, found = self.chosen, []
        by_group = c.accuracy == "by-group"
        found += _by_group(risk, predictions, sample) if by_group else [_overall(risk, predictions)]
        if self.profit is not None and self.t_profit is not None:
            found.append(_overall(RowMeasure(everybody, np.zeros(n), -self.profit), -self.t_profit))
        if not (by_group and c.fairness == "risk"):
            found += _by_group(self.measure, self.t, sample)
        if self.selected is not None:
            found.append(_overall(RowMeasure(everybody, np.zeros(n), everybody), self.selected))
        return criteria_rows(found, sample.weight, clusters=sample.clusters, lower=lower, upper=upper)


def _by_group(measure: RowMeasure, t: FloatArray, sample: Sample) -> list[LinearCriterion]:
    return [
        LinearCriterion(measure.weight * (sample.group == g), measure.base, measure.change, t[:, :, g].ravel())
        for g in range(len(sample.groups))
    ]


def _overall(measure: RowMeasure, t: FloatArray) -> LinearCriterion:
    return LinearCriterion(measure.weight, measure.base, measure.change, t.sum(axis=2).ravel())


def measures_of(chosen: Criteria, sample: Sample, losses: RowLosses) -> tuple[RowMeasure, FloatArray | None]:
    """The measure compared between groups, and what selecting each row earns (n,) if that counts; both checked."""
    profit = None if chosen.profit is None else read_profit(chosen.profit, sample)
    return row_measure(chosen.fairness, sample, losses), profit


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
    measure, profit = measures

    def learned(values: FloatArray, what: str) -> FloatArray:
        if predict is None:
            raise InputError(
                "bad-nuisance",
                f"{what} needs predictions that `external_nuisance` does not have: leave it out, so that a learner is "
                "fitted.",
            )
        return predict(values)

    rates = not isinstance(chosen.fairness, Criterion) and chosen.fairness != "risk"
    if group is None and (rates or chosen.keep is not None):
        what = f"fairness={chosen.fairness!r}" if rates else f"keep={chosen.keep!r}"
        group = learned(np.ones(sample.n_obs), what)
    if isinstance(chosen.fairness, Criterion):
        t = learned(measure.weight * measure.change, f"The criterion {chosen.fairness.name!r}")
    elif chosen.fairness == "risk":
        t = predictions
    else:
        assert group is not None
        t = _of_outcomes(chosen.fairness, sample, losses, predictions, group)
    return AskedCriteria(
        chosen,
        measure,
        t,
        group if chosen.keep is not None else None,
        profit,
        None if profit is None else learned(profit, "`profit`"),
    )


def _of_outcomes(
    fairness: str, sample: Sample, losses: RowLosses, predictions: FloatArray, group: FloatArray
) -> FloatArray:
    """Predictions of E[weight 1{G = g} | x] of a rate among everybody, or those with an outcome of 1 or 0."""
    if fairness in ("selection-rate", "selection-ratio"):
        return group
    dl = [float(losses.dl[sample.y == value][0]) for value in (0.0, 1.0)]
    if dl[0] == dl[1]:
        raise InputError(
            "bad-loss",
            f"fairness={fairness!r} needs a loss whose difference between the two decisions depends on the outcome, "
            'such as "classification".',
        )
    positive = (predictions - dl[0] * group) / (dl[1] - dl[0])
    return positive if fairness == "true-positive-rate" else group - positive
