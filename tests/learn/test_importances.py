"""Importances: shares that sum to 1, of what moves the predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from thrifty import (
    BudgetClassifier,
    Call,
    GatedClassifier,
    GreedyMiserClassifier,
    LadderRegressor,
    Prices,
)
from thrifty.learn.importances import score_changes

RNG = np.random.default_rng(4)
X = pd.DataFrame(RNG.normal(size=(700, 4)), columns=["strong", "weak", "noise", "town"])
X["town"] = np.where(X["town"] > 0.2, "a", "b")
SIGNAL = 2 * X["strong"] + X["weak"] + (X["town"] == "a")
LABELS = np.where(SIGNAL > 0.5, "yes", "no")


def miser():
    return GreedyMiserClassifier(n_estimators=30, penalty=0.003, random_state=0)


def test_importances_are_shares_in_the_order_of_the_signal():
    model = miser().fit(X, LABELS)
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1.0) and np.all(shares >= 0)
    assert shares[0] > shares[1] > shares[2]
    read = [X.columns[j] for j in np.flatnonzero(shares)]
    assert set(read) == set(np.array(model.schema_.names)[model.model_.support])


def test_the_order_of_the_columns_decides_nothing():
    order = [2, 0, 3, 1]
    first, second = miser().fit(X, LABELS), miser().fit(X.iloc[:, order], LABELS)
    np.testing.assert_array_equal(first.feature_importances_[order], second.feature_importances_)


def test_a_feature_that_is_not_read_has_none():
    model = miser().fit(X, LABELS).model_
    changes = score_changes(model, RNG.normal(size=(50, 4)))
    assert np.all(changes[~model.support] == 0)


def test_a_constant_has_no_importances():
    model = miser().set_params(penalty=100.0).fit(X, LABELS)
    assert model.feature_importances_.tolist() == [0, 0, 0, 0]
    assert model.purchase_rates_.tolist() == [0, 0, 0, 0]


def test_budget_estimators_and_ladders_have_importances():
    budget = BudgetClassifier(
        Prices([1, 1, 1, 5]), 2, learners=[miser()], confidence=None, random_state=0
    ).fit(X, LABELS)
    assert budget.feature_importances_.sum() == pytest.approx(1.0)
    rates = budget.purchase_rates_
    assert rates.shape == (4,) and rates @ [1, 1, 1, 5] == pytest.approx(budget.bill(X).mean(), 0.2)
    ladder = LadderRegressor(effort="fast", random_state=0).fit(X[:200], SIGNAL[:200])
    assert ladder.feature_importances_.argmax() == 0


def test_features_are_selected_by_importance():
    selector = SelectFromModel(miser(), threshold=0.2).fit(X, LABELS)
    assert selector.get_feature_names_out()[0] == "strong"
    assert "noise" not in selector.get_feature_names_out()


def test_an_unfitted_estimator_has_none():
    assert not hasattr(miser(), "feature_importances_")
    with pytest.raises(NotFittedError):
        miser().feature_importances_  # noqa: B018


def test_a_gate_that_reads_the_result_of_a_call_has_none():
    numbers = X[["strong", "weak"]]
    expensive = miser().fit(numbers, LABELS)
    gate = GatedClassifier(Call("expensive", 1.0, None, expensive), random_state=0)
    gate.fit(numbers, LABELS)
    assert not hasattr(gate, "feature_importances_")
