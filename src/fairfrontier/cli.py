"""The command line: ``fairfrontier demo``, ``simulate``, ``replicate`` and ``version``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from . import __version__
from .datasets import hospital_truth, make_hospital
from .datasets.hospital import GROUPS as HOSPITAL_GROUPS
from .errors import FairFrontierError, InputError
from .frontier import FairFrontier
from .inference.distance_results import DistanceIntervals
from .inference.results import LDATests

DEMO_STORY = """\
A hospital has places in a care programme for a tenth of its patients. Two scores could choose them: one predicts what
a patient will cost, the other how many chronic conditions a patient will have. A patient needs the programme who will
have more than three. Less is spent on Black patients than on White ones who are as ill. The patients are made up.
"""

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Audit decision algorithms for two groups.")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for the picture.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option(help="Patients of the generated hospital.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the patients and of everything after them.")] = 1,
) -> None:
    """Audit two scores of a generated hospital: print what is found, draw the picture."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(DEMO_STORY)
    try:
        patients = make_hospital(rows, seed)
        algorithms = {f"{name}, top tenth": patients.treated(name, 90.0) for name in patients.scores.columns}
        ff = FairFrontier(learner="factored-logit", groups=HOSPITAL_GROUPS, random_state=seed, verbose=True)
        ff.fit(patients.X, patients.y, sensitive_features=patients.sensitive_features)
        tests = cast(LDATests, ff.test_lda(algorithms))
        region, skew = ff.frontier_confidence_set(), ff.test_group_skew()
        distances = cast(DistanceIntervals, ff.distance_to_fairest(algorithms))
    except FairFrontierError as error:
        console.print(f"Error: {error}")
        raise typer.Exit(2) from error
    console.print(ff.summary())
    for test in tests.values():
        console.print("\n" + test.summary())
    console.print("\n" + skew.summary())
    console.print("\n" + distances.summary())
    console.print("\n" + _demo_truth(ff))
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "frontier.png"
    ff.plot(decisions=algorithms, region=region, zoom=True).figure.savefig(picture, dpi=150)
    console.print(f"\nPicture: {picture}")


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
) -> None:
    """Recompute the published Monte Carlo study; stop it at any time, the next run goes on where it was."""
    from .replication.simulation import simulate_table1

    console = Console(soft_wrap=True, highlight=False, markup=False)
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
        )
    except (FairFrontierError, ValueError) as error:
        console.print(f"Error: {error}")
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
    console = Console(soft_wrap=True, highlight=False, markup=False)
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
        console.print(f"Error: {error}")
        raise typer.Exit(2) from error


def _demo_truth(ff: FairFrontier) -> str:
    """Compare the estimated points with those of the population, which are known because it is generated."""
    truth = hospital_truth()
    estimates = ff.points_.to_numpy()[:, :2]
    lines = ["The patients are generated, so the population's values are known (estimates in brackets):"]
    for name, true, estimate in zip(ff.points_.index, (truth.R, truth.B, truth.F), estimates, strict=True):
        pairs = ", ".join(f"{g} {t:.3f} ({e:.3f})" for g, t, e in zip(ff.groups_, true, estimate, strict=True))
        lines.append(f"  {name}: {pairs}")
    return "\n".join(lines)
