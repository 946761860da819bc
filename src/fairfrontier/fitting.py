"""Running the pieces of work that cross-fitting consists of, one after the other or in parallel."""

import pickle
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ._typing import BoolArray
from .errors import LearnerError
from .learners import Learner, TrainingRows

Progress = Callable[[int, int, str], None]
"""Called with the number of tasks done, their total, and what was done last."""


@dataclass(frozen=True, slots=True)
class Task:
    """One component of a learner, to be tuned on all rows or fitted without some and applied to them.

    Attributes
    ----------
    learner : Learner
        The learner.
    component : str
        Name of the component.
    held : (n,) boolean array or None
        Rows left out of the fit and predicted; None: tune on all rows.
    text : str
        What is being done, in users' words.
    """

    learner: Learner
    component: str
    held: BoolArray | None
    text: str


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception


def _work(task: Task, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any, keep_model: bool) -> Any:
    """Tune, or fit and predict, one component. One thread: bits must not depend on their number."""
    with threadpool_limits(limits=1):
        try:
            if task.held is None:
                return task.learner.tune(task.component, rows, seed)
            train = rows.take(np.flatnonzero(~task.held))
            part = task.learner.fit(task.component, train, seed, tuning)
            return part if keep_model else part.predict(rows.take(np.flatnonzero(task.held)).X)
        except Exception as error:
            return _Failure(_portable(error))


def _portable(error: Exception) -> Exception:
    """Return the error, or its text if it cannot travel between processes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Steps:
    """Runs tasks in order, in parallel if asked to, and tells how far they are."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def run(
        self,
        tasks: list[Task],
        rows: TrainingRows,
        seeds: list[np.random.SeedSequence],
        tuning: Mapping[str, Any],
        n_jobs: int | None,
        keep_models: bool = False,
    ) -> Iterator[Any]:
        """Yield the results in the order of the tasks."""
        calls = [
            (task, rows, seed, tuning.get(task.component), keep_models) for task, seed in zip(tasks, seeds, strict=True)
        ]
        results: Generator[Any, None, None]
        if n_jobs in (None, 1) or len(calls) < 2:
            results = (_work(*call) for call in calls)
        else:
            results = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_work)(*call) for call in calls)
        try:
            for task in tasks:
                result = next(results)
                if isinstance(result, _Failure):
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
