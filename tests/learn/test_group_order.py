"""Groups are bought in the order of what they save for their price."""

from __future__ import annotations

import numpy as np

from thrifty import LadderClassifier, Prices
from thrifty.learn.ladder.feature_order import group_order, sold_in_groups

GROUPS = {"cheap": [0], "dear": [1, 2], "middle": [3]}
SHARED = {"cheap": 1.0, "dear": 20.0, "middle": 4.0}
NOTHING = {j: 0.0 for j in range(5)}


def bound(own=NOTHING, shared=SHARED):
    return Prices(own, groups=GROUPS, shared=shared).bind(5)


def test_the_best_for_its_price_comes_first_and_sets_are_nested():
    worth = {0: 1.0, 1: 6.0, 2: 6.0, 3: 2.0, 4: 0.0}

    def loss_of(features):
        return 20.0 - sum(worth[j] for j in features.tolist())

    order = [features.tolist() for features in group_order(bound(), loss_of)]
    # 1 for 1, 12 for 20, 2 for 4; column 4 is free of charge.
    assert order == [[0, 4], [0, 1, 2, 4], [0, 1, 2, 3, 4]]


def test_what_another_group_says_already_is_worth_nothing():
    def loss_of(features):
        return 0.0 if {1, 3} & set(features.tolist()) else 5.0  # the dear and the middle agree

    assert group_order(bound(), loss_of)[0].tolist() == [3, 4]


def test_only_tables_sold_in_a_few_groups_are_tried():
    assert sold_in_groups(bound())
    assert not sold_in_groups(bound(own={**NOTHING, 4: 1.0}))
    assert not sold_in_groups(bound(shared={"cheap": 1.0}))
    many = Prices([0.0] * 20, groups={f"g{j}": [j] for j in range(20)},
                  shared={f"g{j}": 1.0 for j in range(20)})  # fmt: skip
    assert not sold_in_groups(many.bind(20))


def test_a_ladder_buys_the_cheap_twin_of_a_dear_group():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1200, 2))
    # The dear group tells all; the cheap and the middle tell the same together.
    X = np.column_stack([hidden[:, 0], hidden, hidden[:, 1], rng.normal(size=1200)])
    y = hidden.sum(axis=1) > 0
    prices = Prices(NOTHING, groups=GROUPS, shared=SHARED)
    model = LadderClassifier(prices, n_estimators=20, random_state=0)
    found = list(model.path(X[:800], y[:800], validation=(X[800:], y[800:])))
    bought = [
        {name for name, columns in GROUPS.items() if point.model.model.support[columns].any()}
        for point in found
        if "rung" in point.knob
    ]
    assert bought[:2] == [set(), set()]  # the constant, and what is free of charge
    assert bought[2:4] == [{"cheap"}, {"cheap", "middle"}]
    assert max(point.quality for point in found if point.bill <= 5.0) > 0.95
