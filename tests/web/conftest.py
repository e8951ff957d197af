"""A small model, and clients of the app that serves it."""

from __future__ import annotations

import pandas as pd
import pytest
from starlette.testclient import TestClient

from thrifty import GreedyMiserClassifier, Prices
from thrifty.bundle import Predictor
from thrifty.data import heart
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


@pytest.fixture(scope="session")
def unnamed() -> Predictor:
    """A model of a table without names."""
    X = [[x / 10, -x / 10] for x in range(40)]
    y = [x > 1.9 for x, _ in X]
    return (
        GreedyMiserClassifier(Prices([1, 5]), n_estimators=5, random_state=0).fit(X, y).predictor_
    )
