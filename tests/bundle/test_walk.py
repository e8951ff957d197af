"""A walk by name: the same answer and bill as the batch, and a receipt that says why."""

from __future__ import annotations

import math
import weakref
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Purchase, Receipt, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes

FEATURES = ("age", "chol", "sex")
number = st.one_of(st.none(), st.integers(0, 100), st.floats(0, 100))
row = st.fixed_dictionaries(
    {"age": number, "chol": number, "sex": st.sampled_from(["m", "f", None])}
)


def finish(walk, values):
    while walk.asks:
        walk.tell({feature: values[feature] for feature in walk.asks})
    return walk


def table_of(values):
    return {feature: [value] for feature, value in values.items()}


# --- walk and batch agree ----------------------------------------------------


@given(row)
def test_a_walk_agrees_with_the_batch(predictor, values):
    table = table_of(values)
    walk = finish(predictor.walk(), values)
    assert walk.done
    assert walk.answer == walk.best == predictor.predict(table)[0]
    np.testing.assert_array_equal(walk.scores, predictor.predict_proba(table)[0])
    assert walk.receipt.total == predictor.bill(table)[0]
    used = [FEATURES[j] for j in np.flatnonzero(predictor.used(table)[0])]
    assert [purchase.feature for purchase in walk.receipt.purchases] == used
    assert walk.receipt.unread == ()


@given(row, st.sampled_from(list(permutations(FEATURES))))
def test_values_may_come_in_any_order_asked_or_not(predictor, values, order):
    walk = predictor.walk()
    for feature in order:
        walk.tell({feature: values[feature]})
    asked = finish(predictor.walk(), values)
    assert walk.answer == asked.answer
    assert walk.receipt.total == asked.receipt.total
    assert walk.receipt.purchases == asked.receipt.purchases
    read = {purchase.feature for purchase in walk.receipt.purchases}
    assert walk.receipt.unread == tuple(feature for feature in order if feature not in read)


@given(row, st.sets(st.sampled_from(FEATURES)), st.sampled_from(["", *FEATURES]))
def test_a_walk_can_be_replayed(predictor, values, known, skipped):
    walk = predictor.walk({feature: values[feature] for feature in sorted(known)})
    if skipped and skipped not in known:
        walk.skip(skipped)
        values = values | {skipped: None}
    finish(walk, values)
    again = predictor.walk(walk.known)
    again.tell(walk.told)
    for feature in walk.skipped:
        again.skip(feature)
    assert again.known.keys() == known
    assert again.receipt == walk.receipt
    assert again.answer == walk.answer


def test_the_walk_of_a_regression_answers_with_a_number(make):
    walk = make(classes=None).walk()
    assert (walk.answer, walk.best) == (None, 0.8)
    walk.tell({"age": 20})
    assert walk.answer == 0.1 and type(walk.answer) is float
    assert walk.scores.tolist() == [0.1]


def test_a_walk_without_names_uses_positions(make):
    walk = make(schema=Schema.of(np.eye(2)), prices=Prices([1.0, 2.0]), classes=[0, 1]).walk()
    assert walk.asks == (0,)
    walk.tell({0: 70.0})
    assert walk.asks == (1,)
    walk.tell({np.int64(1): 1})
    assert walk.answer == 1 and type(walk.answer) is int
    assert walk.receipt.total == 3.0


# --- steps of a walk ---------------------------------------------------------


def test_a_walk_asks_until_it_is_done(predictor):
    walk = predictor.walk()
    assert (walk.asks, walk.done, walk.answer, walk.best) == (("age",), False, None, "ill")
    assert walk.receipt.stopped is None
    walk.tell({"age": 63})
    assert (walk.asks, walk.done) == (("chol",), False)
    walk.tell({"chol": 1.5})
    assert (walk.asks, walk.done, walk.answer) == ((), True, "ill")
    assert walk.receipt.stopped == "complete"
    assert walk.told == {"age": 63, "chol": 1.5}


