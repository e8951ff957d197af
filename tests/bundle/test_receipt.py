"""Receipts: plain values in print and in JSON, whatever types the values had."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from thrifty.bundle import Alternative, Purchase, Reason, Receipt
from thrifty.bundle.receipt import plain_value


def test_numpy_values_are_printed_plainly():
    purchases = (
        Purchase("age", np.float64(63.0), 1.0, "asked"),
        Purchase("sex", np.str_("m"), 0.5, "asked"),
        Purchase("n", np.int64(3), 0.0, "known"),
    )
    text = str(Receipt(purchases, 0.0, 1.5, "CAD", "complete", reason="complete"))
    assert "np." not in text
    assert "age = 63.0" in text and "sex = 'm'" in text and "n = 3" in text


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (math.inf, None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.bool_(False), False),
        (pd.Timestamp("2026-01-02"), "2026-01-02 00:00:00"),
        (None, None),
        ("m", "m"),
    ],
)
def test_a_value_becomes_one_that_json_can_hold(value, plain):
    found = plain_value(value)
    assert found == plain and type(found) is type(plain)


def test_a_receipt_as_a_dict_is_plain_json():
    why = Reason(("age",), 1.0, "risk", 0.2, 4.0, Alternative((), 0.0, 0.0), "because")
    bought = Purchase("age", np.float64(63.0), 1.0, "asked", why)
    receipt = Receipt(
        (bought,), 0.0, 1.0, "CAD", "sure", ("sex",), "sure enough", np.str_("ill"), 0.7, (0.6, 0.8)
    )
    plain = receipt.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["answer"], plain["probability"], plain["interval"]) == ("ill", 0.7, [0.6, 0.8])
    assert (plain["stopped"], plain["reason"], plain["unread"]) == ("sure", "sure enough", ["sex"])
    assert plain["purchases"][0]["reason"] == {
        "features": ["age"],
        "price": 1.0,
        "kind": "risk",
        "gain": 0.2,
        "cost": 4.0,
        "per_price": 0.05,
        "runner_up": {"features": [], "price": 0.0, "gain": 0.0},
        "text": "because",
    }


def test_a_reason_without_a_gain_or_for_free_has_no_gain_per_price():
    assert Reason(("age",), 1.0, "plan", None, 1.0, None, "next").per_price is None
    free = Reason(("age",), 0.0, "range", 0.5, 0.0, None, "moves")
    assert free.per_price is None and free.to_dict()["runner_up"] is None
    assert str(free) == "moves"


def test_the_reason_of_a_purchase_is_no_part_of_its_identity():
    why = Reason(("age",), 1.0, "plan", None, 1.0, None, "next")
    assert Purchase("age", 1, 1.0, "asked", why) == Purchase("age", 1, 1.0, "asked")


def test_an_end_without_words_is_shown_by_its_code():
    assert str(Receipt((), 0.0, 0.0, "", "cap")).endswith("cap")
    assert str(Receipt((), 0.0, 0.0, "")).endswith("not done yet")


def test_a_missing_value_is_called_missing() -> None:
    bought = (Purchase("age", None, 1.0, "asked"), Purchase("chol", None, 0.0, "skipped"))
    shown = str(Receipt(bought, 0.0, 1.0, "CAD", "complete"))
    assert "age = missing" in shown and "None" not in shown
