"""Bags: who may be drawn, how often, and what rows weigh in them."""

from __future__ import annotations

import numpy as np
import pytest
from plain_extra_tree import Case
from uncompiled import agree

from thrifty.kernels import extra_tree


def test_as_many_rows_are_drawn_as_asked():
    for n_draws in (1, 5, 60, 200):
        tree, leaves = Case.draw(0, n_draws=n_draws).grow_with(extra_tree)
        assert tree.weight[0] == n_draws
        assert np.sum(leaves < 0) <= n_draws


def test_about_a_third_of_the_rows_is_out_of_the_bag():
    _, leaves = Case.draw(0, n=4000, min_rows=500).grow_with(extra_tree)
    assert np.mean(leaves >= 0) == pytest.approx(np.exp(-1), abs=0.03)


def test_rows_of_a_group_are_out_of_the_bag_together():
    case = Case.draw(1, groups=np.random.default_rng(0).integers(0, 9, size=60))
    groups = case.groups[case.trainer()._order]
    for seed in range(10):
        _, leaves = case.grow_with(extra_tree, seed)
        for group in range(9):
            assert len(set((leaves[groups == group] < 0).tolist())) == 1


def test_rows_without_weight_are_never_in_the_bag():
    case = Case.draw(1, weight=np.arange(60) % 3 / 3.0, n_draws=500)
    weight = case.weight[case.trainer()._order]
    _, leaves = case.grow_with(extra_tree)
    np.testing.assert_array_equal(leaves >= 0, weight == 0)


def test_groups_without_weight_are_never_in_the_bag():
    groups = np.arange(60) // 6
    case = Case.draw(1, groups=groups, weight=(groups % 2).astype(float), n_draws=500)
    _, leaves = case.grow_with(extra_tree)
    np.testing.assert_array_equal(leaves >= 0, case.weight[case.trainer()._order] == 0)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_uncompiled_bags_of_weighted_groups_agree(n_classes):
    case = Case.draw(1, n_classes=n_classes, groups=np.arange(60) // 4, weight=np.arange(60.0))
    agree("extra_tree", case.grow_with)
