"""The command line: ``fairfrontier audit``, ``demo``, ``simulate``, ``replicate`` and ``version``."""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from . import __version__
from .audit.columns import printable
from .audit.demo import DEMO_STORY, demo_plan, demo_truth
from .audit.plan import AuditPlan, make_plan
from .audit.request import AuditRequest, override, read_config
from .audit.run import run_audit
from .audit.table import read_table
from .audit.write import PAGE, RECORD, check_folder, write_audit
from .errors import FairFrontierError, InputError
from .progress import Report, progress_bar
from .report.sentences import verdict_line

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Audit decision algorithms for two groups.")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


@app.command()
def audit(
    data: Annotated[str | None, typer.Argument(help="Table: CSV, Parquet, Feather or Excel.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column of the outcome.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of the group.")] = None,
    decision: Annotated[str | None, typer.Option(help="Column of the algorithm's decisions, 0 or 1.")] = None,
    score: Annotated[str | None, typer.Option(help="Column of its score instead, with --threshold or --top.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Scores above this are treated.")] = None,
    top: Annotated[
        float | None, typer.Option(help="Share of rows with the highest scores, who are treated; those tied are not.")
    ] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Another algorithm: NAME=COLUMN of decisions.")] = None,
    features: Annotated[list[str] | None, typer.Option(help="Covariates, separated by commas; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Columns that are no covariates.")] = None,
    groups: Annotated[list[str] | None, typer.Option(help="The two groups to compare: A,B; or give it twice.")] = None,
    positive: Annotated[str | None, typer.Option(help="Label of the outcome that counts as 1.")] = None,
    score_as_feature: Annotated[
        bool | None, typer.Option("--score-as-feature/--no-score-as-feature", help="May rules use the score?")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="classification (default) or squared.")] = None,
    learner: Annotated[str | None, typer.Option(help="Learner by name; it decides. Default: factored-logit.")] = None,
    folds: Annotated[int | None, typer.Option(help="Folds of the cross-fitting. Default: 5.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="Repetitions of the cross-fitting. Default: 1.")] = None,
    draws: Annotated[int | None, typer.Option(help="Bootstrap draws. Default: 1000.")] = None,
    capacity: Annotated[float | None, typer.Option(help="Largest share of people a rule may treat.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Level of the tests. Default: 0.05.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random. Default: 0.")] = None,
    weights: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
    clusters: Annotated[str | None, typer.Option(help="Column of clusters.")] = None,
    robustness: Annotated[
        bool | None, typer.Option("--robustness/--no-robustness", help="More learners and seeds beside the verdict.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a text file. Default: utf-8.")] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of these settings; options given here win.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the audit.")] = Path("audit"),
    jobs: Annotated[int | None, typer.Option(help="Parallel jobs; -1 for all cores.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
    fail_on: Annotated[str | None, typer.Option(help="'lda': exit code 3 if an alternative is shown.")] = None,
) -> None:
    """Audit a decision algorithm for less discriminatory alternatives.

    Exit codes: 0 done, 2 bad input, 3 an alternative is shown (with --fail-on lda), 130 interrupted, 143 terminated.
    """
    given = {
        name: value
        for name, value in locals().items()
        if name not in ("algorithm", "features", "exclude", "groups", "config", "out", "jobs", "dry_run", "fail_on")
    }
    given["features"], given["exclude"] = (tuple(values) if values else None for values in (features, exclude))
    given["groups"] = _two_labels(groups)
    console = _console()
    with _exit_codes(console):
        if fail_on not in (None, "lda"):
            raise InputError("bad-option", f"--fail-on knows 'lda' only, got {fail_on!r}.")
        given["algorithms"] = _named_columns(algorithm) if algorithm else None
        request = override(read_config(config) if config else AuditRequest(), given).check()
        plan = make_plan(read_table(request.data, request.encoding), request)
        if dry_run:
            console.print("\n".join(plan.lines()))
            return
        shown = _audit(console, plan, out, jobs)
        if shown and fail_on == "lda":
            raise typer.Exit(3)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory of the audit.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option(help="Patients of the generated hospital.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the patients and of everything after them.")] = 1,
    jobs: Annotated[int, typer.Option(help="Parallel jobs; -1 for all cores.")] = -1,
) -> None:
    """Audit two scores of a generated hospital and leave the report to be opened."""
    console = _console()
    with _exit_codes(console):
        plan = demo_plan(rows, seed)
        console.print(DEMO_STORY + "\n")
        _audit(console, plan, out, jobs)
        console.print(f"\n{demo_truth()}\n\nOpen {(out / PAGE).absolute()} in a browser.")


@app.command()
def simulate(
    replications: Annotated[int, typer.Option(help="Replications of every design and sample size.")] = 1000,
    sizes: Annotated[str, typer.Option("--n", help="Sample sizes, separated by commas.")] = "1000,5000,10000",
    designs: Annotated[str, typer.Option(help="Designs, separated by commas.")] = "balanced,skewed",
    out: Annotated[Path, typer.Option(help="Directory of the store and the tables.")] = Path("replication/results"),
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler, or 'local'.")] = None,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = 1000,
    retry_failed: Annotated[bool, typer.Option(help="Try replications again that ended in an error.")] = False,
    descents: Annotated[
        int, typer.Option(help="Replications whose fit is repeated for distances to a fairest point found by descent.")
    ] = 0,
) -> None:
    """Recompute the published Monte Carlo study; stop it at any time, the next run goes on where it was."""
    from .replication.simulation import simulate_table1

    console = _console()
    try:
        simulate_table1(
            console,
            replications=replications,
            sizes=tuple(int(n) for n in sizes.split(",")),
            designs=tuple(designs.split(",")),
            folder=out,
            n_jobs=jobs,
            dask=dask,
            n_boot=draws,
            retry_failed=retry_failed,
            descents=descents,
        )
    except (FairFrontierError, ValueError) as error:
        _complain(error)
        raise typer.Exit(2) from error


@app.command()
def replicate(
    study: Annotated[str, typer.Argument(help="The study to recompute: hospital.")],
    data: Annotated[
        str, typer.Option(help="A file of the hospital study, or 'look-alike'; default: the public file, downloaded.")
    ] = "",
    learner: Annotated[str, typer.Option(help="forest, logit-lasso or boosting.")] = "forest",
    repetitions: Annotated[int, typer.Option(help="Seeds of the tests, and random halves for the rules.")] = 20,
    out: Annotated[Path, typer.Option(help="Directory of the store, tables and figures.")] = Path("hospital"),
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler, or 'local'.")] = None,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = 1000,
    rows: Annotated[int, typer.Option(help="Patients of the look-alike.")] = 48_784,
    rules: Annotated[bool, typer.Option(help="Learn rules on random halves, too (Table III, Figure 8).")] = True,
) -> None:
    """Recompute the published hospital study; stop it at any time, the next run goes on where it was."""
    console = _console()
    try:
        if study != "hospital":
            raise InputError("bad-option", f"The study must be 'hospital', got {study!r}.")
        from .replication.hospital.command import replicate_hospital

        replicate_hospital(
            console,
            data=data,
            learner=learner,
            repetitions=repetitions,
            folder=out,
            n_jobs=jobs,
            dask=dask,
            n_boot=draws,
            rows=rows,
            rules=rules,
        )
    except FairFrontierError as error:
        _complain(error)
        raise typer.Exit(2) from error


def _audit(console: Console, plan: AuditPlan, out: Path, jobs: int | None) -> bool:
    """Do an audit and write it; return whether an alternative is shown."""
    console.print("\n".join(plan.lines()) + "\n")
    check_folder(out)
    with progress_bar("Auditing", show=True, lines=True) as progress:
        result = run_audit(plan, n_jobs=jobs, progress=_unless_interrupted(progress))
    write_audit(result, out)
    for algorithm in result.record.algorithms:
        console.print(printable(verdict_line(algorithm, result.record)))
    for warning in result.record.warnings:
        console.print(f"Note: {printable(warning)}")
    console.print(f"Report: {out / PAGE}\nRecord: {out / RECORD}")
    return result.shown


_interrupted = threading.Event()


def _interrupt(*_: Any) -> None:
    """Stop now; an exception that some library swallows is raised again before the next step."""
    _interrupted.set()
    raise KeyboardInterrupt


def _unless_interrupted(progress: Report | None) -> Report:
    def report(done: int, total: int, text: str) -> None:
        if _interrupted.is_set():
            raise KeyboardInterrupt
        if progress is not None:
            progress(done, total, text)

    return report


def _two_labels(given: list[str] | None) -> tuple[str, ...] | None:
    if not given:
        return None
    return tuple(given) if len(given) > 1 else tuple(label.strip() for label in given[0].split(","))


def _complain(error: Exception) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)
    console.print(f"Error: {printable(str(error))}")


def _named_columns(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError("bad-option", f"--algorithm is NAME=COLUMN, got {text!r}.")
        if name in found:
            raise InputError("bad-option", f"--algorithm names {name!r} twice.")
        found[name] = column
    return found


def _console() -> Console:
    if isinstance(sys.stdout, io.TextIOWrapper):  # signs that the terminal does not know must not end an audit
        sys.stdout.reconfigure(errors="backslashreplace")
    return Console(soft_wrap=True, highlight=False, markup=False, emoji=False)


@contextmanager
def _exit_codes(console: Console) -> Iterator[None]:
    """Turn errors of ours into a message and exit code 2, an interruption into 130; let a request to end clean up."""
    _interrupted.clear()
    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)),
        signal.SIGINT: signal.signal(signal.SIGINT, _interrupt),
    }
    try:
        yield
    except FairFrontierError as error:
        _complain(error)
        raise typer.Exit(2) from error
    except MemoryError as error:
        _complain(MemoryError(f"The audit needs more memory than there is: {error}. Use fewer draws or rows."))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        console.print("Interrupted; nothing was written.")
        raise typer.Exit(130) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
