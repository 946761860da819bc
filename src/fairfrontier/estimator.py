"""`FairFrontier`, the estimator users meet: every method is one call of a function of what was learned."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .arrays import ArrayLike, FloatArray
from .data.algorithms import (
    Algorithms,
    Asked,
    Decisions,
    RiskPairs,
    counted_algorithms,
    named_decisions,
    with_models_asked,
)
from .data.aligning import aligned
from .data.checks import check_alpha, check_n_jobs
from .data.criteria import Criteria, Criterion, read_criteria
from .data.declared import check_columns, read_declared
from .data.groups import check_reference, two_groups_needed
from .data.losses import Loss, get_loss
from .data.models import Threshold
from .data.parts.rows import Roles, read_roles
from .data.parts.sources import RowsInParts, rows_in_parts
from .data.reading import Label, outcome_labels, read_column
from .data.risks import Risks
from .data.sample import Sample, keep_copies_together, make_sample
from .data.suspects import warn_of_suspects
from .errors import InputError, MissingDependencyError, NotFittedError
from .fit import Fit, Learning, Options, Seeds, learn, pair_of, read_bounds, read_repetitions
from .frontier.regret import Regret, check_refits
from .frontier.rule_class import RuleClass, read_rules
from .frontier.sets import FeasibleSet, FrontierCurve
from .frontier.support import SupportFunction
from .in_parts import LEARN_ROWS, Reading, learn_in_parts, on_cluster
from .in_parts import Task as PartsTask
from .inference import estimates, questions
from .inference.ban.questions import cost_of_ban, warn_of_few_people
from .inference.ban.result import BanCost
from .inference.bands import EstimatedFeasibleSet
from .inference.best_points import BestPointTests
from .inference.distance.crossing import Method as DistanceMethod
from .inference.distance.metrics import MetricLike
from .inference.distance.result import DistanceInterval, DistanceIntervals, FairestPoint
from .inference.fan.questions import joint_lda_tests
from .inference.fan.result import JointLDATest, JointLDATests
from .inference.group_skew import GroupSkewTest
from .inference.group_skew import Method as SkewMethod
from .inference.lda.answer import LDAAnswer
from .inference.lda.evidence import Method
from .inference.lda.result import LDATest, LDATests
from .inference.lda.witness import Alternative
from .inference.listed_points import PointContradiction, point_contradictions
from .inference.pairs import PairTests, adjust_pairs
from .inference.points import GRID, Derivative, PointTests
from .inference.regions import FrontierRegion
from .inference.trade_off import TradeOffCurve, trade_off
from .inference.usual.figures import UsualFigures
from .inference.usual.questions import UsualFiguresByName, alternative_chances, figures_of
from .learning import diagnostics
from .learning.cross_fitting import Nuisance
from .learning.diagnostics import Diagnostics
from .learning.folds import warn_of_many_folds
from .learning.learner_report import LearnerReport, learner_report
from .learning.learners import Learner, read_learner
from .report.findings import ask, ask_jointly
from .report.html import render
from .report.joint_parts import make_groups_record
from .report.joint_record import GroupsRecord
from .report.paper import find_browser, write_pdf
from .report.parts import make_record
from .report.record import Record
from .report.text import summary_text
from .rules.alternatives import Alternatives
from .rules.classifier import FrontierRule
from .rules.deployment import Deployment, alternatives, check_sought, shown_alternative
from .rules.preferences import Weights


class FairFrontier(BaseEstimator):  # type: ignore[misc]
    """Estimate the fairness-accuracy frontier of decision rules for two groups.

    `fit`, `risks` and `test_lda` take more groups; whatever concerns a pair of risks needs a `pair` of groups.

    Parameters
    ----------
    loss : {"classification", "squared"}, callable ``loss(d, y)`` or Loss
        What a decision d in {0, 1} costs when the outcome is y. "squared" is (d - y)^2, for numeric outcomes in units
        in which decision 1 is right where y is above 0.5.
    learner : str, scikit-learn classifier or regressor, or Learner
        How the nuisance functions are learned; names are listed in `fairfrontier.learning.learners.PRESETS`. The
        default "auto" weighs logistic regression and boosting, in each group by itself and in one model of all groups.
    n_folds : int
        Folds of the cross-fitting.
    n_rep : int, optional
        Repetitions of the cross-fitting with other folds, over which rules are averaged: what is estimated and tested
        of a direction is the lottery between its rules in all repetitions. Default: 3, or 1 with sequential folds,
        folds given as an array or `external_nuisance`.
    n_boot : int
        Bootstrap draws of the tests and confidence sets.
    alpha : float
        Level of the tests; confidence sets have level 1 - alpha.
    bias_correction : None or "regret"
        "regret": refit the learner ``n_refits`` times on randomly weighted rows, estimate how far the learned rules
        fall short of the best ones, and add that to the points, the sets, the distance to the fairest point and
        questions of feasibility. Never used to claim a less discriminatory alternative.
    n_refits : int
        Number of refits of the correction; each costs as much as the cross-fitting without its tuning.
    rules : {"group-blind", "group-aware"}
        What rules may depend on: the covariates alone, or the group as well. With "group-aware" the attainable risks
        are a box (without a capacity), rules need the group to decide, and algorithms are compared with rules that see
        it.
    fairness : {"risk", "selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate"} or Criterion
        The measure that is compared between groups. An alternative has no larger a difference in it (with more groups
        no wider a range), or with "selection-ratio" no smaller a ratio of the smallest selection rate to the largest.
        Other choices than "risk" are for `test_lda`, and with ``accuracy="overall"`` for set, frontier and pictures.
    accuracy : {"by-group", "overall"}
        For whom an alternative must be no less accurate: for every group, or on average.
    keep : {"selection-rate", "no-more-selected", "no-fewer-selected"}, optional
        What share of people an alternative may select, compared with the algorithm.
    keep_tolerance : float, optional
        By how much that share may differ; default 0.02 for "selection-rate", else 0.
    profit : column (n,), optional
        What selecting each row earns: an alternative must earn no less in total.
    groups : sequence of labels, optional
        The groups in the order in which results list them, two or more; rows of others are left out. Default: all
        labels sorted, last one first.
    merge : mapping, optional
        Groups to put together, such as ``{"Other": ["A", "B"]}``, before groups are chosen; counted in
        ``sample_.merged``.
    folds : None, "independent", "sequential" or integer array, optional
        None: balanced by group, whatever the outcomes. "independent": each row's fold drawn by itself. "sequential": a
        fold learns only from the folds before it, and the first fifth of the folds is used for learning only; the
        robust test for alternatives is then proven for any learner, with less power.
    copies : {"auto", "keep-together", "ignore"}
        Rows that repeat others, as in oversampled files, unless `clusters` are given to `fit`. "auto": copies beyond
        what the distribution of the covariates explains are warned of and kept together as clusters. "keep-together":
        all rows with the same covariates and group are. "ignore": all rows are taken for different people.
    learner_params : mapping, optional
        Options of a learner preset, such as ``{"tune_on_folds": False}`` (tune once, on all rows).
    positive : label, optional
        The outcome counted as 1, for outcomes given as two labels.
    missing : {"keep", "raise", "drop"}
        What to do with rows that have missing values. "keep": gaps in covariates are left to the learner (every learner
        by name takes them), and gaps elsewhere are an error. "raise": any gap is an error. "drop": such rows are left
        out and counted.
    categorical, numeric : lists of columns, optional
        Columns of a frame to be used as categories, and as quantities. By default text, booleans and pandas or polars
        categories are categories, dates are numbers of days, and other numbers are quantities, except
        integers with few different values whose relation to the outcome has no order: these are codes of categories.
    jitter : float
        Rotate nuisance pairs by a uniform angle of at most this many radians, for predictions with few distinct
        directions.
    compress : bool, optional
        Round the directions of predictions to 16,384 and draw cells of people who are alike instead of rows, so that
        tests take as long for a hundred million people as for a hundred thousand. Default: above a million people, if
        there are two groups, one repetition of the cross-fitting and no clusters.
    learn_rows : int
        Where rows are read in parts (see `fit`): how many of them, drawn at random, the learner learns from.
    n_jobs : int, optional
        Parallel jobs (joblib); results do not depend on it.
    random_state : int, SeedSequence, Generator or None
        Seed of folds, learners and draws.
    verbose : bool
        Show progress.

    Attributes
    ----------
    groups_ : tuple of labels (G,)
        Labels of the groups, in the order of every list of risks.
    n_obs_ : int
        Rows used.
    sample_ : Sample
    nuisance_ : Nuisance
        Out-of-fold predictions, folds and quality by fold and group.
    support_function_ : SupportFunction
        Of the risks that lotteries between the rules of all repetitions attain.
    points_ : DataFrame
        Best point of each group and fairest point: two risks and the direction of each. The fairest point's direction
        is chosen by the plug-in criterion, as in `distance_to_fairest`.
    contradictions_ : tuple of PointContradiction
        Points that are not what they are called, because the learner is too weak or the sample too small.
    configuration_ : str
        "balanced" or "<label>-skewed".
    diagnostics_ : Diagnostics
    learner_report_ : LearnerReport
        Losses of the learner out of fold, and its candidates with their inner losses and weights.
    regret_ : Regret or None
        Of the rules of ``support_function_``, with ``bias_correction="regret"``.

    Examples
    --------
    >>> from fairfrontier import FairFrontier
    >>> from fairfrontier.datasets import make_liu_molinari
    >>> X, y, group = make_liu_molinari(1000, design="skewed", random_state=0)
    >>> ff = FairFrontier(learner="factored-logit", n_rep=1, random_state=0)
    >>> ff.fit(X, y, sensitive_features=group).configuration_
    '1-skewed'

    The examples of the methods go on from here, with an algorithm in use:

    >>> in_use = (X["x2"] > 0.5).astype(int)

    and with three groups for what takes more than two:

    >>> region = ["north" if one else ("west", "south")[k % 2] for k, one in enumerate(group)]
    >>> three = FairFrontier(learner="factored-logit", n_rep=1, random_state=0).fit(X, y, sensitive_features=region)
    """

    def __init__(
        self,
        loss: str | Loss | Callable[..., Any] = "classification",
        learner: Any = "auto",
        *,
        n_folds: int = 5,
        n_rep: int | None = None,
        n_boot: int = 1000,
        alpha: float = 0.05,
        bias_correction: str | None = None,
        n_refits: int = 20,
        rules: str = "group-blind",
        fairness: str | Criterion = "risk",
        accuracy: str = "by-group",
        keep: str | None = None,
        keep_tolerance: float | None = None,
        profit: ArrayLike | None = None,
        groups: Sequence[Label] | None = None,
        merge: Mapping[Label, Sequence[Label]] | None = None,
        folds: Any = None,
        copies: str = "auto",
        learner_params: Mapping[str, Any] | None = None,
        positive: Any = None,
        missing: str = "keep",
        categorical: Sequence[Label] | None = None,
        numeric: Sequence[Label] | None = None,
        jitter: float = 0.0,
        compress: bool | None = None,
        learn_rows: int = LEARN_ROWS,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.n_folds = n_folds
        self.n_rep = n_rep
        self.n_boot = n_boot
        self.alpha = alpha
        self.bias_correction = bias_correction
        self.n_refits = n_refits
        self.rules = rules
        self.fairness = fairness
        self.accuracy = accuracy
        self.keep = keep
        self.keep_tolerance = keep_tolerance
        self.profit = profit
        self.groups = groups
        self.merge = merge
        self.folds = folds
        self.copies = copies
        self.learner_params = learner_params
        self.positive = positive
        self.missing = missing
        self.categorical = categorical
        self.numeric = numeric
        self.jitter = jitter
        self.compress = compress
        self.learn_rows = learn_rows
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        external_nuisance: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        algorithms: Mapping[str, str] | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        client: Any = None,
    ) -> Self:
        """Learn the nuisance functions out of fold and estimate the support function.

        Parameters
        ----------
        X : frame or array (n, p)
            Covariates that a rule may use; None only with ``external_nuisance``. If ``y`` names a column, all columns:
            a path, folder or pattern of Parquet or CSV files, an Arrow dataset, a polars LazyFrame, a dask DataFrame or
            a frame, which are read in parts and need not fit into memory.
        y, sensitive_features : columns (n,)
            Outcome; group. If groups are a frame, its columns are crossed: each combination of labels is a group, such
            as "Black & male".
        sample_weight, clusters, ids : columns (n,), optional
            Sampling weights; clusters (kept together in folds and bootstrap draws); names of the rows.
        external_nuisance : array (n, G), optional
            Your own out-of-fold predictions of E[(loss(1, y) - loss(0, y)) 1{group = g} | x], one column per
            group in the order of ``groups``; no learner is then fitted. With rules="group-aware" they are predictions
            of E[loss(1, y) - loss(0, y) | x, g], and of a row only that of its own group is used. Rates of selection
            and of errors need as many columns again, with predictions of P(group = g | x).
        lower, upper : number or column (n,), optional
            Only rules are considered whose chance of selecting a row lies between these bounds.
        algorithms : mapping of names to columns, or list of columns; optional
            Where rows are read in parts: decisions to be asked about later, by name.
        features : list of columns, optional
            Where rows are read in parts: the covariates. Default: all columns that have no other role.
        client : dask.distributed.Client, optional
            Where rows are read in parts: a cluster whose workers read, predict and count them, with the same results
            to the last bit.

        Returns
        -------
        FairFrontier
            Itself.

        Notes
        -----
        Pandas columns with the row labels of X (of y, if X has none) in another order are matched by label, here and
        when decisions are given later; other columns belong to the rows by position.

        If ``y`` is the name of a column, so are ``sensitive_features`` (or a list of them), ``sample_weight`` and
        ``external_nuisance`` (two of them). The rows are then read twice: ``learn_rows`` of them are learned from, and
        all are predicted out of fold and counted as with ``compress=True``, by the first repetition of the
        cross-fitting; the robust test takes all repetitions. What needs the rows says so.
        """
        self._check_options()
        loss = get_loss(self.loss)
        learner = read_learner(self.learner, self.learner_params)
        rules = read_rules(self.rules)
        criteria = read_criteria(self.fairness, self.accuracy, self.keep, self.keep_tolerance, self.profit)
        if isinstance(y, str):
            self._check_in_parts({"clusters": clusters, "ids": ids, "lower": lower, "upper": upper}, rules, criteria)
            named = {"sample_weight": sample_weight, "external_nuisance": external_nuisance}
            source = rows_in_parts(X) if client is None else on_cluster(rows_in_parts(X), client)
            roles = read_roles(source, y, sensitive_features, algorithms=algorithms, features=features, **named)
            return self._fit_in_parts(source, roles, loss, learner, client)
        _check_in_memory((algorithms, features, client), learnable=X is not None or external_nuisance is not None)
        sample = make_sample(
            X,
            y,
            sensitive_features,
            groups=self.groups,
            merge=self.merge,
            sample_weight=sample_weight,
            clusters=clusters,
            ids=ids,
            positive=self.positive,
            missing=self.missing,
            binary=loss.binary_outcome,
            declared=read_declared(self.categorical, self.numeric),
        )
        sample = keep_copies_together(sample, self.copies)
        if sample.X is not None:
            warn_of_suspects(sample.X, sample.y, sample.group, len(sample.groups))
        how = replace(self._learning(external_nuisance is not None), folds=aligned(self.folds, sample.index, "folds"))
        learned = learn(
            sample,
            loss,
            learner,
            how=how,
            options=self._options(),
            seeds=Seeds.of(self.random_state),
            bounds=read_bounds(lower, upper, sample),
            external=aligned(external_nuisance, sample.index, "external_nuisance"),
            rules=rules,
            criteria=criteria,
        )
        outcomes = read_column(aligned(y, sample.index, "y"), "y")
        return self._keep(learned, outcome_labels(outcomes.at(sample.rows), self.positive))

    def _check_options(self) -> None:
        check_alpha(self.alpha)
        check_n_jobs(self.n_jobs)
        check_refits(self.bias_correction, self.n_refits)

    def _check_in_parts(self, given: Mapping[str, object], rules: RuleClass, criteria: Criteria) -> None:
        """Refuse what cannot be combined with rows that are read in parts."""
        reasons = {f"`{name}`": value is not None for name, value in given.items()} | {
            "`folds`": self.folds is not None,
            f"bias_correction={self.bias_correction!r}": self.bias_correction is not None,
            f"rules={self.rules!r}": rules.sees_group,
            criteria.listed: not criteria.usual,
            f"jitter={self.jitter}": self.jitter != 0.0,
            "compress=False": self.compress is False,
            f"copies={self.copies!r}": self.copies == "keep-together",
        }
        against = [reason for reason, wanted in reasons.items() if wanted]
        if against:
            raise InputError(
                "bad-option",
                f"y names a column, so the rows are read in parts, and that cannot be combined with "
                f"{' and '.join(against)}: leave it out, or give a frame in memory with y as a column of values.",
            )

    def _fit_in_parts(self, source: RowsInParts, roles: Roles, loss: Loss, learner: Learner, client: Any) -> Self:
        declared = read_declared(self.categorical, self.numeric)
        check_columns(declared, roles.features)
        learned, coding = learn_in_parts(
            PartsTask(
                source,
                roles,
                Reading(self.groups, self.merge, self.positive, self.missing, declared),
                loss,
                learner,
                self._learning(bool(roles.nuisance)),
                self._options(),
                Seeds.of(self.random_state),
                self.learn_rows,
                client,
            )
        )
        whole, classes = learned.whole, outcome_labels(coding.classes, self.positive)
        if whole.X is not None:
            warn_of_suspects(whole.X, whole.y, whole.group, len(whole.groups))
        return self._keep(learned, classes)

    def _keep(self, learned: Fit, classes: Any) -> Self:
        """Keep what was learned, and warn of what is doubtful about it."""
        deployment = Deployment(learned, self._rule_parameters(), classes)
        self._learned, self._deployment, self.outcome_labels_ = learned, deployment, classes
        if learned.nuisance.folds is not None and learned.sequence is None:
            warn_of_many_folds(int(learned.nuisance.folds.max()), stacklevel=4)
        if learned.diagnostics is not None:
            diagnostics.warn(learned.diagnostics, jitter=learned.nuisance.jitter, stacklevel=3)
        return self

    @property
    def fit_(self) -> Fit:
        """What was learned, of which every question is a function."""
        self._check_fitted()
        return self._learned.asking(self._options())

    @property
    def sample_(self) -> Sample:
        """The rows used."""
        return self.fit_.sample

    @property
    def groups_(self) -> tuple[Label, ...]:
        """Labels of the groups, in the order of every list of risks."""
        return self.fit_.sample.groups.labels

    @property
    def n_obs_(self) -> int:
        """Number of rows used."""
        return self.fit_.n_obs

    @property
    def loss_(self) -> Loss:
        """What decisions cost."""
        return self.fit_.loss

    @property
    def nuisance_(self) -> Nuisance:
        """Out-of-fold predictions, folds, and quality by fold and group."""
        return self.fit_.nuisance

    @property
    def support_function_(self) -> SupportFunction:
        """Support function of the risks that lotteries between the rules of all repetitions attain."""
        return self.fit_.plane().function

    @property
    def regret_(self) -> Regret | None:
        """Regret of the rules of ``support_function_``, with ``bias_correction="regret"``."""
        return self.fit_.plane().regret

    @property
    def points_(self) -> pd.DataFrame:
        """Best point of each group and fairest point: two risks and the direction of each."""
        return estimates.points_table(self.fit_)

    @property
    def contradictions_(self) -> tuple[PointContradiction, ...]:
        """Points of ``points_`` that are not what they are called, by the estimates; none if all is well."""
        return point_contradictions(self.fit_)

    @property
    def configuration_(self) -> str:
        """Whether the frontier is "balanced" or "<label>-skewed"."""
        return estimates.labelled_configuration(self.fit_)

    @property
    def diagnostics_(self) -> Diagnostics:
        """Conditions behind the inference in the plane of two risks."""
        fit = self.fit_
        if fit.diagnostics is None:
            raise two_groups_needed(fit.sample.groups.labels, "The inference behind the frontier")
        return fit.diagnostics

    @property
    def learner_report_(self) -> LearnerReport:
        """Losses of the learner out of fold, and its candidates with their inner losses and weights."""
        return learner_report(self.nuisance_, self.groups_)

    def support(self, q: ArrayLike) -> FloatArray:
        """Support function h at directions ``q`` (k, 2), shape (k,); the median over repetitions.

        Examples
        --------
        >>> ff.support([[-1, 0], [0, -1]]).round(2)  # minus the smallest risk of each group
        array([-0.16, -0.35])
        """
        return estimates.support(self.fit_, q)

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Risk pairs (k, 2) of the rules in directions ``q`` (k, 2); means over repetitions.

        Examples
        --------
        >>> ff.support_set([[-1, 0], [0, -1]]).round(2)
        array([[0.16, 0.43],
               [0.34, 0.35]])
        """
        return estimates.support_set(self.fit_, q)

    def support_covariance(self, q: ArrayLike) -> FloatArray:
        """Estimated covariance (k, k) of sqrt(n)(h^ - h) at directions ``q``; medians over repetitions.

        Examples
        --------
        >>> ff.support_covariance([[-1, 0], [0, -1]]).diagonal().round(1)
        array([0.2, 0.6])
        """
        return estimates.support_covariance(self.fit_, q)

    def risks(self, decisions: ArrayLike) -> Risks:
        """Mean loss of an algorithm in each group, with standard errors.

        ``decisions`` (n,) are chances in [0, 1] of being selected for the rows given to `fit`; a value
        strictly between 0 and 1 is read as a lottery with that probability.

        Examples
        --------
        >>> print(ff.risks(in_use).to_frame().round(2))
               risk  standard_error  selection_rate
        group
        1      0.43            0.02            0.49
        0      0.48            0.02            0.48
        """
        return estimates.risks(self.fit_, decisions)

    def usual_figures(
        self,
        decisions: Decisions | Alternative,
        *,
        score: ArrayLike | None = None,
        reference: Label | None = None,
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
    ) -> UsualFigures | UsualFiguresByName:
        """Selection rates by group with differences, ratios and significance tests, and error rates.

        Parameters
        ----------
        decisions : column (n,), several columns, mapping of names to columns, or the ``witness`` of a test
            Algorithms as in `test_lda`, or an alternative that a test has found.
        score : column (n,), optional
            The score behind the decisions, for its standardised mean difference.
        reference : label, optional
            The group with which others are compared; default the one with the highest selection rate.
        randomised, threshold
            As in `test_lda`.
        alpha : float, optional
            Level; default that of the object.

        Returns
        -------
        UsualFigures, or UsualFiguresByName for several algorithms

        Examples
        --------
        >>> figures = ff.usual_figures(in_use)
        >>> figures.table[["selection rate", "ratio", "p fisher"]].round(2)
               selection rate  ratio  p fisher
        group
        1                0.49   1.00       NaN
        0                0.48   0.97      0.61
        """
        if isinstance(decisions, Alternative):
            chances = alternative_chances(self.fit_, decisions)
            found = Algorithms(("the alternative",), chances[None], np.empty((0, 2)), True)
            return figures_of(self.fit_, found, score=score, reference=reference, alpha=alpha)["the alternative"]
        fit, algorithms = self._ask(decisions, None, randomised, threshold)
        figures = figures_of(fit, algorithms, score=score, reference=reference, alpha=alpha)
        return figures[algorithms.names[0]] if algorithms.single else figures

    def frontier(
        self, tolerance: float | None = None, *, n_points: int = 512, capacity: float | None = None
    ) -> FrontierCurve:
        """Estimated fairness-accuracy frontier: risk pairs in order of direction.

        ``tolerance`` is that of the set estimate `FrontierCurve.contains`, by default sqrt(log n / n) times the root
        mean square of the loss differences, which is 1 for classification. With ``capacity`` the frontier of the rules
        that select at most this share of people, on a grid of directions and without any bias correction.

        Examples
        --------
        >>> curve = ff.frontier()
        >>> curve.points[0].round(2)  # it begins at the best point of the first group
        array([0.16, 0.43])
        >>> curve.contains(ff.risks(in_use).risk)
        array([False])
        """
        return estimates.frontier(self.fit_, tolerance=tolerance, n_points=n_points, capacity=capacity)

    def pareto_frontier(self, *, tolerance: float | None = None, n_points: int = 512) -> FrontierCurve:
        """Estimated Pareto frontier: no group can be served better without serving the other worse.

        Examples
        --------
        >>> ff.pareto_frontier().points[[0, -1]].round(2)
        array([[0.16, 0.43],
               [0.34, 0.35]])
        """
        return estimates.pareto_frontier(self.fit_, tolerance=tolerance, n_points=n_points)

    @overload
    def feasible_set(self) -> EstimatedFeasibleSet: ...
    @overload
    def feasible_set(self, *, capacity: float) -> FeasibleSet: ...
    def feasible_set(self, *, capacity: float | None = None) -> EstimatedFeasibleSet | FeasibleSet:
        """Estimated set of attainable risk pairs, with its inference.

        With ``capacity`` the part of it that rules attain which select at most this share of people, cut out by a grid
        of directions; without inference and without any bias correction.

        Examples
        --------
        >>> everything = ff.feasible_set()
        >>> everything.contains([[0.45, 0.45], [0.1, 0.1]])
        array([ True, False])
        >>> everything.test([0.1, 0.1]).reject
        True
        """
        if capacity is not None:
            return estimates.capacity_feasible_set(self.fit_, capacity)
        return questions.estimated_feasible_set(self.fit_)

    def trade_off(self, alpha: float | None = None) -> TradeOffCurve:
        """Overall risk against the gap between two groups over all rules, with a uniform confidence band.

        Needs ``accuracy="overall"``; the gap is that in the measure ``fairness``. The result has the attainable set,
        its frontier with directions that `rule` takes, the band, and a confidence set of the whole frontier.

        Examples
        --------
        >>> both = FairFrontier(learner="factored-logit", n_rep=1, random_state=0, accuracy="overall")
        >>> curve = both.fit(X, y, sensitive_features=group).trade_off()
        >>> curve.curve[[0, -1]].round(2)  # overall risk and gap: most accurate, and predicted to have no gap
        array([[ 0.27, -0.25],
               [ 0.38,  0.02]])
        """
        return trade_off(self.fit_, alpha)

    def test_lda(
        self,
        decisions: Decisions | None = None,
        *,
        risks: RiskPairs | None = None,
        method: Method = "robust",
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
        directions: int | str | None = None,
        kinks: bool = True,
        capacity: float | None = None,
        reference: Label | None = None,
    ) -> LDATest | LDATests | JointLDATest | JointLDATests:
        """Test whether algorithms have less discriminatory alternatives; the null is that there is none.

        With more than two groups the question is asked for all of them together: is there a rule that is no worse for
        any group and has no wider a range of risks? Then the method is "robust". The same
        holds for other choices of ``fairness``, ``accuracy``, ``keep`` and ``profit``: ``question`` of the result says
        in a sentence what is asked.

        Parameters
        ----------
        decisions : column (n,), several columns, fitted model, or mapping of names to columns and models
            Decisions 0/1 of one or more algorithms for the rows given to `fit`; or any fitted scikit-learn classifier,
            which decides by its ``predict`` about the X given to `fit`, or by its scores with a threshold.
        risks : pair, pairs (k, 2) or mapping, optional
            Known risk pairs instead of decisions.
        method : {"robust", "sharp", "paper"}
            "robust" is the only basis of a claim. Its level is measured and not proven by default, and proven for any
            learner with folds="sequential". "sharp" has more power and needs a learner that is consistent; "paper" is
            the published test.
        randomised, threshold
            What values strictly between 0 and 1 mean: chances of being selected, or scores cut above `threshold`, a
            number or a mapping of group labels to numbers. For a threshold of its own see `fairfrontier.Thresholded`.
        alpha : float, optional
            Level; default that of the object.
        directions : int or "exact", optional
            For "paper": number of grid directions; default exact extrema over all directions.
        kinks : bool
            For "paper": False uses the simpler limit that holds when the feasible set has no kinks.
        capacity : float, optional
            Compare only with rules that select at most this share of people, such as 0.03 for a programme that has
            room for 3%. Directions are then a grid.
        reference : label, optional
            With more than two groups: no gap in risk to this group may be wider, instead of the range.

        Returns
        -------
        LDATest, or LDATests by name for several algorithms; JointLDATest or JointLDATests for more than two groups, and
        for other criteria

        Examples
        --------
        >>> test = ff.test_lda(in_use)
        >>> test.verdict, test.p_value < 0.01
        ('lda-shown', True)
        >>> test.question
        'Is there a rule that errs no more often in any group, and has a smaller difference in error rates?'
        >>> tests = ff.test_lda({"in use": in_use, "everybody": in_use * 0 + 1})
        >>> [(name, bool(test.p_value_adjusted >= test.p_value)) for name, test in tests.items()]
        [('in use', True), ('everybody', True)]
        """
        fit, algorithms = self._ask(decisions, risks, randomised, threshold)
        tests: LDATests | JointLDATests
        if questions.asked_jointly(fit, method=method, directions=directions, kinks=kinks, capacity=capacity):
            tests = joint_lda_tests(fit, algorithms, alpha=alpha, reference=reference, capacity=capacity)
        else:
            # of two groups either is the other's reference
            check_reference(fit.sample.groups.labels, reference, others=fit.sample.left_out)
            tests = questions.lda_tests(
                fit, algorithms, method=method, alpha=alpha, directions=directions, kinks=kinks, capacity=capacity
            )
        return tests[algorithms.names[0]] if algorithms.single else tests

    def pair(self, first: Label, second: Label) -> FairFrontier:
        """Return the analysis of two of more groups: their rows and folds, with the predictions of this fit.

        It has sets, frontier, skew, distances, pictures and tests like any fit of two groups. Decisions given to it
        later are those of all rows given to `fit`. A rule of it is learned from the rows of the two groups alone.

        Examples
        --------
        >>> three.pair("north", "south").groups_
        ('north', 'south')
        """
        fit = pair_of(self.fit_, first, second)
        chosen = FairFrontier(**(self.get_params(deep=False) | {"groups": (first, second)}))
        deployment = Deployment(fit, self._rule_parameters(), self.outcome_labels_)
        chosen.__dict__.update(_learned=fit, _deployment=deployment, outcome_labels_=self.outcome_labels_)
        return chosen

    def pairs(self, reference: Label | None = None) -> Pairs:
        """Return all pairs of groups, or every group against a reference: each is the analysis of `pair`.

        ``pairs().test_lda(decisions)`` tests algorithms in all of them, adjusted for pairs times algorithms by Holm's
        method.

        Examples
        --------
        >>> three.pairs(reference="north")
        Pairs(west against north, south against north)
        >>> tests = three.pairs(reference="north").test_lda(in_use)
        >>> list(tests.to_frame()["verdict"])
        ['no-evidence', 'no-evidence']
        """
        groups = self.fit_.sample.groups
        check_reference(groups.labels, reference, others=self.fit_.sample.left_out)
        if reference is None:
            chosen = list(combinations(groups.labels, 2))
        else:
            chosen = [(label, reference) for label in groups if label != reference]
        return Pairs({pair: self.pair(*pair) for pair in chosen})

    def test_frontier(
        self,
        e: ArrayLike | None = None,
        *,
        decisions: Decisions | None = None,
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
        directions: int = GRID,
        derivative: Derivative = "numerical",
    ) -> PointTests:
        """Test that risk pairs ``e`` (k, 2), or the risks of ``decisions``, lie on the fairness-accuracy frontier.

        Parameters
        ----------
        e : pairs (k, 2)
            Known risk pairs; thousands at once.
        decisions, randomised, threshold
            Algorithms instead of pairs, as in `test_lda`; the estimation of their risks is accounted for.
        alpha : float, optional
            Level; default that of the object.
        directions : int
            Directions of the grids on which extrema are taken.
        derivative : {"numerical", "contact"}
            How draws under the null are made: numerical directional derivative, or contact sets with kappa_n.

        Returns
        -------
        PointTests

        Examples
        --------
        >>> ff.test_frontier([[0.2, 0.4], [0.5, 0.5]]).reject
        array([False,  True])
        >>> ff.test_frontier(decisions=1 - in_use).reject
        array([ True])
        """
        fit, algorithms = self._ask(decisions, e, randomised, threshold, "e")
        return questions.frontier_point_tests(
            fit, "fairness-accuracy", algorithms, alpha=alpha, directions=directions, derivative=derivative
        )

    def test_pareto(
        self,
        e: ArrayLike | None = None,
        *,
        decisions: Decisions | None = None,
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
        directions: int = GRID,
        derivative: Derivative = "numerical",
    ) -> PointTests:
        """Test that risk pairs, or the risks of algorithms, lie on the Pareto frontier; as `test_frontier`.

        Examples
        --------
        >>> ff.test_pareto([[0.2, 0.4], [0.5, 0.5]]).reject
        array([False,  True])
        """
        fit, algorithms = self._ask(decisions, e, randomised, threshold, "e")
        return questions.frontier_point_tests(
            fit, "pareto", algorithms, alpha=alpha, directions=directions, derivative=derivative
        )

    def frontier_confidence_set(self, alpha: float | None = None, *, directions: int = GRID) -> FrontierRegion:
        """Risk pairs not rejected as points of the fairness-accuracy frontier.

        The set covers each point of the frontier with probability 1 - alpha, not the whole curve at once. With several
        repetitions of the cross-fitting it allows for how far learned rules may be off; with one it does not, and in
        small samples then leaves points out more often than its level says.

        Examples
        --------
        >>> region = ff.frontier_confidence_set()
        >>> region.contains([[0.2, 0.4], [0.5, 0.5]])
        array([ True, False])
        """
        return questions.confidence_region(self.fit_, "fairness-accuracy", alpha=alpha, directions=directions)

    def pareto_confidence_set(self, alpha: float | None = None, *, directions: int = GRID) -> FrontierRegion:
        """Risk pairs not rejected as points of the Pareto frontier; as `frontier_confidence_set`."""
        return questions.confidence_region(self.fit_, "pareto", alpha=alpha, directions=directions)

    def test_best_points(
        self,
        R: ArrayLike,
        B: ArrayLike,
        *,
        directions: int | str = "exact",
        alpha: float | None = None,
    ) -> BestPointTests:
        """Test that pairs of points are the best points of the first and of the second group.

        Parameters
        ----------
        R, B : pairs (k, 2)
            Candidate best points of the first and of the second group; row j of both makes up candidate j.
        directions : int or "exact"
            "exact": extrema over all directions or, where the repetitions of the cross-fitting (or refits) tell how far
            learned rules may be off, over 1,000 of them, with draws that allow for it. A number: that many in each of
            the published windows, the quarter circles about the two groups' own directions, as published.
        alpha : float, optional
            Level; default that of the object.

        Returns
        -------
        BestPointTests

        Examples
        --------
        >>> ff.test_best_points([[0.17, 0.42], [0.1, 0.2]], [[0.33, 0.34], [0.3, 0.1]]).reject
        array([False,  True])
        """
        return questions.candidate_tests(self.fit_, R, B, directions=directions, alpha=alpha)

    def test_group_skew(self, alpha: float | None = None, *, method: SkewMethod = "sharp") -> GroupSkewTest:
        """Test whether banning the group as an input may be harmless to some preference.

        The null is that the two groups' best points lie weakly on the same side of equal risks. Where it is rejected
        and its opposite is not, banning the group would worsen every point of the trade-off. Both tests presume a
        learner that comes close to the truth. If its estimates contradict each other, so that no pair of best points
        passes, then `verdict` is "contradictory" and nothing is claimed.

        Parameters
        ----------
        alpha : float, optional
            Level; default that of the object.
        method : {"sharp", "paper"}
            "paper" is the published test, which rejects even if no pair of best points passes at all. "sharp" rejects
            if the gap between the groups' risks at each best point is positive beyond chance, estimated in two ways; it
            rejects far more often in good samples. Its level is kept if the learner converges fast enough (the
            paper's conditions); one that misses signal can still mislead it, though seldom both estimates at once.

        Returns
        -------
        GroupSkewTest

        Examples
        --------
        >>> skew = ff.test_group_skew()
        >>> skew.verdict, skew.p_value > 0.5
        ('not-shown', True)
        """
        return questions.skew_test(self.fit_, alpha=alpha, method=method)

    def cost_of_ban(self, alpha: float | None = None, *, capacity: float | None = None) -> BanCost:
        """What it costs that rules may not see the group: risks attainable with and without it, and their difference.

        At the best point of each group, with equal and with population weights, at the rawlsian and the fairest point
        and, for two groups, over all weights. Intervals per group and of the change in the gap, with more groups in the
        range of their risks, hold together. Both sides come from this fit, whichever ``rules`` it has.

        Parameters
        ----------
        alpha : float, optional
            Level; default that of the object.
        capacity : float, optional
            Refused: both sides are those of rules without a capacity.

        Returns
        -------
        BanCost

        Raises
        ------
        InputError
            With the code "group-determined" if the covariates nearly determine the group, so that a ban is empty.

        Warns
        -----
        SmallSampleWarning
            If a group is so small that nothing is called shown.

        Examples
        --------
        >>> cost = ff.cost_of_ban()
        >>> cost.names
        ('best for 1', 'best for 0', 'utilitarian', 'population', 'rawlsian', 'fairest')
        >>> bool(cost.table.loc["utilitarian", "cost 0"] > 0)
        True
        """
        self.fit_.needs_rows("What a ban of the group costs")
        found = cost_of_ban(self.fit_, alpha=alpha, capacity=capacity)
        warn_of_few_people(self.fit_)
        return found

    def distance_to_fairest(
        self,
        decisions: Decisions | None = None,
        *,
        risks: RiskPairs | None = None,
        metric: MetricLike = "euclidean",
        method: DistanceMethod | None = None,
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
        kinks: bool = False,
    ) -> DistanceInterval | DistanceIntervals:
        """Distance between algorithms' risks and the fairest attainable point, with confidence intervals.

        Parameters
        ----------
        decisions, risks, randomised, threshold
            Algorithms, as in `test_lda`.
        metric : {"euclidean", "sqeuclidean", "cityblock", "chebyshev"} or function of two pairs
            The distance, by default that in a straight line; the paper's is its square, "sqeuclidean".
        method : {"sharp", "paper"}, optional
            "sharp", the default, chooses the direction of the fairest point by the plug-in criterion; "paper" is the
            published interval, never bias-corrected.
        alpha : float, optional
            Level; default that of the object.
        kinks : bool
            For "paper": True allows kinks of the feasible set by the numerical derivative of the infimum; the intervals
            are then so wide in small samples that they say little.

        Returns
        -------
        DistanceInterval, or DistanceIntervals by name for several algorithms

        Examples
        --------
        >>> distance = ff.distance_to_fairest(in_use)
        >>> low, high = distance.conf_int()
        >>> round(distance.estimate, 2), low < distance.estimate < high
        (0.14, True)
        """
        fit, algorithms = self._ask(decisions, risks, randomised, threshold)
        found = questions.distances(fit, algorithms, metric=metric, method=method, alpha=alpha, kinks=kinks)
        return found[algorithms.names[0]] if algorithms.single else found

    def fairest_point(self, alpha: float | None = None, *, method: DistanceMethod | None = None) -> FairestPoint:
        """The fairest attainable point with confidence intervals and the weights of its rule.

        ``method`` as in `distance_to_fairest`.

        Examples
        --------
        >>> print(ff.fairest_point().to_frame()[["risk", "weight"]].round(1))
               risk  weight
        group
        1       0.4    -0.1
        0       0.4     0.9
        """
        return questions.fairest_point(self.fit_, alpha=alpha, method=method)

    def rule(
        self,
        weights: Weights | LDAAnswer | Alternative = None,
        *,
        direction: ArrayLike | None = None,
        capacity: float | None = None,
        lower: Any = None,
        upper: Any = None,
    ) -> FrontierRule:
        """Return the rule of a preference, or an alternative, learned from all rows and ready to be deployed.

        The learner is fitted on all rows once, with what was tuned before, and serves all rules; of rows that were read
        in parts, on those that were learned from. The preferences "rawlsian" and "egalitarian" take their direction
        from the cross-fitted estimates.

        Parameters
        ----------
        weights, direction, capacity, lower, upper
            As for `FrontierRule`. Instead of weights also a result of `test_lda`, whose alternative is meant, or that
            ``witness`` itself: it has its own capacity, and by default the bounds of the fit. A fit with other criteria
            than the groups' risks takes that, or a direction with a number for each criterion, or for overall risk and
            gap as in `trade_off`; without either the rule has the smallest overall risk.

        Returns
        -------
        FrontierRule, or MixedRule of an alternative or of other criteria

        Examples
        --------
        >>> rule = ff.rule("utilitarian")
        >>> rule.predict(X.head())
        array([1, 0, 1, 1, 1])
        >>> alternative = ff.rule(ff.test_lda(in_use))
        >>> alternative.shares_.sum().round(6)
        np.float64(1.0)
        """
        if isinstance(weights, LDAAnswer | Alternative):
            if direction is not None or capacity is not None:
                raise InputError(
                    "bad-option",
                    "An alternative has its own directions and capacity: leave `direction` and `capacity` out.",
                )
            return self._rules().alternative(shown_alternative(weights), lower=lower, upper=upper)
        if self.fit_.asked is not None:
            if capacity is not None:
                self.fit_.risks_only("A rule with a capacity")
            return self._rules().by_criteria(weights, direction, lower=lower, upper=upper)
        return self._rules().rule(weights, direction=direction, capacity=capacity, lower=lower, upper=upper)

    def alternatives(
        self,
        decisions: Decisions,
        n: int = 20,
        *,
        capacity: float | None = None,
        held_out: bool = False,
        randomised: bool = False,
        threshold: Threshold | None = None,
        test: LDATest | JointLDATest | None = None,
    ) -> Alternatives:
        """Find rules of the frontier that are estimated to improve on an algorithm for all groups and in the gap.

        Whether an improvement is shown is another question, which the robust test answers: the result has its verdict.
        With more than two groups the gap is the range of the risks. With other choices of ``fairness``, ``accuracy``,
        ``keep`` and ``profit`` rules improve in all that these compare.

        Parameters
        ----------
        decisions : column (n,)
            Decisions of the algorithm for the rows given to `fit`.
        n : int
            Number of rules, spread over the improving part of the frontier.
        capacity : float, optional
            Largest share of people that an alternative may select.
        held_out : bool
            False: risks are cross-fitted on all rows. True: learn and choose on one half of the rows and report risks
            on the other half, which no choice has seen. The rules themselves always learn from all rows.
        randomised, threshold
            As in `test_lda`.
        test : LDATest or JointLDATest, optional
            The test of these decisions, if it was made before, with the same ``capacity``; adjusted p-values of several
            algorithms tested together stay adjusted. Default: `test_lda` with the robust method, for all rows.

        Returns
        -------
        Alternatives

        Warns
        -----
        CapacityWarning
            As `test_lda`: if the algorithm selects more people than ``capacity`` allows.

        Examples
        --------
        >>> found = ff.alternatives(in_use, n=5)
        >>> len(found), found.verdict
        (5, 'lda-shown')
        >>> rule = found.select("utilitarian", flagged=True)  # the one with the smallest average risk
        >>> bool(rule.predict(X).mean() > 0.5)
        True
        """
        if held_out:
            self.fit_.needs_rows("A list of alternatives with held_out=True")
        fit, algorithms = self._ask(decisions, None, randomised, threshold)
        check_sought(fit, algorithms, n)
        jointly = questions.asked_jointly(fit, method="robust", directions=None, kinks=True, capacity=capacity)
        if test is None and jointly:
            test = joint_lda_tests(fit, algorithms, capacity=capacity)[algorithms.names[0]]
        elif test is None:
            test = questions.lda_tests(fit, algorithms, capacity=capacity)[algorithms.names[0]]
        return alternatives(self._rules(), algorithms, n, test, capacity=capacity, held_out=held_out)

    def summary(self, ban: bool | None = None) -> str:
        """Describe the fit in plain text: data, points, what a ban of the group does, learner quality, diagnostics.

        Parameters
        ----------
        ban : bool, optional
            Whether to ask `test_group_skew` and `cost_of_ban`. By default they are where that is quick: with few rows
            and draws, and without a second fit of the learner. Otherwise the summary says how to ask.

        Examples
        --------
        >>> for line in ff.summary(ban=False).splitlines():
        ...     if "ban" in line:
        ...         print(line)
        Should the group be banned as an input? (about risks; not a legal statement)
        - Left out as asked: `test_group_skew()` and `cost_of_ban()` answer it, or `summary(ban=True)`.
        """
        self._check_fitted()
        return summary_text(self, ban)

    def plot(
        self,
        ax: Any = None,
        *,
        decisions: Decisions | None = None,
        region: FrontierRegion | None = None,
        skew: GroupSkewTest | None = None,
        capacity: float | None = None,
        zoom: bool = False,
    ) -> Any:
        """Draw the feasible set, the frontier and the points; returns the axes.

        With ``accuracy="overall"`` and two groups, overall risk against the gap in the measure ``fairness``, with the
        band of `trade_off`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.
        decisions : column, several columns, or mapping of names to columns; optional
            Algorithms to show with their intervals; values between 0 and 1 are read as lotteries.
        region : FrontierRegion, optional
            A confidence set from `frontier_confidence_set` or `pareto_confidence_set`.
        skew : GroupSkewTest, optional
            A result of `test_group_skew`, whose confidence set of the two best points is outlined.
        capacity : float, optional
            Draw set and frontier of rules that select at most this share of people; the points stay as they are.
        zoom : bool
            Show the corner with the frontier and the algorithms instead of the whole set.
        """
        if self.fit_.asked is None:
            self.fit_.plane("A plot of the frontier")
        try:
            from .report.figure import plot_frontier, plot_trade_off
        except ImportError as error:
            raise MissingDependencyError(
                "Plots need matplotlib, which is not installed: install fairfrontier[plots]."
            ) from error
        if self.fit_.asked is not None:
            if region is not None or skew is not None or capacity is not None:
                self.fit_.risks_only("A plot with a region, a test of group skew or a capacity")
            read = {
                name: questions.algorithms_of(self.fit_, Asked({name: values}, randomised=True)).decisions[0]
                for name, values in self._shown(decisions).items()
            }
            return plot_trade_off(self, ax=ax, decisions=read, zoom=zoom)
        risks = {name: self.risks(values) for name, values in self._shown(decisions).items()}
        return plot_frontier(self, ax=ax, risks=risks, region=region, skew=skew, capacity=capacity, zoom=zoom)

    def plot_interactive(
        self,
        decisions: Decisions | None = None,
        *,
        region: FrontierRegion | None = None,
        capacity: float | None = None,
        zoom: bool = False,
    ) -> Any:
        """The picture of the report as a figure of plotly; the pointer shows risks, selection rates and directions.

        The feasible set, its frontier, best and fairest points and algorithms, of two groups by their risks. The risks
        that are no worse in any respect are shown for the first algorithm.

        Parameters
        ----------
        decisions, region, capacity, zoom
            As for `plot`.

        Returns
        -------
        plotly.graph_objects.Figure
            Shown by a notebook; ``figure.write_html("frontier.html")`` keeps it as a page.

        Examples
        --------
        >>> figure = ff.plot_interactive({"in use": in_use}, zoom=True)
        >>> [trace.name for trace in figure.data][-2:]
        ['F: fairest', 'in use']
        """
        self.fit_.risks_only("An interactive plot")
        self.fit_.plane("An interactive plot")
        try:
            from .report.interactive import plot_plane
        except ImportError as error:
            raise MissingDependencyError(
                "Interactive plots need plotly, which is not installed: install fairfrontier[report]."
            ) from error
        risks = {name: self.risks(values) for name, values in self._shown(decisions).items()}
        return plot_plane(self, risks, region=region, capacity=capacity, zoom=zoom)

    def to_json(
        self,
        path: str | os.PathLike[str],
        decisions: Decisions | None = None,
        *,
        title: str | None = None,
        randomised: bool = False,
        capacity: float | None = None,
        reference: Label | None = None,
    ) -> Path:
        """Write the machine-readable record: points, frontier, rules, and for each algorithm tests and distances.

        Parameters
        ----------
        path : path
            Where to write; .json is added to a name without that ending.
        decisions : column, several columns, or mapping of names to columns; optional
            Algorithms to be judged.
        title : str, optional
            Heading of the report.
        randomised, capacity, reference
            As in `test_lda`.

        Returns
        -------
        Path
            The file.
        """
        return _write(_ending(path, ".json"), self._record(decisions, title, randomised, capacity, reference).to_json())

    def report(
        self,
        path: str | os.PathLike[str],
        decisions: Decisions | None = None,
        *,
        title: str | None = None,
        randomised: bool = False,
        capacity: float | None = None,
        reference: Label | None = None,
    ) -> Path:
        """Write a report for people: one HTML file that needs no network; arguments as for `to_json`.

        The name of the file gets the ending .html if it has no such ending. With the ending .pdf the report is printed
        by chromium or Chrome, if there is one.
        """
        path = _ending(path, ".html", ".htm", ".pdf")
        on_paper = path.suffix.lower() == ".pdf"
        if on_paper:
            find_browser()  # before anything is asked
        page = render(self._record(decisions, title, randomised, capacity, reference))
        if not on_paper:
            return _write(path, page)
        write_pdf(page, path)
        return path

    def _record(
        self,
        decisions: Decisions | None,
        title: str | None,
        randomised: bool,
        capacity: float | None,
        reference: Label | None,
    ) -> Record | GroupsRecord:
        groups, named = self.fit_.sample.groups, self._shown(decisions)
        check_reference(groups.labels, reference, others=self.fit_.sample.left_out)
        shown, now = f"Audit of {', '.join(named)}" if named else "What is attainable", datetime.now()
        if len(groups) == 2 and self.fit_.asked is None:
            findings = ask(self, named, randomised=randomised, capacity=capacity)
            return make_record(self, findings, title=title or shown, created=now)
        if capacity is not None:
            groups.pair("A report with a capacity")
            self.fit_.risks_only("A report with a capacity")
        together = ask_jointly(self, named, randomised=randomised, reference=reference)
        return make_groups_record(self, together, title=title or shown, created=now)

    def _shown(self, decisions: Decisions | None) -> dict[str, Any]:
        """Return the decisions of the algorithms to show, by name; of rows read in parts, names of these algorithms."""
        if self.fit_.counted is None or decisions is None:
            return with_models_asked(_by_name(decisions), self.fit_.sample)
        names = counted_algorithms(self.fit_.counted.decisions, Asked(decisions, randomised=True)).names
        return {name: name for name in names}

    def _ask(
        self,
        decisions: Decisions | None,
        risks: RiskPairs | None,
        randomised: bool,
        threshold: Threshold | None,
        risks_name: str = "risks",
    ) -> tuple[Fit, Algorithms]:
        """Return what was learned, and the algorithms asked about."""
        fit = self.fit_
        return fit, questions.algorithms_of(fit, Asked(decisions, risks, randomised, threshold, risks_name))

    def _check_fitted(self) -> None:
        if not hasattr(self, "_learned"):
            raise NotFittedError("This FairFrontier is not fitted yet: call `fit` first.")

    def _rules(self) -> Deployment:
        fit = self.fit_  # says so if there is none yet
        return self._deployment.asking(fit)

    def _options(self) -> Options:
        return Options(self.alpha, self.n_boot, self.n_jobs, self.verbose)

    def _learning(self, external: bool) -> Learning:
        n_rep = read_repetitions(self.n_rep, self.folds, external=external)
        return Learning(
            self.n_folds, n_rep, self.folds, self.jitter, self.bias_correction, self.n_refits, self.compress
        )

    def _rule_parameters(self) -> dict[str, Any]:
        names = (
            "loss",
            "learner",
            "learner_params",
            "positive",
            "categorical",
            "numeric",
            "n_folds",
            "n_jobs",
            "random_state",
            "rules",
        )
        return {name: value for name, value in self.get_params(deep=False).items() if name in names}


