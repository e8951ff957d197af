"""Running a command on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from thrifty.errors import DataError

__all__ = ["SCHEDULER", "on_cluster"]

# Seconds to wait for the scheduler.
PATIENCE = 10

SCHEDULER = click.option(
    "--scheduler", metavar="ADDRESS",
    help="Dask scheduler, such as tcp://10.0.0.5:8786: its workers run learners, several at a "
    "time, and train boosted trees on all rows of files that they can read.",
)  # fmt: skip


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Let learners of the block run on the workers of a Dask cluster; without an address, here.

    Raises
    ------
    DataError
        If Dask is not installed, or the scheduler cannot be reached.
    """
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise DataError("--scheduler: install Dask: pip install 'thrifty[dask]'") from None
    from joblib import parallel_config

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(
            f"--scheduler: {address} cannot be reached; start it by `dask scheduler`, and workers "
            f"by `dask worker {address}` ({error})"
        ) from None
    with client, parallel_config("dask"):
        yield
