"""Rows in blocks: a whole tree is compared in `test_hist_tree`; here, its rows."""

from __future__ import annotations

import numpy as np
import pytest
from uncompiled import uncompiled

from thrifty.costs import Prices
from thrifty.learn.binned import Binned, BinnedParts
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.purchases import Purchases


def grower_on(binned, **settings):
    d = binned.n_features
    purchases = Purchases(Prices([1.0] * d).bind(d), binned.n_rows, "model")
    return Grower(binned, purchases, max_depth=3, min_samples_leaf=2, **settings)


def in_parts(binned, size):
    """Store a table in parts of `size` rows."""
    n_parts = -(-binned.n_rows // size)
    stored = np.full((n_parts, binned.n_features, size), 77, dtype=np.uint8)
    for k in range(n_parts):
        part = binned.bins[:, k * size : (k + 1) * size]
        stored[k, :, : part.shape[1]] = part
    return BinnedParts(stored, binned.edges, binned.categorical, binned.n_rows)


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [7, 25, 50, 64])
def test_a_table_in_parts_gives_the_same_tree(binned, size, weighted):
    rng = np.random.default_rng(1)
    target, weight = rng.normal(size=50), rng.uniform(0.5, 2.0, 50) if weighted else None
    found = []
    for table in (binned, in_parts(binned, size)):
        grower = grower_on(table, weight=weight)
        tree = grower.grow(target)
        inner = tree.left >= 0
        values, out = grower.values(target, None, 1.0), np.zeros(50)
        grower.add(values, out)
        parts = (tree.left, tree.feature[inner], tree.goes_left[inner], tree.n_rows, values, out)
        found.append([part.tobytes() for part in parts])
    assert found[0] == found[1]


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
            if hasattr(grower_module, name):
                monkeypatch.setattr(grower_module, name, getattr(uncompiled(module), name))
    assert rows() == compiled
