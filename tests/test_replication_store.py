"""Replications are kept one by one, whatever happens to the processes that make them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.toy_study import contents, replicate, tasks
from threadpoolctl import threadpool_info, threadpool_limits

from fairfrontier.errors import FairFrontierError, InputError
from fairfrontier.replication import workers
from fairfrontier.replication.store import Row, open_store, read_store
from fairfrontier.replication.workers import Task, attempt, processes, run_tasks

TESTS = Path(__file__).parent


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "toy.sqlite", {"study": "toy"})[0]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What 40 replications leave behind when nothing disturbs them."""
    store, _ = open_store(tmp_path_factory.mktemp("undisturbed") / "toy.sqlite", {"study": "toy"})
    assert run_tasks(tasks(40), replicate, store) == 40
    return contents(store)


def test_rows_come_back_to_the_bit_and_in_order(store):
    rows = [
        Row("b/2", {"x": 0.1 + 0.2, "y": 1e-300}, None, {"fit": 1 / 3}),
        Row("a/1", None, "ValueError: no", {"all": 0.0}),
    ]
    for row in rows:
        store.add(row)
    assert list(store.rows()) == rows[::-1]
    assert store.finished() == {"a/1", "b/2"}
    assert store.has("a/1")
    assert not store.has("c")
    assert list(read_store(store.path).rows()) == rows[::-1]


def test_the_first_row_of_a_task_stays(store):
    assert store.add(Row("a", {"x": 1}, None, {}))
    assert not store.add(Row("a", {"x": 2}, None, {}))
    assert [row.result for row in store.rows()] == [{"x": 1}]


def test_a_failure_gives_way_to_a_result_and_to_nothing_else(store):
    assert store.add(Row("a", None, "MemoryError: no", {"all": 1.0}))
    assert not store.add(Row("a", None, "MemoryError: again", {"all": 2.0}))
    assert store.add(Row("a", {"x": 1}, None, {"fit": 3.0}))
    assert not store.add(Row("a", None, "MemoryError: no", {"all": 1.0}))
    assert list(store.rows()) == [Row("a", {"x": 1}, None, {"fit": 3.0})]


def test_versions_are_noted_once_and_are_no_settings(store):
    assert store.versions() == []
    for release in ("1", "2", "1"):
        store.note_versions({"numpy": release})
    assert store.versions() == [{"numpy": "1"}, {"numpy": "2"}]
    assert open_store(store.path, {"study": "toy"}) == (store, False)


def test_other_settings_start_another_store(tmp_path):
    first, other = open_store(tmp_path / "s.sqlite", {"n": 1})
    assert not other
    first.add(Row("a", {"x": 1}, None, {}))
    second, other = open_store(tmp_path / "s.sqlite", {"n": 2})
    assert other
    assert second.path != first.path
    assert second.finished() == set()
    assert second.path.name.startswith("s-")
    assert open_store(tmp_path / "s.sqlite", {"n": 1}) == (first, False)
    assert open_store(tmp_path / "s.sqlite", {"n": 2}) == (second, True)
    assert read_store(second.path).settings == {"n": 2}
    assert first.finished() == {"a"}


def test_files_that_are_no_stores_are_refused(tmp_path):
    path = tmp_path / "s.sqlite"
    with pytest.raises(InputError, match="no store at"):
        read_store(path)
    path.write_text("something else, long enough to be looked at as a database file")
    with pytest.raises(InputError, match="not a store"):
        open_store(path, {})


