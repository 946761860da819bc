"""The seed decides every bit: not the number of jobs, their kind, the size of chunks, the process or its threads.

Golden results tell when numbers change from one version to the next.
"""

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from support.codes import group_codes
from support.everything import differing, estimates
from support.people import people
from support.same_bits import fit, fit_external, hashes, in_use, of_fits, of_questions, of_reports
from threadpoolctl import threadpool_limits

import fairfrontier.bootstrap.capped
from fairfrontier import FairFrontier, evaluate
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.learning.learners import PRESETS, TrainingRows, resolve_learner

HERE = Path(__file__).resolve().parent
FEW = ("logit-lasso", "forest", "boosting")
"""One learner of each kind: own solver, random rows and splits, tuned by growing."""

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")


# --- jobs, their kind, and chunks -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def questions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return of_questions()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return of_reports(tmp_path_factory.mktemp("reports"))


def test_two_runs_of_another_seed_differ():
    """What the tests below compare does depend on the seed."""
    one, other = (fit("logit-lasso", random_state=seed) for seed in (7, 8))
    assert not np.array_equal(one.nuisance_.predictions, other.nuisance_.predictions)
    one, other = (ff.test_lda(in_use(), method="sharp") for ff in (one, other))
    assert one.draws.tobytes() != other.draws.tobytes()


@cache
def fits(learner):
    """What the fits of a learner give here."""
    return of_fits([learner])


@pytest.mark.parametrize("learner", FEW)
def test_fits_know_neither_jobs_nor_backends(learner):
    expected = fits(learner)
    for backend, n_jobs in (("loky", 2), ("threading", 3)):
        with parallel_config(backend=backend):
            assert differing(of_fits([learner], n_jobs), expected) == [], (backend, n_jobs)


def test_fits_with_the_same_tuning_share_no_model():
    X, y, g = people(200, seed=5)
    learner, seed = resolve_learner("lasso"), np.random.SeedSequence(1)
    rows = TrainingRows(X, 1.0 - 2.0 * y, group_codes(g == "women"), 2)
    tuning = learner.tune(0, rows, seed)
    first = learner.fit(0, rows, seed, tuning)
    before = first.predict(X).mean
    learner.fit(0, rows.take(np.arange(50)), seed, tuning)
    np.testing.assert_array_equal(first.predict(X).mean, before)


@pytest.mark.slow
@pytest.mark.parametrize("learner", sorted(set(PRESETS) - set(FEW)))
def test_fits_of_other_learners_know_neither_jobs_nor_backends(learner):
    expected = of_fits([learner])
    for backend in ("loky", "threading"):
        with parallel_config(backend=backend):
            assert differing(of_fits([learner], 2), expected) == [], backend


@pytest.mark.parametrize(
    ("backend", "n_jobs"),
    [pytest.param("loky", 2, marks=pytest.mark.slow), ("threading", 3)],  # draws are spread over threads either way
)
def test_answers_know_neither_jobs_nor_backends(backend, n_jobs, questions):
    with parallel_config(backend=backend):
        assert differing(of_questions(n_jobs), questions) == []


def test_reports_know_no_jobs(reports, tmp_path):
    with parallel_config(backend="threading"):
        assert differing(of_reports(tmp_path, 2), reports) == []


@pytest.mark.parametrize("batch", [1, 7, 99])
def test_capped_draws_know_no_batches(batch, monkeypatch):
    ff = fit_external()
    test = ff.test_lda(in_use(), capacity=0.4)
    monkeypatch.setattr(fairfrontier.bootstrap.capped, "BATCH", batch)
    again = ff.test_lda(in_use(), capacity=0.4)
    assert again.draws.tobytes() == test.draws.tobytes()
    assert again.statistic == test.statistic


def test_more_draws_keep_the_first_ones():
    few, more = (fit_external().set_params(n_boot=n_boot) for n_boot in (99, 150))
    for method in ("robust", "paper"):
        one, other = (ff.test_lda(risks=[0.4, 0.5], method=method) for ff in (few, more))
        if np.array_equal(one.evidence.direction, other.evidence.direction):
            np.testing.assert_array_equal(other.draws[:99], one.draws)
    one, other = (ff.feasible_set().confidence_band() for ff in (few, more))
    np.testing.assert_array_equal(other.sup_t[:99], one.sup_t)


