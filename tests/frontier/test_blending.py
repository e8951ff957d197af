"""Blending: what a budget leaves between two points is spent, and no more than the budget."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import (
    BudgetForestClassifier,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Prices,
    load,
)
from thrifty.costs import Prices as PriceList
from thrifty.errors import BudgetError, DataError
from thrifty.frontier import choose, trace
from thrifty.frontier.blending import blend, find_keys
from thrifty.frontier.confidence import upper_bound
from thrifty.frontier.scoring import find_metric
from thrifty.learn.dataset import ValidationSet
from thrifty.model import Blend

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(900, 3)), columns=["cheap", "dear", "noise"])
VALUE = (X["cheap"] + X["dear"]).to_numpy()
PRICES = Prices({"cheap": 1.0, "dear": 20.0, "noise": 2.0}, unit="CAD")
TRAIN, HELD = slice(0, 500), slice(500, 900)
VALIDATION = (X[HELD], VALUE[HELD])


@pytest.fixture(scope="module")
def curve():
    learner = GreedyMiserRegressor(prices=PRICES, n_estimators=25)
    return trace(learner, X[TRAIN], VALUE[TRAIN], validation=(X[HELD], VALUE[HELD]))


@pytest.mark.parametrize("budget", [3.0, 8.0, 15.0])
def test_a_blend_comes_up_to_the_budget(curve, budget) -> None:
    plain = choose(curve, budget, None)
    mixed = blend(curve, budget, VALIDATION, confidence=None)
    assert plain.bill < mixed.bill <= budget
    assert mixed.bill == pytest.approx(budget, abs=0.3)
    assert mixed.quality > plain.quality
    assert isinstance(mixed.model.model, Blend)


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_a_promised_blend_leaves_little_and_the_surer_the_more(curve, confidence) -> None:
    mixed = blend(curve, 10.0, VALIDATION, confidence)
    parts = choose(curve, 10.0, confidence)
    assert parts.bill < mixed.bill < 10.0
    assert mixed.bill > blend(curve, 10.0, VALIDATION, 0.9999).bill


def coarse(seed):
    """A table whose cheap column, the only key, has thirty values."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"cheap": rng.integers(0, 30, 900) / 10, "dear": rng.normal(size=900)})
    return table, (table["cheap"] + table["dear"]).to_numpy()


def test_where_rows_go_together_the_bills_as_assigned_are_bounded() -> None:
    table, y = coarse(0)
    learner = GreedyMiserRegressor(prices=Prices([1.0, 20.0]), n_estimators=25)
    held = (table[HELD], y[HELD])
    curve = trace(learner, table[TRAIN], y[TRAIN], validation=held)
    mixed = blend(curve, 10.0, held)
    assert mixed.model.model.keys.tolist() == [0]
    assert upper_bound(mixed.bills, 0.95, mixed.ceiling) <= 10.0
    fresh = mixed.model.bill(coarse(1)[0]).mean()
    assert 5.0 < fresh <= 10.0


def test_the_figures_of_a_blend_are_those_of_its_model(curve) -> None:
    mixed = blend(curve, 10.0, VALIDATION)
    np.testing.assert_array_equal(mixed.bills, mixed.model.bill(X[HELD]))
    assert mixed.bill == mixed.bills.mean()
    rows = ValidationSet.for_predictor(mixed.model, "regression", *VALIDATION)
    scores = mixed.model.predict(X[HELD])
    assert mixed.quality == find_metric("r2", "regression").value(scores, rows)
    assert mixed.bills.max() <= mixed.ceiling <= mixed.model.ceiling
    assert mixed.learner == "blend"


def test_the_bills_of_fresh_rows_keep_the_budget(curve) -> None:
    fresh = pd.DataFrame(
        np.random.default_rng(9).normal(size=(20_000, 3)), columns=["cheap", "dear", "noise"]
    )
    mixed = blend(curve, 10.0, VALIDATION)
    assert 9.5 < mixed.model.bill(fresh).mean() <= 10.0


