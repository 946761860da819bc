"""The published LDA test on two cases worked by the authors' R programs."""

import json

import numpy as np
import pandas as pd
import pytest
from support.shared import shared_path

from fairfrontier import FairFrontier

CASES = ("case0", "case2")


def load(case, **options):
    table = pd.read_csv(shared_path("reference", "r-cases", f"{case}.csv"))
    expected = json.loads(shared_path("reference", "r-cases", f"{case}.json").read_text())
    ff = FairFrontier(**({"random_state": 0} | options)).fit(
        None, table["Y"], sensitive_features=table["G"], external_nuisance=table[["dr", "db"]].to_numpy()
    )
    assert ff.groups_ == (1, 0)
    assert ff.n_obs_ == expected["n"]
    return ff, table, expected


def both_kinds(ff, table, expected, **options):
    """Results for the two algorithms and for the four points, each with what R found."""
    decisions = {name: table[name] for name in expected["lda_algorithms"]["columns"]}
    algorithms = ff.test_lda(decisions, randomised=True, method="paper", **options)
    points = ff.test_lda(risks=expected["lda_points"]["points"], method="paper", **options)
    return (
        (list(algorithms.values()), expected["lda_algorithms"]),
        (list(points.values()), expected["lda_points"]),
    )


@pytest.mark.parametrize("case", CASES)
def test_statistics_and_critical_values(case):
    ff, table, expected = load(case, n_boot=1000)
    for tests, r in both_kinds(ff, table, expected, directions=expected["directions"]):
        np.testing.assert_allclose([t.statistic for t in tests], r["statistic"], rtol=0, atol=1e-8)
        for test, statistic, critical in zip(tests, r["statistic"], r["critical_value_95"], strict=True):
            assert test.statistic == pytest.approx(test.feasibility + test.separation, abs=1e-12)
            own = test.critical_value_error
            # R's quantile has the same standard error, scaled to its own number of draws
            theirs = own * np.sqrt(1000 / expected["n_boot"])
            assert 0.0 < own < 0.2
            assert abs(test.critical_value - critical) <= 4.0 * np.hypot(own, theirs)
            if abs(statistic - critical) > 4.0 * np.hypot(own, theirs):
                assert test.reject == (statistic > critical)


@pytest.mark.parametrize("case", CASES)
def test_exact_directions_bound_every_grid(case):
    ff, table, expected = load(case, n_boot=99)
    exact = [both_kinds(ff, table, expected, directions=d) for d in ("exact", None)]
    for (first, _), (second, _) in zip(*exact, strict=True):  # exact is the default
        assert [t.statistic for t in first] == [t.statistic for t in second]
    for directions in (8, 37, 100, 360, 1000, 4999):
        for (grid, _), (best, _) in zip(both_kinds(ff, table, expected, directions=directions), exact[0], strict=True):
            for g, b in zip(grid, best, strict=True):
                assert b.feasibility >= g.feasibility - 1e-12
                assert b.separation <= g.separation + 1e-12
    fine = both_kinds(ff, table, expected, directions=20_000)
    for (grid, _), (best, _) in zip(fine, exact[0], strict=True):
        for g, b in zip(grid, best, strict=True):  # and a fine grid comes close
            assert b.feasibility == pytest.approx(g.feasibility, abs=0.1)
            assert b.separation == pytest.approx(g.separation, abs=0.1)
