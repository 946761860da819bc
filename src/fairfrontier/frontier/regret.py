"""How much the learned rules leave on the table: the regret correction of the support function.

Cross-fitting evaluates actual rules, so h^(q) falls short of h(q) by the regret of the learned rule. Refitting the
learner with random weights gives nuisances t_b that err about their centre t_0 much as t_0 errs about the truth, so
with t_0 in the part of the truth the regret of direction q is estimated by the mean over refits of

    regret_b(q) = mean_i (q'M t_0i)(1{q'M t_0i > 0} - 1{q'M t_bi > 0}) >= 0.

Both means come from one sweep each for all directions. The corrected h^ + regret is for estimates of points and sets
and for questions of feasibility; it is never used to claim that an alternative exists.

Without refits the repetitions of the cross-fitting tell as much. Two repetitions predict a row from training rows of
which a share of (K - 1) / K, K the number of folds, is common to both, so their predictions differ by 2 / K of the
variance of either, and t_r +- sqrt(K / 2)(t_s - t_u) errs about t_r much as a refit does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..data.checks import check_integer
from ..data.groups import by_group
from ..data.result import Result
from ..data.sample import Sample
from ..errors import InputError
from ..learning.cross_fitting import Nuisance, shown_component, training_rows
from ..learning.learners import Component, Learner, TrainingRows, child_seeds
from ..learning.tasks import Perturbation, Progress, Steps, Task
from . import sweep
from .plane import unit_circle
from .support import Arcs, SupportFunction

GRID = 720
"""Directions at which the regret is kept; between them it is interpolated."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regret(Result):
    """Estimated regret of the rules of all directions.

    ``shortfall`` (n_refits, GRID, 2), at equally spaced directions: by how much the pair of risks would move if the
    rule of a refit were replaced by the best one. Its product with the direction is the regret.
    """

    shortfall: FloatArray

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Estimated regret of the learned rules"

    def _facts(self) -> dict[str, object]:
        mean = self.mean(unit_circle(GRID))
        return {
            "n_refits": self.n_refits,
            "directions": GRID,
            "smallest": float(mean.min()),
            "mean": float(mean.mean()),
            "largest": float(mean.max()),
        }

    @property
    def n_refits(self) -> int:
        """Number of refits."""
        return len(self.shortfall)

    def pairs(self, q: FloatArray) -> FloatArray:
        """Move (n_refits, k, 2) of the pair of risks at directions ``q`` (k, 2), linear between grid directions."""
        place = (np.arctan2(q[:, 1], q[:, 0]) % (2.0 * np.pi)) * GRID / (2.0 * np.pi)
        low = np.floor(place).astype(np.intp)
        share = (place - low)[:, None]
        pairs: FloatArray = (1.0 - share) * self.shortfall[:, low % GRID] + share * self.shortfall[:, (low + 1) % GRID]
        return pairs

    def values(self, q: FloatArray) -> FloatArray:
        """Regret (n_refits, k) of each refit at directions ``q`` (k, 2), never negative."""
        values: FloatArray = np.maximum((self.pairs(q) * q).sum(axis=2), 0.0)
        return values

    def mean(self, q: FloatArray) -> FloatArray:
        """Mean regret (k,) at directions ``q`` (k, 2)."""
        mean: FloatArray = self.values(q).mean(axis=0)
        return mean

    def mean_pair(self, q: FloatArray) -> FloatArray:
        """Mean move (k, 2) of the pair of risks at directions ``q`` (k, 2)."""
        mean: FloatArray = self.pairs(q).mean(axis=0)
        return mean


def shortfall(function: SupportFunction, refitted: FloatArray) -> FloatArray:
    """Move of the pair of risks (GRID, 2) from the rules of ``refitted`` (n, 2) to those of the function itself."""
    s, mu = function.scores, function.mu
    a, b, sign, order = sweep.fold_and_sort(refitted)
    q = unit_circle(GRID)
    total = 1.0 / s.weight_sums
    best = function.plug_in().support_set(q)
    base = [float((s.weight * s.l0)[rows].sum()) for rows in by_group(s.group, 2)]
    if len(a) == 0:  # the refit selects nobody
        return best - np.array(base) * total
    # the same sums as in the plug-in criterion, over the rows that the refit selects
    own = sign[:, None] * s.t[order]
    values = np.empty((len(a) + 1, 2))
    mirror = sweep.vector_sums(order, sign, s.weight, *base, own[:, 0], own[:, 1], *total, values)
    return best - Arcs(a, b, sign, values, mirror, mu).support_set(q)