class Pairs(Mapping[tuple[Label, Label], FairFrontier]):
    """Analyses of two groups each, by pair of labels, all with the predictions of one fit."""

    def __init__(self, by_pair: Mapping[tuple[Label, Label], FairFrontier]) -> None:
        self._by_pair = dict(by_pair)

    def __getitem__(self, pair: tuple[Label, Label]) -> FairFrontier:
        """Return the analysis of a pair."""
        return self._by_pair[pair]

    def __iter__(self) -> Iterator[tuple[Label, Label]]:
        """Iterate over the pairs."""
        return iter(self._by_pair)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._by_pair)

    def __repr__(self) -> str:
        """Return the pairs in a line."""
        return f"Pairs({', '.join(f'{first} against {second}' for first, second in self)})"

    def test_lda(
        self,
        decisions: Decisions,
        *,
        randomised: bool = False,
        threshold: Threshold | None = None,
        alpha: float | None = None,
    ) -> PairTests:
        """Test in every pair whether algorithms have alternatives, adjusted for pairs times algorithms.

        Parameters are those of `FairFrontier.test_lda`; the method is "robust".
        """
        next(iter(self.values())).fit_.risks_only("A test of all pairs")
        asked = {
            pair: questions.algorithms_of(ff.fit_, Asked(decisions, None, randomised, threshold))
            for pair, ff in self.items()
        }
        first = next(iter(self.values())).fit_
        n_tests = sum(len(algorithms.names) for algorithms in asked.values())
        questions.warn_of_few_draws(first, first.level(alpha), n_tests)
        return adjust_pairs(
            {pair: questions.lda_tests(self[pair].fit_, own, alpha=alpha) for pair, own in asked.items()}
        )


