"""Learning from rows that are read in parts: a sample of them is learned from, then all are predicted and counted.

Two passes. The first draws the rows that are learned from and finds out which groups and outcomes there are. The second
predicts every row by the models that were fitted without its fold, one for each repetition of the cross-fitting. It
counts people who are alike by the first one, and adds up what the rules of the robust test change: these take all
repetitions, and were chosen by the rows that are learned from. In memory are at most a part, a block of rows, the rows
learned from (twice, while they are drawn) and the cells.

How rows are split into parts changes no bit: folds and the sample are functions of seed and row number, predictions are
made for blocks of rows that begin at the same row numbers whatever the parts are, and sums are of integers. So ranges
of the rows may as well be read, drawn from, predicted and counted on the workers of a dask cluster, from which only
rows drawn and tables of cells travel.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from .arrays import FloatArray, IntArray
from .data.checks import check_integer
from .data.declared import NOTHING, Declared, as_declared
from .data.grouping import Merge
from .data.groups import MOST_TOGETHER, make_groups, too_many_together
from .data.losses import Loss
from .data.messages import shown
from .data.parts.drawing import RowSample, folds_of_rows
from .data.parts.rows import Account, Coding, PartRows, Roles, in_part, join, learning_table, read_rows, rows_changed
from .data.parts.sources import DaskRows, RowsInParts
from .data.reading import Label
from .data.row_losses import RowLosses, row_losses
from .data.sample import Sample, make_sample
from .data.variables import check_weights
from .errors import DroppedRowsWarning, FairFrontierError, InputError
from .fit import Bounds, Counted, Fit, Learning, Options, Plane, Seeds
from .frontier.cells import BINS, CellTable, add_cells, cell_scores, count_cells
from .frontier.rule_sums import BlockRows, FixedRules, Kinds, RuleSums, Units, no_sums, sum_rows, units_of
from .frontier.sets import sharp_points
from .frontier.support import build_support_function
from .inference.fan.forms import N_FOLDS
from .inference.fan.robust import ChosenRules, fan_test_by_sums, rules_for
from .learning.cross_fitting import Nuisance, cross_fit, external_nuisance, predict_rows
from .learning.diagnostics import Diagnostics, diagnose
from .learning.learners import FittedLearner, Learner, child_seeds
from .progress import Report, pace, progress_bar, with_pace

LEARN_ROWS = 1_000_000
"""Rows that are learned from unless their number is said."""
BLOCK = 2**16
"""Rows that are predicted together: those with numbers from k times this to (k + 1) times this."""
MOST_CELLS = 5_000_000
"""Cells at most in which people are counted."""
MOST_RANGES = 256
"""Ranges at most into which the rows are split on a cluster: from each, a table of cells travels."""

Range = tuple[int, int | None]
"""Rows from the first number to before the second, or to the end."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """How columns are read: groups chosen and merged, the outcome that is 1, missing values, declared columns."""

    groups: Sequence[Label] | None = None
    merge: Merge | None = None
    positive: Label | None = None
    missing: str = "keep"
    declared: Declared = NOTHING


@dataclass(frozen=True, slots=True)
class Task:
    """What is learned from which rows, and how."""

    source: RowsInParts
    roles: Roles
    reading: Reading
    loss: Loss
    learner: Learner
    how: Learning
    options: Options
    seeds: Seeds
    learn_rows: int = LEARN_ROWS
    client: Any = None
    block: int = field(default_factory=lambda: BLOCK)

    @property
    def row_seeds(self) -> list[np.random.SeedSequence]:
        """Seeds of the sample and of the folds; the ones before them serve the cross-fitting."""
        return child_seeds(self.seeds.learning, 7)[5:]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return N_FOLDS if self.roles.nuisance else self.how.n_folds

    @property
    def n_rep(self) -> int:
        """Number of repetitions of the cross-fitting."""
        return 1 if self.roles.nuisance else self.how.n_rep

    def folds(self, row: IntArray) -> IntArray:
        """Return the folds (n_rep, n) of rows with these numbers."""
        first = self.row_seeds[1]
        seeds = [first, *child_seeds(first, self.n_rep - 1)]
        return np.array([folds_of_rows(seed, row, self.n_folds) for seed in seeds])

    def here(self) -> Task:
        """Return the same without a cluster."""
        return replace(self, client=None)


@dataclass(frozen=True, slots=True)
class Counting:
    """What is needed to predict and count: how labels become numbers, models, units, and rules for each algorithm."""

    coding: Coding
    models: list[FittedLearner]
    units: Units
    rules: tuple[FixedRules, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted: cells of people who are alike, and what the rules chosen for each algorithm change."""

    table: CellTable
    sums: tuple[RuleSums, ...]


