"""Binned rows follow a grown tree."""

from __future__ import annotations

import numpy as np
from uncompiled import agree

from thrifty.kernels.binned_descent import follow


def tree_and_rows():
    """Return a tree whose root reads feature 1 and its right child feature 0, and four rows."""
    left = np.array([1, -1, 3, -1, -1], dtype=np.int32)
    feature = np.array([1, -1, 0, -1, -1], dtype=np.int32)
    goes_left = np.zeros((5, 256), dtype=np.uint8)
    goes_left[[0, 2], :2] = 1  # bins up to 1 go left
    bins = np.array([[0, 5, 1, 5], [0, 1, 3, 4]], dtype=np.uint8)
    return bins, left, feature, goes_left


def read_before():
    """Return what each row has read: the first both features, the third feature 1."""
    return np.array([[1, 1], [0, 0], [0, 1], [0, 0]], dtype=np.uint8)


def test_rows_reach_their_leaves_and_note_what_they_read_first():
    leaves, news, used = np.empty(4, dtype=np.int64), np.empty(5, dtype=np.int64), read_before()
    count = follow(*tree_and_rows(), leaves, used, news)
    assert leaves.tolist() == [1, 1, 3, 4]
    assert news[:count].tolist() == [1, 2, 3]
    assert used.tolist() == [[1, 1], [0, 1], [1, 1], [1, 1]]


def test_compiled_and_uncompiled_it_is_the_same():
    def run(module):
        leaves, news = np.empty(4, dtype=np.int64), np.empty(5, dtype=np.int64)
        used = read_before()
        count = module.follow(*tree_and_rows(), leaves, used, news)
        return leaves, used, news[:count]

    agree("binned_descent", run)
