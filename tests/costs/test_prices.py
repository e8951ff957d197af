"""Price lists: what they accept, what they refuse and in which words."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

from thrifty.costs import Prices
from thrifty.errors import PriceError

HEART = Prices(
    {"age": 1.0, "chol": 7.27, "thal": 102.9},
    groups={"blood": ["chol", "fbs"]},
    shared={"blood": 2.10},
    unit="CAD",
)


class Payer(ClassifierMixin, BaseEstimator):
    """The least estimator that takes prices."""

    def __init__(self, prices=None):
        self.prices = prices

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def problems_of(prices: Prices, names) -> str:
    with pytest.raises(PriceError) as caught:
        prices.bind(names)
    return str(caught.value)


# --- what is accepted --------------------------------------------------------


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


def test_a_sequence_goes_by_position():
    assert Prices([3, 1, 2]).bind(["c", "a", "b"]).own.tolist() == [3.0, 1.0, 2.0]
    assert Prices(np.array([3, 1, 2])).bind(3).own.tolist() == [3.0, 1.0, 2.0]


def test_a_mapping_goes_by_name_whatever_its_order():
    assert Prices({"b": 2, "a": 1}).bind(["a", "b"]).own.tolist() == [1.0, 2.0]


def test_a_series_goes_by_its_labels():
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
        (float("nan"), "nan is not a price; write 0 for what is free"),
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
def test_what_is_no_price_is_told_wherever_it_stands(price, words):
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
        (Prices({"a": 1}), ["a", "b", "c"], "no price for 'b', 'c': add it (0 for what is free)"),
        (Prices({0: 1}), 2, "no price for feature 1"),
        (Prices([1, 2, 3]), 2, "3 prices for a table of 2 columns: give one price per column"),
        (Prices({0: 1, "b": 1}), ["a", "b"], "but the table has names: write 'a'"),
        (Prices({7: 1, "b": 1}), ["a", "b"], "7 is a position, but the table has names: use a"),
        (Prices({True: 1, 0: 1}), 2, "True is not a feature: use its position, 0 to 1"),
        (Prices({"age": 1}), 2, "'age' is a name, but the table has none: use its position"),
        (Prices({2: 1}), 2, "2 is outside the table: use its position, 0 to 1"),
        (Prices({-1: 1}), 2, "-1 is outside the table"),
        (Prices({"0": 1, 0: 2}), 1, "feature 0 has two prices: keep one"),
        (Prices([1, 1], groups={"g": [0, 0]}), 2, "group 'g': feature 0 is listed twice"),
        (Prices([1], groups={"g": [0], "h": [0]}), 1, "feature 0 is in two groups, 'g' and 'h'"),
        (Prices([1], groups={"g": []}), 1, "group 'g' has no members"),
        (Prices([1], groups={"g": [None]}), 1, "group 'g': None is not a feature"),
        (Prices(groups={"g": ["aeg"]}), ["age"], "group 'g': 'aeg' is not a column of the table"),
        (Prices(groups={3: [0]}), 1, "group 3: the name of a group is text"),
        (Prices(calls={3: 1.0}), 1, "call 3: the name of a call is text"),
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
        (Prices(), "abc", "'abc' is one text; give the list of column names"),
    ],
)
def test_a_list_that_does_not_fit_its_table_is_told_why(prices, names, words):
    assert words in problems_of(prices, names)


def test_all_problems_are_told_at_once():
    prices = Prices(
        {"age": -1, "chols": 2, 3: 1},
        groups={"blood": ["chol", "fbz"], "empty": []},
        shared={"bloood": 1},
        evaluation=float("nan"),
        calls={"remote": "dear"},
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"own": "prices.csv"}, "Prices.read reads a file"),
        ({"own": 3.0}, "3.0 is no price list"),
        ({"own": {1.0, 2.0}}, "is no price list"),
        ({"groups": ["a"]}, "groups: ['a'] is not a mapping"),
        ({"shared": 2.0}, "shared: 2.0 is not a mapping"),
        ({"calls": "remote"}, "calls: 'remote' is not a mapping"),
        ({"groups": {"blood": "chol"}}, "group 'blood': 'chol' is not a list of features"),
        ({"groups": {"blood": 3}}, "group 'blood': 3 is not a list of features"),
    ],
)
def test_what_has_not_the_shape_of_a_list_is_refused_at_once(arguments, words):
    with pytest.raises(PriceError) as caught:
        Prices(**arguments)
    assert words in str(caught.value)


# --- a value -----------------------------------------------------------------


def test_what_it_was_made_of_can_change_without_changing_it():
    own, groups, shared = {"a": 1.0}, {"g": ["a"]}, {"g": 2.0}
    prices = Prices(own, groups=groups, shared=shared)
    before = copy.deepcopy(prices)
    own["a"] = 9.0
    groups["g"].append("b")
    shared["h"] = 1.0
    assert prices == before


def test_nothing_sets_a_price_afterwards():
    for name in ("own", "groups", "shared", "evaluation", "calls", "unit", "other"):
        with pytest.raises(AttributeError):
            setattr(HEART, name, {})
    with pytest.raises(TypeError):
        HEART.own["age"] = 2.0


def test_equal_lists_say_the_same():
    assert Prices({"a": 1, "b": 2}) == Prices({"b": np.float64(2), "a": np.int64(1)})
    assert Prices([1, 2]) == Prices((1.0, 2.0))
    assert Prices() == Prices(None, groups={}, calls=None)


@pytest.mark.parametrize(
    "other",
    [
        Prices([1, 3]),
        Prices({0: 1, 1: 2}),
        Prices([1, 2], groups={"g": [0]}),
        Prices([1, 2], shared={"g": 1}),
        Prices([1, 2], evaluation=1),
        Prices([1, 2], calls={"c": 1}),
        Prices([1, 2], unit="ms"),
        "Prices([1, 2])",
    ],
)
def test_lists_that_differ_anywhere_are_not_equal(other):
    assert Prices([1, 2]) != other


def test_the_repr_is_what_one_would_write():
    full = Prices([1], groups={"g": [0]}, shared={"g": 2}, evaluation=0.5, calls={"c": 3}, unit="s")
    for prices in (HEART, Prices(), full, Prices(np.arange(3))):
        assert eval(repr(prices)) == prices
    assert repr(Prices({np.str_("a"): np.float64(1)})) == "Prices({'a': 1.0})"


def test_the_repr_of_a_long_list_is_short():
    text = repr(Prices(np.ones(500), groups={"g": range(500)}))
    assert "... 492 more" in text
    assert len(text) < 200


def test_copies_are_equal():
    for other in (copy.copy(HEART), copy.deepcopy(HEART), pickle.loads(pickle.dumps(HEART))):
        assert other == HEART
        assert other.bind(["age", "chol", "thal", "fbs"]).shared.tolist() == [2.10]


def test_an_estimator_with_prices_can_be_cloned_and_searched():
    payer = Payer(prices=HEART)
    assert clone(payer).prices == HEART
    assert "Prices({'age'" in repr(payer)
    X, y = np.zeros((6, 1)), np.array([0, 1] * 3)
    search = GridSearchCV(payer, {"prices": [HEART, Prices([1.0]), None]}, cv=2).fit(X, y)
    assert search.best_params_["prices"] == HEART
