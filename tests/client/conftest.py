"""A model of the heart table, and servers of it: in a process of its own, and in this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.bundle import Predictor
from thrifty.data import heart

TOKEN = "token-of-the-tests"
# Questions are left to the client; everything else comes from the table.
ASKED = ["age", "sex", "cp"]
SOURCES = """
[[source]]
name = "records"
kind = "replay"
table = "patients.csv"
by = "patient"
features = {features}
"""


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return heart().X


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    data = heart()
    model = GreedyMiserClassifier(data.prices, n_estimators=20, penalty=0.002, random_state=0)
    return model.fit(data.X, data.y).predictor_


@pytest.fixture(scope="session")
def patient(table) -> dict:
    """The values of one patient, as JSON has them."""
    return json.loads(table.iloc[[3]].to_json(orient="records"))[0]


@pytest.fixture(scope="session")
def folder(tmp_path_factory, predictor, table) -> Path:
    """A model, a table of patients by number, and a declaration of it as a source."""
    path = tmp_path_factory.mktemp("served")
    predictor.save(path / "heart.thrifty")
    table.assign(patient=[f"p{i}" for i in range(len(table))]).to_csv(
        path / "patients.csv", index=False
    )
    delivered = [name for name in table.columns if name not in ASKED]
    (path / "sources.toml").write_text(SOURCES.format(features=json.dumps(delivered)))
    (path / "token").write_text(TOKEN)
    return path


@pytest.fixture(scope="session")
def url(folder) -> Iterator[str]:
    """The address of a server that runs until the last test."""
    command = [sys.executable, "-W", "ignore", "-m", "thrifty.cli", "serve", "heart.thrifty",
               "--port", "0", "--sources", "sources.toml", "--ledger", "purchases.db",
               "--token-file", "token"]  # fmt: skip
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            yield found[0]
        finally:
            process.terminate()