def on_cluster(source: RowsInParts, client: Any) -> RowsInParts:
    """Return rows of which the workers of a cluster read ranges; refuse those that are read from the first on only."""
    if not all(hasattr(client, name) for name in ("submit", "cancel")):
        raise InputError(
            "bad-option", f"client must be a dask.distributed Client, not {type(client).__name__}: Client(address)."
        )
    if isinstance(source, DaskRows):
        source = source.located()
    if source.starts is None:
        raise InputError(
            "bad-option",
            "With a client, workers read ranges of the rows: of Parquet files, an Arrow dataset or a dask DataFrame, "
            f"not of {source.name}. Write Parquet files, or read it as a dask DataFrame.",
        )
    return source


def learn_in_parts(task: Task) -> tuple[Fit, Coding]:
    """Learn from some rows, count all of them, and return the fit of the cells, with the labels of the data."""
    check_integer(task.learn_rows, "learn_rows", least=100)
    check_integer(task.how.n_folds, "n_folds", least=2, code="bad-folds")
    drawn, coding = _first_pass(task)
    sample = _learning_sample(task, drawn, coding)
    losses, models = row_losses(task.loss, sample.y), list[FittedLearner]()
    nuisance = _learned(task, sample, losses, drawn, models)
    possible = row_losses(task.loss, coding.outcomes)
    units = units_of(Kinds(coding.largest_weight[coding.seen_in], possible.l0, possible.dl, coding.seen_in))
    chosen = _chosen(task, sample, losses, nuisance, drawn, n_used=coding.n_used)
    counted = _second_pass(task, Counting(coding, models, units, tuple(each.rules for each in chosen)))
    table = counted.table
    if int(table.counts.sum()) != coding.n_used:
        raise rows_changed(task.source.name)
    cells, of_cells = _cell_sample(task, table, coding)
    plane = _plane(table, of_cells, units) if len(coding.labels) == 2 else None
    decisions, learned = (
        dict(zip(task.roles.algorithms, each.T, strict=True)) for each in (table.keys[:, 4:], drawn.decisions)
    )
    kinds = Kinds(table.keys[:, 3], of_cells.l0, of_cells.dl, cells.group)
    tests = [
        fan_test_by_sums(each, sums, units, kinds, task.n_rep) for each, sums in zip(chosen, counted.sums, strict=True)
    ]
    fit = Fit(
        sample=cells,
        loss=task.loss,
        learner=None if nuisance.external else task.learner,
        learning=task.how,
        nuisance=nuisance,
        row_losses=of_cells,
        in_plane=plane,
        bounds=Bounds(),
        seeds=task.seeds,
        diagnostics=None if plane is None else _diagnosed(sample, nuisance),
        whole=sample,
        sequence=None,
        options=task.options,
        compressed=True,
        counted=Counted(
            task.source.name, coding.n_rows, decisions, learned, dict(zip(task.roles.algorithms, tests, strict=True))
        ),
    )
    return fit, coding


def _plane(table: CellTable, losses: RowLosses, units: Units) -> Plane:
    """Return what rules attain in the plane of two groups' risks, by cells."""
    function = build_support_function(cell_scores(table, losses.l0, losses.dl, length=units.length))
    return Plane(function, None, sharp_points(function, None))


def _diagnosed(sample: Sample, nuisance: Nuisance) -> Diagnostics:
    """Describe the conditions behind the inference by the rows that were learned from."""
    return diagnose(
        nuisance.predictions[0],
        sample.groups.shares,
        sample.group,
        X=sample.X,
        weight=sample.weight,
        group_auc=nuisance.group_auc,
    )


