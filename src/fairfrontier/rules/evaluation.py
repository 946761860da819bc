"""What a rule does on rows it has not seen: risks, selection rates and error rates by group."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ..data.aligning import aligned
from ..data.checks import check_alpha, check_length, check_probabilities
from ..data.groups import check_reference
from ..data.losses import Loss, get_loss
from ..data.reading import Label, read_column
from ..data.result import PlainDict, Result, labels, plain_items
from ..data.row_losses import row_losses
from ..data.sample import Sample, make_sample
from ..data.variables import read_scores
from ..errors import DroppedRowsWarning, InputError, MissingDependencyError
from ..frontier.rule_class import read_rules
from ..frontier.support import group_means
from ..inference.usual.figures import Rows, UsualFigures, usual_figures
from .classifier import FrontierRule


@dataclass(frozen=True, slots=True)
class EvaluatedRows:
    """What a `MetricFrame` needs of the rows: outcomes, decisions and group codes, and weights if there are any."""

    y: FloatArray
    decisions: FloatArray
    group: IntArray
    weight: FloatArray | None
    binary_outcome: bool
    clusters: IntArray | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(Result):
    """How a rule fares in each group, in the order of ``groups``.

    ``table`` has one line per group: rows, risk, selection rate, and for a binary outcome false positive and false
    negative rate, each with a standard error. ``gap`` is the difference between the groups' risks, first less second
    for two groups and largest minus smallest for more of them, and ``gap_error`` its standard error.
    """

    groups: tuple[Label, ...]
    table: pd.DataFrame
    gap: float
    gap_error: float
    _rows: EvaluatedRows

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Risks, selection rates and error rates by group"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "groups": labels(self.groups),
            "rows": int(self.table["rows"].sum()),
            "gap": self.gap,
            "gap_error": self.gap_error,
        }
        rates = [name for name in self.table.columns if name != "rows" and not name.startswith("se ")]
        return facts | {name: self.table[name].to_numpy() for name in rates}

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON: the gap, and the table line by line."""
        facts: dict[str, object] = {"groups": labels(self.groups), "gap": self.gap, "gap_error": self.gap_error}
        return plain_items(facts | {"table": self.table})

    def _frame(self) -> pd.DataFrame:
        return self.table

    @property
    def risks(self) -> FloatArray:
        """The risk (G,) of each group."""
        return self.table["risk"].to_numpy()

    def usual_figures(
        self, *, reference: Label | None = None, score: ArrayLike | None = None, alpha: float = 0.05
    ) -> UsualFigures:
        """Selection rates with differences and ratios to a reference group and significance tests, and error rates.

        Parameters are those of `FairFrontier.usual_figures`; ``score`` (n,) for the rows that were used.
        """
        rows, code = self._rows, check_reference(self.groups, reference)
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        used = Rows(rows.group, weight, rows.weight is not None, rows.clusters, rows.y if rows.binary_outcome else None)
        scores = None if score is None else read_scores(read_column(score, "score"), "score")
        if scores is not None:
            check_length(scores, "score", len(rows.y))
        own = check_alpha(alpha)
        return usual_figures("the rule", rows.decisions, used, self.groups, reference=code, score=scores, alpha=own)

    def metric_frame(self, metrics: Any = None) -> Any:
        """Return a fairlearn `MetricFrame` of the decisions, for everything else that fairlearn offers.

        ``metrics`` as for `fairlearn.metrics.MetricFrame`; default accuracy and selection rate. Needs 0/1 decisions.
        """
        try:
            from fairlearn.metrics import MetricFrame, selection_rate
        except ImportError as error:
            raise MissingDependencyError("`metric_frame` needs fairlearn, which is not installed.") from error
        from sklearn.metrics import accuracy_score

        rows, weight = self._rows, self._rows.weight
        if not np.isin(rows.decisions, (0.0, 1.0)).all() or not rows.binary_outcome:
            raise InputError("bad-decisions", "A MetricFrame needs 0/1 decisions and outcomes; these are not.")
        if metrics is None:
            metrics = {"accuracy": accuracy_score, "selection_rate": selection_rate}
        names = metrics if isinstance(metrics, dict) else {"metric": metrics}
        params: Any = None if weight is None else {name: {"sample_weight": weight} for name in names}
        if weight is not None and not isinstance(metrics, dict):
            params = {"sample_weight": weight}
        return MetricFrame(
            metrics=metrics,
            y_true=rows.y.astype(int),
            y_pred=rows.decisions.astype(int),
            sensitive_features=pd.Series(np.array(self.groups, dtype=object)[rows.group], name="group"),
            sample_params=params,
        )


