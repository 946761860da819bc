"""What rules attain in the population, by Monte Carlo: consistency, improvements, size under a capacity."""

import pytest
from support.rules_study import run_study

pytestmark = pytest.mark.slow

DESIGNS = ["balanced", "skewed"]


def test_rules_approach_the_population_frontier():
    """At 50,000 rows: eight directions within .01 in both coordinates and the egalitarian rule within .015 of F."""
    table = run_study("consistency", 50_000, 2)
    print(table.to_string())
    assert table[[f"direction {k}" for k in range(8)]].to_numpy().max() <= 0.01
    assert table["F"].max() <= 0.015


def test_unflagged_alternatives_improve_in_the_population():
    table = run_study("improvements", 5000, 20).groupby("design")[["unflagged", "real unflagged"]].sum()
    print(table.to_string())
    assert (table["unflagged"] > 50).all()
    assert (table["real unflagged"] >= 0.9 * table["unflagged"]).all()


def test_size_under_a_capacity_of_a_tenth():
    table = run_study("capped_size", 1000, 400).drop(columns=["replication", "n"]).set_index("design")
    rates = (table <= 0.05).groupby("design").mean().T
    print(rates.round(3).to_string())
    nulls = rates[rates.index.str.contains("optimal")]
    assert nulls[nulls.index.str.startswith("robust")].to_numpy().max() <= 0.055
    assert nulls[nulls.index.str.startswith("sharp")].to_numpy().max() <= 0.08
