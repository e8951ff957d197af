"""Cuts are drawn evenly between the values of a node, and only features that split it count."""

from __future__ import annotations

import numpy as np
import pytest
from plain_extra_tree import Case
from uncompiled import agree

from thrifty.kernels import extra_tree
from thrifty.kernels.binning import MISSING

SEEDS = 600


def roots(case, seeds=SEEDS):
    """Return feature, place and missing side of the roots of many trees."""
    trees = [case.grow_with(extra_tree, seed)[0] for seed in range(seeds)]
    trees = [tree for tree in trees if len(tree.left) > 1]
    parts = ((tree.feature[0], tree.place[0], tree.missing_left[0]) for tree in trees)
    return np.array(list(parts)).T


def table(column, **settings):
    """Return a case with one column, each value ten times, and classes that no cut parts."""
    X = np.repeat(np.array(column, dtype=float), 10)[:, None]
    case = Case(X, np.arange(len(X)) % 2, 2, np.zeros(1, bool), features=np.array([0]))
    for name, value in settings.items():
        setattr(case, name, value)
    return case


def test_a_cut_falls_into_a_gap_in_proportion_to_its_width():
    # Edges are at 0.5, 5.5 and 10.5; the bins of 1 and 10 lie in the middle of theirs.
    _, places, _ = roots(table([0, 1, 10, 11]))
    shares = np.bincount(places, minlength=3) / len(places)
    positions = np.asarray(table([0, 1, 10, 11]).trainer()._table.positions)[0, :4]
    np.testing.assert_allclose(shares, np.diff(positions) / np.ptp(positions), atol=0.06)


def test_missing_values_go_left_or_right_or_are_alone():
    _, places, missing_left = roots(table([0, 1, np.nan]))
    alone = places == MISSING - 1
    assert np.mean(alone) == pytest.approx(1 / 3, abs=0.06)
    assert np.mean(missing_left) == pytest.approx(1 / 3, abs=0.06)
    assert not np.any(missing_left[alone])


def test_a_feature_with_one_value_is_cut_where_it_is_missing():
    _, places, missing_left = roots(table([3, np.nan]), seeds=20)
    assert set(places) == {MISSING - 1}
    assert set(missing_left) == {0}


@pytest.mark.parametrize("column", [[3.0, 3.0], [np.nan, np.nan]], ids=["one value", "no value"])
def test_a_feature_with_one_value_does_not_split(column):
    assert roots(table(column), seeds=5).size == 0


def test_every_division_of_the_categories_is_as_likely():
    case = table([0, 1, 2], categorical=np.ones(1, bool))
    trees = [case.grow_with(extra_tree, seed)[0] for seed in range(SEEDS)]
    subsets = np.array([int(tree.subsets[0, 0]) & 7 for tree in trees])
    shares = np.bincount(subsets, minlength=8) / SEEDS
    np.testing.assert_allclose(shares[1:7], 1 / 6, atol=0.06)
    assert shares[0] == shares[7] == 0


def test_features_that_cannot_split_do_not_count_as_tried():
    case = Case.draw(0, max_features=1)
    case.X[:, :4] = 1.0
    tree, _ = case.grow_with(extra_tree)
    assert set(tree.feature[tree.left >= 0]) == {4}


def test_the_best_of_the_tried_features_splits():
    case = Case.draw(0, n=200, n_classes=2, max_features=5)
    case.X[:, 1] = case.y
    features, _, _ = roots(case, seeds=20)
    assert set(features) == {1}


def test_uncompiled_cuts_of_flat_and_empty_features_agree():
    case = Case.draw(3, missing=0.3, max_features=4)
    case.X[:, 0] = 1.0
    case.X[:, 1] = np.nan
    case.X[:30, 2] = 5.0
    agree("extra_tree", case.grow_with)
