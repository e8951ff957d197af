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


# --- a list that covers more than the table ----------------------------------


def test_features_that_the_table_does_not_have_are_named_in_a_warning():
    prices = Prices({"age": 1, "chol": 5, "thal": 9}, groups={"blood": ["chol", "fbz"]})
    with pytest.warns(UserWarning) as caught:
        bound = prices.bind(["age", "chol"])
    assert bound.own.tolist() == [1.0, 5.0] and bound.group.tolist() == [-1, 0]
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "prices: ignored, as the table has no such column: group 'blood': 'fbz', 'thal'"
    )


def test_a_warning_suggests_the_column_that_may_be_meant():
    with pytest.warns(UserWarning, match=r"'Chol' \(did you mean 'chol'\?\)"):
        Prices({"chol": 1, "Chol": 2}).bind(["chol"])


def test_a_long_warning_is_cut():
    with pytest.warns(UserWarning, match=r"'x19' and 10 more"):
        Prices({"a": 1, **{f"x{j}": 1 for j in range(30)}}).bind(["a"])


def test_a_group_without_a_column_in_the_table_is_left_out():
    prices = Prices(
        {"a": 1, "b": 2, "c": 3},
        groups={"first": ["b"], "second": ["a", "c"]},
        shared={"first": 7, "second": 5},
    )
    with pytest.warns(UserWarning, match="'b'"):
        bound = prices.bind(["c", "a"])
    assert bound.group_names == ("second",) and bound.group.tolist() == [0, 0]
    assert bound.shared.tolist() == [5.0] and bound.full == 9.0
    type(bound).build(bound.plain())  # a model file may hold it


# --- what is refused ---------------------------------------------------------


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
        (Prices({"age": 1}), 2, "they go by names ('age'), but the table has none"),
        (Prices(groups={"g": ["age"]}), 2, "thrifty.Pipeline"),
        (Prices({2: 1}), 2, "2 is outside the table; use its position, 0 to 1"),
        (Prices({-1: 1}), 2, "-1 is outside the table"),
        (Prices({"0": 1, 0: 2}), 1, "feature 0 has two prices; keep one"),
        (Prices([1, 1], groups={"g": [0, 0]}), 2, "group 'g': feature 0 is listed twice"),
        (Prices([1], groups={"g": [0], "h": [0]}), 1, "feature 0 is in two groups, 'g' and 'h'"),
        (Prices([1], groups={"g": []}), 1, "group 'g' has no members"),
        (Prices([1], groups={"g": [None]}), 1, "group 'g': None is not a feature"),
        (
            Prices({}, groups={"g": ["aeg"]}, shared={"g": 1}),
            ["age"],
            "group 'g': 'aeg' is not a column of the table; did you mean 'age'?",
        ),
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
        {"age": 1, "chols": 2, 3: 1},
        groups={"blood": ["chol", "fbz"], "empty": []},
        shared={"bloood": 1},
    )
    message = problems_of(prices, ["age", "chol", "thal", "fbs"])
    assert message.startswith("prices: 6 problems\n")
    assert message.count("\n  - ") == 6


def test_names_for_a_table_without_names_are_one_problem_with_its_remedy():
    message = problems_of(Prices({f"c{j}": 1 for j in range(21)}), 21)
    assert message.startswith("prices: they go by names ('c0', 'c1', 'c2', ...), but the table has")
    assert 'set_output(transform="pandas")' in message and "\n" not in message


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


@pytest.mark.parametrize(
    "parts",
    [
        {"delays": {"mri": 3}},
        {"requires": {"mri": [0]}},
        {"requires": {0: ["mri"]}},
        {"also": {"ms": Prices({"mri": 3})}},
    ],
)
def test_a_table_without_names_has_no_feature_by_name(parts) -> None:
    words = problems_of(Prices([1.0, 2.0], **parts), 2)
    assert "'mri' is a name, but the table has none; use its position, 0 to 1" in words


def test_a_panel_is_the_name_of_a_group() -> None:
    prices = Prices([1.0, 2.0], groups={"blood": [0, 1]}, panels=[["blood"]])
    assert "panel of the unknown group ['blood']" in problems_of(prices, 2)


def test_a_feature_that_several_currencies_list_is_warned_of_once() -> None:
    prices = Prices({"age": 1, "chol": 2}, also={"ms": Prices({"chol": 3})})
    with pytest.warns(UserWarning, match="no such column: 'chol'$"):
        prices.bind(["age"])
