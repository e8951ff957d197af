"""Growing a tree: what nodes buy, how they are fitted, and where they send rows."""

from __future__ import annotations

import numpy as np
import pytest
from tree_cases import columns_of_node, has_finite_weights, small_tree, two_halves

from thrifty.costs import Prices
from thrifty.learn.submodular_tree.estimators import SubmodularTreeRegressor
from thrifty.learn.submodular_tree.grower import halving_threshold

BOTH = pytest.mark.parametrize("routing", ["hard", "soft"])


@BOTH
def test_each_half_buys_what_it_needs(routing):
    X, y = two_halves()
    prices = Prices([1.0, 5.0, 5.0, 5.0])
    model = small_tree(prices=prices, node_budget=5, max_depth=2, routing=routing).fit(X, y)
    tree = model.model_
    assert columns_of_node(tree, 0) == {0}  # column 0, and no more for 4
    for node in (tree.left[0], tree.right[0]):
        assert columns_of_node(tree, node) - {0} == {2 if node == tree.left[0] else 1}
    assert set(model.bill(X)) == {6.0}
    assert model.score(X, y) > 0.99
    assert SubmodularTreeRegressor(prices, 5, max_depth=1).fit(X, y).score(X, y) < 0.95


def test_no_node_spends_more_than_its_budget_and_parents_have_paid():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 12))
    y = X @ rng.normal(size=12) + np.abs(X[:, 0]) * X[:, 1] + rng.normal(size=3000)
    groups = {"a": [0, 1, 2], "b": [3, 4, 5]}
    prices = Prices(rng.choice([1.0, 2.0, 5.0], 12).tolist(), groups=groups,
                    shared={"a": 3.0, "b": 1.0})  # fmt: skip
    for budget in (2.0, 6.0, 11.0):
        tree = small_tree(prices=prices, node_budget=budget, max_depth=4).fit(X, y).model_
        bound = prices.bind(12)
        paid = {-1: set()}
        for node, parent in enumerate(tree.parents):
            paid[node] = paid[parent] | columns_of_node(tree, node)
            bills = [bound.bill(np.isin(np.arange(12), list(s))[None])[0]
                     for s in (paid[node], paid[parent])]  # fmt: skip
            assert bills[0] - bills[1] <= budget + 1e-9
        assert len(tree.left) == 15


def test_coefficients_are_least_squares_on_the_rows_of_each_node():
    X, y = two_halves()
    tree = small_tree(max_depth=3).fit(X, y).model_
    visited = tree.visited(X)
    for node in range(len(tree.left)):
        rows, span = visited[:, node], slice(tree.starts[node], tree.starts[node + 1])
        Z = X[rows][:, tree.encoding.columns[tree.inputs[span]]]
        A = np.column_stack([np.ones(rows.sum()), Z])
        expected = A @ np.linalg.lstsq(A, y[rows], rcond=None)[0]
        inputs = tree.nodes[node].inputs.read(X, np.flatnonzero(rows))
        assert np.allclose(inputs @ tree.weights[span, 0] + tree.bias[node, 0], expected)


def test_a_node_sends_half_of_its_rows_to_each_child():
    X, y = two_halves(n=1024)
    tree = small_tree(max_depth=4).fit(X, y).model_
    counts = tree.visited(X).sum(axis=0)
    for node in np.flatnonzero(tree.left >= 0):
        assert counts[tree.left[node]] == counts[tree.right[node]] == counts[node] // 2


def test_the_threshold_divides_weights_evenly_and_never_a_value():
    assert halving_threshold(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 4.0])) == 2.5
    assert halving_threshold(np.array([1.0, 1.0, 1.0, 2.0]), np.ones(4)) == 1.5
    assert halving_threshold(np.array([5.0, 5.0]), np.ones(2)) == np.inf
    low = 1.0
    high = np.nextafter(low, 2.0)
    cut = halving_threshold(np.array([low, high]), np.ones(2))
    assert low <= cut < high


def test_soft_routing_fits_nodes_to_all_rows():
    X, y = two_halves()
    hard, soft = (small_tree(max_depth=2, routing=routing).fit(X, y).model_
                  for routing in ("hard", "soft"))  # fmt: skip
    assert np.array_equal(hard.weights[: hard.starts[1]], soft.weights[: soft.starts[1]])
    assert not np.allclose(hard.bias[1:], soft.bias[1:])
    hard, soft = (small_tree(max_depth=1, routing=routing).fit(X, y).model_
                  for routing in ("hard", "soft"))  # fmt: skip
    assert np.array_equal(hard.weights, soft.weights)


def test_no_node_is_left_without_rows():
    X = np.random.default_rng(0).integers(0, 2, size=(500, 3)).astype(float)
    tree = SubmodularTreeRegressor(max_depth=6, min_samples_leaf=1e-9).fit(
        X, X @ [1.0, 2.0, 4.0] + X[:, 0] * X[:, 1]
    )
    assert has_finite_weights(tree)
    assert tree.model_.visited(X).any(axis=0).all()


def test_a_node_budget_of_0_buys_free_features():
    X, y = two_halves()
    model = small_tree(prices=Prices([0.0, 1.0, 1.0, 1.0]), node_budget=0.0).fit(X, y)
    assert model.bill(X).max() == 0.0
    assert model.used(X).any(axis=0).tolist() == [True, False, False, False]
