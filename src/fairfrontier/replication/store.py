"""Where replications are kept as they finish: one row each in an SQLite file.

SQLite was chosen because a row is either in the file or not, whenever a process is killed; because several processes
may write to one file; and because the file needs no server and can be handed on as it is.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import InputError

PATIENCE = 120.0
"""Seconds to wait for another process that is writing."""
_TABLES = (
    "create table settings (name text primary key, value text not null)",
    "create table replications (task text primary key, result blob, error text, seconds text not null) without rowid",
)
_ADD = """
insert into replications values (?, ?, ?, ?)
on conflict (task) do update set result = excluded.result, error = null, seconds = excluded.seconds
where replications.error is not null and excluded.error is null
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A finished replication: its ``result``, or the ``error`` that ended it, and the core ``seconds`` of its parts."""

    task: str
    result: Mapping[str, Any] | None
    error: str | None
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Store:
    """An SQLite file of replications that were all made with the same ``settings``."""

    path: Path
    settings: Mapping[str, Any]

    def finished(self) -> set[str]:
        """Names of the tasks that need not be done again, failed ones included."""
        with _connected(self.path) as connection:
            return {task for (task,) in connection.execute("select task from replications")}

    def has(self, task: str) -> bool:
        """Whether a task is finished."""
        with _connected(self.path) as connection:
            return connection.execute("select 1 from replications where task = ?", (task,)).fetchone() is not None

    def add(self, row: Row) -> bool:
        """Keep a row, unless another process has finished the same task first; return whether it was kept.

        Only a failure gives way to a result.
        """
        result = None if row.result is None else zlib.compress(json.dumps(row.result, sort_keys=True).encode(), 9)
        values = (row.task, result, row.error, json.dumps(row.seconds, sort_keys=True))
        with _connected(self.path) as connection:
            return connection.execute(_ADD, values).rowcount == 1

    def rows(self) -> Iterator[Row]:
        """All rows in order of their tasks."""
        with _connected(self.path) as connection:
            found = connection.execute("select * from replications order by task").fetchall()
        for task, result, error, seconds in found:
            values = None if result is None else json.loads(zlib.decompress(result))
            yield Row(task, values, error, json.loads(seconds))

    def note_versions(self, versions: Mapping[str, str]) -> None:
        """Remember with which versions of which software rows are made."""
        value = json.dumps(versions, sort_keys=True)
        with _connected(self.path) as connection:
            connection.execute(
                "insert or ignore into settings values (?, ?)", (f"versions {_fingerprint(value)}", value)
            )

    def versions(self) -> list[dict[str, str]]:
        """Return every set of versions that was noted."""
        with _connected(self.path) as connection:
            found = connection.execute(
                "select value from settings where name like 'versions %' order by value"
            ).fetchall()
        return [json.loads(value) for (value,) in found]

    def forget_failures(self) -> int:
        """Remove the failed replications, so that they are tried again; return their number."""
        with _connected(self.path) as connection:
            return connection.execute("delete from replications where error is not null").rowcount


def open_store(path: Path, settings: Mapping[str, Any]) -> tuple[Store, bool]:
    """Open the store at a path, made with these settings, or a new one beside it.

    Returns the store, and whether it is another one than asked for: a file with other settings is never touched, and
    the new store has a name that ends in a fingerprint of the settings.
    """
    wanted = json.dumps(settings, sort_keys=True)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.stem}-{_fingerprint(wanted)}{path.suffix}")
    for place in (path, beside):
        if _is_empty(place):
            _create(place, wanted)
        if _settings(place) == wanted:
            return Store(place, settings), place == beside
    raise InputError("bad-option", f"{beside} holds results made with other settings; choose another file.")


def read_store(path: Path) -> Store:
    """Open an existing store as it is."""
    if not Path(path).exists():
        raise InputError("bad-option", f"There is no store at {path}.")
    return Store(Path(path), json.loads(_settings(Path(path))))


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _is_empty(path: Path) -> bool:
    """Whether there is no file, or one without any table, as left by a process killed while it made the store."""
    return not path.exists() or _ask(path, "select 1 from sqlite_master") is None


def _settings(path: Path) -> str:
    found = _ask(path, "select value from settings where name = 'settings'")
    return "" if found is None else str(found[0])


def _ask(path: Path, query: str) -> tuple[Any, ...] | None:
    """Return the first row of the answer."""
    try:
        with _connected(path) as connection:
            return cast(tuple[Any, ...] | None, connection.execute(query).fetchone())
    except sqlite3.DatabaseError as error:
        raise InputError("bad-option", f"{path} is not a store of replications: {error}.") from error


def _create(path: Path, settings: str) -> None:
    """Make an empty store, all of it or nothing, unless another process has just made one."""
    with _connected(path) as connection:
        connection.execute("begin immediate")
        if connection.execute("select 1 from sqlite_master").fetchone() is None:
            for table in _TABLES:
                connection.execute(table)
            connection.execute("insert into settings values ('settings', ?)", (settings,))
        connection.execute("commit")


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection; every statement is a change of its own, unless a transaction is begun."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