DYING = """
import os, signal, sqlite3, sys
from pathlib import Path
from fairfrontier.replication.store import open_store

class Dying(sqlite3.Connection):
    left = 0
    def execute(self, *arguments):
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        Dying.left -= 1
        return super().execute(*arguments)

connect = sqlite3.connect
sqlite3.connect = lambda *arguments, **options: connect(*arguments, factory=Dying, **options)
for statements in range(20):
    child = os.fork()
    if child == 0:
        Dying.left = statements
        open_store(Path(sys.argv[1], f"{statements}.sqlite"), {"study": "toy"})
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_while_it_makes_a_store_leaves_one_that_can_be_opened(tmp_path):
    """Before whatever statement it was killed, the file is a whole store or an empty one, to be made anew."""
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], check=True)
    paths = sorted(tmp_path.glob("*.sqlite"))
    assert 5 <= len(paths) < 20
    for path in paths:
        store, other = open_store(path, {"study": "toy"})
        assert (store.path, other) == (path, False)
        assert store.finished() == set()


def test_an_empty_file_becomes_a_store_and_another_database_is_refused(tmp_path):
    path = tmp_path / "s.sqlite"
    path.touch()
    assert open_store(path, {})[0].path == path
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("create table something (x)")
    connection.close()
    with pytest.raises(InputError, match="not a store"):
        open_store(other, {})


def test_failures_are_rows_that_count_and_can_be_tried_again(store):
    run_tasks(tasks(10), replicate, store)
    failed = {row.task: row.error for row in store.rows() if row.error is not None}
    assert failed == {"toy/000003": "ValueError: replication 3 cannot be done"}
    assert len(store.finished()) == 10
    assert store.forget_failures() == 1
    assert run_tasks(tasks(10), replicate, store) == 1


def test_an_extension_computes_what_is_missing_only(store, undisturbed):
    seen = []
    assert run_tasks(tasks(15), replicate, store, finished=lambda row: seen.append(row.task)) == 15
    assert run_tasks(tasks(40), replicate, store, finished=lambda row: seen.append(row.task)) == 25
    assert sorted(seen) == sorted(task.name for task in tasks(40))
    assert run_tasks(tasks(40), replicate, store) == 0
    assert contents(store) == undisturbed


def test_processes_do_not_matter(store, undisturbed):
    run_tasks(tasks(40), replicate, store, n_jobs=2)
    assert contents(store) == undisturbed


def test_a_row_is_stored_before_it_is_reported(store):
    def finished(row):
        assert store.has(row.task)

    run_tasks(tasks(5), replicate, store, finished=finished)


def test_what_another_process_has_done_meanwhile_is_not_done_again(store):
    task = tasks(1)[0]
    store.add(Row(task.name, {"x": 1}, None, {}))
    assert attempt(task, replicate, store) is None
    assert attempt(task, replicate).result["number"] == 0


def test_rows_that_another_process_adds_meanwhile_are_not_counted(store):
    """The first row to be reported comes back with all others added by somebody else."""
    seen = []

    def finished(row):
        if not seen:
            for task in tasks(6):
                store.add(attempt(task, replicate))
        seen.append(row)

    assert run_tasks(tasks(6), replicate, store, finished=finished) == 1
    assert len(seen) == 6
    assert seen[0] is not None
    assert seen[1:] == [None] * 5


def test_a_row_that_another_process_adds_while_it_is_made_is_not_counted(store):
    def slow(number, pause):
        store.add(Row(f"toy/{number:06d}", {"x": "the other's"}, None, {}))
        return replicate(number, pause)

    seen = []
    assert run_tasks(tasks(2), slow, store, finished=seen.append) == 0
    assert seen == [None, None]
    assert [row.result for row in store.rows()] == [{"x": "the other's"}] * 2


def test_the_order_of_tasks_is_random_among_neighbours_only(monkeypatch):
    monkeypatch.setattr(workers, "BLOCK", 50)
    given = tasks(200)
    orders = [[int(task.name.split("/")[1]) for task in workers._in_random_order(given)] for _ in range(2)]
    assert orders[0] != orders[1]
    for order in orders:
        for block in range(4):
            assert sorted(order[50 * block : 50 * (block + 1)]) == list(range(50 * block, 50 * (block + 1)))


def test_the_number_of_processes():
    assert processes(3) == 3
    assert processes(-1) >= 1
    for number in (0, -2):
        with pytest.raises(InputError, match="at least 1, or -1"):
            processes(number)


def threads_in_use():
    """As a replication: what the linear algebra may use."""
    np.ones((2, 2)) @ np.ones((2, 2))
    found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {"threads": found}, {}


def test_a_replication_adds_in_one_thread():
    with threadpool_limits(2):
        assert 2 in threads_in_use()[0]["threads"]
        assert set(attempt(Task("a", ()), threads_in_use).result["threads"]) == {1}


def start(path, count, pause, n_jobs=1):
    command = [sys.executable, "-m", "support.toy_study", str(path), str(count), str(pause), str(n_jobs)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, start_new_session=True, cwd=TESTS, **quiet)


def test_two_processes_may_fill_one_store(tmp_path, undisturbed):
    path = tmp_path / "toy.sqlite"
    workers = [start(path, 40, 0.02) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert contents(read_store(path)) == undisturbed


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_many_times_and_finished(kills, tmp_path, undisturbed):
    """Each time the whole group of processes is killed at a random moment after some rows have come in."""
    path, rng = tmp_path / "toy.sqlite", np.random.default_rng(4)
    interrupted = 0
    for attempt_number in range(kills):
        worker = start(path, 40, 0.05, 2)
        goal = len(read_store(path).finished()) + 1 if path.exists() else 1
        for _ in range(3000):
            if worker.poll() is not None or (path.exists() and _count(path) >= goal):
                break
            time.sleep(0.02)
        time.sleep(0.1 * rng.random())
        interrupted += worker.poll() is None
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(30)
        if attempt_number == 0:
            assert 0 < _count(path) < 40
    assert interrupted >= 3
    assert start(path, 40, 0.0, 2).wait(60) == 0
    assert contents(read_store(path)) == undisturbed


def _count(path):
    try:
        return len(read_store(path).finished())
    except (InputError, sqlite3.OperationalError):  # the file is there but its tables are not yet
        return 0


def test_a_dask_cluster_gives_the_same_bits(store, undisturbed):
    pytest.importorskip("distributed")
    run_tasks(tasks(40), replicate, store, n_jobs=2, dask="local")
    assert contents(store) == undisturbed


def cluster_of_processes(n_workers):
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )


def test_a_dask_worker_killed_in_the_middle(store, undisturbed):
    distributed = pytest.importorskip("distributed")
    with cluster_of_processes(2) as cluster, distributed.Client(cluster) as client:
        victims = [info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values()]
        seen = []

        def finished(row):
            seen.append(row.task)
            if len(seen) == 5:
                os.kill(victims[0], signal.SIGKILL)

        run_tasks(tasks(40, 0.02), replicate, store, dask=cluster.scheduler_address, finished=finished)
    assert len(seen) == 40
    assert contents(store) == undisturbed


def fatal(number):
    os._exit(number)


def test_a_task_that_kills_its_workers_is_a_failed_row(store):
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster_of_processes(1) as cluster,
    ):
        assert run_tasks([Task("fatal", (3,))], fatal, store, dask=cluster.scheduler_address) == 1
    (row,) = store.rows()
    assert row.result is None
    assert "KilledWorker" in row.error


def test_a_cluster_that_fails_is_no_failure_of_the_replication(store, monkeypatch):
    """What cannot be fetched in time is lost on the way: nothing is stored of it, and the run says so."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "FETCHING", 0.0)
    with pytest.raises(FairFrontierError, match="try 5 of 5"):
        run_tasks(tasks(2), replicate, store, n_jobs=1, dask="local")
    assert store.finished() == set()


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_no_scheduler_at_the_address(store, address):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match="No dask scheduler can be reached"),
    ):
        run_tasks(tasks(2), replicate, store, dask=address)


def test_nothing_to_do_needs_no_cluster(store):
    run_tasks(tasks(2), replicate, store)
    assert run_tasks(tasks(2), replicate, store, dask="tcp://127.0.0.1:1") == 0


def test_a_scheduler_that_dies_ends_the_run(tmp_path, store):
    pytest.importorskip("distributed")
    address = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": TESTS}
    dask = [sys.executable, "-m", "dask"]
    started = [
        subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", address],
            **quiet,
        )
    ]
    try:
        for _ in range(600):
            if address.exists():
                break
            time.sleep(0.05)
        where = json.loads(address.read_text())["address"]
        started.append(
            subprocess.Popen([*dask, "worker", where, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet)
        )

        def finished(row):
            if len(store.finished()) == 3:
                started[0].kill()

        with pytest.raises(FairFrontierError, match="once the cluster works, run again"):
            run_tasks(tasks(200, 0.05), replicate, store, dask=where, finished=finished)
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert 3 <= len(store.finished()) < 200
