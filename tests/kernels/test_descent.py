"""Rows reach the leaves, outputs and features that a plain descent finds."""

from __future__ import annotations

import numpy as np
import pytest
from plain_forest import N_FEATURES, draw_forest, draw_rows, plain_walk

from thrifty.kernels.descent import INDEX, descend, follow, run_forest


def path_bits(nodes, roots, words):
    """Return the features on the way to each node as bits, (nodes, words)."""
    paths = np.zeros((len(nodes), words), dtype=np.uint64)
    for place in range(len(nodes)):
        child = int(nodes[place]["child"])
        if child != place:
            feature = int(nodes[place]["feature"]) & INDEX
            for kid in (child, child + 1):
                paths[kid] = paths[place]
                paths[kid, feature >> 6] |= np.uint64(1 << (feature & 63))
    return paths


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 21])
def test_leaves_are_those_of_a_plain_descent(categorical, n):
    for seed in range(5):
        nodes, subsets, roots = draw_forest(seed, categorical=categorical)
        X = draw_rows(seed, n, categorical)
        leaves = np.empty((len(roots), n), dtype=np.int32)
        descend(nodes, subsets, roots, X, leaves)
        due = [[plain_walk(nodes, subsets, root, x)[0] for x in X] for root in roots]
        np.testing.assert_array_equal(leaves, due)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3])
def test_outputs_and_features_are_those_of_a_plain_descent(width, dtype):
    nodes, subsets, roots = draw_forest(3)
    X = draw_rows(3, 19).astype(dtype)
    values = np.random.default_rng(0).normal(size=(len(nodes), width))
    outputs = np.arange(len(roots)) % 3 if width == 1 else np.zeros(len(roots), dtype=np.int64)
    raw, words = np.zeros((19, 3)), np.zeros((19, 2), dtype=np.uint64)
    run_forest(nodes, subsets, roots, outputs, values, path_bits(nodes, roots, 2), X, raw, words)
    for row, x in enumerate(X):
        due, read = np.zeros(3), set()
        for root, output in zip(roots, outputs, strict=True):
            leaf, features = plain_walk(nodes, subsets, root, x)
            due[output : output + width] += values[leaf]
            read |= features
        np.testing.assert_array_equal(raw[row], due)
        used = {j for j in range(N_FEATURES) if int(words[row, j >> 6]) >> (j & 63) & 1}
        assert used == read


def test_binned_rows_follow_a_grown_tree_and_note_what_they_read_first():
    # The root reads feature 1, its right child feature 0; bins up to 1 go left.
    left, feature = np.array([1, -1, 3, -1, -1]), np.array([1, -1, 0, -1, -1])
    goes_left = np.zeros((5, 256), dtype=np.uint8)
    goes_left[[0, 2], :2] = 1
    bins = np.array([[0, 5, 1, 5], [0, 1, 3, 4]], dtype=np.uint8)
    leaves, news = np.empty(4, dtype=np.int32), np.empty(5, dtype=np.int64)
    used = np.zeros((4, 2), dtype=bool)
    used[0] = True  # this row has read everything before
    used[2, 1] = True
    count = follow(bins, left, feature, goes_left, leaves, used, news)
    assert leaves.tolist() == [1, 1, 3, 4]
    assert news[:count].tolist() == [1, 2, 3]
    assert used.tolist() == [[True, True], [False, True], [True, True], [True, True]]
