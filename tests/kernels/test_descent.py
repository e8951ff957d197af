"""Rows reach what a plain descent finds; a row that stops early never has another answer."""

from __future__ import annotations

import numpy as np
import pytest
from plain_forest import N_FEATURES, draw_forest, draw_rows, plain_walk
from uncompiled import agree

from thrifty.kernels import descent
from thrifty.kernels.descent import descend, run_forest
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, empty_nodes
from thrifty.model.short_circuit.bounds import LARGEST, SIGN, VALUE


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


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 21])
def test_leaves_are_those_of_a_plain_descent(categorical, n, missing):
    for seed in range(5):
        # With 20 trees, the rows are searched for missing values; with 5 they are not.
        nodes, subsets, roots = draw_forest(seed, 20 if seed % 2 else 5, categorical=categorical)
        X = draw_rows(seed, n, categorical, missing)
        leaves = np.empty((len(roots), n), dtype=np.int32)
        descend(nodes, subsets, roots, X, 100, leaves)
        for root, row in zip(roots, leaves, strict=True):
            assert row.tolist() == [plain_walk(nodes, subsets, root, x)[0] for x in X]


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


def test_the_size_of_a_block_changes_nothing():
    nodes, subsets, roots = draw_forest(0)
    X = draw_rows(0, 30)
    once, blockwise = np.empty((2, len(roots), 30), dtype=np.int32)
    descend(nodes, subsets, roots, X, 30, once)
    descend(nodes, subsets, roots, X, 9, blockwise)
    np.testing.assert_array_equal(once, blockwise)


def children(threshold, feature, values, subset=()):
    """Return where one split, whose children are nodes 1 and 2, sends some values."""
    nodes = empty_nodes(3)
    nodes[0] = (threshold, 1, feature)
    subsets = np.array(subset, dtype=np.uint64).reshape(-1, 4)
    leaves = np.empty((1, len(values)), dtype=np.int32)
    descend(nodes, subsets, np.zeros(1, np.int64), np.array(values)[:, np.newaxis], 100, leaves)
    return leaves[0].tolist()


def test_values_up_to_the_threshold_go_left():
    assert children(0.5, 0, [-1.0, 0.5, 0.6]) == [1, 1, 2]
    assert children(0.5, 0, [-1.0, np.inf, 0.5, 0.6, -np.inf, np.nan]) == [1, 2, 1, 2, 1, 2]


@pytest.mark.parametrize(("flag", "child"), [(0, 2), (MISSING_LEFT, 1)])
def test_a_missing_value_goes_where_the_flag_says(flag, child):
    assert children(0.5, flag, [np.nan]) == [child]
    assert children(0.0, flag | CATEGORICAL, [np.nan], [1, 0, 0, 0]) == [child]


