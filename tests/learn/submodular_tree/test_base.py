"""Paths and price lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas
import pytest
from tree_cases import small_tree, two_halves

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.submodular_tree.estimators import SubmodularTreeClassifier

BOTH = pytest.mark.parametrize("routing", ["hard", "soft"])


def test_a_path_has_every_budget_at_every_depth():
    X, y = two_halves()
    points = list(small_tree(max_depth=2).path(X, y, validation=(X, y), budgets=[1.0, 2.0]))
    assert [(point.knob["node_budget"], point.knob["depth"]) for point in points[:2]] == [
        (0.0, 0), (1.0, 1)
    ]  # fmt: skip
    assert len(points) == 5
    best = max(points, key=lambda point: point.quality)
    expected = small_tree(max_depth=2, node_budget=best.knob["node_budget"]).fit(X, y)
    assert best.quality == expected.score(X, y)
    assert np.array_equal(best.model.predict(X), expected.predict(X))


def test_a_path_finds_its_own_budgets():
    X, y = two_halves()
    prices = Prices([1.0, 5.0, 5.0, 5.0])
    points = list(small_tree(prices=prices, max_depth=2).path(X, y, validation=(X, y)))
    assert {point.knob["node_budget"] for point in points} >= {0.0, 1.0, 5.0, 11.0}
    assert max(point.quality for point in points if point.bill <= 6.0) > 0.99
    # Nothing costs 2, 3 or 4: those budgets buy what 1 buys, and give no further points.
    assert not {point.knob["node_budget"] for point in points} & {2.0, 3.0, 4.0}


def test_what_the_root_buys_is_nested_in_the_budget():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 10))
    y = X @ np.linspace(2.0, 0.2, 10) + rng.normal(size=800)
    points = small_tree(max_depth=1).path(X, y, validation=(X, y), budgets=range(1, 11))
    bought = [set(np.flatnonzero(point.model.model.support)) for point in points]
    assert all(less <= more for less, more in pairwise(bought))
    assert len(bought[-1]) == 10


@pytest.mark.parametrize("budgets", [[], [-1.0], [np.nan], [np.inf]])
def test_invalid_budgets_raise_an_error(budgets):
    X, y = two_halves(n=50)
    with pytest.raises(DataError, match="budgets"):
        small_tree().path(X, y, validation=(X, y), budgets=budgets)


@BOTH
def test_each_price_list_gives_what_a_fit_of_its_own_gives(routing):
    X, y = two_halves()
    lists = [Prices([1.0, 5.0, 5.0, 5.0]), None, Prices([9.0, 1.0, 1.0, 1.0], unit="EUR")]
    learner = small_tree(node_budget=5.0, max_depth=3, routing=routing)
    for prices, model in zip(lists, learner.fit_each(X, y, lists), strict=True):
        expected = small_tree(prices=prices, node_budget=5.0, max_depth=3, routing=routing).fit(
            X, y
        )
        assert model.prices == prices
        assert np.array_equal(model.predict(X), expected.predict(X))
        assert np.array_equal(model.bill(X), expected.bill(X))
    labels = y > 0
    (only,) = SubmodularTreeClassifier().fit_each(pandas.DataFrame(X, columns=list("abcd")), labels,
                                                  [Prices(dict.fromkeys("abcd", 2.0))])  # fmt: skip
    assert only.score(pandas.DataFrame(X, columns=list("abcd")), labels) > 0.8
