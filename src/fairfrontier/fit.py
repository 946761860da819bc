"""What was learned from the rows: a frozen `Fit`, of which every question is a pure function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .arrays import ArrayLike, FloatArray, IntArray
from .bootstrap.capped import CappedContext
from .bootstrap.draws import Drawing, DrawingContext
from .data.aligning import aligned
from .data.checks import check_bounds, check_capacity, check_integer, check_level, check_probabilities
from .data.criteria import USUAL, Criteria
from .data.losses import Loss
from .data.reading import Label
from .data.row_losses import RowLosses, row_losses
from .data.sample import Sample
from .errors import InputError
from .frontier.asked import AskedCriteria, ask_criteria, measures_of
from .frontier.attainable import Attainable
from .frontier.box import box_points
from .frontier.capacity import cap
from .frontier.cells import COMPRESS_ABOVE, compress, round_directions
from .frontier.criteria import risk_rows
from .frontier.mixtures import Predicted
from .frontier.regret import Regret, estimate_regret
from .frontier.rule_class import GroupBlind, RuleClass
from .frontier.rule_sums import RuleTest
from .frontier.sets import BestPoints, sharp_points
from .frontier.support import SupportFunction, build_support_function, group_means, make_scores, stack_repetitions
from .learning.cross_fitting import Nuisance, Seed, as_seed, cross_fit, external_nuisance
from .learning.diagnostics import Diagnostics, diagnose
from .learning.folds import FoldSequence, n_learning_folds, sequence_of
from .learning.learners import Learner, child_seeds, within_groups
from .progress import progress_bar

RULES: RuleClass = GroupBlind()
"""The class of rules considered unless another is asked for."""
REPETITIONS = 3
"""Repetitions of the cross-fitting unless their number is said."""


def read_repetitions(n_rep: int | None, folds: ArrayLike | None, *, external: bool) -> int:
    """Return the number of repetitions: by default several, but 1 where folds are not drawn or not used."""
    if n_rep is not None:
        return check_integer(n_rep, "n_rep", least=1)
    drawn = folds is None or (isinstance(folds, str) and folds != "sequential")
    return REPETITIONS if drawn and not external else 1


@dataclass(frozen=True, slots=True)
class Options:
    """How questions are answered unless they say otherwise: level, draws, parallel jobs, progress."""

    alpha: float
    n_boot: int
    n_jobs: int | None
    verbose: bool


@dataclass(frozen=True, slots=True)
class Learning:
    """How the nuisance functions are learned: folds, repetitions, jitter, and refits of the regret correction."""

    n_folds: int
    n_rep: int
    folds: ArrayLike | None
    jitter: float
    bias_correction: str | None
    n_refits: int
    compress: bool | None = None

    @property
    def sequential(self) -> bool:
        """Whether a fold learns only from the folds before it."""
        return isinstance(self.folds, str) and self.folds == "sequential"


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of everything random, each independent of the others."""

    learning: np.random.SeedSequence
    drawing: np.random.SeedSequence
    refits: np.random.SeedSequence
    rules: np.random.SeedSequence
    halves: tuple[np.random.SeedSequence, ...]

    @classmethod
    def of(cls, random_state: Seed) -> Seeds:
        """Derive all of them from one random state."""
        learning, drawing, refits, deployment = child_seeds(as_seed(random_state), 4)
        rules, *halves = child_seeds(deployment, 4)
        return cls(learning, drawing, refits, rules, tuple(halves))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds (n,) on the chance that a rule selects each row; None where there is none."""

    lower: FloatArray | None = None
    upper: FloatArray | None = None

    def take(self, rows: IntArray) -> Bounds:
        """Return some of the rows, by position."""
        return Bounds(*(None if bound is None else bound[rows] for bound in (self.lower, self.upper)))


def read_bounds(lower: ArrayLike | None, upper: ArrayLike | None, sample: Sample) -> Bounds:
    """Read bounds given for all input rows, or one number for each of them; keep the rows of the sample."""
    low, high = (_at_rows(given, sample, name) for name, given in (("lower", lower), ("upper", upper)))
    check_bounds(low, high, sample.n_obs)
    return Bounds(low, high)


def _at_rows(given: ArrayLike | None, sample: Sample, name: str) -> FloatArray | None:
    if given is None:
        return None
    column = np.full(sample.n_given, given) if np.ndim(given) == 0 else aligned(given, sample.index, name)
    return check_probabilities(column, name, sample.n_given, code="bad-bounds")[sample.rows]


@dataclass(frozen=True, slots=True)
class Plane:
    """What was learned, in the plane of two risks: that of the lotteries between the rules of all repetitions."""

    function: SupportFunction
    regret: Regret | None
    points: BestPoints


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What is known of rows that were read in parts, besides the cells in which they are counted.

    Attributes
    ----------
    source : str
        Where they came from.
    n_rows : int
        Rows that were read, those that are not used included.
    decisions : mapping name -> array (m,)
        Decisions of the algorithms that were named when the rows were read, for every cell.
    learned : mapping name -> array (n,)
        The same for the rows that were learned from.
    tests : mapping name -> RuleTest
        The robust test over the fan of each algorithm, by sums over all rows of rules of all repetitions.
    """

    source: str
    n_rows: int
    decisions: Mapping[str, FloatArray]
    learned: Mapping[str, FloatArray]
    tests: Mapping[str, RuleTest]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What was learned, and from what.

    Attributes
    ----------
    sample : Sample
        The rows.
    loss : Loss
        What decisions cost.
    learner : Learner or None
        How the nuisance functions were learned; None if they were supplied from outside.
    learning : Learning
        Folds, repetitions and refits.
    nuisance : Nuisance
        Out-of-fold predictions and their quality.
    row_losses : RowLosses
        Losses of the rows.
    in_plane : Plane or None
        Support function, regret and points; None unless there are two groups.
    bounds : Bounds
        Bounds on the rules.
    seeds : Seeds
        Seeds of everything random.
    diagnostics : Diagnostics or None
        Conditions behind the inference in the plane.
    whole : Sample
        The rows, and with sequential folds also those that were used for learning only.
    sequence : FoldSequence or None
        Sequential folds of the rows, if they were asked for.
    options : Options
        How questions are answered unless they say otherwise.
    rules : RuleClass
        What rules may depend on.
    asked : AskedCriteria or None
        Criteria other than the groups' risks, if they were asked for.
    compressed : bool
        Whether directions of predictions are rounded, and draws made of cells of people who are alike.
    counted : Counted or None
        For rows that were read in parts. Then the rows of ``sample`` are cells; ``whole`` and ``nuisance`` are those of
        the rows that were learned from.
    """

    sample: Sample
    loss: Loss
    learner: Learner | None
    learning: Learning
    nuisance: Nuisance
    row_losses: RowLosses
    in_plane: Plane | None
    bounds: Bounds
    seeds: Seeds
    diagnostics: Diagnostics | None
    whole: Sample
    sequence: FoldSequence | None
    options: Options
    rules: RuleClass = RULES
    asked: AskedCriteria | None = None
    compressed: bool = False
    counted: Counted | None = None

    @property
    def criteria(self) -> Criteria:
        """The criteria by which rules are compared."""
        return USUAL if self.asked is None else self.asked.chosen

    @property
    def n_obs(self) -> int:
        """Number of people."""
        return self.sample.n_obs

    @property
    def n_rows(self) -> int:
        """Number of rows of the sample: of people, or of cells in which they are counted."""
        return self.sample.n_rows

    @property
    def n_rep(self) -> int:
        """Number of repetitions of the cross-fitting."""
        return len(self.nuisance.predictions)

    @property
    def bounded(self) -> bool:
        """Whether rules keep to bounds on the chance of being selected."""
        return self.bounds.lower is not None or self.bounds.upper is not None

    def plane(self, what: str = "The frontier") -> Plane:
        """Return the plane of two groups' risks, or refuse ``what`` if something else is compared."""
        self.sample.groups.pair(what)
        self.risks_only(what)
        assert self.in_plane is not None
        return self.in_plane

    def needs_rows(self, what: str) -> None:
        """Refuse ``what`` if rows were read in parts, so that only cells of people who are alike are left."""
        if self.counted is not None:
            raise InputError(
                "rows-needed",
                f"{what} needs the rows, and those of {self.counted.source} were read in parts and counted. Give a "
                "frame in memory, with outcome and groups as columns and not by name; some of the rows may do.",
            )

    def risks_only(self, what: str) -> None:
        """Refuse ``what`` if rules are compared by other criteria than the groups' risks."""
        if self.asked is not None:
            planar = self.criteria.planar and len(self.sample.groups) == 2
            instead = " Set, frontier and band of overall risk and gap are those of `trade_off`." if planar else ""
            raise InputError(
                "bad-option",
                f"{what} compares the groups' risks, and this fit has other criteria: {self.criteria.listed}. Ask a "
                f"fit without them.{instead}",
            )

    def function(self, capacity: float | None = None) -> Attainable:
        """Return the support function, restricted to a capacity if there is one."""
        exact = self.plane().function
        if capacity is None:
            return exact
        self.needs_rows("A capacity")
        return cap(exact, capacity)

    def attainable(self, capacity: float | None = None) -> Attainable | Predicted:
        """Return what rules attain: a support function of two groups, else predictions."""
        if len(self.sample.groups) == 2:
            return self.function(capacity)
        self.needs_rows("What rules attain for more than two groups")
        t = self.nuisance.predictions
        return predicted(self.sample, self.row_losses, t, self.bounds, rules=self.rules, capacity=capacity)

    def learned_rows(self) -> Fit:
        """Return, of rows that were read in parts, the fit of those that were learned from."""
        return replace(self, sample=self.whole, row_losses=row_losses(self.loss, self.whole.y), counted=None)

    def level(self, alpha: float | None) -> float:
        """Return a level, by default that of the options, if the draws are enough to reach it."""
        return check_level(self.options.alpha if alpha is None else alpha, self.options.n_boot)

    def context(self, *, by_row: bool = False) -> DrawingContext:
        """Return how draws are made, of cells if rows are compressed and not asked for ``by_row``."""
        if by_row:
            self.needs_rows("A band, studentised draw by draw,")
            return self._context_of(self.plane().function)
        return self.context_with(np.empty((0, self.n_rows)))[0]

    def context_with(self, decisions: FloatArray) -> tuple[DrawingContext, FloatArray]:
        """Return how draws are made, and the losses of algorithms with decisions (J, n) for the rows that are drawn."""
        function, losses = self.plane().function, self._drawn_losses(decisions)
        if self.compressed and self.counted is None:
            cells, losses = compress(function.scores, losses)
            function = function if cells is function.scores else build_support_function(cells)
        return self._context_of(function), losses

    def drawing(self, decisions: FloatArray, capacity: float | None) -> tuple[Drawing, FloatArray]:
        """Return the same of rules that select at most a share ``capacity`` of people, if there is one."""
        if capacity is None:
            return self.context_with(decisions)
        self.needs_rows("A capacity")
        o, capped = self.options, cap(self.plane().function, check_capacity(capacity))
        return CappedContext(capped, o.n_boot, self.seeds.drawing, o.n_jobs), self._drawn_losses(decisions)

    def _context_of(self, function: SupportFunction) -> DrawingContext:
        o, folds = self.options, self.nuisance.n_folds
        return DrawingContext(function, o.n_boot, self.seeds.drawing, o.n_jobs, self.plane().regret, folds)

    def _drawn_losses(self, decisions: FloatArray) -> FloatArray:
        """Losses (J, n_rep n) of algorithms for all rows of the support function."""
        return self.plane().function.scores.repeated(self.row_losses.of(decisions))

    def group_means(self, values: FloatArray) -> FloatArray:
        """Return the weighted mean (G,) of values (n,) in each group."""
        s = self.sample
        return group_means(values, s.group, s.weight, n_groups=len(s.groups))[0]

    def asking(self, options: Options) -> Fit:
        """Return the same fit with other options for its questions."""
        return self if options == self.options else replace(self, options=options)


