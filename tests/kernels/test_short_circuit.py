"""A row stops as soon as its bounds settle it, and never at another answer."""

from __future__ import annotations

import numpy as np
import pytest
from plain_forest import N_FEATURES, draw_forest, draw_rows, plain_walk

from thrifty.kernels.short_circuit import LARGEST, SIGN, VALUE, run_short_circuit


def bounds(nodes, values):
    """Return the least and largest value of the leaves below each node."""
    low, high = values.copy(), values.copy()
    for place in range(len(nodes) - 1, -1, -1):
        child = int(nodes[place]["child"])
        if child != place:
            low[place] = low[child : child + 2].min(axis=0)
            high[place] = high[child : child + 2].max(axis=0)
    return low, high


def run(nodes, roots, values, outputs, k, rule, X):
    """Run the kernel on integer leaf values; return scores, used features and finished trees."""
    low, high = bounds(nodes, values)
    start = np.zeros((2, k), dtype=np.int64)
    for root, output in zip(roots, outputs, strict=True):
        part = slice(output, output + values.shape[1])
        start[0, part] += low[root]
        start[1, part] += high[root]
    raw, used = np.zeros((len(X), k)), np.zeros((len(X), N_FEATURES), dtype=bool)
    done, ends = np.zeros(len(X), dtype=np.int64), np.zeros((len(X), 2), dtype=np.int64)
    fills = np.clip(values, low, high).astype(float)
    order = np.arange(len(roots))
    run_short_circuit(
        nodes,
        None,
        roots,
        outputs,
        order,
        low,
        high,
        fills,
        start,
        np.array(rule),
        X,
        raw,
        used,
        done,
        ends,
    )
    return raw, used, done, ends


def plain_scores(nodes, roots, values, outputs, k, X):
    """Return the scores of the whole forest and the features that all trees read."""
    scores, read = np.zeros((len(X), k)), np.zeros((len(X), N_FEATURES), dtype=bool)
    for row, x in enumerate(X):
        for root, output in zip(roots, outputs, strict=True):
            leaf, features = plain_walk(nodes, None, root, x)
            scores[row, output : output + values.shape[1]] += values[leaf]
            read[row, list(features)] = True
    return scores, read


@pytest.fixture(params=range(4))
def forest(request):
    nodes, _, roots = draw_forest(request.param, n_trees=9)
    return nodes, roots, draw_rows(request.param, 40), np.random.default_rng(request.param)


def test_without_tolerance_every_tree_is_finished(forest):
    nodes, roots, X, rng = forest
    values = rng.integers(-50, 50, size=(len(nodes), 1))
    outputs = np.zeros(len(roots), dtype=np.int64)
    raw, used, done, ends = run(nodes, roots, values, outputs, 1, (VALUE, -1, 0, 0), X)
    scores, read = plain_scores(nodes, roots, values, outputs, 1, X)
    np.testing.assert_array_equal(raw, scores)
    np.testing.assert_array_equal(used, read)
    assert done.tolist() == [len(roots)] * len(X)
    np.testing.assert_array_equal(ends, np.repeat(scores, 2, axis=1))


def test_a_sign_is_settled_early_and_never_changes(forest):
    nodes, roots, X, rng = forest
    values = rng.integers(-50, 50, size=(len(nodes), 1))
    outputs = np.zeros(len(roots), dtype=np.int64)
    _, used, done, ends = run(nodes, roots, values, outputs, 1, (SIGN, 0, 0, 0), X)
    scores, read = plain_scores(nodes, roots, values, outputs, 1, X)
    settled = (ends[:, 0] > 0) | (ends[:, 1] < 0)
    assert settled[scores[:, 0] != 0].all()
    np.testing.assert_array_equal(np.sign(ends[settled, 0]), np.sign(scores[settled, 0]))
    assert not (used & ~read).any()
    assert (ends[:, 0] <= scores[:, 0]).all() and (scores[:, 0] <= ends[:, 1]).all()
    assert done.min() < len(roots)


def test_the_largest_output_is_that_of_the_whole_forest(forest):
    nodes, roots, X, rng = forest
    values = rng.integers(0, 50, size=(len(nodes), 3))
    outputs = np.zeros(len(roots), dtype=np.int64)
    rule = (LARGEST, 0, -1, 2**62)  # a tie goes to the first class
    raw, used, _, _ = run(nodes, roots, values, outputs, 3, rule, X)
    scores, read = plain_scores(nodes, roots, values, outputs, 3, X)
    whole = (used == read).all(axis=1)
    assert not whole.all()
    np.testing.assert_array_equal(raw[whole].argmax(axis=1), scores[whole].argmax(axis=1))
    assert not (used & ~read).any()
