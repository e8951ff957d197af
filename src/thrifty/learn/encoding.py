"""The library's standardizer: turns a table into the inputs of linear and kernel models.

A number becomes ``(x - mean) / standard deviation``, a category becomes one indicator column per
label, and a missing value becomes the mean: 0 for a number, the label's share for an indicator.
Columns that do not vary are left out. The result is a `thrifty.model.encoding.Encoding`, which is
part of the frozen model, so a model takes the table as it is.

Two functions compute the same moments in a different order, so their results differ in the last
bits, and a model must keep the one it was built with:

- `standardize` works column by column and raises an error if no column varies. SVMs, edge/cloud
  models, gates and cost-sensitive trees use it.
- `standardize_blockwise` works on blocks of rows, all columns at once, which is fast for tables of
  hundreds of columns, and accepts a table in which nothing varies. Submodular trees use it; linear
  rungs use `standardize_columns`, which does the same without a schema.

`identity_encoding` leaves numbers as they are, for a model that was trained elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.model.encoding import NUMERIC, Encoding
from thrifty.untrusted import LARGEST

__all__ = [
    "encode_blockwise",
    "identity_encoding",
    "standardize",
    "standardize_blockwise",
    "standardize_columns",
]

Floats = NDArray[np.float64]
# Blocks of this many rows stay in the processor's cache for tables of hundreds of columns.
ROWS_PER_BLOCK = 4096
# Sums over blocks leave a constant column a tiny deviation; below this share of the mean it is 0.
CONSTANT_TOL = 1e-13


def standardize(schema: Schema, X: NDArray[np.floating], weight: Floats | None) -> Encoding:
    """Fit the encoding of the columns that vary, one column at a time.

    Parameters
    ----------
    schema : Schema
        Says which columns hold categories.
    X : array of shape (n, d)
        Encoded rows; missing values are NaN.
    weight : array of shape (n,) or None
        Sample weights of means, deviations and shares.

    Raises
    ------
    DataError
        If no column varies, or one holds numbers that are too large.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.encoding import standardize
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    >>> encoding = standardize(Schema.of(X), X, None)
    >>> encoding.columns, encoding.apply(X)
    (array([0]), array([[-1.],
           [ 1.],
           [ 0.]]))
    """
    entries = []
    for j, column in enumerate(schema.columns):
        present = ~np.isnan(X[:, j])
        if not present.any():  # all its values were in rows of weight 0
            continue
        x = X[present, j].astype(np.float64)
        w = None if weight is None else weight[present]
        if column.categories is None:
            center, scale = _moments(x, w)
            if max(abs(center), scale) > LARGEST:
                largest = max(x.tolist(), key=abs)
                raise DataError(
                    f"table: column {column.name!r} holds {largest:g}, too large to standardize; "
                    "divide it, or pass NaN if it marks a missing value"
                )
            entries.append((j, NUMERIC, center, scale if np.ptp(x) > 0 else 0.0, 0.0))
            continue
        for code in range(len(column.categories)):
            share = float(np.average(x == code, weights=w))
            entries.append((j, code, 0.0, float(0 < share < 1), share))
    encoding = _encoding_of(entries)
    if not len(encoding.columns):
        raise DataError("table: no column varies; there is nothing to tell the classes apart by")
    return encoding


def standardize_blockwise(
    schema: Schema, X: NDArray[np.floating], weight: Floats | None
) -> Encoding:
    """Fit the encoding of the columns that vary, block by block of rows.

    Takes the parameters of `standardize`. The encoding is empty if no column varies. See
    `standardize_columns` for columns without a schema.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.encoding import encode_blockwise, standardize_blockwise
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
    >>> encode_blockwise(standardize_blockwise(Schema.of(X), X, None), X)
    array([[-1.],
           [ 1.],
           [ 0.]])
    """
    categories = [column.categories for column in schema.columns]
    return standardize_columns(X, [None if own is None else len(own) for own in categories], weight)


def standardize_columns(
    X: NDArray[np.floating], n_categories: Sequence[int | None], weight: Floats | None
) -> Encoding:
    """Fit the encoding of the columns that vary, block by block of rows, without a schema.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows; missing values are NaN.
    n_categories : sequence of int or None
        Number of codes of each column of categories; None for a column of numbers.
    weight : array of shape (n,) or None
        Sample weights of means, deviations and shares.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.encoding import standardize_columns
    >>> standardize_columns(np.array([[5.0, 0.0], [9.0, 1.0]]), [None, 2], None).codes
    array([-1,  0,  1])
    """
    tiny = np.finfo(float).tiny  # a column without values has a total weight of 0
    with np.errstate(over="ignore"):
        total, total_weight = _power_sums(X, weight, np.zeros(X.shape[1]), power=1)
    total_weight = np.maximum(total_weight, tiny)
    centers = total / total_weight
    with np.errstate(over="ignore", invalid="ignore"):
        squares, _ = _power_sums(X, weight, centers, power=2)
    scales = np.sqrt(squares / total_weight)
    odd = np.flatnonzero(~(scales > 0.0) | np.isinf(scales))  # constant, or beyond squaring
    for j in odd.tolist():
        present = ~np.isnan(X[:, j])
        if n_categories[j] is None and present.any():
            x = X[present, j].astype(np.float64)
            centers[j], scales[j] = _moments(x, None if weight is None else weight[present])
    # A column that is too large for a model file is left out.
    scales = np.where(np.maximum(np.abs(centers), scales) <= LARGEST, scales, 0.0)
    scales = np.where(scales > CONSTANT_TOL * np.abs(centers), scales, 0.0)
    entries = []
    for j, count in enumerate(n_categories):
        if count is None:
            entries.append((j, NUMERIC, centers[j], scales[j], 0.0))
            continue
        present = ~np.isnan(X[:, j])
        codes, w = X[present, j].astype(np.int64), None if weight is None else weight[present]
        counts = np.bincount(codes, w, minlength=count)
        shares = counts / max(float(counts.sum()), tiny)
        entries += [(j, k, 0.0, float(0.0 < share < 1.0), share) for k, share in enumerate(shares)]
    return _encoding_of(entries)


def identity_encoding(X: NDArray[np.floating]) -> Encoding:
    """Keep numbers as they are; a missing value becomes the mean of its column in X (n, d)."""
    d = X.shape[1]
    means = np.nanmean(X, axis=0, dtype=float)
    return Encoding(np.arange(d), np.full(d, NUMERIC), np.zeros(d), np.ones(d), means)


def encode_blockwise(encoding: Encoding, X: NDArray[np.floating]) -> Floats:
    """Encode all rows, (n, q), with little memory beside the result."""
    Z = np.empty((len(X), len(encoding.columns)))
    for first in range(0, len(X), ROWS_PER_BLOCK):
        block = slice(first, first + ROWS_PER_BLOCK)
        Z[block] = encoding.apply(X[block])
    return Z


def _encoding_of(entries: list[tuple[int, int, float, float, float]]) -> Encoding:
    """Make an encoding of (column, code, center, scale, fill) entries; drop those of scale 0."""
    kept = np.array([entry for entry in entries if entry[3] > 0]).reshape(-1, 5)
    columns, codes = kept[:, :2].T.astype(np.int64)
    return Encoding(columns, codes, *np.ascontiguousarray(kept[:, 2:].T))


def _moments(x: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return mean and standard deviation; neither squares overflow nor are they lost below 0."""
    largest = float(np.abs(x).max())
    power = 0 if 1e-100 < largest < 1e100 or largest == 0.0 else math.frexp(largest)[1]
    x = np.ldexp(x, -power) if power else x
    center = float(np.average(x, weights=weight))
    scale = float(np.sqrt(np.average(np.square(x - center), weights=weight)))
    with np.errstate(over="ignore"):
        return float(np.ldexp(center, power)), float(np.ldexp(scale, power))


def _power_sums(
    X: NDArray[np.floating], weight: Floats | None, center: Floats, power: int
) -> tuple[Floats, Floats]:
    """Sum ``(x - center)^power`` and the weights over the values present in each column, (d,)."""
    total, total_weight = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first in range(0, len(X), ROWS_PER_BLOCK):
        x = X[first : first + ROWS_PER_BLOCK].astype(np.float64)
        w = np.ones(len(x)) if weight is None else weight[first : first + ROWS_PER_BLOCK]
        missing = np.isnan(x)
        x -= center
        x[missing] = 0.0
        total += w @ (x if power == 1 else np.square(x))
        total_weight += w.sum() - w @ missing if missing.any() else w.sum()
    return total, total_weight
