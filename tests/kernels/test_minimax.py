"""Every split of a grown tree has the least risk that brute force finds in its node."""

from __future__ import annotations

import pytest
from greedy_tree import Case, Mine, compare

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
