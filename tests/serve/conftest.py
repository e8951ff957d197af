"""A small predictor with a number, a group and a category; empty databases of both kinds."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, Predictor, Prices
from thrifty.serve import Cases, Ledger, Runtime

sys.path.insert(0, str(Path(__file__).parent))  # random_models, postgres_server
from postgres_server import PostgresServer, find_binaries
from scripted import NAMES, chain_predictor

KEY = "k" * 40
ROWS = 300
RNG = np.random.default_rng(3)
X = pd.DataFrame(
    {
        "age": RNG.normal(size=ROWS),
        "chol": RNG.normal(size=ROWS),
        "fbs": RNG.normal(size=ROWS),
        "sex": RNG.choice(["female", "male"], size=ROWS),
    }
)
Y = np.where(X["age"] + X["chol"] + X["fbs"] + (X["sex"] == "male") > 0.5, "ill", "well")
PRICES = Prices(
    {"age": 1.0, "chol": 5.0, "fbs": 3.0, "sex": 0.5},
    groups={"blood": ["chol", "fbs"]},
    shared={"blood": 2.0},
    unit="CAD",
)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return X


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    return GreedyMiserClassifier(PRICES, n_estimators=10).fit(X, Y).predictor_


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
def reopen(url, monkeypatch):
    """Return a function that opens the same ledger again, as another process would."""
    monkeypatch.setenv("THRIFTY_LEDGER_KEY", KEY)
    opened = []

    def reopen(
        sources=(), asked=NAMES, predictor=None, pacing=None, clock=time.time, **options
    ) -> Cases:
        opened.append(Ledger.open(url, clock=clock))
        predictor = predictor or chain_predictor()
        runtime = Runtime(predictor, sources, opened[-1], asked=asked, pacing=pacing)
        return Cases(runtime, **options)

    yield reopen
    for ledger in opened:
        ledger.close()
