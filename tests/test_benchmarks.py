"""The gate of the benchmarks: what counts as a regression, as noise, and as missing."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import __main__ as command
from benchmarks import bench_load, gate
from fairfrontier import FairFrontier

REFERENCE = {"ratio": 80.0, "peak_bytes_per_row": 50.0, "largest_difference": 1e-16, "seconds": 0.07}


def support(**changes):
    """Return figures of the benchmark `support` as in the reference, but for some changes."""
    return REFERENCE | changes


def runs_of(*figures):
    """Return a benchmark that reports one set of figures after the other, and the list of those still to come."""
    left = list(figures)
    return lambda: left.pop(0), left


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ratio": 61.0}, "support: ratio was 80 and is 61: 31% worse"),  # more is better
        ({"peak_bytes_per_row": 65.5}, "support: peak_bytes_per_row was 50 and is 65.5: 31% worse"),  # less is better
        ({"ratio": float("nan")}, "support: ratio was 80 and is nan"),
    ],
)
def test_a_regression_is_told_with_old_and_new(changes, told):
    assert any(told in text for text in gate.shortfalls("support", support(**changes), REFERENCE))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ratio": 62.0},  # 29% worse
        {"peak_bytes_per_row": 64.5},
        {"ratio": 800.0, "peak_bytes_per_row": 5.0},  # better
        {"seconds": 70.0},  # seconds are not compared
        {"largest_difference": 5e-13},  # nor errors near rounding, which have a target only
    ],
)
def test_noise_and_improvements_pass(changes):
    assert gate.shortfalls("support", support(**changes), REFERENCE) == []
    assert gate.missing("support", support(**changes), REFERENCE) == []


def test_targets_count_whatever_the_reference():
    told = "support: ratio is 49, target >= 50"
    assert gate.shortfalls("support", support(ratio=49.0), support(ratio=49.0)) == [told]
    assert gate.shortfalls("support", support(ratio=49.0), None) == [told]
    assert gate.shortfalls("support", support(largest_difference=1e-11), REFERENCE) != []


@pytest.mark.parametrize("figure", REFERENCE)
def test_a_figure_no_longer_reported_is_missing(figure):
    figures = {name: value for name, value in REFERENCE.items() if name != figure}
    (told,) = gate.missing("support", figures, REFERENCE)
    assert figure in told
    assert "not reported" in told


@pytest.mark.parametrize("figure", ["ratio", "peak_bytes_per_row"])
def test_a_figure_not_in_the_reference_is_missing(figure):
    reference = {name: value for name, value in REFERENCE.items() if name != figure}
    (told,) = gate.missing("support", REFERENCE, reference)
    assert f"support: {figure} is not in the reference" in told
    assert gate.missing("support", REFERENCE, None) == []


def test_a_slow_run_is_repeated_and_its_best_figures_count():
    run, left = runs_of(
        support(ratio=40.0, peak_bytes_per_row=52.0), support(ratio=79.0, peak_bytes_per_row=90.0), support(ratio=1.0)
    )
    figures, runs = gate.settle("support", run, REFERENCE)
    assert runs == 2
    assert len(left) == 1
    assert (figures["ratio"], figures["peak_bytes_per_row"]) == (79.0, 52.0)


def test_a_regression_is_believed_after_three_runs():
    run, left = runs_of(*[support(ratio=55.0)] * 3, support())
    figures, runs = gate.settle("support", run, REFERENCE)
    assert (runs, len(left)) == (3, 1)
    assert gate.shortfalls("support", figures, REFERENCE) != []


def test_missing_figures_do_not_cause_repeats():
    run, left = runs_of({"ratio": 80.0}, support())
    assert gate.settle("support", run, REFERENCE) == ({"ratio": 80.0}, 1)
    assert len(left) == 1


def test_reference_figures_are_medians_with_their_spread():
    figures, spread = gate.typical([{"ratio": 4.0}, {"ratio": 6.0}, {"ratio": 5.0}])
    assert figures == {"ratio": 5.0}
    assert spread == {"ratio": pytest.approx(0.5)}


def test_every_benchmark_has_targets_and_every_target_a_benchmark():
    assert sorted(gate.TARGETS) == command.known_benchmarks()


@pytest.fixture
def bench(monkeypatch, tmp_path, capsys):
    """Return a function that runs the command with made-up figures of `support` and returns status and messages."""

    def call(figures, *arguments):
        module = ModuleType("benchmarks.bench_support")
        module.run = lambda: figures
        monkeypatch.setitem(sys.modules, "benchmarks.bench_support", module)
        status = command.main(["support", *arguments], tmp_path)
        return status, capsys.readouterr().err

    call.folder = tmp_path
    return call


def test_the_command_fails_on_a_regression_and_never_moves_its_reference(bench):
    status, _ = bench(REFERENCE, "--accept")
    assert status == 0
    accepted = (bench.folder / "latest.json").read_bytes()
    assert json.loads(accepted)["runs"] == {"support": 3}  # a reference is a median
    assert bench(support(ratio=75.0))[0] == 0
    status, messages = bench(support(ratio=55.0))
    assert status == 1
    assert "support: ratio was 80 and is 55" in messages
    assert (bench.folder / "latest.json").read_bytes() == accepted
    kept = json.loads((bench.folder / "run.json").read_text())
    assert kept["results"]["support"]["ratio"] == 55.0
    assert kept["runs"] == {"support": 3}
    assert "0.69 WORSE" in (bench.folder / "run.md").read_text()


def test_the_command_fails_without_a_reference(bench):
    status, messages = bench(REFERENCE)
    assert status == 1
    assert "support: ratio is not in the reference" in messages


def test_accepting_keeps_benchmarks_that_were_not_run_and_refuses_missed_targets(bench):
    bench(REFERENCE, "--accept")
    path = bench.folder / "latest.json"
    record = json.loads(path.read_text())
    record["results"]["rules"] = {"learner_share": 0.95}
    path.write_text(json.dumps(record))
    assert bench(support(ratio=60.0), "--accept")[0] == 0  # a regression may be accepted
    results = json.loads(path.read_text())["results"]
    assert results["rules"] == {"learner_share": 0.95}
    assert results["support"]["ratio"] == 60.0
    page = (bench.folder / "latest.md").read_text()
    assert "learner_share" in page
    assert "0.75" in page  # 60 against 80 before
    assert bench(support(ratio=10.0), "--accept")[0] == 1  # a missed target may not
    assert json.loads(path.read_text())["results"]["support"]["ratio"] == 60.0


@pytest.mark.parametrize("arguments", [["nonsense"], ["--accept", "--runs", "0"]])
def test_bad_arguments_are_refused(arguments, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments, tmp_path)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_slow_benchmarks_run_only_when_named():
    assert "load" not in command.read_arguments([]).names
    assert {"memory", "inference"} <= set(command.read_arguments([]).names)
    assert command.read_arguments(["load"]).names == ["load"]


def test_the_kept_reference_passes_its_own_gate():
    results = command.read_reference(command.RESULTS)["results"]
    assert set(results) >= {name for name in command.known_benchmarks() if name not in command.SLOW}
    for name, figures in results.items():
        assert gate.missing(name, figures, figures) == []
        assert gate.shortfalls(name, figures, figures) == []


HOLD = "import sys; held = bytearray({bytes}); print('held', flush=True); sys.stdin.read()"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of other processes is read from /proc")
def test_memory_of_processes_below_a_process_is_found():
    inner = HOLD.format(bytes=300_000_000)
    outer = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {inner!r}]).returncode)"
    command_line = [sys.executable, "-c", outer]
    with subprocess.Popen(command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        (peak,) = bench_load.worker_peaks(process.pid).values()
        own = bench_load.worker_peaks(os.getpid())
        process.stdin.close()
    assert 300_000_000 < peak < 400_000_000
    assert own[process.pid] < 100_000_000
    assert bench_load.worker_peaks(process.pid) == {}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of other processes is read from /proc")
def test_a_process_that_has_ended_does_not_overwrite_its_peak():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        while "State:\tZ" not in Path(f"/proc/{process.pid}/status").read_text():
            time.sleep(0.01)
        assert process.pid not in bench_load.worker_peaks(os.getpid())


@pytest.mark.slow
def test_an_analysis_in_a_process_of_its_own_is_measured_with_its_workers():
    figures = bench_load.measured("boosting", 400, 99, max_iter=5)
    if Path("/proc/self/status").exists():
        assert figures["workers"] >= bench_load.N_JOBS
        assert figures["peak_gigabytes"] > 0.4  # the libraries alone, in three processes
    assert min(figures["fit_seconds"], figures["inference_seconds"]) > 0.0
    assert figures["peak_gigabytes"] < 4.0


def test_generated_predictions_are_informative():
    X, given, decisions = bench_load.external_inputs(5000)
    ff = FairFrontier(random_state=0).fit(X, **given)
    assert (ff.nuisance_.quality["r2"] > 0.05).all()
    assert (ff.risks(decisions).risk < 0.5).all()
