"""Assign rows to folds, split them by hash, and merge duplicates.

There are two ways to divide rows, because the methods need different guarantees:

- `assign_folds` draws balanced folds from a random generator. Ladders use it to hold out rows and
  for out-of-fold predictions, gates for out-of-fold predictions.
- `split_by_hash` draws the training, validation and early stopping rows of an anytime classifier
  from a hash of each row (`thrifty.model.row_hash`), class by class, with shares of the sample
  weight. Equal rows always stay together, so none is in two parts, and a row of weight 2 counts
  exactly as two rows do. `sample_half` subsamples the rows of a tree by the same hashes.

`merge_duplicates` lets a learner see each distinct row once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.row_hash import hash_rows, splitmix64

__all__ = ["assign_folds", "merge_duplicates", "sample_half", "split_by_hash"]

# Shares of the weight before the validation and the early stopping rows: half of the rows train,
# four tenths validate, one tenth stops early (Xu 2014, sec. 2.2.3).
SPLIT_STARTS = (0.5, 0.9)


def assign_folds(
    target: NDArray[Any],
    n_folds: int,
    random: np.random.RandomState,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Assign each row to a fold, so that the folds are alike in their targets.

    The rows are shuffled, sorted by target, and assigned to the folds in turn: classes are spread
    evenly, and so are small and large numbers. `random` draws one permutation of the rows. With
    `groups` (n,), numbered from 0 on, whole groups are assigned, by their mean target.

    Returns
    -------
    array of shape (n,)
        Fold of each row, from 0 to ``n_folds - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import assign_folds
    >>> target = np.array([0, 0, 0, 0, 1, 1])
    >>> fold = assign_folds(target, 2, np.random.RandomState(0))
    >>> np.bincount(fold[target == 0]), np.bincount(fold[target == 1])
    (array([2, 2]), array([1, 1]))
    """
    if groups is not None:
        mean = np.bincount(groups, np.asarray(target, dtype=np.float64)) / np.bincount(groups)
        return assign_folds(mean, n_folds, random)[groups]
    shuffled = random.permutation(len(target))
    order = shuffled[np.argsort(target[shuffled], kind="stable")]
    fold = np.empty(len(target), dtype=np.int64)
    fold[order] = np.arange(len(target)) % n_folds
    return fold


def split_by_hash(
    X: NDArray[np.floating],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    seed: int,
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Split the rows of each class into training, validation and early stopping rows.

    Parameters
    ----------
    X : array of shape (n, d)
    codes : int64 array of shape (n,)
        Class codes.
    weight : array of shape (n,) or None
        Sample weights; the parts have the shares `SPLIT_STARTS` of them.
    seed : int
        Seed of the hash.

    Returns
    -------
    order : int64 array of shape (n,)
        Training rows, validation rows, early stopping rows; each in the order of the table.
    starts : (int, int)
        Where in `order` the validation and the early stopping rows start.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import split_by_hash
    >>> X, codes = np.arange(20.0)[:, np.newaxis], np.arange(20) % 2
    >>> order, starts = split_by_hash(X, codes, None, seed=0)
    >>> starts
    (10, 18)
    >>> order[starts[1] :]  # the early stopping rows: one of each class
    array([0, 7])
    """
    weights = np.ones(len(X)) if weight is None else weight
    row_hash = hash_rows(X, seed)
    part = np.zeros(len(X), dtype=np.int64)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        _, rank = np.unique(row_hash[rows], return_inverse=True)
        weight_of_rank = np.bincount(rank, weights[rows])
        before = (np.cumsum(weight_of_rank) - weight_of_rank) / weight_of_rank.sum()
        part[rows] = np.searchsorted(SPLIT_STARTS, before, side="right")[rank]
    first, second = np.searchsorted(np.sort(part), (1, 2)).tolist()
    return np.argsort(part, kind="stable"), (first, second)


def sample_half(row_hash: NDArray[np.uint64], draw: int) -> NDArray[np.bool_]:
    """Select about half of the rows by their hashes (n,); another half for every `draw`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import sample_half
    >>> from thrifty.model.row_hash import hash_rows
    >>> row_hash = hash_rows(np.arange(1000.0)[:, np.newaxis], seed=0)
    >>> first, second = sample_half(row_hash, draw=0), sample_half(row_hash, draw=1)
    >>> [half.sum().item() for half in (first, second, first & second)]
    [509, 486, 243]
    """
    return splitmix64(row_hash ^ splitmix64(np.full(1, draw, dtype=np.uint64))) >> np.uint64(63) > 0


def merge_duplicates(
    X: NDArray[np.floating], codes: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.floating], NDArray[np.int64], NDArray[np.float64]]:
    """Merge rows of equal values and class into one row that has the sum of their weights.

    The rows come back in an order that depends on their values only, so that a row of weight 2
    gives the same model as two rows, to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.folds import merge_duplicates
    >>> X, codes, weight = merge_duplicates(
    ...     np.array([[2.0], [1.0], [2.0]]), np.array([1, 0, 1]), weight=None)
    >>> sorted(zip(X.ravel().tolist(), codes.tolist(), weight.tolist()))
    [(1.0, 0, 1.0), (2.0, 1, 2.0)]
    """
    keys = np.column_stack([X.astype(np.float64), codes.astype(np.float64)])
    # Rows are compared as plain bytes, so that missing values are equal to each other.
    row_bytes = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.itemsize * keys.shape[1])))
    _, first, place = np.unique(row_bytes.ravel(), return_index=True, return_inverse=True)
    merged_weight = np.bincount(place, weight, len(first)).astype(np.float64)
    return X[first], codes[first], merged_weight
