"""Every split of a grown tree has the least risk that brute force finds in its node."""

from __future__ import annotations

import numpy as np
import pytest
from greedy_tree import Case, Mine, compare
from uncompiled import agree

from thrifty.learn.budget_forest.impurities import Polynomial, Powers, ThresholdPairs

CASES = range(16)


@pytest.mark.parametrize("alpha", [0, 4, 15])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_splits_are_those_of_brute_force(alpha, classes):
    cases = [Case.draw(seed, classes=classes, n=120 + 18 * alpha) for seed in CASES]
    splits = [compare(case, ThresholdPairs(alpha)) for case in cases]
    assert sum(splits) > (100 if alpha == 0 else 10)


def test_missing_values_and_weights_are_searched_on_both_sides():
    for seed in CASES:
        case = Case.draw(seed, classes=3, missing=0.2, weighted=seed % 3 > 0)
        assert compare(case, ThresholdPairs(0)) > 3
        compare(case, ThresholdPairs(2))


def test_categories_are_cut_in_the_order_of_the_largest_class():
    for seed in CASES:
        case = Case.draw(seed, classes=2 + seed % 3, missing=0.1 * (seed % 2), categorical=2)
        assert compare(case, ThresholdPairs(0)) > 3


@pytest.mark.parametrize(
    "impurity",
    [Powers(2), Powers(3), Polynomial([(2.0, (1, 1, 0)), (1.0, (1, 2, 1)), (1.0, (0, 1, 1))])],
    ids=repr,
)
def test_other_impurities_are_searched_as_exactly(impurity):
    for seed in range(8):
        compare(Case.draw(seed, classes=3, missing=0.1, categorical=1), impurity)


def test_expected_splits_are_those_of_brute_force():
    for seed in range(12):
        compare(Case.draw(seed, classes=3, missing=0.1), ThresholdPairs(0), "expected")


def test_large_nodes_read_histograms_and_agree_too():
    for classes in (2, 5):
        case = Case.draw(1, classes=classes, n=700, levels=40, missing=0.1)
        assert compare(case, ThresholdPairs(12)) > 5


@pytest.mark.parametrize("splits", ["minimax", "expected"])
def test_an_impurity_of_the_user_is_searched_as_exactly(splits):
    for seed in range(8):
        case = Case.draw(seed, classes=3, missing=0.1, categorical=1, weighted=seed % 2 > 0)
        assert compare(case, Mine(), splits) > 3


@pytest.mark.parametrize("splits", ["minimax", "expected", "stumps"])
@pytest.mark.parametrize(
    "impurity",
    [
        ThresholdPairs(0),
        ThresholdPairs(2),
        Powers(3),
        Polynomial([(2.0, (1, 1, 0)), (1.0, (1, 2, 1)), (1.0, (0, 1, 1))]),
    ],
    ids=repr,
)
def test_compiled_and_uncompiled_searches_agree(impurity, splits):
    case = Case.draw(3, classes=3, missing=0.1, categorical=1, weighted=True)
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, impurity, splits))


@pytest.mark.parametrize("splits", ["minimax", "expected", "stumps"])
def test_uncompiled_kernels_agree_on_two_classes(splits):
    case = Case.draw(1, classes=2, levels=30)
    agree("deep_tree", lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0), splits))


@pytest.mark.parametrize("rows", [300, 600, 2100])
def test_uncompiled_kernels_agree_on_how_many_cuts_are_drawn(rows):
    case = Case.draw(1, n=rows, levels=100)
    agree(
        "deep_tree",
        lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0), "stumps", max_depth=1),
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_uncompiled_kernels_agree_in_nodes_that_need_a_histogram(classes):
    case = Case.draw(1, classes=classes, n=4200, levels=40, missing=0.1)
    agree(
        "deep_tree",
        lambda deep_tree: case.grow_with(deep_tree, ThresholdPairs(0), max_depth=1),
    )


def test_compiled_and_uncompiled_impurities_agree():
    def run(minimax):
        counts = np.array([3 << 32 | 5, 7 << 32])
        none = np.zeros(0), np.zeros((0, 0))
        terms = np.array([1.5, 2.0]), np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
        forms = [
            minimax.ImpurityForm(minimax.PAIRS, 0.0, *none, 3, 0.5),
            minimax.ImpurityForm(minimax.PAIRS, 1.0, *none, 3, 0.5),
            minimax.ImpurityForm(minimax.POWERS, 3.0, *none, 3, 0.5),
            minimax.ImpurityForm(minimax.POLYNOMIAL, 0.0, *terms, 3, 0.5),
        ]
        return [minimax.impurity_of(form, counts) for form in forms]

    agree("minimax", run)
