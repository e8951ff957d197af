"""A small model, and clients of the app that serves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from thrifty import GreedyMiserClassifier, Prices
from thrifty.bundle import Predictor
from thrifty.data import heart
from thrifty.serve import Ledger, Runtime
from thrifty.web import Settings, create_app


@pytest.fixture(scope="session")
def heart_table() -> pd.DataFrame:
    return heart().X


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    table = heart()
    model = GreedyMiserClassifier(table.prices, n_estimators=20, penalty=0.002, random_state=0)
    return model.fit(table.X, table.y).predictor_


@pytest.fixture(scope="session")
def client(predictor) -> TestClient:
    return TestClient(create_app(predictor, "heart"), base_url="http://localhost")


@pytest.fixture
def guarded(predictor):
    """Return a function that makes a client of an app with other settings."""

    def make(**settings) -> TestClient:
        app = create_app(predictor, "heart", Settings(**settings))
        return TestClient(app, base_url="http://localhost")

    return make


SCRIPT = '"><script>alert(1)</script>'
"""A category that a careless page would run."""


@pytest.fixture(scope="session")
def hostile() -> Predictor:
    """A model whose names and labels are HTML; it asks for age, sex and grade, one by one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "<b>age</b>": rng.uniform(20, 80, 400).round(),
            "sex": rng.choice(["f", SCRIPT], 400),
            "grade": rng.choice(list("ABCDEFGH"), 400),
            "chol & co": rng.normal(200, 30, 400).round(),
        }
    )
    odd = (X["sex"] == "f") & X["grade"].isin(list("ABC"))
    y = np.where((X["<b>age</b>"] > 50) ^ odd, "<i>ill</i>", "well")
    prices = Prices({"<b>age</b>": 1.0, "sex": 0.5, "grade": 3.0, "chol & co": 7.0}, unit="EUR")
    model = GreedyMiserClassifier(prices, n_estimators=30, penalty=0.002, random_state=0)
    return model.fit(X, y).predictor_


@pytest.fixture
def browse() -> Iterator[Callable[..., TestClient]]:
    """Return a function that makes a client of the pages of a model, without sources or with."""
    ledgers = []

    def make(predictor: Predictor, sources=(), points=None, pacing=None, **settings) -> TestClient:
        ledgers.append(Ledger.temporary())
        delivered = {feature for source in sources for feature in source.terms.features}
        asked = [name for name in predictor.schema.names if name not in delivered]
        runtime = Runtime(predictor, sources, ledgers[-1], asked=asked, pacing=pacing)
        app = create_app(predictor, "<u>model</u>", Settings(**settings), runtime, points)
        return TestClient(app, base_url="http://localhost")

    yield make
    for ledger in ledgers:
        ledger.close()


@pytest.fixture(scope="session")
def unnamed() -> Predictor:
    """A model of a table without names."""
    X = [[x / 10, -x / 10] for x in range(40)]
    y = [x > 1.9 for x, _ in X]
    return (
        GreedyMiserClassifier(Prices([1, 5]), n_estimators=5, random_state=0).fit(X, y).predictor_
    )
