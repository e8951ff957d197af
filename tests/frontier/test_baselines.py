"""Baselines: what they pay, and which features a budget buys for everyone."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserRegressor, Prices
from thrifty.frontier.baselines import baselines, cheapest
from thrifty.frontier.fit_budget import split_table
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import TrainingSet

X = np.random.default_rng(0).normal(size=(300, 3))
y = X[:, 0] + X[:, 1]
PRICES = Prices([1.0, 10.0, 2.0], evaluation=0.5)


@pytest.fixture
def found():
    whole = TrainingSet.read("regression", X, y, PRICES)
    metric = find_metric(None, "regression")
    learner = GreedyMiserRegressor(n_estimators=5)
    return list(baselines(learner, whole.prices, *split_table(whole).all, metric, budget=3.0))


def test_fetching_everything_costs_the_full_price_and_every_tree(found) -> None:
    assert found[0].bill == 13.0 + 0.5 * 5
    assert found[0].features == 3


def test_plain_boosting_pays_for_what_it_reads(found) -> None:
    assert found[1].quality == found[0].quality
    assert found[1].bill <= found[0].bill


def test_the_cheapest_features_within_the_budget_are_bought_for_every_row(found) -> None:
    assert found[2].bill <= 3.0 + 0.5 * 5 and found[2].features <= 2
    assert found[2].quality < found[0].quality  # the second column is too expensive


def test_a_shared_price_counts_once() -> None:
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 2.0}).bind(3)
    assert cheapest(prices, budget=4.0).tolist() == [0, 1]
    assert cheapest(prices, budget=3.9).tolist() == [0]
    assert cheapest(prices, budget=0.5).tolist() == []
