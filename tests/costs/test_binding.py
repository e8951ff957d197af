"""Binding a price list to a table: what fits, and every reason why something does not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from thrifty.costs import Prices
from thrifty.errors import PriceError

HEART = Prices(
    {"age": 1.0, "chol": 7.27, "thal": 102.9},
    groups={"blood": ["chol", "fbs"]},
    shared={"blood": 2.10},
    unit="CAD",
)


def problems_of(prices: Prices, names) -> str:
    with pytest.raises(PriceError) as caught:
        prices.bind(names)
    return str(caught.value)


# --- what fits ---------------------------------------------------------------


def test_the_list_of_the_manual_binds_to_its_table():
    bound = HEART.bind(["age", "chol", "thal", "fbs"])
    assert bound.names == ("age", "chol", "thal", "fbs")
    assert bound.own.tolist() == [1.0, 7.27, 102.9, 0.0]
    assert bound.group.tolist() == [-1, 0, -1, 0]
    assert bound.shared.tolist() == [2.10]
    assert bound.group_names == ("blood",)
    assert (bound.evaluation, bound.calls, bound.unit) == (0.0, {}, "CAD")


def test_no_list_means_one_each():
    assert Prices().bind(3).own.tolist() == [1.0, 1.0, 1.0]
    assert Prices().bind(["a", "b"]).own.tolist() == [1.0, 1.0]


def test_a_sequence_lists_prices_by_position():
    assert Prices([3, 1, 2]).bind(["c", "a", "b"]).own.tolist() == [3.0, 1.0, 2.0]
    assert Prices(np.array([3, 1, 2])).bind(3).own.tolist() == [3.0, 1.0, 2.0]


def test_a_mapping_is_read_by_name_in_any_order():
    assert Prices({"b": 2, "a": 1}).bind(["a", "b"]).own.tolist() == [1.0, 2.0]


def test_a_series_is_read_by_its_labels():
    assert Prices(pd.Series({"b": 2.0, "a": 1.0})).bind(["a", "b"]).own.tolist() == [1.0, 2.0]


def test_a_nameless_table_takes_positions_as_numbers_or_as_text():
    assert Prices({1: 2, 0: 1}).bind(2).own.tolist() == [1.0, 2.0]
    assert Prices({np.int64(1): 2, "0": 1}).bind(np.int64(2)).own.tolist() == [1.0, 2.0]
    assert Prices({}, groups={"g": [0, "1"]}, shared={"g": 1}).bind(2).group.tolist() == [0, 0]


def test_a_group_without_a_shared_price_shares_nothing():
    assert Prices([1, 2], groups={"g": [0, 1]}).bind(2).shared.tolist() == [0.0]


def test_numbers_of_every_kind_are_prices():
    kinds = [np.bool_(True), np.int8(2), np.float32(0.5), Fraction(1, 4), Decimal("7.27"), -0.0]
    bound = Prices(kinds).bind(6)
    assert bound.own.tolist() == [1.0, 2.0, 0.5, 0.25, 7.27, 0.0]
    assert repr(Prices([-0.0])) == "Prices([0.0])"


def test_names_may_be_an_array_of_text():
    names = Prices().bind(np.array(["a", "b"])).names
    assert [type(name) for name in names] == [str, str]


def test_evaluations_and_calls_have_prices():
    bound = Prices([1], evaluation=1, calls={"remote": 2}).bind(1)
    assert (bound.evaluation, bound.calls) == (1.0, {"remote": 2.0})


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (-1, "-1.0 is negative; a price is 0 or more"),
        (float("nan"), "nan is not a price; write 0 if the feature is free"),
        (float("inf"), "inf is not finite"),
        (True, "True is not a number"),
        ("3", "'3' is not a number"),
        (None, "None is not a number"),
        ([1.0], "[1.0] is not a number"),
        (1e300, "1e+300 is too large"),
        (10**400, "the number is too large"),
        (Decimal("sNaN"), "Decimal('sNaN') is not a number"),
    ],
)
def test_what_is_not_a_price_is_reported_wherever_it_is(price, words):
    assert f"'a': {words}" in problems_of(Prices({"a": price}), ["a"])
    assert f"feature 0: {words}" in problems_of(Prices([price]), 1)
    assert f"evaluation: {words}" in problems_of(Prices([1], evaluation=price), 1)
    assert f"call 'c': {words}" in problems_of(Prices([1], calls={"c": price}), 1)
    grouped = Prices([1], groups={"g": [0]}, shared={"g": price})
    assert f"group 'g': {words}" in problems_of(grouped, 1)


@pytest.mark.parametrize(
    ("prices", "names", "words"),
    [
        (Prices({"a": 1, "chols": 2}), ["a", "chol"], "'chols' is not a column of the table"),
        (Prices({"a": 1, "chols": 2}), ["a", "chol"], "did you mean 'chol'?"),
        (Prices({"AGE": 1}), ["age"], "did you mean 'age'?"),
        (Prices({"a": 1}), ["a", "b", "c"], "no price for 'b', 'c'; add it (0 if it is free)"),
        (Prices({0: 1}), 2, "no price for feature 1"),
        (Prices([1, 2, 3]), 2, "3 prices for a table of 2 columns; give one price per column"),
        (Prices({0: 1, "b": 1}), ["a", "b"], "but the table has names; write 'a'"),
        (Prices({7: 1, "b": 1}), ["a", "b"], "7 is a position, but the table has names; use a"),
        (Prices({True: 1, 0: 1}), 2, "True is not a feature; use its position, 0 to 1"),
        (Prices({"age": 1}), 2, "'age' is a name, but the table has none; use its position"),
        (Prices({2: 1}), 2, "2 is outside the table; use its position, 0 to 1"),
        (Prices({-1: 1}), 2, "-1 is outside the table"),
        (Prices({"0": 1, 0: 2}), 1, "feature 0 has two prices; keep one"),
        (Prices([1, 1], groups={"g": [0, 0]}), 2, "group 'g': feature 0 is listed twice"),
        (Prices([1], groups={"g": [0], "h": [0]}), 1, "feature 0 is in two groups, 'g' and 'h'"),
        (Prices([1], groups={"g": []}), 1, "group 'g' has no members"),
        (Prices([1], groups={"g": [None]}), 1, "group 'g': None is not a feature"),
        (Prices(groups={"g": ["aeg"]}), ["age"], "group 'g': 'aeg' is not a column of the table"),
        (Prices(groups={3: [0]}), 1, "group 3: the name of a group must be text"),
        (Prices(calls={3: 1.0}), 1, "call 3: the name of a call must be text"),
        (Prices(unit=3), 1, "unit: 3 is not text"),
        (Prices({}, groups={"g": [0]}), 1, "no price for feature 0"),
        (
            Prices([1], groups={"blood": [0]}, shared={"blod": 2}),
            1,
            "shared price for the unknown group 'blod'; did you mean 'blood'?",
        ),
        (Prices([1], shared={"g": 2}), 1, "unknown group 'g'; add it to groups"),
        (Prices(), ["a", "a"], "the table has two columns named 'a'"),
        (Prices(), ["a", 3], "the column name 3 is not text"),
        (Prices(), "abc", "'abc' is a single text; pass a list of column names"),
    ],
)
def test_a_list_that_does_not_fit_its_table_is_refused_with_the_reason(prices, names, words):
    assert words in problems_of(prices, names)


def test_all_problems_are_reported_at_once():
    prices = Prices(
        {"age": -1, "chols": 2, 3: 1},
        groups={"blood": ["chol", "fbz"], "empty": []},
        shared={"bloood": 1},
        evaluation=float("nan"),
        calls={"remote": "expensive"},
    )
    message = problems_of(prices, ["age", "chol", "thal", "fbs"])
    assert message.startswith("prices: 9 problems\n")
    assert message.count("\n  - ") == 9


def test_many_columns_without_a_price_are_one_problem():
    message = problems_of(Prices({}), [f"c{j}" for j in range(30)])
    assert "'c19' and 10 more" in message
    assert "c20" not in message


def test_a_list_for_another_table_is_refused_without_searching_for_each_name():
    message = problems_of(
        Prices({f"prise{j}": 1 for j in range(30)}), [f"price{j}" for j in range(30)]
    )
    assert message.count("did you mean") == 20
    assert message.count("is not a column") == 30


def test_a_column_name_that_is_not_text_does_not_hide_other_problems():
    message = problems_of(Prices({"b": 1}), ["a", 3])
    assert "the column name 3 is not text" in message
    assert "'b' is not a column of the table" in message
