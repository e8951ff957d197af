"""One example: the same answer and bill as the batch, only what is needed, within the cap."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty import DataError, SourceError
from thrifty.serve import CallSource, RowSource, answer


class Spy:
    """A row that remembers what was fetched."""

    def __init__(self, row) -> None:
        self.row, self.fetched = row, []

    def fetch(self, features):
        self.fetched += features
        return {feature: self.row[feature] for feature in features}


@pytest.mark.parametrize("row", range(0, 300, 37))
def test_an_answer_is_that_of_the_batch_and_nothing_else_is_fetched(predictor, table, row) -> None:
    source = Spy(table.iloc[row])
    label, receipt = answer(predictor, source)
    one = table.iloc[[row]]
    assert label == predictor.predict(one)[0]
    assert receipt.total == predictor.bill(one)[0]
    assert receipt.stopped == "complete"
    used = predictor.used(one)[0]
    assert sorted(source.fetched) == sorted(np.array(predictor.schema.names)[used].tolist())


def test_what_is_known_is_not_fetched_and_is_free(predictor, table) -> None:
    source = Spy(table.iloc[0])
    known = {"chol": table["chol"][0]}
    label, receipt = answer(predictor, source, known=known)
    assert "chol" not in source.fetched
    assert label == predictor.predict(table.iloc[[0]])[0]
    assert receipt.total < predictor.bill(table.iloc[[0]])[0]


@given(cap=st.floats(0, 13), row=st.integers(0, 299))
def test_no_example_costs_more_than_the_cap(predictor, table, cap, row) -> None:
    source = Spy(table.iloc[row])
    _, receipt = answer(predictor, source, cap=cap)
    assert receipt.total <= cap
    assert receipt.stopped in ("complete", "cap")
    if receipt.stopped == "complete":
        assert receipt.total == predictor.bill(table.iloc[[row]])[0]


def test_a_cap_of_nothing_answers_at_once(predictor) -> None:
    label, receipt = answer(predictor, RowSource({}), cap=0)
    assert label in ("ill", "well")
    assert (receipt.total, receipt.purchases) == (0.0, ())
    assert (receipt.stopped, receipt.reason) == ("cap", "cap of CAD 0.00 reached")


def test_a_cap_counts_the_group_once(predictor, table) -> None:
    # 1.0 + 0.5 + (2.0 + 5.0) + 3.0 buys everything.
    full = predictor.bill(table)
    row = int(full.argmax())
    _, receipt = answer(predictor, RowSource(table.iloc[row]), cap=11.5)
    assert full[row] <= 11.5
    assert receipt.stopped == "complete"


@pytest.mark.parametrize("cap", [-1, math.nan])
def test_a_cap_is_0_or_more(predictor, cap) -> None:
    with pytest.raises(DataError, match="cap"):
        answer(predictor, RowSource({}), cap=cap)


def test_a_feature_that_cannot_be_fetched_ends_the_example(predictor) -> None:
    def call(feature):
        raise ConnectionError("the laboratory is closed")

    with pytest.raises(SourceError, match="the laboratory is closed"):
        answer(predictor, CallSource(call))


def test_an_invalid_value_is_a_source_error(predictor) -> None:
    with pytest.raises(SourceError, match="'chol' is numeric; 'old' is not") as caught:
        answer(predictor, CallSource(lambda name: "male" if name == "sex" else "old"))
    assert isinstance(caught.value.__cause__, DataError)


def test_an_unknown_name_among_the_known_values_is_a_data_error(predictor) -> None:
    with pytest.raises(DataError, match="did you mean 'chol'"):
        answer(predictor, RowSource({}), known={"cohl": 1.0})


def test_a_cap_is_a_number(predictor) -> None:
    with pytest.raises(DataError, match="cap: '5' is not a number"):
        answer(predictor, RowSource({}), cap="5")


def test_a_receipt_says_why_each_feature_was_bought(predictor, table) -> None:
    _, receipt = answer(predictor, RowSource(table.iloc[0]))
    assert all("can still move the log-odds" in each.reason.text for each in receipt.purchases)
    json.dumps(receipt.to_dict(), allow_nan=False)


class Laboratory:
    """Functions that fail for one feature, and count what they are asked."""

    def __init__(self, row, broken) -> None:
        self.row, self.broken, self.asked = row, broken, []

    def __call__(self, feature):
        self.asked.append(feature)
        if feature == self.broken:
            raise ConnectionError("the laboratory is closed")
        return self.row[feature]


def test_a_source_that_fails_loses_nothing_that_was_paid_for(predictor, table) -> None:
    row = table.iloc[0]
    last = list(answer(predictor, RowSource(row))[1].purchases)[-1].feature
    laboratory = Laboratory(row, broken=last)
    with pytest.raises(SourceError, match="the laboratory is closed") as caught:
        answer(predictor, CallSource(laboratory))
    error = caught.value
    fetched = [feature for feature in laboratory.asked if feature != last]
    assert list(error.values) == fetched and fetched
    assert (error.receipt.stopped, last in error.receipt.reason) == ("source_failed", True)
    assert [purchase.feature for purchase in error.receipt.purchases] == fetched
    assert error.receipt.total > 0
    laboratory.broken = None  # and the walk goes on where it was, without paying twice
    before = len(laboratory.asked)
    while error.walk.asks:
        error.walk.tell({name: laboratory(name) for name in error.walk.asks})
    assert not set(laboratory.asked[before:]) & set(fetched)
    assert error.walk.answer == predictor.predict(table.iloc[[0]])[0]


def test_an_invalid_value_does_not_lose_the_valid_ones(predictor, table) -> None:
    row = {**table.iloc[0].to_dict(), "chol": "old"}
    assert {"chol", "fbs"} <= set(predictor.walk().asks)
    with pytest.raises(SourceError, match="'chol' is numeric") as caught:
        answer(predictor, RowSource(row))
    error = caught.value
    assert error.values["chol"] == "old" and error.values["fbs"] == row["fbs"]
    assert "chol" not in error.walk.told and "fbs" in error.walk.told


def test_a_source_that_leaves_a_feature_out_keeps_the_others(predictor, table) -> None:
    row = table.iloc[0].to_dict()
    del row["chol"]
    with pytest.raises(SourceError, match="'chol': no value") as caught:
        answer(predictor, RowSource(row))
    assert caught.value.values["fbs"] == row["fbs"]