def evaluate(
    rule: Any,
    X: ArrayLike,
    y: ArrayLike,
    sensitive_features: ArrayLike,
    *,
    loss: str | Loss | Callable[..., Any] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    groups: Sequence[Label] | None = None,
    positive: Any = None,
) -> Evaluation:
    """Evaluate a rule on rows with known outcomes, best on rows from which it has not learned.

    Parameters
    ----------
    rule : FrontierRule, any classifier, or decisions (n,)
        A `FrontierRule` is evaluated with its chances of selecting people; another classifier with its predictions,
        which must be the labels of y or 0/1; decisions are chances in [0, 1].
    X, y, sensitive_features : covariates, outcomes and groups of the same rows
    loss : optional
        As for `FairFrontier`; default that of the rule, or "classification".
    sample_weight, clusters : columns (n,), optional
        Sampling weights; clusters, for the standard errors.
    groups, positive : optional
        As for `FairFrontier`; default those of the rule.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from fairfrontier import FrontierRule, evaluate
    >>> from fairfrontier.datasets import make_liu_molinari
    >>> X, y, group = make_liu_molinari(2000, random_state=0)
    >>> rule = FrontierRule(learner="factored-logit", random_state=0)
    >>> rule = rule.fit(X[:1000], y[:1000], sensitive_features=group[:1000])
    >>> evaluate(rule, X[1000:], y[1000:], group[1000:]).table["risk"].round(2).tolist()
    [0.44, 0.37]
    """
    ours, asked = isinstance(rule, FrontierRule), groups is not None
    chosen = get_loss((rule.loss if ours else "classification") if loss is None else loss)
    if ours:
        rule.check_fitted()
        groups = rule.groups_ if groups is None else groups
        if positive is None and not np.array_equal(rule.classes_, [0, 1]):
            positive = rule.classes_[1]
    sample = make_sample(
        X,
        y,
        sensitive_features,
        groups=groups,
        sample_weight=sample_weight,
        clusters=clusters,
        positive=positive,
        missing="keep",
        binary=chosen.binary_outcome,
    )
    if ours and not asked:
        _warn_of_left_out(sample)
    a = _decisions(rule, X, sample, positive, read_column(y, "y").values)[sample.rows]
    n_groups = len(sample.groups)
    means = {
        name: group_means(values, sample.group, sample.weight, sample.clusters, n_groups=n_groups)
        for name, values in (("risk", row_losses(chosen, sample.y).of(a)), ("selection rate", a))
    }
    if sample.binary_outcome:
        for name, value, wrong in (("false positive rate", 0.0, a), ("false negative rate", 1.0, 1.0 - a)):
            means[name] = _rates(sample, sample.y == value, wrong)
    table = _table(sample, means)
    risk, covariance = means["risk"]
    j, k = (0, 1) if n_groups == 2 else (int(np.argmax(risk)), int(np.argmin(risk)))
    error = float(np.sqrt(covariance[j, j] + covariance[k, k] - 2.0 * covariance[j, k]))
    weight = sample.weight if sample.weighted else None
    rows = EvaluatedRows(sample.y, a, sample.group, weight, sample.binary_outcome, sample.clusters)
    return Evaluation(sample.groups.labels, table, float(risk[j] - risk[k]), error, rows)


def _warn_of_left_out(sample: Sample) -> None:
    if sample.left_out:
        listed = ", ".join(f"{label!r}: {count}" for label, count in sample.left_out.items())
        warnings.warn(
            f"Rows of groups that the rule does not compare are left out ({listed}). Pass groups= to choose others.",
            DroppedRowsWarning,
            stacklevel=3,
        )


def _table(sample: Sample, means: Mapping[str, tuple[FloatArray, FloatArray]]) -> pd.DataFrame:
    """One line per group: rows, and every mean with its standard error."""
    columns: dict[str, Any] = {"rows": list(sample.counts.values())}
    for name, (mean, covariance) in means.items():
        columns |= {name: mean, f"se {name}": np.sqrt(np.diag(covariance))}
    return pd.DataFrame(columns, index=pd.Index(list(sample.groups), name="group"))


def _decisions(rule: Any, X: ArrayLike, sample: Sample, positive: Any, outcomes: Any) -> FloatArray:
    if isinstance(rule, FrontierRule):
        groups = None
        if read_rules(rule.rules).sees_group:  # rows of groups that are left out get a label, too; nobody looks at them
            groups = np.full(sample.n_given, rule.groups_[0], dtype=object)
            groups[sample.rows] = np.array(sample.groups.labels, dtype=object)[sample.group]
        chances: FloatArray = rule.predict_proba(X, sensitive_features=groups)[:, 1]
        return chances
    if not hasattr(rule, "predict"):
        given = aligned(rule, sample.index, "rule")
        return check_probabilities(given, "rule", sample.n_given, code="bad-decisions")
    predicted = read_column(rule.predict(X), "predictions of the rule").values
    if positive is not None and np.isin(predicted, outcomes).all():
        predicted = predicted == positive
    elif not np.isin(predicted, (0, 1)).all():
        raise InputError(
            "bad-decisions",
            "Predictions of the rule must be labels of y, with `positive`, or 0/1; got "
            f"{predicted[~np.isin(predicted, (0, 1))][0]!r}. Chances of being selected can be "
            "passed instead of the rule.",
        )
    return check_probabilities(predicted, "predictions of the rule", sample.n_given, code="bad-decisions")


def _rates(sample: Sample, among: BoolArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of wrong decisions among some rows of each group, and its variance; nan where a group has none of them."""
    rates, variances = np.full(len(sample.groups), np.nan), np.full(len(sample.groups), np.nan)
    for g in range(len(sample.groups)):
        rows = np.flatnonzero(among & (sample.group == g) & (sample.weight > 0.0))
        if len(rows) == 0:
            continue
        weight = sample.weight[rows] / sample.weight[rows].sum()
        rates[g] = float((weight * wrong[rows]).sum())
        influence = weight * (wrong[rows] - rates[g])
        if sample.clusters is not None:
            influence = np.bincount(sample.clusters[rows], influence)
        variances[g] = float((influence**2).sum())
    return rates, np.diag(variances)