def regret_of_repetitions(function: SupportFunction, n_folds: int) -> Regret | None:
    """Estimate the regret of the rules from how the repetitions of the cross-fitting differ; None if there is but one.

    The part of refits is taken by t_r +- sqrt(K / 2)(t_s - t_u), where s and u are the next two repetitions after r, of
    two repetitions the other one and r itself.
    """
    n_rep = function.scores.n_rep
    if n_rep == 1 or n_folds == 0:
        return None
    t = function.scores.t.reshape(n_rep, -1, 2)
    error = np.sqrt(n_folds / 2.0) * (np.roll(t, -1, axis=0) - np.roll(t, -2, axis=0))
    return Regret(np.array([shortfall(function, (t + sign * error).reshape(-1, 2)) for sign in (1.0, -1.0)]))


def estimate_regret(
    sample: Sample,
    dl: FloatArray,
    learner: Learner,
    nuisance: Nuisance,
    functions: Sequence[SupportFunction],
    *,
    n_refits: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Regret:
    """Estimate the regret of the rules from refits on randomly weighted rows, predicted out of fold.

    With several repetitions of the cross-fitting that of the lotteries between their rules, the mean of theirs. A
    learner is tuned as in the cross-fitting: once, or once in every fold, not in every refit.

    Parameters
    ----------
    sample, dl, learner
        What the nuisances were learned from, and how.
    nuisance, functions
        The cross-fitted nuisances and the support functions built on them, one per repetition.
    n_refits : int
        Number of refits, at least 2.
    seed : numpy.random.SeedSequence
        Source of randomness; the result does not depend on ``n_jobs``.
    n_jobs, progress
        As for `cross_fit`.

    Returns
    -------
    Regret
    """
    rows = training_rows(sample, dl)
    resample = not _takes_weights(learner, rows)
    folds = nuisance.folds
    components = learner.components(len(sample.groups))
    if folds is None:
        raise InputError(
            "bad-option", 'bias_correction="regret" refits the learner and needs one; give X, not predictions.'
        )
    weights_seed, fit_seed, tune_seed = child_seeds(seed, 3)
    perturbations = [
        Perturbation(child, sample.clusters, resample) for child in child_seeds(weights_seed, len(folds) * n_refits)
    ]
    places = [(r, k) for r, fold in enumerate(folds) for k in range(1, fold.max() + 1)]
    anew = [] if nuisance.tuning else [(r, k, component) for r, k in places for component in components]
    steps = Steps(progress, len(anew) + n_refits * len(places) * len(components))
    tunings = [
        Task(learner, name, None, f"tuning, fold {k}, {shown_component(name, sample)}", train=folds[r] != k)
        for r, k, name in anew
    ]
    found_tuning = steps.run(tunings, rows, child_seeds(tune_seed, len(tunings)), n_jobs)
    tuned = dict(zip(anew, found_tuning, strict=True))
    tasks = [
        Task(
            learner,
            component,
            fold == k,
            f"refit {j + 1} of {n_refits}, fold {k} of {fold.max()}, {shown_component(component, sample)}",
            perturbations[repetition * n_refits + j],
            tuning=nuisance.tuning.get(component, tuned.get((repetition, k, component))),
        )
        for repetition, fold in enumerate(folds)
        for j in range(n_refits)
        for k in range(1, fold.max() + 1)
        for component in components
    ]
    seeds = child_seeds(fit_seed, len(tasks))
    results = steps.run(tasks, rows, seeds, n_jobs)
    found = []
    for fold, function in zip(folds, functions, strict=True):
        refits = [shortfall(function, _assemble(learner, components, fold, results)) for _ in range(n_refits)]
        found.append(refits)
    return Regret(np.mean(found, axis=0))


def check_refits(bias_correction: str | None, n_refits: int) -> None:
    """Refuse a correction that does not exist and a number of refits that cannot be used."""
    if bias_correction not in (None, "regret"):
        raise InputError("bad-option", f'bias_correction must be None or "regret", got {bias_correction!r}.')
    check_integer(n_refits, "n_refits", least=2)


def _assemble(
    learner: Learner, components: tuple[Component, ...], fold: IntArray, results: Iterator[Any]
) -> FloatArray:
    """Collect one refit's out-of-fold nuisance pairs (n, 2)."""
    pairs = np.empty((len(fold), 2))
    for k in range(1, int(fold.max()) + 1):
        parts = {component: next(results) for component in components}
        pairs[fold == k] = learner.combine(parts).delta_theta
    return pairs


def _takes_weights(learner: Learner, rows: TrainingRows) -> bool:
    try:
        learner.check(replace(rows, weight=np.ones(len(rows.dl))))
    except InputError:
        return False
    return True