def test_codes_of_the_subset_go_left_and_what_is_no_code_goes_right():
    subset = [1, 0, 0, 1 << 63]
    values = [0.0, 255.0, 1.0, 256.0, -1.0, 0.5, 1e300, -np.inf]
    assert children(0.0, CATEGORICAL, values, subset) == [1, 1, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_compiled_and_uncompiled_the_forest_is_the_same(width, categorical, missing):
    nodes, subsets, roots = draw_forest(1, n_trees=20, depth=3, categorical=categorical)
    values = np.random.default_rng(0).normal(size=(len(nodes), width))
    outputs = np.arange(len(roots)) % 3 if width == 1 else np.zeros(len(roots), dtype=np.int64)

    def run(module, dtype, n, words):
        X = draw_rows(2, n, categorical, missing).astype(dtype)
        leaves = np.empty((len(roots), n), dtype=np.int32)
        module.descend(nodes, subsets, roots, X, 8, leaves)
        raw, bits = np.zeros((n, 3)), np.zeros((n, words), dtype=np.uint64)
        paths = path_bits(nodes, roots, 2)[:, :words].copy()
        module.run_forest(nodes, subsets, roots, outputs, values, paths, X, raw, bits)
        return leaves, raw, bits

    agree("descent", lambda module: run(module, np.float64, 11, 2))
    agree("descent", lambda module: run(module, np.float32, 3, 1))
    agree("descent", lambda module: run(module, np.float32, 3, 0))


def test_compiled_and_uncompiled_one_row_goes_down_large_trees():
    # There are too few rows to fetch the trees, and too many columns to look for missing values.
    nodes, subsets, roots = draw_forest(1, n_trees=2, depth=9)
    assert roots[1] > 64
    outputs, values = np.zeros(2, dtype=np.int64), np.ones((len(nodes), 1))

    def run(module):
        X, raw, words = draw_rows(2, 1, missing=0.0), np.zeros((1, 0)), np.zeros((1, 2), np.uint64)
        paths = path_bits(nodes, roots, 2)
        module.run_forest(nodes, subsets, roots, outputs, values, paths, X, raw, words)
        scores = np.zeros((1, 1))
        none = np.zeros((1, 0), np.uint64)
        module.run_forest(nodes, subsets, roots, outputs, values, paths, X, scores, none)
        return words, scores

    agree("descent", run)


def bounds(nodes, values):
    """Return the least and largest value of the leaves below each node."""
    low, high = values.copy(), values.copy()
    for place in range(len(nodes) - 1, -1, -1):
        child = int(nodes[place]["child"])
        if child != place:
            low[place] = low[child : child + 2].min(axis=0)
            high[place] = high[child : child + 2].max(axis=0)
    return low, high


def stop(nodes, subsets, roots, values, outputs, k, rule, X, module=descent):
    """Run the kernel on integer leaf values; return scores, used features and finished trees."""
    low, high = bounds(nodes, values)
    start = np.zeros((2, k), dtype=np.int64)
    for root, output in zip(roots, outputs, strict=True):
        part = slice(output, output + values.shape[1])
        start[0, part] += low[root]
        start[1, part] += high[root]
    raw, used = np.zeros((len(X), k)), np.zeros((len(X), N_FEATURES), dtype=np.uint8)
    done, ends = np.zeros(len(X), dtype=np.int64), np.zeros((len(X), 2), dtype=np.int64)
    fills = np.clip(values, low, high).astype(float)
    order = np.arange(len(roots))
    module.run_short_circuit(
        nodes, subsets, roots, outputs, order, low, high, fills, start, np.array(rule), X,
        raw, used, done, ends,
    )  # fmt: skip
    return raw, used.view(bool), done, ends


def plain_scores(nodes, subsets, roots, values, outputs, k, X):
    """Return the scores of the whole forest and the features that all trees read."""
    scores, read = np.zeros((len(X), k)), np.zeros((len(X), N_FEATURES), dtype=bool)
    for row, x in enumerate(X):
        for root, output in zip(roots, outputs, strict=True):
            leaf, features = plain_walk(nodes, subsets, root, x)
            scores[row, output : output + values.shape[1]] += values[leaf]
            read[row, list(features)] = True
    return scores, read


@pytest.fixture(params=range(4))
def forest(request):
    categorical = request.param % 2 == 1
    forest = draw_forest(request.param, n_trees=9, categorical=categorical)
    X = draw_rows(request.param, 40, categorical)
    return *forest, X, np.random.default_rng(request.param)


def test_without_tolerance_every_tree_is_finished(forest):
    nodes, subsets, roots, X, rng = forest
    values = rng.integers(-50, 50, size=(len(nodes), 1))
    outputs = np.zeros(len(roots), dtype=np.int64)
    raw, used, done, ends = stop(nodes, subsets, roots, values, outputs, 1, (VALUE, -1, 0, 0), X)
    scores, read = plain_scores(nodes, subsets, roots, values, outputs, 1, X)
    np.testing.assert_array_equal(raw, scores)
    np.testing.assert_array_equal(used, read)
    assert done.tolist() == [len(roots)] * len(X)
    np.testing.assert_array_equal(ends, np.repeat(scores, 2, axis=1))


def test_a_sign_is_settled_early_and_never_changes(forest):
    nodes, subsets, roots, X, rng = forest
    values = rng.integers(-50, 50, size=(len(nodes), 1))
    outputs = np.zeros(len(roots), dtype=np.int64)
    _, used, done, ends = stop(nodes, subsets, roots, values, outputs, 1, (SIGN, 0, 0, 0), X)
    scores, read = plain_scores(nodes, subsets, roots, values, outputs, 1, X)
    settled = (ends[:, 0] > 0) | (ends[:, 1] < 0)
    assert settled[scores[:, 0] != 0].all()
    np.testing.assert_array_equal(np.sign(ends[settled, 0]), np.sign(scores[settled, 0]))
    assert not (used & ~read).any()
    assert (ends[:, 0] <= scores[:, 0]).all() and (scores[:, 0] <= ends[:, 1]).all()
    assert done.min() < len(roots)


def test_the_largest_output_is_that_of_the_whole_forest(forest):
    nodes, subsets, roots, X, rng = forest
    values = rng.integers(0, 50, size=(len(nodes), 3))
    outputs = np.zeros(len(roots), dtype=np.int64)
    rule = (LARGEST, 0, -1, 2**62)  # a tie goes to the first class
    raw, used, _, _ = stop(nodes, subsets, roots, values, outputs, 3, rule, X)
    scores, read = plain_scores(nodes, subsets, roots, values, outputs, 3, X)
    whole = (used == read).all(axis=1)
    assert not whole.all()
    np.testing.assert_array_equal(raw[whole].argmax(axis=1), scores[whole].argmax(axis=1))
    assert not (used & ~read).any()


@pytest.mark.parametrize(
    ("width", "rule"),
    [
        (1, (VALUE, 60, 0, 0)),
        (1, (SIGN, 5, 0, 0)),
        (1, (LARGEST, 2, 2, 40)),
        (3, (LARGEST, 0, -1, 2**62)),
        (3, (LARGEST, 2, 2, 3)),
    ],
)
@pytest.mark.parametrize("categorical", [False, True])
def test_compiled_and_uncompiled_rows_stop_at_the_same_place(width, rule, categorical):
    nodes, subsets, roots = draw_forest(3, n_trees=7, categorical=categorical)
    rng = np.random.default_rng(4)
    values = rng.integers(-20, 20, size=(len(nodes), width))
    k = 3 if rule[0] == LARGEST else 1
    outputs = np.arange(len(roots)) % k if width == 1 else np.zeros(len(roots), dtype=np.int64)
    X = draw_rows(5, 12, categorical)
    for dtype in (np.float32, np.float64):
        table = X.astype(dtype)
        agree(
            "descent",
            lambda module, X=table: stop(
                nodes, subsets, roots, values, outputs, k, rule, X, module
            ),
        )