@pytest.mark.parametrize("kind", ["frontier", "pareto"])
def test_points_tested_together_or_alone_agree_up_to_rounding(kind):
    """A matrix product may round the last bit by the number of its rows, which no p-value notices."""
    ff = fit_external()
    points = np.random.default_rng(0).uniform(0.3, 0.6, size=(300, 2))
    test = getattr(ff, f"test_{kind}")
    together = test(points, directions=40)
    for k in (0, 1, 255, 256, 299):
        alone = test(points[[k]], directions=40)
        assert alone.statistic[0] == pytest.approx(together.statistic[k], abs=1e-12)
        assert alone.p_value[0] == together.p_value[k]


# --- threads of numerical libraries, and other processes ---------------------------------------------------


def test_answers_know_no_threads_of_the_linear_algebra():
    """With so many rows products of vectors are split over threads, and their last bits would tell by how many."""
    rng = np.random.default_rng(0)
    n = 26_000
    y, g, t = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=(n, 2))
    score = rng.random(n)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            ff = FairFrontier(n_boot=99, random_state=0, loss=lambda d, y: (d - 0.3 * y) ** 2 + 0.1)
            ff.fit(None, y, sensitive_features=g, external_nuisance=t, sample_weight=0.5 + score)
            own = ff.test_lda(score, randomised=True)
            capped = ff.frontier(n_points=3, capacity=0.3)
            table = evaluate(score, None, y, g, loss="squared", sample_weight=0.5 + score).table.to_numpy()
            found.append(
                estimates(ff, score) | {"draws": own.draws, "risk": own.risk, "capped": capped.points, "other": table}
            )
    assert differing(*found) == []


def start_fresh(learners, **environment):
    """Compute all hashes in a new process."""
    environment = {key: str(value) for key, value in environment.items()}
    command = [sys.executable, "-W", "error", "-m", "support.same_bits", *learners]
    return subprocess.Popen(command, cwd=HERE, env=os.environ | environment, stdout=subprocess.PIPE, text=True)


def read_fresh(process):
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


def test_other_processes_give_the_same_bits(questions, reports):
    started = start_fresh(FEW, PYTHONHASHSEED=1, OMP_NUM_THREADS=2, OPENBLAS_NUM_THREADS=2, NUMBA_NUM_THREADS=1)
    expected = hashes(questions | reports | {name: found for one in FEW for name, found in fits(one).items()})
    assert read_fresh(started) == expected


@pytest.mark.slow
def test_other_processes_give_the_same_bits_for_all_learners(questions, reports):
    expected = hashes(questions | reports | of_fits(PRESETS))
    for number, threads in ((2, 1), (3, 3)):
        environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        assert read_fresh(start_fresh(PRESETS, PYTHONHASHSEED=number, **environment)) == expected


# --- golden results ---------------------------------------------------------------------------------------


def load_maker():
    spec = importlib.util.spec_from_file_location("golden_make", HERE / "golden" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = load_maker()


@pytest.mark.parametrize("name", ["external", *golden.LEARNERS])
def test_golden_results_have_not_changed(name):
    changes = golden.changes(name, golden.kept(name), golden.results(name))
    assert changes == [], "python tests/golden/make.py writes the new ones, if they are right"


@pytest.mark.parametrize("name", ["external", *golden.LEARNERS])
def test_golden_results_notice_changes(name):
    kept = golden.kept(name)
    assert golden.changes(name, kept, kept) == []
    for key in ("support", "lda robust: statistic", "lda robust: p-value", "fairest sharp: interval"):
        for share, noticed in ((0.9, False), (1.1, True)):
            moved = json.loads(json.dumps(kept))
            values = np.array(moved["plain"][key])
            values.flat[-1] += share * golden.tolerance(name, key)
            moved["plain"][key] = values.tolist()
            assert len(golden.changes(name, kept, moved)) == noticed, key
    without = {"plain": {key: value for key, value in kept["plain"].items() if key != "support"}}
    assert "plain: support is gone" in golden.changes(name, kept, without)
    assert "plain: support is new" in golden.changes(name, without, kept)
    other = {"plain": kept["plain"] | {"support": [[1.0]]}}
    assert any("had shape" in line for line in golden.changes(name, kept, other))
    lost = {"plain": kept["plain"] | {"area": float("nan")}}
    assert any("area differs by nan" in line for line in golden.changes(name, kept, lost))