class Fitted(Protocol):
    """Anything that keeps a `Fit`, such as a fitted `FairFrontier`."""

    @property
    def fit_(self) -> Fit:
        """What was learned."""
        ...


def learn(
    sample: Sample,
    loss: Loss,
    learner: Learner,
    *,
    how: Learning,
    options: Options,
    seeds: Seeds,
    bounds: Bounds,
    external: ArrayLike | None = None,
    rules: RuleClass = RULES,
    criteria: Criteria | None = None,
) -> Fit:
    """Learn the nuisance functions out of fold and build the support functions on them.

    Parameters
    ----------
    sample, loss, learner
        The rows, what decisions cost, and how to learn.
    how : Learning
        Folds, repetitions and refits.
    options : Options
        Kept for the questions; its jobs and progress are used here, too.
    seeds : Seeds
        Seeds of everything random.
    bounds : Bounds
        Bounds on the rules.
    external : array (n, G), optional
        Predictions supplied from outside instead of a learner; for other criteria (n, 2 G) with the groups' chances.
    rules : RuleClass
        What rules may depend on.
    criteria : Criteria, optional
        What rules are compared by, if not the groups' risks.

    Returns
    -------
    Fit
    """
    other = criteria if criteria is not None and not criteria.usual else None
    _check_together(sample, how, rules, other, external=external is not None)
    if rules.sees_group:
        learner = within_groups(learner)
    rows, whole, sequence, asked = row_losses(loss, sample.y), sample, None, None
    measures = None if other is None else measures_of(other, sample, rows)
    again = _Again(sample, learner, how, options, seeds)
    if external is None:
        nuisance = again.cross_fit(rows)
    else:
        nuisance = _from_outside(sample, rows, external, how, seeds, rules, chances=other is not None)
    if other is not None and measures is not None:
        predict, chances = None if external is not None else again, nuisance.group_probabilities
        asked = ask_criteria(
            other, sample, rows, nuisance.predictions, measures=measures, group=chances, predict=predict
        )
    if how.sequential and nuisance.folds is not None:
        sequence = sequence_of(sample, nuisance.folds[0])
        tested = np.flatnonzero(nuisance.folds[0] > n_learning_folds(int(nuisance.folds.max())))
        sample, rows, bounds = sample.without_learning(tested), rows.take(tested), bounds.take(tested)
        nuisance = _of_some(nuisance, nuisance.folds, tested)
    plane, compressed = None, _compressed(sample, how)
    if len(sample.groups) == 2:
        function = attainable(sample, rows, nuisance.predictions, bounds, rules, rounded=compressed)
        regret = _regret(sample, learner, nuisance, rows, bounds=bounds, how=how, options=options, seeds=seeds)
        plane = Plane(function, regret, _points(function, regret, rules))
    unseen = Fit(
        sample=sample,
        loss=loss,
        learner=learner if external is None else None,
        learning=how,
        nuisance=nuisance,
        row_losses=rows,
        in_plane=plane,
        bounds=bounds,
        seeds=seeds,
        diagnostics=None,
        whole=whole,
        sequence=sequence,
        options=options,
        rules=rules,
        asked=asked,
        compressed=compressed,
    )
    return _diagnosed(unseen)


