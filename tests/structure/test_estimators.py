"""Estimators that know nothing of precedence: their walks still keep to it, and bills agree."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty import Prices
from thrifty.bundle.latency import largest_latency
from thrifty.serve import RowSource, answer

PRICES = Prices(
    [1, 4, 9, 2, 2, 3], groups={"lab": [3, 4]}, shared={"lab": 1}, panels=["lab"],
    requires={2: [1], 5: ["lab"]}, delays={1: 10, 2: 30, "lab": 5},
)  # fmt: skip
CLASSIFIERS = [
    "GreedyMiserClassifier", "BudgetForestClassifier", "PrunedForestClassifier",
    "SubmodularTreeClassifier", "CostTreeClassifier", "CostCascadeClassifier", "AnytimeClassifier",
    "MarginNeighborsClassifier", "CompressedSVC", "LadderClassifier", "PolicyClassifier",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    return X, (X @ [1, 0.2, 2, 1, 0.5, 1] > 0).astype(int)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_walks_keep_to_the_order(name, rows):
    X, y = rows
    model = getattr(thrifty, name)(prices=PRICES).fit(X, y)
    bills, latency = model.bill(X[:10]), model.latency(X[:10])
    assert latency.max() <= largest_latency(model.model_, model.prices_)
    for row, bill, wait in zip(X, bills, latency, strict=False):
        walk, bought = model.walk(), set()
        while walk.asks:
            if 2 in walk.asks:
                assert 1 in bought
            if 5 in walk.asks:
                assert {3, 4} <= bought
            if 3 in walk.asks or 4 in walk.asks:
                assert {3, 4} <= bought | set(walk.asks)
            bought |= set(walk.asks)
            walk.tell({j: row[j] for j in walk.asks})
        assert walk.receipt.total == bill
        assert walk.receipt.latency == wait
        assert walk.answer == model.predict(row[np.newaxis])[0]


def test_the_rungs_of_a_ladder_are_closed_and_a_cap_holds(rows):
    X, y = rows
    ladder = thrifty.LadderClassifier(prices=PRICES, cap=14, random_state=0)
    structure = PRICES.bind(6).structure
    points = list(ladder.path(X, y))
    read = [set(np.flatnonzero(point.model.model.support).tolist()) for point in points]
    assert {1, 2} <= set().union(*read)
    for features, point in zip(read, points, strict=True):
        assert structure.closure(features) == features
        assert point.model.ceiling <= 14


def test_nothing_is_bought_for_what_a_cap_forbids(rows):
    X, y = rows
    prices = Prices([1, 4, 9, 2, 2, 3], requires={2: [1]})
    model = thrifty.GreedyMiserClassifier(prices=prices).fit(X, y)
    for cap in (0.0, 5.0, 12.0, 13.0, 14.5, 30.0):
        source = RowSource(dict(enumerate(X[0].tolist())))
        _, receipt = answer(model.predictor_, source, cap=cap)
        bought = {purchase.feature for purchase in receipt.purchases}
        read = {p.feature for p in receipt.purchases if p.why == "asked"}
        assert receipt.total <= cap
        assert bought - read <= ({1} if 2 in read else set())


def test_features_go_from_a_ladder_with_what_requires_them():
    from thrifty.learn.ladder.feature_order import drop_features, order_features, order_groups

    bound = PRICES.bind(6)
    gain = np.array([9.0, 0.0, 8.0, 0.0, 1.0, 0.5])
    assert drop_features(np.arange(6), gain, bound, 0.99).tolist() == [0, 1, 2, 3, 4]
    assert drop_features(np.arange(6), gain, bound, 0.2).tolist() == [0]
    order = order_features(np.arange(6), bound, lambda features: -gain[features].sum())
    assert [each.tolist() for each in order] == [
        [],
        [0],
        [0, 1, 2],
        [0, 1, 2, 3, 4],
        list(range(6)),
    ]
    sold = Prices(
        [0, 0, 0], groups={"a": [0], "b": [1, 2]}, shared={"a": 1, "b": 2}, requires={"b": ["a"]}
    ).bind(3)
    groups = order_groups(sold, lambda features: -float(1 in features))
    assert [each.tolist() for each in groups] == [[], [0, 1, 2]]
