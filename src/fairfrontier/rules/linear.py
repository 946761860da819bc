"""Linear threshold rules: select where a weighted sum of given covariates exceeds a threshold.

The rules of the frontier are threshold rules in k(x). Restricting k to linear functions of x gives rules that are easy
to write down and to explain, but in general no longer on the frontier: the restriction costs something, and
`LinearFrontierRule.restriction` estimates how much.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.losses import Loss
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label, Table
from ..data.result import ExplainedResult, axes_of, labels
from ..data.sample import Sample
from ..errors import InputError
from ..fit import Fitted
from ..frontier.support import group_means
from ..learning.learners import Learner
from ..learning.learners.encoding import NumericColumns
from ..learning.learners.estimators import take_rows
from .classifier import FrontierRule
from .preferences import Weights


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A linear score of standardised columns; ``model`` is None where every row is better selected, or none."""

    columns: Sequence[Label] | None
    encoder: NumericColumns
    model: LogisticRegression | None
    constant: float

    def predict(self, table: Table) -> FloatArray:
        """Return the score (n,)."""
        X = self.encoder.transform(_pick(table, self.columns))
        if self.model is None:
            return np.full(len(X), self.constant)
        score: FloatArray = self.model.decision_function(X)
        return score


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Restriction(ExplainedResult):
    """What linearity costs in one direction, out of fold.

    ``risks`` and ``frontier_risks`` (2,) of the linear and of the unrestricted rule; ``loss`` is by how much the
    weighted sum of risks that the rules of the direction minimise is larger under the linear rule, with
    ``standard_error``. Small samples can make it negative.
    """

    groups: tuple[Label, Label]
    direction: FloatArray
    risks: FloatArray
    frontier_risks: FloatArray
    loss: float
    standard_error: float

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "What does it cost that the rule is linear?"

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "direction": self.direction,
            "risks": self.risks,
            "frontier_risks": self.frontier_risks,
            "loss": self.loss,
            "standard_error": self.standard_error,
        }

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.frontier_risks[None], BLUE, "unrestricted rule")
        return plane.points(self.risks[None], ORANGE, "linear rule")

    def summary(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """Say in plain words what the restriction costs."""
        r, b = self.groups
        return [
            f"Out of fold the linear rule has risks {self.risks[0]:.4f} ({r}) and {self.risks[1]:.4f} ({b}), the "
            f"unrestricted rule of the same direction {self.frontier_risks[0]:.4f} and {self.frontier_risks[1]:.4f}.",
            f"In that direction linearity costs {self.loss:.4f} (standard error {self.standard_error:.4f}).",
            "The unrestricted rule is the learner's; a better learner could make the cost larger.",
        ]


class LinearFrontierRule(FrontierRule):
    """The best linear threshold rule for given group weights, by a surrogate loss.

    Row i of group g is better selected if c_i = (q_g / mu_g)(loss(1, y_i) - loss(0, y_i)) is positive, and getting it
    wrong costs the size of c_i. A logistic regression of the sign of c_i, weighted by its size, stands in for the sum
    of these costs, which cannot be minimised directly. It is a restriction: see `restriction` for how much is lost.

    Parameters
    ----------
    features : list of columns, optional
        Names (of a frame) or numbers (of an array) of the covariates that the rule may use; default all.
    C : float
        Inverse strength of the ridge penalty on the coefficients of the standardised columns.
    loss, learner, weights, capacity, direction, lower, upper, learner_params, groups, positive, categorical, \
numeric, n_folds, n_jobs, random_state
        As for `FrontierRule`; the learner is used only to estimate the direction of "rawlsian" and "egalitarian".

    Attributes
    ----------
    coef_ : Series
        Coefficients of the columns in their own units (indicators for categories), and ``intercept_``.
    """

    def __init__(
        self,
        loss: str | Loss | Callable[..., Any] = "classification",
        learner: Any = "auto",
        weights: Weights = None,
        capacity: float | None = None,
        *,
        features: Sequence[Label] | None = None,
        C: float = 1.0,
        direction: ArrayLike | None = None,
        lower: Any = None,
        upper: Any = None,
        learner_params: Mapping[str, Any] | None = None,
        groups: tuple[Label, Label] | None = None,
        positive: Any = None,
        categorical: Sequence[Label] | None = None,
        numeric: Sequence[Label] | None = None,
        n_folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss,
            learner,
            weights,
            capacity,
            direction=direction,
            lower=lower,
            upper=upper,
            learner_params=learner_params,
            groups=groups,
            positive=positive,
            categorical=categorical,
            numeric=numeric,
            n_folds=n_folds,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.features = features
        self.C = C

    def _learn(self, sample: Sample, dl: FloatArray, q: FloatArray, learner: Learner, seed: Any) -> LinearScore:
        return self.learn_score(sample, dl, q)

    def learn_score(self, sample: Sample, dl: FloatArray, q: FloatArray) -> LinearScore:
        """Learn the linear score of direction ``q`` from the rows of a sample and their loss differences."""
        if not isinstance(self.C, numbers.Real) or isinstance(self.C, bool) or not self.C > 0.0:
            raise InputError("bad-option", f"`C` must be a positive number, got {self.C!r}; a usual choice is 1.")
        cost = (q / sample.groups.shares)[sample.group] * dl
        table = _pick(sample.covariates, self.features)
        encoder = NumericColumns(standardise=True).fit(table, cost, sample_weight=sample.weight)
        importance = np.abs(cost) * sample.weight
        used = np.flatnonzero(importance > 0.0)
        wanted = cost[used] > 0.0
        if len(used) == 0 or wanted.all() or not wanted.any():
            constant = 1.0 if len(used) and wanted[0] else -1.0
            score = LinearScore(self.features, encoder, None, constant)
            coefficients, self.intercept_ = np.zeros(encoder.mean_.size), constant
        else:
            model = LogisticRegression(C=self.C, max_iter=10_000, tol=1e-8)
            weight = importance[used] / importance[used].mean()
            model.fit(encoder.transform(table)[used], wanted, sample_weight=weight)
            score = LinearScore(self.features, encoder, model, 0.0)
            coefficients = model.coef_[0] / encoder.scale_
            self.intercept_ = float(model.intercept_[0] - coefficients @ encoder.mean_)
        names = encoder.get_feature_names_out()
        if self.features is not None and not isinstance(table, pd.DataFrame):
            names = list(self.features)
        self.coef_ = pd.Series(coefficients, index=names)
        return score

    def _takes_gaps(self) -> bool:
        return True

    def _k(self, table: Table, group: IntArray | None) -> FloatArray:
        k: FloatArray = self._fitted.predict(table)
        return k

    def restriction(self, frontier: Fitted) -> Restriction:
        """Estimate what linearity costs against the rule of the same direction of a fitted `FairFrontier`.

        Both rules are evaluated out of fold on the rows and folds of ``frontier``, without any capacity.
        """
        self.check_fitted()
        fit = frontier.fit_
        sample, folds = fit.sample, fit.nuisance.folds
        if folds is None or sample.X is None:
            raise InputError("bad-option", "The frontier was fitted on predictions from outside and has no folds.")
        if sample.groups.labels != self.groups_:
            raise InputError(
                "unknown-group",
                f"The rule compares {self.groups_}, the frontier {sample.groups.labels}: fit both on the same groups.",
            )
        losses = fit.row_losses
        fold, selected = folds[0], np.zeros(sample.n_obs)
        for k in range(1, int(fold.max()) + 1):
            held, kept = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            for code, label in enumerate(sample.groups):
                if not sample.weight[kept][sample.group[kept] == code].sum() > 0.0:
                    raise InputError(
                        "bad-weights",
                        f"Outside fold {k} no row of group {label!r} has any weight, so no rule can be learned there; "
                        "give more of its rows weight.",
                    )
            part = clone(self)
            score = part.learn_score(sample.take(kept), losses.dl[kept], self.direction_)
            selected[held] = score.predict(take_rows(sample.covariates, held)) > 0.0
        function = fit.plane().function
        best = losses.of(function.scores.averaged(function.selected(self.direction_)))
        linear = losses.of(selected)
        means = [group_means(x, sample.group, sample.weight)[0] for x in (linear, best)]
        _, covariance = group_means(best - linear, sample.group, sample.weight, sample.clusters)
        q = self.direction_
        error = float(np.sqrt(q @ covariance @ q))
        return Restriction(
            sample.groups.pair("A linear rule"), q, means[0], means[1], float(q @ (means[1] - means[0])), error
        )


def _pick(table: Table, columns: Sequence[Label] | None) -> Table:
    if columns is None:
        return table
    if isinstance(columns, str) or not isinstance(columns, Iterable) or len(list(columns)) == 0:
        raise InputError("bad-features", f"`features` must be a list of at least one column, got {columns!r}.")
    try:
        return table[list(columns)] if isinstance(table, pd.DataFrame) else table[:, np.array(columns)]
    except (KeyError, IndexError) as error:
        known = list(table.columns) if isinstance(table, pd.DataFrame) else f"0 to {table.shape[1] - 1}"
        text = f"`features` names columns that X does not have: {error}. Known: {known}."
        raise InputError("bad-features", text) from error
