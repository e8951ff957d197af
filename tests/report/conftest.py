"""A fit to report on, with names that a careless page would trip over.

Tests of this folder can import `report_models`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.frontier import BudgetFit, fit_budget

sys.path.insert(0, str(Path(__file__).parent))

ROWS = 300
RNG = np.random.default_rng(5)
X = pd.DataFrame(
    {
        "<b>age</b>": RNG.normal(size=ROWS),
        "chol & co": RNG.normal(size=ROWS),
        "noise": RNG.normal(size=ROWS),
        "sex": RNG.choice(["f", "m"], size=ROWS),
    }
)
X.loc[::7, "chol & co"] = np.nan
Y = np.where(X["<b>age</b>"] + X["chol & co"].fillna(0) > 0, "<script>", "well")
PRICES = Prices(
    {"<b>age</b>": 1.0, "chol & co": 5.0, "noise": 3.0, "sex": 0.5},
    groups={"blood": ["chol & co", "noise"]},
    shared={"blood": 2.0},
    unit="$<$",
)
MISER = GreedyMiserClassifier(n_estimators=30)


@pytest.fixture(scope="session")
def found() -> BudgetFit:
    return fit_budget(X, Y, prices=PRICES, budget=9, learners=[MISER])


@pytest.fixture(scope="session")
def frugal() -> BudgetFit:
    return fit_budget(X, Y, prices=PRICES, budget=0, learners=[MISER])


@pytest.fixture(scope="session")
def regression() -> BudgetFit:
    y = X["<b>age</b>"].to_numpy()
    miser = GreedyMiserRegressor(n_estimators=30)
    return fit_budget(X, y, prices=PRICES, budget=1e6, learners=[miser])
