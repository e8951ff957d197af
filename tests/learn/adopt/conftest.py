"""A small table to fit models of other libraries on, and one to compare them on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray


@dataclass
class Rows:
    """Training rows, targets of three kinds, and rows to predict."""

    X: NDArray[np.float64]
    two: NDArray[np.str_]
    three: NDArray[np.int64]
    value: NDArray[np.float64]
    held: NDArray[np.float64]


def draw(missing: float) -> Rows:
    rng = np.random.default_rng(3)
    full = rng.normal(size=(260, 5)).round(1)
    full[:, 3] = rng.poisson(1.0, size=260) - 1  # whole numbers, many zeros
    held = rng.normal(size=(900, 5)).round(2)
    held[:, 3] = rng.poisson(1.0, size=900) - 1
    held[rng.random(held.shape) < 0.05] = 0.0
    X = full.copy()
    for table in (X, held):
        table[rng.random(table.shape) < missing] = np.nan
    return Rows(
        X,
        np.where(full[:, 0] * full[:, 1] + full[:, 3] > 0, "yes", "no"),
        np.digitize(full[:, 0] + full[:, 1] ** 2 + full[:, 3], [0.0, 1.0]) + 5,
        full[:, 0] * 3 + full[:, 2] ** 2 + full[:, 3],
        held,
    )


@pytest.fixture(scope="session")
def rows() -> Rows:
    return draw(missing=0.0)


@pytest.fixture(scope="session")
def holes() -> Rows:
    """The same with a tenth of the values missing."""
    return draw(missing=0.1)
