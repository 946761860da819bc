"""Running the pieces of work that cross-fitting consists of, one after the other or in parallel."""

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from ..arrays import BoolArray, IntArray
from ..errors import InputError, LearnerError
from .learners import Component, Learner, TrainingRows
from .learners.abilities import has_gaps

Progress = Callable[[int, int, str], None]
"""Called with the number of tasks done, their total, and what was done last."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Random weights for the training rows, the same ones for every task with the same seed.

    Attributes
    ----------
    seed : numpy.random.SeedSequence
        Source of the random numbers.
    clusters : (n,) integer array or None
        Rows that share their random number.
    resample : bool
        Draw rows with replacement instead, for learners that take no weights.
    """

    seed: np.random.SeedSequence
    clusters: IntArray | None
    resample: bool

    def apply(self, rows: TrainingRows, train: IntArray) -> TrainingRows:
        """Return the training rows weighted by independent Exp(1) numbers, or drawn with replacement."""
        rng = np.random.default_rng(self.seed)
        unit = np.arange(len(rows.dl)) if self.clusters is None else self.clusters
        if self.resample:
            present = np.unique(unit[train])
            times = np.bincount(rng.choice(present, len(present)), minlength=unit.max() + 1)
            return rows.take(np.repeat(train, times[unit[train]]))
        weight = rng.standard_exponential(unit.max() + 1)[unit]
        if rows.weight is not None:
            weight = weight * rows.weight
        mean = weight[train].mean()  # 0 where no training row has any weight
        return replace(rows, weight=weight / mean if mean > 0.0 else weight).take(train)


@dataclass(frozen=True, slots=True)
class Task:
    """One component of a learner, to be tuned, or fitted without some rows and applied to them.

    Attributes
    ----------
    learner : Learner
        The learner.
    component : int or str
        The component.
    held : (n,) boolean array or None
        Rows left out of the fit and predicted; None: tune instead.
    text : str
        What is being done, in users' words.
    perturbation : Perturbation or None
        Random weights of the training rows.
    train : (n,) boolean array or None
        Rows to fit or tune on; None: all that are not left out.
    tuning : object
        Tuning parameters for the fit; None: it tunes itself, if it can.
    """

    learner: Learner
    component: Component
    held: BoolArray | None
    text: str
    perturbation: Perturbation | None = None
    train: BoolArray | None = None
    tuning: Any = None

    def training(self, rows: TrainingRows) -> TrainingRows:
        """Return the rows to fit or tune on, with their random weights."""
        used = self.train
        if used is None:
            if self.held is None:
                return rows
            used = ~self.held
        kept = np.flatnonzero(used)
        return rows.take(kept) if self.perturbation is None else self.perturbation.apply(rows, kept)


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception


def _work(task: Task, rows: TrainingRows, seed: np.random.SeedSequence, keep_model: bool) -> Any:
    """Tune, or fit and predict, one component. One thread: bits must not depend on their number."""
    with one_thread():
        try:
            train = task.training(rows)
            if task.held is None:
                return task.learner.tune(task.component, train, seed)
            part = task.learner.fit(task.component, train, seed, task.tuning)
            return part if keep_model else part.predict(rows.take(np.flatnonzero(task.held)).X)
        except Exception as error:
            return _Failure(_portable(error))


def _work_for(home: int, *call: Any) -> tuple[Any, list[tuple[str, type[Warning], str, int]]]:
    """Do a piece of work for process ``home``; return the result, and the warnings if this is another process."""
    if os.getpid() == home:
        return _work(*call), []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = _work(*call)
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in found]


def _warning_here(results: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """Yield the results of `_work_for`, and give their warnings again where the filters of this process apply."""
    registry: dict[Any, Any] = {}
    try:
        for result, told in results:
            for text, category, file, line in told:
                warnings.warn_explicit(text, category, file, line, registry=registry)
            yield result
    finally:
        results.close()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numerical libraries use one thread only: bits must not depend on their number."""
    with _thread_pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Thread pools of the loaded libraries; looking for them takes milliseconds, so only after an import."""
    return ThreadpoolController()


def _portable(error: Exception) -> Exception:
    """Return the error, or its text if it cannot travel between processes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Steps:
    """Runs tasks in order, in parallel if asked to, and reports progress."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def run(
        self,
        tasks: list[Task],
        rows: TrainingRows,
        seeds: list[np.random.SeedSequence],
        n_jobs: int | None,
        keep_models: bool = False,
    ) -> Iterator[Any]:
        """Yield the results in the order of the tasks."""
        calls = [(task, rows, seed, keep_models) for task, seed in zip(tasks, seeds, strict=True)]
        results: Generator[Any, None, None]
        waiting: Iterator[Any] | None = None
        if n_jobs in (None, 1) or len(calls) < 2:
            results = (_work(*call) for call in calls)
        else:
            waiting = iter(calls)
            pool = Parallel(n_jobs=n_jobs, return_as="generator")
            results = _warning_here(pool(delayed(_work_for)(os.getpid(), *call) for call in waiting))
        try:
            for task in tasks:
                result = next(results)
                if isinstance(result, _Failure):
                    if waiting is not None:
                        # hand out no more work and let that under way end: cutting it off is a race in the pool
                        list(waiting)
                        list(results)
                    if "contains NaN" in str(result.error) and has_gaps(rows.X):
                        raise InputError(
                            "missing-values",
                            f"Covariates have missing values, and the learner {task.learner.name!r} does not take them "
                            f"({task.text}): {result.error}",
                        ) from result.error
                    raise LearnerError(
                        f"The learner {task.learner.name!r} failed ({task.text}): "
                        f"{type(result.error).__name__}: {result.error}"
                    ) from result.error
                self.done += 1
                if self.progress is not None:
                    self.progress(self.done, self.total, task.text)
                yield result
        finally:
            with warnings.catch_warnings():
                # after a failure the work still under way is given up on purpose
                warnings.simplefilter("ignore")
                results.close()
