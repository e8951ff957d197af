"""Price lists are values: stored as given, immutable, equal, printed and cloned."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import numpy as np
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
    """The smallest estimator that takes prices."""

    def __init__(self, prices=None):
        self.prices = prices

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"own": "prices.csv"}, "Prices.read reads a file"),
        ({"own": 3.0}, "3.0 is not a price list"),
        ({"own": {1.0, 2.0}}, "is not a price list"),
        ({"groups": ["a"]}, "groups: ['a'] is not a mapping"),
        ({"shared": 2.0}, "shared: 2.0 is not a mapping"),
        ({"calls": "remote"}, "calls: 'remote' is not a mapping"),
        ({"groups": {"blood": "chol"}}, "group 'blood': 'chol' is not a list of features"),
        ({"groups": {"blood": 3}}, "group 'blood': 3 is not a list of features"),
    ],
)
def test_what_is_not_a_price_list_is_refused_by_the_constructor(arguments, words):
    with pytest.raises(PriceError) as caught:
        Prices(**arguments)
    assert words in str(caught.value)


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
def test_what_is_not_a_price_is_refused_by_the_constructor_wherever_it_is(price, words):
    for label, arguments in {
        "'a'": {"own": {"a": price}},
        "feature 0": {"own": [price]},
        "evaluation": {"evaluation": price},
        "call 'c'": {"calls": {"c": price}},
        "group 'g'": {"groups": {"g": [0]}, "shared": {"g": price}},
    }.items():
        with pytest.raises(PriceError) as caught:
            Prices(**arguments)
        assert f"{label}: {words}" in str(caught.value)


def test_all_wrong_prices_are_reported_at_once():
    with pytest.raises(PriceError, match="prices: 3 problems"):
        Prices({"a": -1, "b": 2}, evaluation=float("inf"), calls={"c": "x"})


# --- without some features ---------------------------------------------------


def test_a_list_without_some_features_keeps_the_rest():
    assert HEART.without(["age"]) == Prices(
        {"chol": 7.27, "thal": 102.9}, groups={"blood": ["chol", "fbs"]}, shared={"blood": 2.10},
        unit="CAD",
    )  # fmt: skip
    rest = HEART.without(["chol", "fbs", "absent"])
    assert rest == Prices({"age": 1.0, "thal": 102.9}, unit="CAD")
    assert Prices([1, 2], calls={"c": 1}).without(["a"]) == Prices([1, 2], calls={"c": 1})


# --- a value -----------------------------------------------------------------


def test_a_list_keeps_a_copy_of_what_it_was_made_of():
    own, groups, shared = {"a": 1.0}, {"g": ["a"]}, {"g": 2.0}
    prices = Prices(own, groups=groups, shared=shared)
    before = copy.deepcopy(prices)
    own["a"] = 9.0
    groups["g"].append("b")
    shared["h"] = 1.0
    assert prices == before


def test_a_list_is_immutable():
    for name in ("own", "groups", "shared", "evaluation", "calls", "unit", "other"):
        with pytest.raises(AttributeError):
            setattr(HEART, name, {})
    with pytest.raises(TypeError):
        HEART.own["age"] = 2.0


def test_lists_with_the_same_prices_are_equal():
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
