"""DimensionTrees: growing on some rows, following others, subsampling and undoing."""

from __future__ import annotations

import numpy as np
from anytime_cases import split_rows, start_trees


def test_the_early_stopping_rows_follow_the_trees():
    split = split_rows()
    trees = start_trees(split)
    sign = np.where(split.rows.y == 1, 1.0, -1.0)
    out = np.zeros((2, len(sign)))
    for column in (0, 1, 1):
        assert trees.grow(trees.subsample(sign[split.growing]), column, out[column])
    forest = trees.freeze(2)
    np.testing.assert_allclose(forest.raw(split.rows.X), out.T, atol=1e-12)
    assert forest.outputs.tolist() == [0, 1, 1]


def test_each_tree_is_grown_on_another_half_of_the_rows():
    split = split_rows()
    trees = start_trees(split)
    ones = np.ones(split.growing.stop)
    first = trees.subsample(ones)
    assert set(first) == {0.0, 2.0} and 0.4 < np.mean(first > 0) < 0.6
    trees.grow(np.where(split.rows.y[split.growing] == 1, 1.0, -1.0), 0, np.zeros(len(split.rows)))
    assert not np.array_equal(trees.subsample(ones), first)


def test_nothing_is_grown_where_no_split_is_worth_its_price():
    split = split_rows()
    trees = start_trees(split)
    trees.set_penalty(1e9)
    out = np.zeros(len(split.rows))
    target = split.rows.X[split.growing, 0].copy()
    grown = trees.grow(target, 0, out)
    # Only the free feature, the fourth, may have been read.
    assert trees.purchases.features[[0, 1, 2, 4, 5]].sum() == 0
    assert grown == (trees.count == 1)


def test_a_checkpoint_restores_trees_and_purchases():
    split = split_rows()
    trees = start_trees(split)
    target = np.where(split.rows.y[split.growing] == 1, 1.0, -1.0)
    checkpoint = trees.checkpoint()
    assert trees.grow(target, 0, np.zeros(len(split.rows)))
    assert trees.count == 1 and trees.purchases.features.any()
    trees.restore(checkpoint)
    assert trees.count == 0 and not trees.purchases.features.any()


def test_no_half_of_the_rows_is_drawn_twice_even_after_trees_are_undone():
    split = split_rows()
    trees = start_trees(split)
    target = np.ones(split.growing.stop)
    before = trees.checkpoint()
    first = trees.subsample(target)
    trees.grow(
        np.where(split.rows.X[split.growing, 0] > 0, 1.0, -1.0), 0, np.zeros(len(split.rows))
    )
    trees.restore(before)
    assert not np.array_equal(trees.subsample(target), first)