def test_a_blend_is_saved_and_walked(curve, tmp_path) -> None:
    mixed = blend(curve, 10.0, VALIDATION)
    mixed.model.save(tmp_path / "m.thrifty")
    again = load(tmp_path / "m.thrifty")
    walk = again.walk()
    row = X.iloc[777]
    while walk.asks:
        walk.tell({name: row[name] for name in walk.asks})
    table = X.iloc[[777]]
    assert walk.answer == mixed.model.predict(table)[0]
    assert walk.receipt.total == mixed.model.bill(table)[0]


def test_another_seed_sends_other_rows(curve) -> None:
    one, other = (blend(curve, 10.0, VALIDATION, seed=seed) for seed in (0, 100))
    assert np.any(one.bills != other.bills)
    assert other.bill == pytest.approx(one.bill, abs=0.6)


def test_a_budget_beyond_the_last_point_needs_no_blend(curve) -> None:
    assert blend(curve, 100.0, VALIDATION) is None
    with pytest.raises(BudgetError):
        blend(curve, -1, VALIDATION)


def test_other_rows_than_those_of_the_curve_are_refused(curve) -> None:
    with pytest.raises(DataError, match="not the validation set"):
        blend(curve, 10.0, (X[HELD] + 1, VALUE[HELD]))


def test_classes_of_two_learners_are_blended() -> None:
    y = np.digitize(VALUE, [-0.5, 0.5])
    learners = {
        "miser": GreedyMiserClassifier(prices=PRICES, n_estimators=10),
        "forest": BudgetForestClassifier(prices=PRICES, n_estimators=5),
    }
    held = (X[HELD], y[HELD])
    curve = trace(learners, X[TRAIN], y[TRAIN], validation=held)
    mixed = blend(curve, 9.0, held)
    assert choose(curve, 9.0).bill < mixed.bill <= 9.0
    assert mixed.model.predict_proba(X[HELD]).shape == (400, 3)


def test_rankings_are_not_blended() -> None:
    grades, qid = np.digitize(VALUE, [0.5, 1.5]), np.repeat(np.arange(90), 10)
    learner = GreedyMiserRanker(prices=PRICES, n_estimators=5)
    held = (X[HELD], grades[HELD], qid[HELD])
    curve = trace(learner, X[TRAIN], grades[TRAIN], qid=qid[TRAIN], validation=held)
    assert blend(curve, 10.0, held) is None


# --- keys --------------------------------------------------------------------


def keys(columns, always, prices):
    found = find_keys(np.column_stack(columns), np.array(always, dtype=bool), prices)
    return None if found is None else found.tolist()


FINE, COARSE = np.arange(100.0), np.arange(100.0) % 3


def test_what_every_row_reads_is_a_key_and_so_is_what_is_free() -> None:
    prices = PriceList([5.0, 0.0, 1.0]).bind(3)
    assert keys([FINE, COARSE, FINE], [1, 0, 0], prices) == [0, 1]


def test_a_feature_is_free_if_only_its_group_costs_and_that_is_paid() -> None:
    prices = PriceList([1.0, 0.0, 0.0], groups={"g": [0, 1], "h": [2]}, shared={"g": 9.0, "h": 2.0})
    assert keys([FINE, COARSE, FINE], [1, 0, 0], prices.bind(3)) == [0, 1]


def test_keys_that_do_not_tell_rows_apart_are_helped_by_the_cheapest_feature() -> None:
    prices = PriceList([1.0, 7.0, 3.0]).bind(3)
    assert keys([COARSE, FINE, FINE], [1, 0, 0], prices) == [0, 2]
    assert keys([COARSE, FINE, COARSE + 1], [1, 0, 0], prices) == [0, 1, 2]


def test_rows_that_nothing_tells_apart_have_no_keys() -> None:
    prices = PriceList([1.0, 1.0]).bind(2)
    assert keys([COARSE, COARSE], [1, 1], prices) is None
    assert keys([np.full(100, np.nan), COARSE], [0, 0], prices) is None