def _of_some(nuisance: Nuisance, folds: IntArray, rows: IntArray) -> Nuisance:
    """Return predictions and folds of some of the rows."""
    return replace(
        nuisance,
        predictions=nuisance.predictions[:, rows],
        folds=folds[:, rows],
        within=None if nuisance.within is None else nuisance.within[:, rows],
    )


def _compressed(sample: Sample, how: Learning) -> bool:
    """Whether people who are alike are counted in cells; refuse it where their rows are drawn together."""
    reasons = {
        "more than two groups": len(sample.groups) > 2,
        "clusters": sample.clusters is not None,
        f"n_rep={how.n_rep}": how.n_rep > 1,
        'folds="sequential"': how.sequential,
        f"bias_correction={how.bias_correction!r}": how.bias_correction is not None,
    }
    against = [reason for reason, given in reasons.items() if given]
    if how.compress and against:
        raise InputError(
            "bad-option", f"compress=True cannot be combined with {' and '.join(against)}; leave one of them out."
        )
    if how.compress is not None:
        return how.compress
    return not against and sample.n_obs > COMPRESS_ABOVE


def _diagnosed(fit: Fit) -> Fit:
    """Return the fit with the conditions behind its inference, if it lies in the plane of two risks."""
    if fit.in_plane is None:
        return fit
    s, scores = fit.sample, fit.in_plane.function.scores
    spread = None if scores.spread is None else scores.spread[: s.n_obs]
    t = scores.t[: s.n_obs]
    if fit.compressed:  # as they were before they were rounded
        t = fit.rules.vectors(fit.nuisance.predictions[0], s.group) * (1.0 if spread is None else spread[:, None])
    found = diagnose(
        t,
        s.groups.shares,
        s.group,
        X=s.X,
        weight=s.weight,
        group_auc=fit.nuisance.group_auc,
        free=None if spread is None else spread > 0.0,
        sees_group=fit.rules.sees_group,
    )
    return replace(fit, diagnostics=found)


