"""What the budget estimators share: candidates with prices and seeds, copies for other budgets."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import BudgetClassifier, GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.errors import DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)
PRICES = Prices([1.0, 2.0])
MISER = GreedyMiserClassifier(n_estimators=3)


def test_candidates_get_the_prices_and_a_seed_of_the_estimator() -> None:
    model = BudgetClassifier(PRICES, learners={"a": MISER}, random_state=3)
    candidate = model.candidates("classification")["a"]
    assert candidate.prices is PRICES
    assert isinstance(candidate.random_state, int)
    assert MISER.prices is None and MISER.random_state is None


def test_a_candidate_keeps_a_seed_of_its_own() -> None:
    own = GreedyMiserClassifier(n_estimators=3, random_state=7)
    model = BudgetClassifier(PRICES, learners=[own], random_state=3)
    (candidate,) = model.candidates("classification").values()
    assert candidate.random_state == 7


def test_a_learner_for_another_task_is_refused() -> None:
    model = BudgetClassifier(PRICES, learners=[GreedyMiserRegressor()])
    with pytest.raises(DataError, match="not for classification"):
        model.fit(X, y)


def test_a_copy_for_another_budget_leaves_the_estimator_alone() -> None:
    model = BudgetClassifier(PRICES, learners=[MISER], random_state=0).fit(X, y)
    point = model.point_
    cheap = model.at_budget(0.0)
    assert cheap is not model and type(cheap) is BudgetClassifier
    assert model.point_ is point and cheap.point_.bill == 0.0
    assert cheap.frontier_.points == model.frontier_.points
