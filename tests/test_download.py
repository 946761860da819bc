"""Downloads against a server on this machine: what is kept, what is tried again, what is refused."""

import hashlib
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from support.loopback import Answer, serving

from fairfrontier.datasets import download, fetch_csv
from fairfrontier.datasets.download import cached_file, data_directory
from fairfrontier.errors import InputError

BODY = b"a,b\n1,2\n" * 50_000  # several blocks
SHA256 = hashlib.sha256(BODY).hexdigest()
GOOD, CUT_OFF, CHANGED = Answer(BODY), Answer(BODY, sent=len(BODY) // 2), Answer(b"something else")

fetch = partial(cached_file, "file.csv", sha256=SHA256, pause=0.01, timeout=5.0)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def refused(*args, **options):
    with pytest.raises(InputError) as caught:
        fetch(*args, **options)
    assert caught.value.code == "no-download"
    return str(caught.value)


def test_a_file_is_downloaded_once(tmp_path):
    home = tmp_path / "not" / "yet" / "there"
    with serving(GOOD) as server:
        path = fetch(server.url, data_home=home)
        assert path == home / "file.csv"
        assert path.read_bytes() == BODY
        assert fetch(server.url, data_home=str(home)) == path
        assert server.asked == ["/file.csv"]
    assert fetch(server.url, data_home=home) == path  # nobody answers any more
    assert os.listdir(home) == ["file.csv"]


def test_the_file_is_readable_for_others_as_the_user_wishes(tmp_path):
    with serving(GOOD) as server:
        path = fetch(server.url, data_home=tmp_path)
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    "failure",
    [CUT_OFF, Answer(BODY, sent=100, chunked=True), Answer(status=503), Answer(status=429), Answer(status=500)],
)
def test_passing_failures_are_tried_again(tmp_path, failure):
    with serving(failure, failure, GOOD) as server:
        assert fetch(server.url, data_home=tmp_path).read_bytes() == BODY
        assert len(server.asked) == 3
    assert os.listdir(tmp_path) == ["file.csv"]


@pytest.mark.parametrize(
    ("failure", "requests", "said"),
    [
        (CUT_OFF, 3, "broke off after 200,000 of 400,000 bytes (attempts: 3)"),
        (Answer(BODY, sent=100, chunked=True), 3, "broke off (attempts: 3)"),
        (Answer(status=503), 3, "answered 503 (Service Unavailable) (attempts: 3)"),
        (Answer(status=404), 1, "answered 404 (Not Found)."),
        (Answer(status=403), 1, "answered 403 (Forbidden)."),
        (CHANGED, 1, f"is {hashlib.sha256(CHANGED.body).hexdigest()} and should be {SHA256}."),
    ],
)
def test_failures_are_told_and_leave_nothing_behind(tmp_path, failure, requests, said):
    with serving(failure) as server:
        message = refused(server.url, data_home=tmp_path)
    assert len(server.asked) == requests
    assert said in message
    assert server.url in message
    assert "path=" in message
    assert os.listdir(tmp_path) == []


def test_the_pause_grows(tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    with serving(Answer(status=503)) as server:
        refused(server.url, data_home=tmp_path, attempts=4, pause=0.5)
    assert pauses == [0.5, 1.0, 2.0]


def test_a_server_that_does_not_answer_in_time(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert "timed out (attempts: 2)" in refused(url, data_home=tmp_path, attempts=2, timeout=0.1)


def test_nobody_at_the_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    assert "refused" in refused(url, data_home=tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_spoilt_copy_is_replaced(tmp_path):
    (tmp_path / "file.csv").write_bytes(BODY[:-1])
    with serving(GOOD) as server:
        assert fetch(server.url, data_home=tmp_path).read_bytes() == BODY
        assert len(server.asked) == 1


def test_a_spoilt_copy_and_a_changed_file_are_both_told(tmp_path):
    (tmp_path / "file.csv").write_bytes(b"old")
    with serving(CHANGED) as server:
        assert "is another one as well" in refused(server.url, data_home=tmp_path)
    assert (tmp_path / "file.csv").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.csv"]


def test_an_interrupted_download_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(url, timeout):
        yield BODY[:10], len(BODY)
        assert len(os.listdir(tmp_path)) == 1  # so there is something to be left behind
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("http://127.0.0.1/", data_home=tmp_path)
    assert os.listdir(tmp_path) == []


def test_many_at_once(tmp_path):
    with serving(CUT_OFF, GOOD) as server, ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(fetch, server.url, data_home=tmp_path) for _ in range(16)]
        assert all(job.result().read_bytes() == BODY for job in jobs)
    assert os.listdir(tmp_path) == ["file.csv"]


def test_a_slow_download_shows_its_progress(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(download, "_PATIENCE", 0.0)
    with serving(GOOD) as server:
        fetch(server.url, data_home=tmp_path / "no terminal")
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(download.sys.stderr, "isatty", lambda: True)
        fetch(server.url, data_home=tmp_path / "terminal")
    assert "390/390" in capsys.readouterr().err


def test_the_directory_is_named_by_argument_or_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRFRONTIER_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_directory() == tmp_path / "home" / ".cache" / "fairfrontier"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_directory() == tmp_path / "xdg" / "fairfrontier"
    monkeypatch.setenv("FAIRFRONTIER_DATA", str(tmp_path / "named"))
    assert data_directory() == tmp_path / "named"
    assert data_directory("~/given") == tmp_path / "home" / "given"
    with serving(GOOD) as server:
        assert fetch(server.url) == tmp_path / "named" / "file.csv"


def test_a_directory_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    assert "`data_home`" in refused("http://127.0.0.1/", data_home=tmp_path / "file")


def test_public_tables_have_names(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'law_school'") as error:
        fetch_csv("lawschool", tmp_path)
    assert error.value.code == "bad-option"
    assert list(tmp_path.iterdir()) == []