def _first_pass(task: Task) -> tuple[PartRows, Coding]:
    """Draw the rows that are learned from, and find out about groups and outcomes."""
    reading, account = task.reading, Account(judged=task.reading.groups is None)
    if reading.missing not in ("keep", "raise", "drop"):
        raise InputError("bad-option", f'missing must be "keep", "raise" or "drop"; got {reading.missing!r}.')
    drawn = RowSample(task.learn_rows, task.row_seeds[0], join)
    with progress_bar("Reading rows", show=task.options.verbose) as progress:
        for found, rows in over_ranges(task, _draw, progress):
            account.merge(found)
            if rows is not None:
                drawn.add(rows)
    coding = account.coding(
        positive=reading.positive,
        binary=task.loss.binary_outcome,
        groups=reading.groups,
        merge=reading.merge,
        missing=reading.missing,
        crossed=len(task.roles.group),
    )
    if len(coding.labels) > MOST_TOGETHER:
        raise too_many_together(coding.labels, None)
    if getattr(task.source, "n_used", coding.n_used) != coding.n_used:
        raise rows_changed(task.source.name)  # since an audit was planned
    if coding.dropped:
        warnings.warn(
            f"Dropped {sum(coding.dropped.values()):,} of {coding.n_rows:,} rows with missing values.",
            DroppedRowsWarning,
            stacklevel=4,
        )
    sample = drawn.drawn()
    assert sample is not None  # there are complete rows, so some are drawn
    return coding.coded(sample, task.source.name), coding


def _draw(task: Task, span: Range, progress: Report | None) -> tuple[Account, PartRows | None]:
    """Draw from a range of the rows, and say which groups and outcomes it has."""
    n_used = getattr(task.source, "n_used", task.source.n_rows)
    account = Account(judged=task.reading.groups is None)
    drawn = RowSample(task.learn_rows, task.row_seeds[0], join, n_used)
    for name, rows in _read(task, span, progress, task.source.n_rows):
        with in_part(name):
            account.add(name, rows)
        drawn.add(rows)
    return account, drawn.drawn()


class OverRows(Protocol):
    """What is done with rows that are read in parts: which rows, where, and in blocks of how many."""

    @property
    def source(self) -> RowsInParts:
        """The rows."""
        ...

    @property
    def client(self) -> Any:
        """The cluster whose workers read them, if there is one."""
        ...

    @property
    def block(self) -> int:
        """Rows that are dealt with together."""
        ...

    def here(self) -> Self:
        """Return the same without a cluster, as a worker does it."""
        ...


def over_ranges(task: OverRows, work: Callable[..., T], progress: Report | None, *shared: Any) -> Iterator[T]:
    """Do work for all rows: here, or for ranges of them on the workers of a cluster, in the order of the rows.

    Ranges begin with a block, so that blocks are the same ones: a range has the blocks that begin in one piece.
    """
    if task.client is None:
        yield work(task, (0, None), progress, *shared)
        return
    assert task.source.starts is not None
    n_rows = int(task.source.n_rows or 0)
    ends = range_ends(task.source.starts, n_rows, task.block)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")  # models are sent once
        # as the result of a task and not scattered: a cluster makes it again if the worker that has it dies
        told = task.client.submit(_same, (task.here(), *shared), pure=False)
    waiting = [task.client.submit(_on_worker, work, told, span, pure=False) for span in pairwise(ends)]
    start = time.perf_counter()
    try:
        for future, end in zip(waiting, ends[1:], strict=True):
            yield future.result()
            future.release()
            if progress is not None:
                progress(end, n_rows, pace(start, end, n_rows))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise FairFrontierError(
            f"Rows of {task.source.name} could not be read on the cluster: several workers died of it, one after the "
            f"other ({error}). Give workers more memory, or write smaller parts."
        ) from error
    finally:
        task.client.cancel([told, *waiting])