def pair_of(fit: Fit, first: Label, second: Label) -> Fit:
    """Return the fit of two of the groups: their rows and folds, with the same predictions.

    Among people of two groups E[dl 1{G = g} | x] is that among all people over P(G is one of the two | x); E[dl | x, g]
    stays.
    """
    pair, nuisance = (first, second), fit.nuisance
    fit.sample.groups.check(pair)
    fit.needs_rows("A pair of several groups")
    if len(fit.sample.groups) == 2:
        raise InputError("bad-option", "There are two groups: the fit itself compares them, without `pair`.")
    if nuisance.group_probabilities is None and not fit.rules.sees_group:
        raise InputError(
            "bad-option",
            f"The learner {nuisance.learner!r} does not model the group, so its predictions for all groups do not "
            f"serve two of them. Fit with groups={pair!r}, or with a learner that does, such as 'factored-logit'.",
        )
    codes = [fit.sample.groups.labels.index(label) for label in pair]
    rows = np.flatnonzero(np.isin(fit.sample.group, codes))
    sample = fit.sample.of_groups(pair)
    t, within = nuisance.predictions[:, rows][:, :, codes], nuisance.within
    chance, of_pair = np.ones((*t.shape[:2], 1)), None
    if nuisance.group_probabilities is not None:
        of_group = nuisance.group_probabilities[:, rows][:, :, codes]
        chance = of_group.sum(axis=2, keepdims=True)
        of_pair = np.divide(of_group, chance, out=np.full_like(of_group, 0.5), where=chance > 0.0)
    if not fit.rules.sees_group:
        t = np.divide(t, chance, out=np.zeros_like(t), where=chance > 0.0)
    own = replace(
        nuisance,
        predictions=t,
        folds=None if nuisance.folds is None else nuisance.folds[:, rows],
        quality=nuisance.quality[nuisance.quality["group"].isin(pair)].reset_index(drop=True),
        details=nuisance.details[nuisance.details["group"].isin(pair)].reset_index(drop=True),
        candidates=nuisance.candidates[nuisance.candidates["group"].isin(pair)].reset_index(drop=True),
        group_auc=None,
        tuning={},
        group_probabilities=of_pair,
        within=None if within is None else within[:, rows][:, :, codes],
        weak=tuple(label for label in nuisance.weak if label in pair),
    )
    losses, bounds = fit.row_losses.take(rows), fit.bounds.take(rows)
    function = attainable(sample, losses, own.predictions, bounds, fit.rules, rounded=fit.compressed)
    plane = Plane(function, None, _points(function, None, fit.rules))
    asked = None if fit.asked is None else fit.asked.take(rows, codes, chance)
    return _diagnosed(
        replace(fit, sample=sample, nuisance=own, row_losses=losses, in_plane=plane, bounds=bounds, asked=asked)
    )


