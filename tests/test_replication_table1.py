"""The replication of the published Monte Carlo study: replications, comparison with the published rates, command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.small_table1 import SMALL, quick_settings
from typer.testing import CliRunner

from fairfrontier.cli import app
from fairfrontier.replication import figure5, simulation
from fairfrontier.replication.comparison import PROCEDURES, compare, stored_as
from fairfrontier.replication.store import Row, open_store, read_store
from fairfrontier.replication.table1 import PUBLISHED, replicate, settings, tasks, true_points, versions

SCRIPT = Path(__file__).resolve().parents[1] / "replication" / "table1.py"


def columns():
    """Every stored number that the comparison looks for."""
    found = (
        stored_as(test, procedure, cell)
        for (test, _, _), cells in PUBLISHED.items()
        for procedure in PROCEDURES[test]
        for cell in cells
    )
    return [column for column in found if column is not None]


def test_the_published_table_is_complete():
    assert len(PUBLISHED) == 3 * 3 * 2
    assert sum(len(cells) for cells in PUBLISHED.values()) == 6 * (2 + 4 + 4)


def test_tasks_are_numbered_within_each_design_and_size():
    found = tasks(3, (1000, 5000), ("balanced", "skewed"), SMALL)
    assert len({task.name for task in found}) == 12
    assert [task.name for task in found[:2]] == ["balanced/001000/000000", "skewed/001000/000000"]
    assert found[-1].arguments == (2, 5000, "skewed", SMALL)
    assert {task.name for task in tasks(2, (1000,), ("skewed",), SMALL)} <= {task.name for task in found}


def test_the_true_points():
    balanced, skewed = true_points("balanced"), true_points("skewed")
    assert balanced["R"][0] < balanced["B"][0]
    assert skewed["B"][1] < skewed["R"][1]
    for points in (balanced, skewed):
        assert points["F"][0] == pytest.approx(points["F"][1])
        np.testing.assert_allclose(points["(R+B)/2"], (points["R"] + points["B"]) / 2)
        assert (points["e*"] > 0.3).all()


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("design", ["balanced", "skewed"])
def test_a_replication_depends_on_its_number_alone(design):
    result, seconds = replicate(4, 300, design, SMALL)
    if design == "skewed":
        assert replicate(4, 300, design, SMALL)[0] == result
    assert replicate(5, 300, design, SMALL)[0] != result
    assert {column for column in columns() if not column.startswith("quasi-Newton: ")} <= set(result)
    assert all(0.0 <= value <= 1.0 for name, value in result.items() if not name.endswith(("low", "high")))
    for name in ("R", "B", "(R+B)/2", "e*"):
        assert 0.0 <= result[f"own: distance {name} low"] <= result[f"own: distance {name} high"]
    assert json.loads(json.dumps(result)) == result
    assert set(seconds) == {f"{kind} {part}" for kind in ("published", "own") for part in ("fit", "inference")}
    # a test that looks at some pairs of the null finds no larger p-value than one that looks at all, up to its lattice
    assert result["published: weak skew rejected, random pairs"] <= result["published: weak skew rejected"] + 0.03


@pytest.fixture
def made_up(tmp_path):
    """A store with 200 replications of one design and size, whose p-values are uniform, and one failure."""
    store, _ = open_store(tmp_path / "table1.sqlite", settings())
    rng = np.random.default_rng(1)
    values = {}
    for number in range(200):
        result = {c: float(rng.integers(2) if "distance" in c else rng.random()) for c in sorted(set(columns()))}
        values[number] = result
        store.add(Row(f"balanced/001000/{number:06d}", result, None, {"published fit": 2.0, "own fit": number / 100}))
    store.add(Row("balanced/001000/000200", None, "ValueError: no", {"all": 1.0}))
    return store, pd.DataFrame(values).T


def test_rates_intervals_and_z_by_hand(made_up):
    store, values = made_up
    found = compare(store)
    assert found.failed == 1
    assert len(found.table) == 3 + 2 + 4 * 4 + 4 * 4
    for _, line in found.table.iterrows():
        column = stored_as(line["test"], line["procedure"], line["cell"])
        hits = values[column] == 1.0 if line["test"] == "distance" else values[column] <= 0.05
        rate, published = hits.mean(), PUBLISHED[line["test"], 1000, "balanced"][line["cell"]]
        assert (line["rate"], line["published"], line["replications"]) == (rate, published, 200)
        # Wilson: the rates r with |rate - r| <= z sqrt(r (1 - r) / n)
        z = stats.norm.isf(0.025)
        for end in (line["low"], line["high"]):
            assert abs(rate - end) == pytest.approx(z * np.sqrt(end * (1 - end) / 200), abs=1e-9)
        if line["procedure"].startswith("own"):
            assert np.isnan(line["z"])
            assert not line["differs"]
            continue
        pooled = (200 * rate + 1000 * published) / 1200
        error = np.sqrt(pooled * (1 - pooled) * (1 / 200 + 1 / 1000))
        assert line["z"] == pytest.approx((rate - published) / error)
    flagged = found.table[found.table["differs"]]
    assert set(flagged["test"]) == {"best points", "LDA", "distance"}  # made-up rates are far from the published ones
    largest = found.largest_z().set_index(["test", "procedure"])
    assert set(largest.index.get_level_values("test")) == {"best points", "LDA", "distance"}
    for (test, procedure), (cells, z) in largest.iterrows():
        own = found.table[(found.table["test"] == test) & (found.table["procedure"] == procedure)]
        assert (len(own), own["z"].abs().max()) == (cells, z)
    assert largest["cells"].sum() == 2 + 1 + 2 * 4 + 3 * 4
    assert found.cost.loc[0, "published fit"] == 2.0
    assert found.cost.loc[0, "own fit"] == pytest.approx(np.arange(200).mean() / 100)


def test_the_table_is_written_as_text_csv_and_latex(made_up, tmp_path):
    found = compare(made_up[0])
    paths = found.write(tmp_path / "out")
    assert [path.name for path in paths] == ["table1.txt", "table1.csv", "table1.tex"]
    text, csv, tex = (path.read_text() for path in paths)
    assert "Failed replications: 1" in text
    assert '"n_boot": 1000' in text
    assert "Versions" not in text  # none were noted
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out" / "table1.csv"), found.table, check_exact=False)
    assert csv.count("\n") == len(found.table) + 1
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 3
    assert all(line.count("&") in (5, 7) for line in tex.splitlines() if "&" in line)


def test_an_empty_store_compares_nothing(tmp_path):
    store, _ = open_store(tmp_path / "table1.sqlite", settings())
    found = compare(store)
    assert len(found.table) == 0
    assert len(found.largest_z()) == 0
    assert "Failed replications: 0" in found.text()


def simulate(out, *options):
    return CliRunner().invoke(app, ["simulate", "--out", str(out), "--jobs", "1", *options])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--n", "123"], "Sample sizes must be among"),
        (["--n", "many"], "invalid literal"),
        (["--designs", "other"], "Designs must be among"),
        (["--replications", "0"], "at least one replication"),
        (["--jobs", "0"], "at least 1, or -1"),
        (["--descents", "-1"], "must not be negative"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(tmp_path, options, text):
    result = simulate(tmp_path, *options)
    assert result.exit_code == 2
    assert text in result.output
    assert not (tmp_path / "table1.sqlite").exists()


def test_the_command_continues_and_starts_another_store_for_other_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "settings", quick_settings)
    options = ["--n", "1000", "--designs", "balanced", "--draws", "99"]
    first = simulate(tmp_path, "--replications", "1", *options, "--descents", "1")
    assert first.exit_code == 0, first.output
    assert "1 replications, 0 of them" in first.output
    assert "1 distances by descent, 0 of them" in first.output
    table = (tmp_path / "table1.csv").read_bytes()
    assert f"Versions: {json.dumps(versions(), sort_keys=True)}" in (tmp_path / "table1.txt").read_text()
    again = simulate(tmp_path, "--replications", "1", *options)
    assert "0 to be done" in again.output
    assert (tmp_path / "table1.csv").read_bytes() == table
    other = simulate(tmp_path, "--replications", "1", "--n", "1000", "--designs", "balanced", "--draws", "109")
    assert "made with other settings" in other.output
    assert "1 to be done" in other.output
    assert (tmp_path / "table1.csv").read_bytes() == table
    assert len(list(tmp_path.glob("table1-*.sqlite"))) == 1


def test_figure_5(tmp_path, monkeypatch):
    monkeypatch.setattr(figure5, "settings", quick_settings)
    paths = figure5.draw_figure5(tmp_path, rows=600, n_boot=99)
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert all(path.stat().st_size > 20_000 for path in paths)
    assert "skewed design" in paths[1].read_text()


@pytest.mark.slow
def test_a_study_killed_ten_times_gives_the_table_of_an_undisturbed_one(tmp_path):
    options = ["--replications", "10", "--n", "1000", "--draws", "99", "--jobs", "2"]
    command = [sys.executable, str(SCRIPT), "--out"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.monotonic()
    subprocess.run([*command, str(tmp_path / "calm"), *options], check=True, **quiet)
    undisturbed = time.monotonic() - start
    rng, store, finished = np.random.default_rng(2), tmp_path / "killed" / "table1.sqlite", []
    for _ in range(10):
        process = subprocess.Popen([*command, str(tmp_path / "killed"), *options], start_new_session=True, **quiet)
        time.sleep(0.5 * undisturbed * rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        finished.append(len(read_store(store).finished()) if store.exists() and store.stat().st_size else 0)
    assert any(0 < number < 20 for number in finished), f"finished at the kills, of 20: {finished}"
    subprocess.run([*command, str(tmp_path / "killed"), *options], check=True, **quiet)
    for name in ("table1.csv", "table1.tex"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "calm" / name).read_bytes()


@pytest.mark.slow
def test_a_dask_cluster_gives_the_rows_of_this_process_to_the_bit(tmp_path):
    pytest.importorskip("distributed")
    options = ["--replications", "2", "--n", "1000", "--draws", "99", "--descents", "1"]
    stored = []
    for where in (["--jobs", "1"], ["--jobs", "2", "--dask", "local"]):
        out = tmp_path / where[-1]
        # in a process of its own: dask's workers import the main module again
        command = [sys.executable, str(SCRIPT), "--out", str(out), *options, *where]
        threads = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        subprocess.run(command, check=True, env=threads, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stored.append([(row.task, row.result, row.error) for row in read_store(out / "table1.sqlite").rows()])
    assert len(stored[0]) == 2 * (2 + 1)
    assert stored[0] == stored[1]
