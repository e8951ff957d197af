"""Rows in blocks: a whole tree is compared in `test_hist_tree`; here, its rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_parts import in_parts
from uncompiled import uncompiled

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting import tree_head as head_module
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.purchases import Purchases


def grower_on(binned, **settings):
    d = binned.n_features
    purchases = Purchases(Prices([1.0] * d).bind(d), binned.n_rows, "model")
    return Grower(binned, purchases, max_depth=3, min_samples_leaf=2, **settings)


@pytest.fixture
def binned():
    X = np.random.default_rng(5).normal(size=(50, 6))
    X[::7] = np.nan
    return Binned.of(X, np.zeros(6, dtype=bool), None)


def test_rows_of_a_node_stay_in_order_within_their_block(binned, monkeypatch):
    monkeypatch.setattr(grower_module, "MAX_PACKED_ROWS", 0)
    monkeypatch.setattr(grower_module, "BLOCK_ROWS", 20)
    grower = grower_on(binned)
    tree = grower.grow(np.random.default_rng(0).normal(size=50))
    rows, first, last = (np.asarray(getattr(grower._blocks, name))
                         for name in ("rows", "first", "last"))  # fmt: skip
    leaves = np.flatnonzero(tree.left < 0)
    assert first.shape[0] == 3
    for b in range(3):
        inside = [rows[first[b, leaf] : last[b, leaf]].tolist() for leaf in leaves]
        assert all(some == sorted(some) for some in inside)
        found = sorted(row for some in inside for row in some)
        assert found == list(range(20 * b, min(20 * b + 20, 50)))


def boosted(table, order, charge, weight, block_rows):
    """Two trees on the rows of a table in some order, and what remains, in the first order."""
    d, n = table.n_features, table.n_rows
    prices = Prices(np.arange(1.0, d + 1), groups={"g": [0, 1]}, shared={"g": 2.0}).bind(d)
    with pytest.MonkeyPatch.context() as patch:
        if block_rows is not None:
            patch.setattr(grower_module, "MAX_PACKED_ROWS", 0)
            patch.setattr(grower_module, "BLOCK_ROWS", block_rows)
        grower = Grower(
            table, Purchases(prices, n, charge), max_depth=3, min_samples_leaf=2, penalty=1e-3,
            weight=None if weight is None else weight[order],
        )  # fmt: skip
    rest, found = np.random.default_rng(1).normal(size=n)[order], []
    for _ in range(2):
        tree = grower.grow(rest)
        inner, split = tree.left >= 0, np.random.default_rng(0).random(n)[order]
        values = grower.values(rest, split, 1.0)
        grower.add(-values, rest)
        found += [tree.left, tree.feature[inner], tree.goes_left[inner], tree.n_rows, values]
        found.append(grower.purchases.total_due(grower.weight))
    back = np.empty_like(rest)
    back[order] = rest
    return [part.tobytes() for part in (*found, back)]


@given(
    size=st.integers(3, 70),
    block_rows=st.none() | st.integers(2, 50),
    charge=st.sampled_from(["model", "example"]),
    weighted=st.booleans(),
    seed=st.none() | st.integers(0, 9),
)
@settings(max_examples=40)
def test_any_blocks_and_any_order_of_the_rows_give_the_same_trees(
    size, block_rows, charge, weighted, seed
):
    X = np.random.default_rng(5).normal(size=(50, 6))
    X[::7] = np.nan
    X[:, 5] = np.arange(50) % 5
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 50) if weighted else None
    rows = np.arange(50)
    order = rows if seed is None else np.random.default_rng(seed).permutation(50)
    categorical = np.arange(6) == 5
    whole = boosted(Binned.of(X, categorical, None), rows, charge, weight, None)
    parts = in_parts(Binned.of(X[order], categorical, None), size)
    assert boosted(parts, order, charge, weight, block_rows) == whole


def test_uncompiled_rows_are_the_same(binned, monkeypatch):
    target = np.random.default_rng(2).normal(size=50)
    table = in_parts(binned, 15)

    def rows():
        grower = grower_on(table)
        grower.grow(target)
        return np.asarray(grower._blocks.rows).tolist()

    compiled = rows()
    for module in ("growth", "hist_tree", "histogram"):
        for name in uncompiled(module).__all__:
            for user in (grower_module, head_module):
                if hasattr(user, name):
                    monkeypatch.setattr(user, name, getattr(uncompiled(module), name))
    assert rows() == compiled
