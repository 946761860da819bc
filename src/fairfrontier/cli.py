"""The commands; options of an audit and their defaults come from ``audit/request.py``.

Commands import what they need when they run, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import inspect
import io
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from .audit.gate import HELP, failed, read_conditions
from .audit.request import AuditRequest, Kind, Option, Value, options, override, read_config
from .data.messages import printable
from .errors import FairFrontierError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from .audit.plan import AuditPlan
    from .audit.run import Audit
    from .progress import Report

app = typer.Typer(
    no_args_is_help=True,
    help="Audit decision algorithms for less discriminatory alternatives.",
)
Typed = str | float | int | bool | Sequence[str] | None
"""What the command line hands over for an option; None if it was not given."""


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


TYPES: Mapping[Kind, object] = {
    Kind.SWITCH: bool | None,
    Kind.INTEGER: int | None,
    Kind.NUMBER: float | None,
    Kind.TEXT: str | None,
    Kind.TEXTS: list[str] | None,
    Kind.NUMBERS: list[str] | None,
    Kind.NAMED_COLUMNS: list[str] | None,
    Kind.NAMED_NUMBERS: list[str] | None,
    Kind.NAMED_LISTS: list[str] | None,
}
"""Types of options on the command line, where None means that an option is not given."""


def _parameter(option: Option) -> inspect.Parameter:
    """Return an option of an audit as a parameter of the command."""
    has_default = option.default is not None and option.default is not False and option.default not in ("", (), {})
    text = " ".join([option.required] * bool(option.required) + [option.help])
    text += f" Default: {option.default}." if has_default else ""
    flags = f"{option.flag}/--no-{option.flag[2:]}" if option.kind is Kind.SWITCH else option.flag
    info = (
        typer.Argument(help=text, rich_help_panel="Table")
        if option.positional
        else typer.Option(flags, help=text, rich_help_panel=option.panel)
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[TYPES[option.kind], info],
    )


def with_audit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter ``**typed`` of a command by the options of an `AuditRequest`, before its own."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    command.__signature__ = inspect.Signature([*map(_parameter, options()), *kept])  # type: ignore[attr-defined]
    return command


EXAMPLE = (
    "Example: fairfrontier audit loans.csv --outcome repaid --group sex --score rating --threshold 600 --out audit"
)
OUTPUT = "Output"
"""The panel of the help that has the options of the command itself."""


@app.command(epilog=EXAMPLE)
@with_audit_options
def audit(
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of these settings; options on the command line override it.", rich_help_panel=OUTPUT
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory to write the audit to.", rich_help_panel=OUTPUT)] = Path("audit"),
    jobs: Annotated[
        int | None, typer.Option(help="Number of parallel jobs; -1 for all cores.", rich_help_panel=OUTPUT)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler whose workers read rows in parts, or 'local' for --jobs processes.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pdf: Annotated[
        bool,
        typer.Option(
            "--pdf", help="Also print the report to report.pdf; needs chromium or Chrome.", rich_help_panel=OUTPUT
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.", rich_help_panel=OUTPUT)] = False,
    fail_on: Annotated[list[str] | None, typer.Option(help=HELP, rich_help_panel=OUTPUT)] = None,
    **typed: Typed,
) -> None:
    """Audit a decision algorithm for less discriminatory alternatives.

    On a terminal, it asks one by one for the roles of columns that are not given.

    Exit codes: 0 done, 2 bad input, 130 interrupted, 143 terminated. With --fail-on: 3 an alternative is shown (lda),
    4 an algorithm is not comparable (not-comparable), 5 other runs come to another verdict (disagreement).
    """
    console = _console()
    with _exit_codes(console):
        conditions = read_conditions(fail_on or ())
        given = {option.name: _value(option, typed[option.name]) for option in options()}
        request = override(read_config(config) if config else AuditRequest(), given)
        files = all(Path(one).is_file() for one in request.data)
        if config is None and files and request.lacks_roles and sys.stdin.isatty() and sys.stdout.isatty():
            request = _asked(console, request, out)
        request.check()
        with _cluster(dask, jobs) as client:
            plan = _plan(request, client)
            if dry_run:
                console.print("\n".join(plan.lines()))
                return
            finished = _audit(console, plan, out, jobs, pdf=pdf)
        if (reason := failed(finished.record, conditions)) is not None:
            console.print(f"Exit code {reason.code}: {reason.meaning} (--fail-on {reason.word}).")
            raise typer.Exit(reason.code)


def _asked(console: Console, request: AuditRequest, out: Path) -> AuditRequest:
    """Ask for the roles that a request lacks, and show the command that would have done."""
    from .audit.asking import ask_for_roles, command_of
    from .audit.opening import read_whole

    def ask(question: str, suggestion: str | None) -> str:
        return str(typer.prompt(question, default=suggestion))

    found = ask_for_roles(request, read_whole(request).table, ask, lambda line: console.print(line))
    folder = [] if out == Path("audit") else ["--out", str(out)]
    console.print(
        f"\nThe same without questions:\n  {printable(' '.join([command_of(found), shlex.join(folder)]).rstrip())}\n"
    )
    return found


@app.command()
def columns(
    file: Annotated[list[str], typer.Argument(help="Table, as for audit; several with the same columns.")],
    sep: Annotated[str | None, typer.Option(help="Separator of the values of a text file.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal sign of a text file: point or comma.")] = "point",
    encoding: Annotated[str, typer.Option(help="Encoding of a text file.")] = "utf-8",
) -> None:
    """List the columns of a table: kind, missing and distinct values, and a suggested role.

    Suggestions come from names and values; audit uses only the roles that you give it.
    """
    console = _console()
    with _exit_codes(console):
        from .audit.suggestions import columns_at_a_glance, table_of_columns
        from .audit.table import read_table

        found = read_table(file, encoding, sep, decimal)
        console.print(f"{printable(found.name)}: {len(found.table):,} rows, {len(found.table.columns)} columns")
        for how in found.how:
            console.print(printable(how))
        console.print("\n" + "\n".join(table_of_columns(columns_at_a_glance(found.table))))


@contextmanager
def _cluster(address: str | None, jobs: int | None) -> Iterator[object | None]:
    """Yield a client of the cluster that is asked for, if any."""
    if address is None:
        yield None
        return
    from joblib import cpu_count

    from .data.parts.cluster import connected

    with connected(address, int(cpu_count()) if jobs is None or jobs < 1 else jobs) as client:
        yield client


def _plan(request: AuditRequest, client: object | None) -> AuditPlan:
    from .audit.opening import open_plan
    from .progress import progress_bar

    with ExitStack() as opened:
        bars: list[Report | None] = []

        def heard(text: str) -> None:  # a table that is read as a whole has nothing to tell
            if not bars:
                bars.append(opened.enter_context(progress_bar("Reading", show=True, lines=True)))
            _unless_stopped(bars[0])(0, 1, text)

        return open_plan(request, client=client, heard=heard)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory to write the audit to.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option(help="Number of patients of the made-up hospital.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the patients and of all random numbers.")] = 1,
    jobs: Annotated[int, typer.Option(help="Number of parallel jobs; -1 for all cores.")] = -1,
) -> None:
    """Audit two scores of a made-up hospital, and write a report to open in a browser."""
    console = _console()
    with _exit_codes(console):
        from .audit.demo import DEMO_STORY, demo_plan, demo_truth
        from .audit.write import PAGE

        plan = demo_plan(rows, seed)
        console.print(DEMO_STORY + "\n")
        _audit(console, plan, out, jobs)
        console.print(f"\n{demo_truth()}\n\nOpen {(out / PAGE).absolute()} in a browser.")


@app.command()
def simulate(
    replications: Annotated[int, typer.Option(help="Number of replications of every design and sample size.")] = 1000,
    sizes: Annotated[str, typer.Option("--n", help="Sample sizes, separated by commas.")] = "1000,5000,10000",
    designs: Annotated[str, typer.Option(help="Designs, separated by commas.")] = "balanced,skewed",
    out: Annotated[Path, typer.Option(help="Directory of the stored results and the tables.")] = Path(
        "replication/results"
    ),
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for all cores.")] = -1,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler, or 'local'.")] = None,
    draws: Annotated[int, typer.Option(help="Number of bootstrap draws.")] = 1000,
    retry_failed: Annotated[bool, typer.Option(help="Repeat replications that ended in an error.")] = False,
    descents: Annotated[
        int,
        typer.Option(
            help="Number of replications whose fit is repeated for distances to a fairest point found by descent."
        ),
    ] = 0,
) -> None:
    """Recompute the published Monte Carlo study; an interrupted run continues where it stopped."""
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
    repetitions: Annotated[
        int, typer.Option(help="Number of seeds of the tests, and of random halves for the rules.")
    ] = 20,
    out: Annotated[Path, typer.Option(help="Directory of the stored results, tables and figures.")] = Path("hospital"),
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for all cores.")] = -1,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler, or 'local'.")] = None,
    draws: Annotated[int, typer.Option(help="Number of bootstrap draws.")] = 1000,
    rows: Annotated[int, typer.Option(help="Number of patients of the look-alike.")] = 48_784,
    rules: Annotated[
        bool, typer.Option(help="Whether to learn rules on random halves as well (Table III, Figure 8).")
    ] = True,
) -> None:
    """Recompute the published hospital study; an interrupted run continues where it stopped."""
    console = _console()
    try:
        if study != "hospital":
            raise InputError("bad-option", f"The study must be 'hospital'; got {study!r}.")
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


@app.command()
def version() -> None:
    """Print the version."""
    from . import __version__

    typer.echo(__version__)


def _audit(console: Console, plan: AuditPlan, out: Path, jobs: int | None, *, pdf: bool = False) -> Audit:
    """Run an audit, write it and print the verdicts."""
    from .audit.run import run_audit
    from .audit.write import PAGE, PAPER, RECORD, check_folder, write_audit
    from .data.checks import check_n_jobs
    from .progress import progress_bar
    from .report.sentences import ban_line, beside_verdict, pair_lines, verdict_line

    check_n_jobs(jobs, "--jobs")
    console.print("\n".join(plan.lines()) + "\n")
    check_folder(out, pdf=pdf)
    if replaced := (out / RECORD).exists():
        console.print(f"{out} has an earlier audit, which is replaced when this one is done.\n")
    with progress_bar("Auditing", show=True, lines=True) as progress:
        finished = run_audit(plan, n_jobs=jobs, progress=_unless_stopped(progress))
    write_audit(finished, out, pdf=pdf)
    for algorithm in finished.record.algorithms:
        console.print(printable(verdict_line(algorithm, finished.record)))
        for line in beside_verdict(algorithm):
            console.print(f"  {printable(line)}")
    for line in pair_lines(finished.record):
        console.print(printable(line))
    if (ban := ban_line(finished.record)) is not None:
        console.print(printable(ban))
    for warning in finished.record.warnings:
        console.print(f"Note: {printable(warning)}")
    on_paper = f"\nPaper:  {out / PAPER}" if pdf else ""
    console.print(f"Report: {out / PAGE}{on_paper}\nRecord: {out / RECORD}")
    if replaced:
        console.print(f"The earlier audit in {out} was replaced.")
    return finished


_stopped_by: list[BaseException] = []


def _stop(number: int, frame: FrameType | None) -> None:
    """Stop now; an exception that some library swallows is raised again before the next step."""
    _stopped_by.append(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(143))
    raise _stopped_by[-1]


def _unless_stopped(progress: Report | None) -> Report:
    def report(done: int, total: int, text: str) -> None:
        if _stopped_by:
            raise _stopped_by[-1]
        if progress is not None:
            progress(done, total, text)

    return report


def _value(option: Option, typed: Typed) -> Value:
    """Return what was typed for an option as a value of the request."""
    if typed is None or isinstance(typed, str | float | int):
        return typed
    if not typed:
        return None
    if option.name == "models":  # a name may be left out
        typed = [text if "=" in text else f"{Path(text).stem}={text}" for text in typed]
    if option.kind in LISTS:
        return LISTS[option.kind](typed, option.flag)
    if option.split and len(typed) == 1:
        return tuple(label.strip() for label in typed[0].split(","))
    return tuple(typed)


def _numbers(typed: Sequence[str], flag: str) -> tuple[float, ...]:
    return tuple(_number(part, flag) for text in typed for part in text.split(","))


def _named_numbers(typed: Sequence[str], flag: str) -> dict[str, float]:
    named = [_named(text, flag, "NUMBER") for text in typed]
    twice = [name for j, (name, _) in enumerate(named) if name in [other for other, _ in named[:j]]]
    if twice:
        raise InputError("bad-option", f"{flag} is given more than once for {twice[0]!r}: give one number for each.")
    return {name: _number(text, flag) for name, text in named}


def _number(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError("bad-option", f"{flag} must be a number; got {text.strip()!r}.") from error


def _named_columns(typed: Sequence[str], flag: str) -> dict[str, str]:
    from .data.variables import check_names

    found = [_named(text, flag, "COLUMN") for text in typed]
    check_names([name for name, _ in found])
    return dict(found)


def _named_lists(typed: Sequence[str], flag: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for text in typed:
        name, labels = _named(text, flag, "A,B")
        found[name] = (*found.get(name, ()), *(label.strip() for label in labels.split(",")))
    return found


def _named(text: str, flag: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise InputError("bad-option", f"{flag} must be NAME={what}; got {text!r}.")
    return name, value


LISTS: Mapping[Kind, Callable[[Sequence[str], str], Value]] = {
    Kind.NUMBERS: _numbers,
    Kind.NAMED_COLUMNS: _named_columns,
    Kind.NAMED_NUMBERS: _named_numbers,
    Kind.NAMED_LISTS: _named_lists,
}
"""Readers of what was typed for options that may be repeated."""


def _complain(error: Exception) -> None:
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)
    console.print(f"Error: {printable(str(error))}")


def _console() -> Console:
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):  # signs that the terminal cannot show must not end an audit
        sys.stdout.reconfigure(errors="backslashreplace")
    return Console(soft_wrap=True, highlight=False, markup=False, emoji=False)


@contextmanager
def _exit_codes(console: Console) -> Iterator[None]:
    """Turn errors of the package into a message and exit code 2, an interruption into 130; clean up on termination."""
    _stopped_by.clear()
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGINT)}
    hook = sys.unraisablehook

    def unless_stopped(what: sys.UnraisableHookArgs) -> None:
        # a stop that fell into a library's callback, such as that of loading compiled code, is not lost
        if not any(what.exc_value is stop for stop in _stopped_by):
            hook(what)

    sys.unraisablehook = unless_stopped
    try:
        yield
    except FairFrontierError as error:
        _complain(error)
        raise typer.Exit(2) from error
    except MemoryError as error:
        _complain(MemoryError(f"The audit needs more memory than there is: {error}. Use fewer draws or rows."))
        raise typer.Exit(2) from error
    except (KeyboardInterrupt, typer.Abort) as error:
        console.print("Interrupted; nothing was written.")
        raise typer.Exit(130) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
