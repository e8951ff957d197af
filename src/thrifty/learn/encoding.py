"""A table as the inputs of a linear model: numbers standardized, a slot for each category.

As `machine_source.standard_slots`, for tables of many columns: the moments of all columns are
taken block by block of rows. A table in which nothing varies has no slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.model.encoding import NUMERIC, Encoding

__all__ = ["encode_rows", "encoding_of"]

Floats = NDArray[np.float64]
ROWS = 4096
# A column whose deviation is a smaller part of its mean is a constant, up to rounding.
NOTHING = 1e-13


def encoding_of(schema: Schema, X: NDArray[np.floating], weight: Floats | None) -> Encoding:
    """Slots of the columns that vary, in the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.encoding import encode_rows, encoding_of
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    >>> slots = encoding_of(Schema.of(X), X, None)
    >>> slots.columns, encode_rows(slots, X)
    (array([0]), array([[-1.],
           [ 1.],
           [ 0.]]))
    """
    centers, scales = _standard(X, weight)
    slots: list[tuple[int, int, float, float, float]] = []
    for j, column in enumerate(schema.columns):
        if column.categories is None:
            slots.append((j, NUMERIC, centers[j], scales[j], 0.0))
            continue
        shares = _shares(X[:, j], weight, len(column.categories))
        slots += [
            (j, code, 0.0, float(0.0 < share < 1.0), share) for code, share in enumerate(shares)
        ]
    kept = np.array([slot for slot in slots if slot[3] > 0.0]).reshape(-1, 5)
    columns, codes = kept[:, :2].T.astype(np.int64)
    return Encoding(columns, codes, *kept[:, 2:].T)


def encode_rows(encoding: Encoding, X: NDArray[np.floating]) -> Floats:
    """All rows as inputs (n, q)."""
    Z = np.empty((len(X), len(encoding.columns)))
    for first in range(0, len(X), ROWS):
        Z[first : first + ROWS] = encoding.apply(X[first : first + ROWS])
    return Z


def _standard(X: NDArray[np.floating], weight: Floats | None) -> tuple[Floats, Floats]:
    """Mean and deviation of each column over what is there; 0 where nothing varies."""
    total, mass = _sums(X, weight, np.zeros(X.shape[1]), power=1)
    some = np.maximum(mass, np.finfo(float).tiny)
    centers = total / some
    squares, _ = _sums(X, weight, centers, power=2)
    scales = np.sqrt(squares / some)
    return centers, np.where(scales > NOTHING * np.abs(centers), scales, 0.0)


def _sums(
    X: NDArray[np.floating], weight: Floats | None, center: Floats, power: int
) -> tuple[Floats, Floats]:
    """Weighted sum of (x - center)^power over what is there, and of the weights."""
    total, mass = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first in range(0, len(X), ROWS):
        x = X[first : first + ROWS].astype(np.float64)
        w = np.ones(len(x)) if weight is None else weight[first : first + ROWS]
        missing = np.isnan(x)
        x -= center
        x[missing] = 0.0
        total += w @ (x if power == 1 else np.square(x))
        mass += w.sum() - w @ missing if missing.any() else w.sum()
    return total, mass


def _shares(x: NDArray[np.floating], weight: Floats | None, count: int) -> list[float]:
    """Share of each category among the values that are there."""
    present = ~np.isnan(x)
    w = None if weight is None else weight[present]
    mass = np.bincount(x[present].astype(np.int64), w, minlength=count)
    return list(mass / max(float(mass.sum()), np.finfo(float).tiny))