def _check_together(
    sample: Sample, how: Learning, rules: RuleClass, criteria: Criteria | None, *, external: bool
) -> None:
    """Refuse options that cannot be combined with each other."""
    if how.bias_correction is not None and external:
        raise InputError(
            "bad-option",
            f"bias_correction={how.bias_correction!r} refits the learner, and with `external_nuisance` there is "
            "none to refit: leave one of them out.",
        )
    if how.bias_correction is not None:
        sample.groups.pair("The correction of the regret")
    if how.sequential:
        sample.groups.pair('A test with folds="sequential"')
        _check_sequential(how, external)
    if rules.sees_group:
        _check_aware(how)
    if criteria is not None:
        _check_criteria(criteria, how, rules)


def _check_sequential(how: Learning, external: bool) -> None:
    """Refuse what sequential folds cannot be combined with."""
    for given, what in (
        (external, "`external_nuisance`: from which rows its predictions were learned cannot be seen"),
        (how.n_rep != 1, f"n_rep={how.n_rep}: they are gone through once"),
        (how.bias_correction is not None, f"bias_correction={how.bias_correction!r}"),
    ):
        if given:
            raise InputError("bad-option", f'folds="sequential" cannot be combined with {what}; leave one of them out.')


def _check_aware(how: Learning) -> None:
    """Refuse what cannot be combined with rules that see the group."""
    for given, what in (
        (how.sequential, 'folds="sequential", whose test is one of rules that do not see it'),
        (how.jitter != 0.0, f"jitter={how.jitter}, which would turn predictions off the axes of their groups"),
        (how.bias_correction is not None, f"bias_correction={how.bias_correction!r}, which is for rules without it"),
    ):
        if given:
            raise InputError(
                "bad-option", f'rules="group-aware" cannot be combined with {what}; leave one of them out.'
            )


