"""The results of the published Monte Carlo study that are kept with the package."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from fairfrontier.replication.comparison import compare
from fairfrontier.replication.descent import descent_task, replicate_descent
from fairfrontier.replication.store import open_store
from fairfrontier.replication.table1 import DESIGNS, replicate, settings, tasks

RESULTS = Path(__file__).resolve().parents[1] / "replication" / "results"
REPLICATIONS = {1000: 1000, 5000: 1000, 10000: 300}
IMITATED = ("imitation of the published, by descent", "imitation of the published, by infimum")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a copy of the kept store, opened with the settings of now: a later run would continue it."""
    path = tmp_path_factory.mktemp("kept") / "table1.sqlite"
    shutil.copy(RESULTS / "table1.sqlite", path)
    kept, other = open_store(path, settings())
    assert not other, "the settings have changed: raise their number, and compute the table again"
    return kept


@pytest.fixture(scope="module")
def comparison(store):
    return compare(store)


def test_all_replications_are_there_and_none_failed(comparison):
    table = comparison.table[~comparison.table["procedure"].isin(IMITATED)]
    counts = table.groupby(["n", "design"])["replications"].agg(["min", "max"])
    assert list(counts.index) == [(n, design) for n in REPLICATIONS for design in DESIGNS]
    for (n, _), (fewest, most) in counts.iterrows():
        assert fewest == most >= REPLICATIONS[n]
    assert comparison.failed == 0
    assert comparison.versions


def test_the_kept_tables_are_those_of_the_kept_store(comparison, tmp_path):
    pd.testing.assert_frame_equal(pd.read_csv(RESULTS / "table1.csv"), comparison.table, rtol=1e-12)
    tex = comparison.write(tmp_path)[2]
    assert tex.read_text() == (RESULTS / tex.name).read_text()


def test_best_points_skew_and_lda_agree_with_the_published_rates(comparison):
    table = comparison.table
    as_published = table[(table["procedure"] == "as published") & (table["test"] != "distance")]
    assert len(as_published) == 6 * (2 + 4)
    assert as_published["z"].abs().max() < 3.5


@pytest.mark.parametrize("procedure", IMITATED)
def test_imitated_distances_agree_with_the_published_rates_and_exact_ones_do_not(comparison, procedure):
    distance = comparison.table[comparison.table["test"] == "distance"].set_index("procedure")
    imitated = distance.loc[procedure]
    assert len(imitated) == 6 * 4
    assert imitated[imitated["n"] == 1000]["replications"].min() >= 100
    assert imitated["z"].abs().max() < 3.5
    for exact in ("published test, exact", "published test, exact, no kinks"):
        assert distance.loc[exact].query("n == 1000")["z"].abs().max() > 3.5


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("design", DESIGNS)
def test_the_code_of_now_gives_what_was_kept(store, design):
    """A change of the package that changes results must raise the number of the settings."""
    task = tasks(18, (1000,), (design,), settings())[-1]
    for name, do in ((task.name, replicate), (descent_task(task).name, replicate_descent)):
        kept = next(row.result for row in store.rows() if row.task == name)
        now, _ = do(*task.arguments)
        assert set(now) == set(kept)
        for key, value in kept.items():
            # other versions of the libraries round otherwise, which can move a draw across a statistic
            assert now[key] == pytest.approx(value, abs=0.003, rel=1e-3), key