def test_the_model_gets_the_current_price_of_each_feature(make, monkeypatch):
    predictor = make()
    passed = []
    start = predictor.model.walk
    monkeypatch.setattr(
        predictor.model, "walk", lambda price=None: passed.append(price) or start(price)
    )
    walk = predictor.walk(known={"age": 63})
    price = passed[0]
    assert [price(j) for j in range(3)] == [1.0, 7.27 + 2.1, 0.1 + 2.1]
    walk.tell({"chol": 1})
    assert [price(j) for j in range(3)] == [1.0, 0.0, 0.1]


def test_a_walk_that_is_dropped_is_freed_at_once(predictor):
    walk = predictor.walk()
    reference = weakref.ref(walk)
    del walk
    assert reference() is None


def test_a_known_value_is_free(predictor):
    walk = predictor.walk(known={"age": 63, "sex": "m"})
    assert walk.asks == ("chol",)
    walk.tell({"chol": 9.0})
    assert walk.receipt.purchases == (
        Purchase("age", 63, 0.0, "known"),
        Purchase("chol", 9.0, 7.27 + 2.1, "asked"),
    )
    assert walk.receipt.total == 7.27 + 2.1 + 2 * 0.01
    assert walk.receipt.unread == ()
    assert walk.known == {"age": 63, "sex": "m"}


def test_a_skipped_feature_counts_as_missing_and_is_not_charged(predictor):
    walk = predictor.walk()
    walk.skip("age")
    assert walk.asks == ("chol",)
    walk.tell({"chol": 1.0})
    missing = finish(predictor.walk(), {"age": None, "chol": 1.0})
    assert walk.answer == missing.answer
    assert walk.receipt.purchases[0] == Purchase("age", None, 0.0, "skipped")
    assert walk.receipt.total == 7.27 + 2.1 + 2 * 0.01
    assert walk.skipped == ("age",)


def test_a_missing_value_is_charged(predictor):
    walk = finish(predictor.walk(), {"age": None, "chol": math.nan})
    assert [purchase.price for purchase in walk.receipt.purchases] == [1.0, 7.27 + 2.1]


def test_a_stopped_walk_answers_with_the_best_so_far(predictor):
    walk = predictor.walk()
    walk.tell({"age": 63})
    walk.stop("out of time")
    assert (walk.asks, walk.done, walk.answer) == ((), True, "ill")
    assert (walk.receipt.stopped, walk.receipt.reason) == ("stopped", "out of time")
    assert walk.receipt.total == 1.01


def test_a_reason_may_be_empty(predictor):
    walk = predictor.walk()
    walk.stop("")
    assert (walk.receipt.stopped, walk.receipt.reason) == ("stopped", "")


def test_a_value_that_comes_after_the_end_changes_nothing(predictor):
    stopped, complete = predictor.walk(), predictor.walk()
    stopped.stop()
    complete.tell({"age": 20})
    complete.stop()
    for walk in (stopped, complete):
        before = (walk.answer, walk.receipt.total, walk.receipt.purchases)
        walk.tell({"chol": 1.0})
        assert (walk.answer, walk.receipt.total, walk.receipt.purchases) == before
        assert walk.receipt.unread == ("chol",)
        assert walk.asks == ()
    assert stopped.receipt.stopped == "stopped"
    assert stopped.receipt.reason == "stopped by the caller"
    assert complete.receipt.stopped == "complete"


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    "values", [{"age": 40, "agee": 1}, {"age": 40, "chol": "low"}, {"age": math.inf}, {0: 1}]
)
def test_invalid_values_leave_the_walk_unchanged(predictor, values):
    walk = predictor.walk()
    with pytest.raises(DataError):
        walk.tell(values)
    assert (walk.asks, walk.told, walk.receipt.purchases) == (("age",), {}, ())
    with pytest.raises(DataError):
        predictor.walk(known=values)


