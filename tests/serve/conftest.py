"""A small predictor with a number, a group and a category."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, Predictor, Prices

sys.path.insert(0, str(Path(__file__).parent))  # random_models, postgres_server

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
