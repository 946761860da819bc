"""A cluster of dask by its address, or one of processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import InputError, MissingDependencyError


@contextmanager
def connected(address: str, n_jobs: int) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of ``n_jobs`` processes here for "local"; both are closed."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingDependencyError(
            "Running on a cluster needs dask, which is not installed: install fairfrontier[dask]."
        ) from error
    cluster = None
    if address == "local":
        cluster = LocalCluster(n_workers=n_jobs, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
    try:
        try:
            client = Client(address if cluster is None else cluster)
        except (OSError, ValueError, TypeError) as error:
            raise InputError("bad-option", f"No dask scheduler can be reached at {address!r}: {error}.") from error
        with client:
            yield client
    finally:
        if cluster is not None:
            cluster.close()
