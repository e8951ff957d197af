"""Tables of six columns, and prices with a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thrifty import Prices

Table = tuple[Any, Any]


def draw_table(seed, n=240, classes=2):
    """Draw six columns; the label depends on the first, and on one of two others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.3] if classes == 2 else [-0.8, 0.8])


@pytest.fixture
def draw() -> Callable[..., Table]:
    """Draws a table and its labels: ``draw(seed, n, classes)``."""
    return draw_table


@pytest.fixture
def train() -> Table:
    """A training set of two classes."""
    return draw_table(0)


@pytest.fixture
def validation() -> Table:
    """A validation set of two classes."""
    return draw_table(1)


@pytest.fixture
def new_rows() -> Any:
    """Rows that no model was trained on."""
    return draw_table(2)[0]


@pytest.fixture
def prices() -> Prices:
    """Prices of the six columns; the last two are a group, and trees have a price, too."""
    return Prices(
        [1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01
    )
