"""Estimators that break a law on purpose, to show that the laws catch them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, Predictor
from thrifty.checks import Case, make_cases, make_large_case
from thrifty.model import Forest
from thrifty.model.forest.forest import ARRAYS
from thrifty.model.forest.walk import ForestWalk

SMALL = {"n_estimators": 6, "max_depth": 3, "min_samples_leaf": 5}


class BentClassifier(GreedyMiserClassifier):
    """Fits correctly and then returns a frozen model of another class."""

    kind: type[Forest] = Forest

    @property
    def predictor_(self) -> Predictor:
        honest = super().predictor_
        arrays = {name: getattr(honest.model, name) for name in ARRAYS}
        bent = self.kind(**arrays, link=honest.model.link, n_features=honest.model.n_features)
        return Predictor(bent, honest.schema, honest.prices, honest.classes, honest.knob)


@pytest.fixture(scope="session")
def honest() -> GreedyMiserClassifier:
    return GreedyMiserClassifier(**SMALL)


@pytest.fixture(scope="session")
def bend_model() -> Callable[..., GreedyMiserClassifier]:
    """Return an estimator whose frozen model overrides methods of `Forest`."""

    def bend(**methods: Any) -> GreedyMiserClassifier:
        kind = type("BentForest", (Forest,), methods)
        return type("BentClassifier", (BentClassifier,), {"kind": kind})(**SMALL)

    return bend


@pytest.fixture(scope="session")
def bend_walk(bend_model) -> Callable[..., GreedyMiserClassifier]:
    """Return an estimator whose walks override methods of `ForestWalk`."""

    def bend(**methods: Any) -> GreedyMiserClassifier:
        kind = type("BentWalk", (ForestWalk,), methods)
        return bend_model(
            walk=lambda self, price=None: kind(self.as_lists, price or (lambda feature: 0.0))
        )

    return bend


@pytest.fixture(scope="session")
def bend() -> Callable[..., GreedyMiserClassifier]:
    """Return an estimator that overrides methods of `GreedyMiserClassifier`."""

    def bend(**methods: Any) -> GreedyMiserClassifier:
        return type("BentClassifier", (GreedyMiserClassifier,), methods)(**SMALL)

    return bend


@pytest.fixture(scope="session")
def numbers(honest) -> Case:
    return next(case for case in make_cases(honest) if case.name == "numbers")


@pytest.fixture(scope="session")
def frame(honest) -> Case:
    return next(case for case in make_cases(honest) if case.name == "pandas")


@pytest.fixture(scope="session")
def large_case(honest) -> Case:
    return make_large_case(honest)


@pytest.fixture(scope="session")
def next_bit() -> Callable[[Any], Any]:
    """Return the next larger float of each number."""
    return lambda array: np.nextafter(array, np.inf)
