"""Items: what is bought together, and what is free."""

from __future__ import annotations

import numpy as np

from thrifty.costs import Prices
from thrifty.learn.policy.items import Items


def test_a_doubled_price_list_gives_the_same_items():
    one, two = (Items.of(Prices([0.1 * f, 0.7 * f, 0.3 * f]).bind(3)) for f in (1, 2))
    np.testing.assert_array_equal(one.own, two.own)
    assert two.unit == 2 * one.unit


def test_free_features_are_known():
    items = Items.of(Prices([1.0, 0.0, 2.0]).bind(3), free=np.array([False, False, True]))
    assert items.known.tolist() == [False, True, True]
    assert items.item.tolist() == [0, -1, -1]


def test_what_is_not_kept_is_never_bought():
    items = Items.of(Prices([1.0, 2.0, 4.0]).bind(3)).keep(np.array([2, 0]))
    assert items.item.tolist() == [1, -1, 0]
    assert (items.own * items.unit).tolist() == [4.0, 1.0]


def test_features_can_be_left_out_of_an_item():
    prices = Prices([0, 3, 0, 0], groups={"scan": [2, 3]}, shared={"scan": 1}).bind(4)
    items = Items.of(prices).read_only(np.array([False, True, True, False]))
    assert items.item.tolist() == [-1, 0, 1, -1]
    assert not items.known.any()


def test_readable_features_are_those_of_bought_items():
    prices = Prices([0, 3, 0, 0], groups={"scan": [2, 3]}, shared={"scan": 1}).bind(4)
    items = Items.of(prices)
    bought = np.array([[False, True], [True, False]])
    assert items.readable(bought).tolist() == [
        [True, False, True, True],
        [True, True, False, False],
    ]


def test_the_first_price_has_the_shared_one_in_it():
    prices = Prices([3, 1], groups={"scan": [1]}, shared={"scan": 4}).bind(2)
    items = Items.of(prices)
    assert (items.first_price * items.unit).tolist() == [3.0, 5.0]
