"""Cost terms: one per priced column, group and evaluation."""

from __future__ import annotations

import numpy as np
from soft_tree_cases import COLUMNS, PRICES, rounded_root

from thrifty import Prices
from thrifty.learn.cost_tree.cost_terms import CostTerms, smooth_root


def test_a_column_pays_for_all_its_encoded_columns_once() -> None:
    terms = CostTerms.of_columns(COLUMNS, PRICES)
    # Column 2 is free, so it has no term of its own; the group is the last term.
    assert terms.prices.tolist() == [1.0, 2.0, 4.0, 3.0]
    assert terms.members.toarray().tolist() == [
        [1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 1, 1, 0]
    ]  # fmt: skip
    assert terms.visit_price == 0.25


def test_a_base_tree_pays_for_what_it_reads_and_for_its_evaluation() -> None:
    reads = np.array([[True, False], [True, True]])
    terms = CostTerms.of_trees(reads, Prices([1.0, 2.0], evaluation=0.5).bind(2))
    assert terms.prices.tolist() == [1.0, 2.0, 0.5, 0.5]
    assert terms.members.toarray().tolist() == [[1, 0], [1, 1], [1, 0], [0, 1]]
    assert terms.visit_price == 0.0


def test_droppable_sets_are_terms_and_columns_with_the_largest_first() -> None:
    sets = CostTerms.of_columns(COLUMNS, PRICES).droppable_sets
    assert sets.sum(axis=1).tolist() == [3, 2, 1, 1, 1]
    assert sets[0].tolist() == [False, True, True, True, False]  # the group


def test_squares_are_summed_over_the_inputs_of_each_term() -> None:
    terms = CostTerms.of_columns(COLUMNS, PRICES)
    squares = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    assert terms.sum_squares(squares).tolist() == [[1.0, 5.0, 5.0, 9.0]]
    assert terms.without_prices(np.array([0, 3])).sum_squares(squares[:, [0, 3]]).shape == (1, 0)


def test_the_smooth_root_is_zero_at_zero_and_close_to_the_root_elsewhere() -> None:
    squares = np.array([0.0, 1e-6, 4.0])
    np.testing.assert_array_equal(smooth_root(squares), rounded_root(squares))
    assert smooth_root(squares)[0] == 0.0
    np.testing.assert_allclose(smooth_root(squares)[2], 2.0, atol=1e-4)
