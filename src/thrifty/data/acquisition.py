"""Synthetic tasks of active feature acquisition: which feature is worth buying depends on the row.

All prices are one unit, so that a budget is a number of features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import Prices
from thrifty.data.common import check_rows, frame
from thrifty.data.table import Table
from thrifty.errors import DataError

__all__ = ["context_blocks", "cube", "switched_logits"]

CUBE_FEATURES, CUBE_NOISE = 20, 0.3
SWITCHED_FEATURES = 11
# Features of a block of `context_blocks`, and how strongly they tell the four classes apart.
BLOCK_FEATURES, BLOCK_SIGNAL = 6, 1.1


def cube(n: int = 5000, random_state: int | None = None) -> Table:
    """Generate CUBE: three of twenty features hold the bits of the class, and which ones depends.

    There are eight equally frequent classes y, and 20 features with normal values around 0.5 with
    standard deviation 0.3, but features y, y + 1 and y + 2 (counted from 0) are the three bits of
    y, lowest first, with the same noise. Gadgil et al. 2024 use this form.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> from thrifty.data import cube
    >>> cube(1000, random_state=0)
    Table(cube: 1000 rows, 20 features)
    """
    check_rows(n, least=1)
    rng = np.random.default_rng(random_state)
    y = rng.integers(8, size=n)
    center = np.full((n, CUBE_FEATURES), 0.5)
    for bit in range(3):
        center[np.arange(n), y + bit] = y >> bit & 1
    X = center + rng.normal(0.0, CUBE_NOISE, size=center.shape)
    return _table("cube", X, y)


def switched_logits(form: str = "syn1", n: int = 10_000, random_state: int | None = None) -> Table:
    """Generate Syn1, Syn2 or Syn3: the sign of the last feature says which others matter.

    Eleven standard normal features. With a = 4 x1 x2, b = 1.2 (x3^2 + ... + x6^2) - 4.2 and
    c = -10 sin(0.2 x7) + abs(x8) + x9 + exp(-x10) - 2.4, the log-odds against class 1 are a or b
    (syn1), a or c (syn2), b or c (syn3): the first where x11 < 0, else the second. They follow Yoon
    et al. 2019.

    Parameters
    ----------
    form : {"syn1", "syn2", "syn3"}
    n : int
        Number of rows.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> from thrifty.data import switched_logits
    >>> switched_logits("syn3", 1000, random_state=0)
    Table(syn3: 1000 rows, 11 features)
    """
    check_rows(n, least=1)
    if form not in ("syn1", "syn2", "syn3"):
        raise DataError(f"form is {form!r}; pass syn1, syn2 or syn3")
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, SWITCHED_FEATURES))
    a = 4.0 * X[:, 0] * X[:, 1]
    b = 1.2 * (X[:, 2:6] ** 2).sum(axis=1) - 4.2
    c = -10.0 * np.sin(0.2 * X[:, 6]) + np.abs(X[:, 7]) + X[:, 8] + np.exp(-X[:, 9]) - 2.4
    first, second = {"syn1": (a, b), "syn2": (a, c), "syn3": (b, c)}[form]
    odds = np.where(X[:, 10] < 0, first, second)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(odds))).astype(np.int64)
    return _table(form, X, y)


def context_blocks(n: int = 6000, random_state: int | None = None) -> Table:
    """Generate a task in which one feature selects the block that matters, and says nothing else.

    The context, the first feature, is one of three values. The four classes are equally frequent in
    each, so the context is worth nothing by itself. Each context has a block of six features whose
    means depend on the class; in the other two contexts they are noise.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> from thrifty.data import context_blocks
    >>> context_blocks(1000, random_state=0)
    Table(context_blocks: 1000 rows, 19 features)
    """
    check_rows(n, least=1)
    rng = np.random.default_rng(random_state)
    y, context = rng.integers(4, size=n), rng.integers(3, size=n)
    X = rng.normal(size=(n, 1 + 3 * BLOCK_FEATURES))
    X[:, 0] = context
    for j in range(BLOCK_FEATURES):
        # Odd features tell the high bit of the class, even ones the low bit.
        sign = 2.0 * (y >> j % 2 & 1) - 1.0
        X[np.arange(n), 1 + BLOCK_FEATURES * context + j] += BLOCK_SIGNAL * sign
    return _table("context_blocks", X, y)


def _table(name: str, X: NDArray[np.float64], y: NDArray[np.int64]) -> Table:
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return Table(name, frame(columns), y, Prices())
