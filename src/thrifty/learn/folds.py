"""Dealing rows to parts, so that each part has its share of every class or of every size.

Dividing rows into those that fit a machine, those that judge it, and those that stop it.

Xu 2014, sec. 2.2.3: half of the rows train, four tenths validate, one tenth is held out. Lots are
drawn by a hash of the row, class by class, and shares are of weight. So equal rows stay together,
none is learnt from and held out at once, and a row of weight two is the same as two rows. The same
hashes draw the half of the rows that a tree is grown on.

Rows that are alike become one row that weighs as much as all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lots", "deal", "divide", "half", "lots_of", "merge_rows"]


def deal(target: NDArray[Any], parts: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Part 0..parts-1 of each row: rows are shuffled, sorted by target, dealt out in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import deal
    >>> target = np.array([0, 0, 0, 0, 1, 1])
    >>> part = deal(target, 2, np.random.RandomState(0))
    >>> np.bincount(part[target == 0]), np.bincount(part[target == 1])
    (array([2, 2]), array([1, 1]))
    """
    shuffled = random.permutation(len(target))
    order = shuffled[np.argsort(target[shuffled], kind="stable")]
    part = np.empty(len(target), dtype=np.int64)
    part[order] = np.arange(len(target)) % parts
    return part


Lots = NDArray[np.uint64]

# Where the validation rows and the held-out rows begin.
STARTS = (0.5, 0.9)


def divide(
    X: NDArray[np.floating],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    seed: int,
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """An order of the rows, and where in it the validation and the held-out rows begin.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import divide
    >>> order, starts = divide(np.arange(20.0)[:, np.newaxis], np.arange(20) % 2, None, seed=0)
    >>> sorted(order.tolist()) == list(range(20)), starts
    (True, (10, 18))
    """
    weights = np.ones(len(X)) if weight is None else weight
    lots = lots_of(X, seed)
    part = np.zeros(len(X), dtype=np.int64)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        part[rows] = _parts(lots[rows], weights[rows])
    first, second = np.searchsorted(np.sort(part), (1, 2)).tolist()
    return np.argsort(part, kind="stable"), (first, second)


def lots_of(X: NDArray[np.floating], seed: int) -> Lots:
    """A hash of each row, and of the seed."""
    state = np.full(len(X), seed, dtype=np.uint64)
    for column in X.T:
        # One bit pattern for each value: no negative zero, one NaN.
        value = np.where(np.isnan(column), np.nan, column.astype(np.float64) + 0.0)
        state = _mixed(state ^ value.view(np.uint64))
    return state


def half(lots: Lots, draw: int) -> NDArray[np.bool_]:
    """About half of the rows; another half at each draw."""
    return _mixed(lots ^ _mixed(np.full(1, draw, dtype=np.uint64))) >> np.uint64(63) > 0


def _parts(lots: Lots, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """0, 1 or 2 for each row of one class, by its place among the lots."""
    _, place = np.unique(lots, return_inverse=True)
    mass = np.bincount(place, weight)
    before = (np.cumsum(mass) - mass) / mass.sum()
    return np.asarray(np.searchsorted(STARTS, before, side="right")[place])


def _mixed(x: Lots) -> Lots:
    """One round of SplitMix64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def merge_rows(
    X: NDArray[np.floating], codes: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.floating], NDArray[np.int64], NDArray[np.float64]]:
    """Distinct rows with their classes and weights, in an order that the rows alone decide.

    So a row of weight two is two rows, to the last bit of what is learnt from them.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import merge_rows
    >>> X, codes, weight = merge_rows(np.array([[2.0], [1.0], [2.0]]), np.array([1, 0, 1]), None)
    >>> sorted(zip(X.ravel().tolist(), codes.tolist(), weight.tolist()))
    [(1.0, 0, 1.0), (2.0, 1, 2.0)]
    """
    keys = np.column_stack([X.astype(np.float64), codes.astype(np.float64)])
    whole = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.itemsize * keys.shape[1])))
    _, first, place = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    mass = np.bincount(place, weight, len(first)).astype(np.float64)
    return X[first], codes[first], mass
