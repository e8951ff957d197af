"""Ledgers of both kinds, empty, for tests that run on each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer, find_binaries

from thrifty.serve import Ledger

KEY = "k" * 40


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    if find_binaries() is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed")
    # A folder that another user may enter, too, and short enough for the name of a socket.
    with tempfile.TemporaryDirectory(prefix="thrifty-pg-") as folder:
        os.chmod(folder, 0o755)
        server = PostgresServer(Path(folder) / "server", "fsync=off")
        server.start()
        yield server
        server.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server = request.getfixturevalue("postgres")
    from pg8000 import native

    address = f"{server.folder}/.s.PGSQL.5432"
    connection = native.Connection("thrifty", unix_sock=address, database="postgres")
    connection.run("DROP SCHEMA public CASCADE")
    connection.run("CREATE SCHEMA public")
    connection.close()
    return str(server.url())


@pytest.fixture
def open_ledger(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Ledger]]:
    """Open the database again and again, as several processes would."""
    monkeypatch.setenv("THRIFTY_LEDGER_KEY", KEY)
    opened: list[Ledger] = []

    def open_one(**options: Any) -> Ledger:
        opened.append(Ledger.open(url, **{"clock": clock, "delay": 0.0, **options}))
        return opened[-1]

    yield open_one
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()