def test_a_value_cannot_be_changed(predictor):
    walk = predictor.walk(known={"sex": "m"})
    walk.tell({"age": 63})
    walk.tell({"age": 63.0, "sex": "m"})
    with pytest.raises(DataError, match="'age' is 63 already") as caught:
        walk.tell({"chol": 1.0, "age": 64, "sex": "f"})
    assert "'sex' is 'm' already" in str(caught.value)
    assert walk.told == {"age": 63}
    with pytest.raises(DataError, match="'age' is 63 already"):
        walk.skip("age")
    walk.tell({"age": 63, "chol": None})
    walk.tell({"chol": math.nan})
    assert walk.told == {"age": 63, "chol": None}
    assert walk.receipt.total == predictor.bill({"age": [63], "chol": [None], "sex": ["m"]})[0]


def test_an_unknown_feature_cannot_be_skipped(predictor):
    with pytest.raises(DataError, match="did you mean 'chol'"):
        predictor.walk().skip("coal")


def test_new_categories_warn_once_per_call(predictor):
    walk = predictor.walk()
    with pytest.warns(UserWarning, match="'sex': 'x'") as caught:
        walk.tell({"sex": "x", "age": 63})
    assert len(caught) == 1
    assert walk.told["sex"] == "x"


def test_the_repr_of_a_walk_shows_its_state(predictor):
    walk = predictor.walk()
    assert repr(walk) == "NamedWalk(0 values, asks=('age',))"
    walk.tell({"age": 20})
    assert repr(walk) == "NamedWalk(1 values, answer='well')"


def test_the_price_of_a_feature_is_what_it_would_cost_now() -> None:
    prices = Prices([5.0, 1.0, 2.0], groups={"panel": [1, 2]}, shared={"panel": 3.0}).bind(3)
    nodes = empty_nodes(7)
    nodes[0], nodes[1], nodes[2] = (0.0, 1, 0), (0.0, 3, 1), (0.0, 5, 2)
    tree = Forest(nodes, np.zeros((7, 1)), np.array([0]), np.array([0]), np.zeros(1), "sum", 3)
    walk = Predictor(tree, Schema.of(np.zeros((2, 3))), prices).walk()
    assert [walk.price(feature) for feature in range(3)] == [5.0, 4.0, 5.0]
    walk.tell({1: 0.5})
    assert [walk.price(feature) for feature in range(3)] == [5.0, 0.0, 2.0]
    walk.skip(2)
    assert walk.price(2) == 0.0


# --- the receipt --------------------------------------------------------------

ASKED = Purchase("chol", 233, 9.37, "asked")
SKIPPED = Purchase("thal", None, 0.0, "skipped")


def test_a_receipt_is_printed_line_by_line():
    receipt = Receipt((ASKED, SKIPPED), 0.02, 9.39, "CAD", "complete", unread=("age", "sex"))
    assert str(receipt).splitlines() == [
        "chol = 233      9.37",
        "thal            0.00  skipped",
        "evaluation      0.02",
        "total       CAD 9.39  complete",
        "passed but not used, not charged: age, sex",
    ]


def test_the_receipt_of_an_unfinished_walk_says_so():
    assert str(Receipt((), 0.0, 0.0, "")) == "total  0.00  not done yet"


def test_a_long_value_is_cut_short():
    long = Purchase("note", "x" * 1000, 1.0, "asked")
    assert max(map(len, str(Receipt((long,), 0.0, 1.0, "")).splitlines())) < 60


def test_prices_and_total_come_from_the_price_list(predictor):
    walk = predictor.walk(known={"age": 70})
    walk.tell({"chol": 1.0, "sex": "m"})
    receipt = walk.receipt
    assert receipt.unit == "CAD"
    assert receipt.evaluation == 0.02
    assert str(receipt).splitlines()[-1] == "passed but not used, not charged: sex"