def _check_criteria(criteria: Criteria, how: Learning, rules: RuleClass) -> None:
    """Refuse what cannot be combined with other criteria than the groups' risks."""
    for given, what in (
        (how.sequential, 'folds="sequential", whose test compares the risks of two groups'),
        (how.jitter != 0.0, f"jitter={how.jitter}, which turns pairs of risks"),
        (bool(how.compress), "compress=True, which is for the plane of two risks"),
        (how.bias_correction is not None, f"bias_correction={how.bias_correction!r}, which corrects risks"),
        (rules.sees_group, 'rules="group-aware", whose alternatives change the risk of one group at a time'),
    ):
        if given:
            raise InputError("bad-option", f"{criteria.listed} cannot be combined with {what}; leave one of them out.")


def _from_outside(
    sample: Sample,
    rows: RowLosses,
    external: ArrayLike,
    how: Learning,
    seeds: Seeds,
    rules: RuleClass,
    *,
    chances: bool,
) -> Nuisance:
    """Take predictions from outside; with ``chances`` those of the groups may stand beside those of the losses."""
    values, n_groups, group = np.asarray(external), len(sample.groups), None
    if chances and values.shape == (sample.n_given, 2 * n_groups):
        given = values[:, n_groups:].ravel()
        read = check_probabilities(given, "chances of the groups", len(given), code="bad-nuisance")
        external, group = values[:, :n_groups], read.reshape(-1, n_groups)[sample.rows][None]
    nuisance = external_nuisance(
        sample, rows.dl, external, jitter=how.jitter, random_state=seeds.learning, sees_group=rules.sees_group
    )
    return replace(nuisance, group_probabilities=group)