def _check_in_memory(for_parts: tuple[object, ...], *, learnable: bool) -> None:
    """Refuse what is only for rows that are read in parts, and rows without anything to learn from."""
    if any(given is not None for given in for_parts):
        raise InputError(
            "bad-option",
            "`algorithms`, `features` and `client` are for rows read in parts, where y names a column, too. "
            "Give decisions to the questions, such as test_lda(decisions), and covariates as X.",
        )
    if not learnable:
        raise InputError("bad-features", "X is needed to learn from; it may be None only with `external_nuisance`.")


def _by_name(decisions: Decisions | None) -> dict[str, Any]:
    """Return the decisions of the algorithms to show, by name; there may be none."""
    if decisions is None or (isinstance(decisions, Mapping) and not decisions):
        return {}
    return named_decisions(decisions, alone="algorithm")[0]


def _ending(path: str | os.PathLike[str], *endings: str) -> Path:
    """Return the path of a file with one of these endings, if need be with the first of them added."""
    given = Path(path)
    named = given.suffix.lower() in endings or given.is_dir()
    return given if named else given.with_name(given.name + endings[0])


def _write(path: str | os.PathLike[str], text: str) -> Path:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "bad-file",
            f"{path} cannot be written: {error.strerror or error}. Give the path of a file in a directory that exists.",
        ) from error
    return Path(path)