def range_ends(starts: Sequence[int], n_rows: int, block: int) -> list[int]:
    """Return where ranges of the rows begin and end: with blocks, where reading can begin; at most `MOST_RANGES`."""
    ends = np.unique([min(-(-start // block) * block, n_rows) for start in (*starts, n_rows)]).tolist()
    least, kept = n_rows // MOST_RANGES, ends[:1]
    for end in ends[1:]:
        if end - kept[-1] >= least:
            kept.append(end)
    return [*kept, n_rows] if kept[-1] < n_rows else kept


def _same(told: tuple[Any, ...]) -> tuple[Any, ...]:
    """Hand on what all ranges need."""
    return told


def _on_worker(work: Callable[..., T], told: tuple[Any, ...], span: Range) -> T:
    """Do work for a range of the rows, on a worker."""
    task, *shared = told
    return work(task, span, None, *shared)


def _read(task: Task, span: Range, progress: Report | None, n_rows: int | None) -> Iterator[tuple[str, PartRows]]:
    """Yield the parts, and report how many rows were read."""
    read = read_rows(task.source, task.roles, task.reading.missing, *span)
    return with_pace(read, lambda part: len(part[1].row), progress, n_rows)


def _learning_sample(task: Task, drawn: PartRows, coding: Coding) -> Sample:
    labels = np.empty(len(coding.labels), dtype=object)
    labels[:] = coding.labels
    return make_sample(
        learning_table(drawn.X) if task.roles.features else None,
        drawn.y,
        labels[drawn.group],
        groups=coding.labels,
        sample_weight=None if task.roles.weight is None else drawn.weight,
        missing="keep",
        binary=task.loss.binary_outcome,
        declared=task.reading.declared,
    )


def _learned(task: Task, sample: Sample, losses: RowLosses, drawn: PartRows, models: list[FittedLearner]) -> Nuisance:
    """Learn from the rows drawn, and keep the models; or take their predictions made elsewhere."""
    if task.roles.nuisance:
        return external_nuisance(sample, losses.dl, drawn.nuisance)
    folds = task.folds(drawn.row)
    for code, label in enumerate(sample.groups):
        own = folds[:, sample.group == code]
        if min(len(np.unique(each)) for each in own) < task.how.n_folds:
            raise InputError(
                "group-too-small",
                f"Of {len(drawn.row):,} rows that are learned from {own.shape[1]:,} are of group {shown(label)}: too "
                f"few for {task.how.n_folds} folds of them. Raise learn_rows, put groups together by `merge`, or "
                "choose others by `groups`.",
            )
    with progress_bar("Learning the nuisance functions", show=task.options.verbose) as progress:
        return cross_fit(
            sample,
            losses.dl,
            task.learner,
            folds=folds,
            n_jobs=task.options.n_jobs,
            random_state=task.seeds.learning,
            progress=progress,
            models=models,
        )


def _chosen(
    task: Task, sample: Sample, losses: RowLosses, nuisance: Nuisance, drawn: PartRows, *, n_used: int
) -> list[ChosenRules]:
    """Choose the rules of the robust test of each algorithm for ``n_used`` rows, by those that were learned from."""
    fold = task.folds(drawn.row)[0]
    rows = BlockRows(nuisance.predictions, sample.weight, losses.l0, losses.dl, sample.group, fold)
    seed, jobs = child_seeds(task.seeds.learning, 8)[7], task.options.n_jobs
    return [rules_for(rows, a, seed, n_used=n_used, n_jobs=jobs) for a in drawn.decisions.T]


def _second_pass(task: Task, counting: Counting) -> Counts:
    """Predict every row out of fold, count people who are alike, and add up what rules change."""
    with progress_bar("Predicting and counting", show=task.options.verbose) as progress:
        return _sum(over_ranges(task, _count, progress, counting), task, counting)


def _count(task: Task, span: Range, progress: Report | None, counting: Counting) -> Counts:
    """Predict and count a range of the rows."""
    read = _read(task, span, progress, counting.coding.n_rows)
    blocks = _blocks((counting.coding.coded(rows, name) for name, rows in read), task.block)
    return _sum((_count_block(task, rows, counting) for rows in blocks), task, counting)


def _count_block(task: Task, rows: PartRows, counting: Counting) -> Counts:
    """Predict and count the rows of a block."""
    folds, losses = task.folds(rows.row), row_losses(task.loss, rows.y)
    n_groups = len(counting.coding.labels)
    t = rows.nuisance[None] if task.roles.nuisance else _predictions(task, rows, folds, counting.models, n_groups)
    # with more than two groups there is no plane, and directions are not counted
    pairs = t[0] if n_groups == 2 else np.zeros((len(rows.row), 2))
    table = count_cells(pairs, rows.group, rows.y, rows.weight, rows.decisions, length=counting.units.length)
    own = BlockRows(t, rows.weight, losses.l0, losses.dl, rows.group, folds[0])
    every = zip(counting.rules, rows.decisions.T, strict=True)
    return Counts(table, tuple(sum_rows(rules, own, a, counting.units, task.n_folds) for rules, a in every))


def _sum(found: Iterator[Counts], task: Task, counting: Counting) -> Counts:
    """Add up counts as they come; refuse too many cells."""
    nobody = np.empty(0, dtype=np.int64)
    held = [CellTable(np.empty((0, 4 + len(task.roles.algorithms))), nobody, nobody)]
    sums = [no_sums(rules, task.n_folds) for rules in counting.rules]
    waiting, most = 0, 2**20
    for counts in found:
        held.append(counts.table)
        for one, other in zip(sums, counts.sums, strict=True):
            one.add(other)
        waiting += len(counts.table)
        if waiting > most:
            held = [add_cells(held)]
            waiting = len(held[0])
            most = 2 * waiting + 2**20
            _refuse_many(held[0], task.roles)
    total = add_cells(held)
    _refuse_many(total, task.roles)
    return Counts(total, tuple(sums))


def _blocks(parts: Iterator[PartRows], size: int) -> Iterator[PartRows]:
    """Yield blocks of rows with numbers from k size to (k + 1) size, each put together from the parts it lies in."""
    held: list[PartRows] = []
    current = -1
    for rows in parts:
        number = rows.row // size
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        for start, stop in zip(starts, np.append(starts[1:], len(number)), strict=True):
            if number[start] != current and held:
                yield join(held)
                held = []
            current = number[start]
            held.append(rows.take(slice(start, stop)))
    if held:
        yield join(held)


def _predictions(task: Task, rows: PartRows, folds: IntArray, models: list[FittedLearner], n_groups: int) -> FloatArray:
    """Return predictions (n_rep, n, G) of every row, each by the model of that repetition fitted without its fold."""
    t: FloatArray = np.empty((*folds.shape, n_groups))
    X = as_declared(rows.X, task.reading.declared) if task.reading.declared else rows.X
    for number, model in enumerate(models):
        repetition, k = divmod(number, task.how.n_folds)
        own = np.flatnonzero(folds[repetition] == k + 1)
        if len(own):
            t[repetition, own] = predict_rows(model, X.iloc[own]).delta_theta
    return t


def _refuse_many(table: CellTable, roles: Roles) -> None:
    if len(table) <= MOST_CELLS:
        return
    columns = {roles.y: 2, "sample_weight" if roles.weight is None else roles.weight: 3}
    columns |= {f"decisions of {name}": 4 + j for j, name in enumerate(roles.algorithms)}
    counts = {name: len(np.unique(table.keys[:, j])) for name, j in columns.items()}
    raise InputError(
        "rows-needed",
        f"People who are alike are counted, but there are more than {MOST_CELLS:,} kinds of them ({BINS:,} directions, "
        f"and different values of {', '.join(f'{name}: {count:,}' for name, count in counts.items())}). Round what has "
        "many values, ask about fewer algorithms, or analyse some of the rows as a frame.",
    )


def _cell_sample(task: Task, table: CellTable, coding: Coding) -> tuple[Sample, RowLosses]:
    """Return the cells as a sample, and the losses of their outcomes."""
    group, y, each = table.keys[:, 1].astype(np.intp), table.keys[:, 2].copy(), table.keys[:, 3]
    weighted = task.roles.weight is not None
    if weighted:
        check_weights(each, group, coding.labels)
    weight = each * table.counts
    sample = Sample(
        y=y,
        group=group,
        groups=make_groups(coding.labels, group, weight),
        weight=weight,
        X=None,
        clusters=None,
        ids=None,
        dropped=coding.dropped,
        left_out=coding.left_out,
        rows=np.arange(len(table)),
        weighted=weighted,
        merged=coding.merged,
        people=table.counts.astype(np.float64),
    )
    return sample, row_losses(task.loss, y)
