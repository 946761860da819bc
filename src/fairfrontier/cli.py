"""The command line: ``fairfrontier demo`` and ``fairfrontier version``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from . import __version__
from .datasets import make_liu_molinari
from .errors import FairFrontierError
from .frontier import FairFrontier
from .inference.distance_results import DistanceIntervals
from .inference.results import LDATests

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Audit decision algorithms for two groups.")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Directory for the picture.")] = Path("demo-output"),
    rows: Annotated[int, typer.Option(help="Rows of the generated sample.")] = 5000,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of everything after it.")] = 1,
) -> None:
    """Fit a generated sample and a logistic algorithm in use: print the summary, draw the picture."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    try:
        X, y, group = make_liu_molinari(rows, design="skewed", random_state=seed)
        ff = FairFrontier(learner="factored-logit", random_state=seed, verbose=True)
        ff.fit(X, y, sensitive_features=group)
        score = _status_quo(seed).predict_proba(X)[:, 1]
        algorithms = {"the logistic lottery": score, "the logistic rule cut at 1/2": (score > 0.5).astype(float)}
        tests = cast(LDATests, ff.test_lda(algorithms, randomised=True))
        region, skew = ff.frontier_confidence_set(), ff.test_group_skew()
        distances = cast(DistanceIntervals, ff.distance_to_fairest(algorithms, randomised=True))
    except FairFrontierError as error:
        console.print(f"Error: {error}")
        raise typer.Exit(2) from error
    console.print(ff.summary())
    console.print("\nTwo algorithms in use: a logistic regression whose probability is the chance of treatment,")
    console.print("and the same regression treating everyone above one half.")
    for test in tests.values():
        console.print("\n" + test.summary())
    console.print("\n" + skew.summary())
    console.print("\n" + distances.summary())
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "frontier.png"
    ff.plot(decisions=algorithms, region=region, skew=skew).figure.savefig(picture, dpi=150)
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


def _status_quo(seed: int) -> LogisticRegression:
    """Train the algorithm in use once, on 5,000 rows of each design."""
    one, other = make_liu_molinari(5000, "balanced", [seed, 0]), make_liu_molinari(5000, "skewed", [seed, 1])
    model = LogisticRegression(C=float("inf"), max_iter=1000)
    return model.fit(pd.concat([one.X, other.X]), np.concatenate([one.y, other.y]))
