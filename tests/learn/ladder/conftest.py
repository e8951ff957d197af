"""Tables of three columns on which the best ladder is known, and what reads and fits them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thrifty import LadderClassifier, LadderRegressor, Prices
from thrifty.learn.crossfit import CrossFit
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.ladder.effort import EFFORTS, RungSettings
from thrifty.learn.ladder.rows import LadderRows

# Makes a table of n rows and its target: make(n=600, seed=0).
MakeTable = Callable[..., tuple[Any, Any]]
ReadRows = Callable[..., LadderRows]


@pytest.fixture
def prices() -> Prices:
    """A cheap first column, and two that cost four times as much."""
    return Prices([1.0, 4.0, 4.0])


# A few rungs with a few trees, fitted once to each of three folds.
FEW = RungSettings(n_rungs=6, n_trees=25, n_top_trees=50, repeats=1)


@pytest.fixture(autouse=True)
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ladders of the default effort do all that they do otherwise, but less of it."""
    monkeypatch.setitem(EFFORTS, "balanced", FEW)


@pytest.fixture
def small() -> dict[str, Any]:
    """Settings of a ladder that is the same every time."""
    return {"random_state": 0}


@pytest.fixture
def make_labels() -> MakeTable:
    """Column 0 decides the half of the rows where it is far from 0, column 1 the others."""

    def make(n=600, seed=0):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
        y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
        return X, np.where(y, "yes", "no")

    return make


@pytest.fixture
def make_numbers() -> MakeTable:
    """Column 1 matters much if column 0 is negative, and a little otherwise."""

    def make(n=600, seed=0):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
        return X, np.where(X[:, 0] > 0, 3.0 + 0.2 * X[:, 1], 2.0 * np.sign(X[:, 1]))

    return make


@pytest.fixture(params=["classification", "regression"])
def ladder_and_table(request, make_labels, make_numbers):
    """Each of the two estimators, with a table maker that suits it."""
    if request.param == "classification":
        return LadderClassifier, make_labels
    return LadderRegressor, make_numbers


@pytest.fixture
def path_points() -> Callable[..., list[Any]]:
    """Fit a path on n rows, with half as many validation rows; return its points."""

    def points(model, make, n=600):
        return list(model.path(*make(n), validation=make(n // 2, seed=1)))

    return points


@pytest.fixture
def read_rows() -> ReadRows:
    """Read a table, and a validation set if one is given, and divide it into folds."""

    def read(task, X, y, *, prices=None, folds=3, repeats=1, validation=None, **more):
        train = TrainingSet.read(task, X, y, prices, **more)
        held_out = None if validation is None else ValidationSet.read(validation, train)
        random = np.random.RandomState(0)
        crossfit = CrossFit.draw(train.y, train.clusters, folds, repeats, random)
        return LadderRows.of(train, held_out, crossfit, random)

    return read
