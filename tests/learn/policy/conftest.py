"""A table of three columns on which the best policy is known, and a small trained policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.folds import assign_folds
from thrifty.learn.policy import PolicySettings, PolicyTable, fit_policy

SETTINGS = PolicySettings(
    min_states=1500, n_estimators=40, learning_rate=0.25, value_estimators=30, n_first_trials=2
)


def make_quarters(n=300, seed=0):
    """Column 0 says which two of four classes are left, and which column tells them apart."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    return X, np.where(X[:, 0] > 0, 2 + (X[:, 1] > 0), X[:, 2] > 0).astype(np.int64)


def make_table(n=300, seed=0, prices=(1.0, 1.0, 1.0), weight=None):
    """Return the rows of `make_quarters` in three folds."""
    X, y = make_quarters(n, seed)
    random = np.random.RandomState(seed)
    binned = Binned.of(X, np.zeros(3, dtype=bool), random)
    fold = assign_folds(y, 3, random)
    return PolicyTable(X, y, 4, fold, binned, Prices(list(prices)).bind(3), weight)


@pytest.fixture
def quarters() -> Any:
    return make_quarters


@pytest.fixture
def policy_table() -> Any:
    return make_table


@pytest.fixture
def settings() -> PolicySettings:
    return SETTINGS


@pytest.fixture(scope="session")
def fitted() -> Any:
    return fit_policy(make_table(), SETTINGS, np.random.default_rng(0))
