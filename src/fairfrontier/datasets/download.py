"""Public files: downloaded once, checked, and kept in a cache directory."""

from __future__ import annotations

import hashlib
import http.client
import os
import secrets
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from ..progress import Report, progress_bar

_BLOCK = 1 << 16
_PATIENCE = 2.0
"""Seconds after which a download is slow enough for a progress bar."""


class _PassingError(Exception):
    """A failure that another attempt may not meet."""


class _LastingError(Exception):
    """A failure that every attempt would meet."""


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache directory, made if need be.

    It is ``data_home``, else the environment variable FAIRFRONTIER_DATA, else ``fairfrontier`` in the user's cache
    directory (XDG_CACHE_HOME, or ``~/.cache``).
    """
    if data_home is not None:
        directory = Path(data_home).expanduser()
    elif named := os.environ.get("FAIRFRONTIER_DATA"):
        directory = Path(named).expanduser()
    else:
        directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairfrontier"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_keep(directory, error) from error
    return directory


def cached_file(
    name: str,
    url: str,
    sha256: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    attempts: int = 3,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Return the path of a public file, which is downloaded unless the cache has it.

    A file with another checksum than ``sha256`` is never returned: one in the cache is downloaded anew, one that was
    downloaded is refused. The cache holds whole files only, also while several processes fill it.

    Parameters
    ----------
    name : str
        Name of the file in the cache directory.
    url : str
        Where it is downloaded from.
    sha256 : str
        SHA-256 of its bytes, in hexadecimal digits.
    data_home : path, optional
        The cache directory; see `data_directory`.
    attempts : int
        Largest number of requests. Only failures that may pass are tried again: no connection, no answer in time,
        a transfer cut off, a busy or broken server.
    pause : float
        Seconds before the second request, doubled for each further one.
    timeout : float
        Seconds to wait for the server's next bytes.

    Returns
    -------
    Path
    """
    path = data_directory(data_home) / name
    stale = path.exists()
    if stale and has_checksum(path, sha256):
        return path
    attempt = 1
    while True:
        try:
            with replacing(path) as file:
                found = _transfer(name, url, file, timeout)
                if found != sha256:
                    raise _LastingError(
                        f"a file came whose SHA-256 is {found} and should be {sha256}"
                        + (f", and the copy in {path.parent} is another one as well" if stale else "")
                    )
            return path
        except _LastingError as error:
            raise _no_download(name, url, str(error)) from error
        except _PassingError as error:
            if attempt >= attempts:
                raise _no_download(name, url, f"{error} (attempts: {attempt})") from error
            time.sleep(pause * 2.0 ** (attempt - 1))
            attempt += 1


def has_checksum(path: Path, sha256: str) -> bool:
    """Whether a file exists and its bytes have this SHA-256."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` in one step, and only if no exception leaves the block."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise _cannot_keep(path.parent, error) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _transfer(name: str, url: str, file: BinaryIO, timeout: float) -> str:
    """Write what the URL gives to ``file``, with a bar if that is slow; return its SHA-256."""
    digest, began, done = hashlib.sha256(), time.monotonic(), 0
    report: Report | None = None
    with ExitStack() as stack:
        for block, total in _blocks(url, timeout):
            file.write(block)
            digest.update(block)
            done += len(block)
            if report is None and total and sys.stderr.isatty() and time.monotonic() - began > _PATIENCE:
                report = stack.enter_context(progress_bar(f"Downloading {name}", show=True))
            if report is not None:
                report(done // 1024, total // 1024, "kilobytes")
    return digest.hexdigest()


def _blocks(url: str, timeout: float) -> Iterator[tuple[bytes, int]]:
    """Yield what the URL gives, block by block, with its whole length in bytes (0 if the server does not tell)."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            total = int(response.headers.get("Content-Length") or 0)
            done = 0
            while block := response.read(_BLOCK):
                done += len(block)
                yield block, total
            if done < total:
                raise _PassingError(f"the transfer broke off after {done:,} of {total:,} bytes")
    except urllib.error.HTTPError as error:
        error.close()
        kind = _PassingError if error.code >= 500 or error.code in (408, 429) else _LastingError
        raise kind(f"the server answered {error.code} ({error.reason})") from error
    except http.client.IncompleteRead as error:
        raise _PassingError("the transfer broke off") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        kind = _LastingError if isinstance(reason, ssl.SSLCertVerificationError) else _PassingError
        raise kind(f"no connection, or it was lost: {str(reason) or type(reason).__name__}") from error


def _cannot_keep(directory: Path, error: OSError) -> InputError:
    return InputError(
        "no-download",
        f"Downloaded files cannot be kept in {directory}: {error.strerror or error}. Name a directory that can be "
        "written to by `data_home` or by the environment variable FAIRFRONTIER_DATA.",
    )


def _no_download(name: str, url: str, what: str) -> InputError:
    return InputError(
        "no-download",
        f"{name} could not be downloaded from {url}: {what}. Try again later, or download the file by hand and give "
        "its place by `path=`.",
    )