@dataclass(frozen=True, slots=True)
class _Again:
    """Predicts E[z 1{G = g} | x] for other values z of the rows: the same learner on the same folds."""

    sample: Sample
    learner: Learner
    how: Learning
    options: Options
    seeds: Seeds

    def cross_fit(self, rows: RowLosses) -> Nuisance:
        """Predict the loss differences."""
        return _cross_fit(self.sample, rows, self.learner, self.how, self.options, self.seeds)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return predictions (n_rep, n, G)."""
        return self.cross_fit(RowLosses(np.zeros_like(values), values)).predictions


def attainable(
    sample: Sample,
    losses: RowLosses,
    predictions: FloatArray,
    bounds: Bounds,
    rules: RuleClass = RULES,
    *,
    rounded: bool = False,
) -> SupportFunction:
    """Return the support function of the risks that a class of rules attains with predictions (n_rep, n, 2).

    ``rounded``: predictions are turned to the nearest of a limited number of directions.
    """
    scores = [
        make_scores(
            losses.l0,
            losses.dl,
            round_directions(rules.vectors(t, sample.group)) if rounded else rules.vectors(t, sample.group),
            sample.group,
            sample.weight,
            clusters=sample.clusters,
            lower=bounds.lower,
            upper=bounds.upper,
            sees_group=rules.sees_group,
        )
        for t in predictions
    ]
    return build_support_function(stack_repetitions(scores))


def predicted(
    sample: Sample,
    losses: RowLosses,
    predictions: FloatArray,
    bounds: Bounds,
    *,
    rules: RuleClass = RULES,
    capacity: float | None = None,
) -> Predicted:
    """Return what rules attain by these predictions (n_rep, n, G), for any number of groups."""
    rows = risk_rows(
        losses.l0,
        losses.dl,
        np.concatenate([rules.vectors(t, sample.group) for t in predictions]),
        sample.group,
        sample.weight,
        clusters=sample.clusters,
        lower=bounds.lower,
        upper=bounds.upper,
    )
    return Predicted(rows.within(capacity), rows.by_criterion(rows.base))


def _cross_fit(
    sample: Sample, losses: RowLosses, learner: Learner, how: Learning, options: Options, seeds: Seeds
) -> Nuisance:
    with progress_bar("Learning the nuisance functions", show=options.verbose) as progress:
        return cross_fit(
            sample,
            losses.dl,
            learner,
            n_folds=how.n_folds,
            n_rep=how.n_rep,
            folds=how.folds,
            n_jobs=options.n_jobs,
            random_state=seeds.learning,
            jitter=how.jitter,
            progress=progress,
        )


def _points(function: SupportFunction, regret: Regret | None, rules: RuleClass) -> BestPoints:
    return box_points(function) if rules.sees_group else sharp_points(function, regret)


def _regret(
    sample: Sample,
    learner: Learner,
    nuisance: Nuisance,
    losses: RowLosses,
    *,
    bounds: Bounds,
    how: Learning,
    options: Options,
    seeds: Seeds,
) -> Regret | None:
    if how.bias_correction is None:
        return None
    with progress_bar("Refitting to estimate the regret", show=options.verbose) as progress:
        return estimate_regret(
            sample,
            losses.dl,
            learner,
            nuisance,
            [attainable(sample, losses, t[None], bounds) for t in nuisance.predictions],
            n_refits=how.n_refits,
            seed=seeds.refits,
            n_jobs=options.n_jobs,
            progress=progress,
        )
