from __future__ import annotations

from thrifty.bundle import Purchase, Receipt

ASKED = Purchase("chol", 233, 9.37, "asked")
SKIPPED = Purchase("thal", None, 0.0, "skipped")


def test_a_receipt_reads_like_one():
    receipt = Receipt((ASKED, SKIPPED), 0.02, 9.39, "CAD", "complete", unread=("age", "sex"))
    assert str(receipt).splitlines() == [
        "chol = 233       9.37",
        "thal = None      0.00  skipped",
        "evaluation       0.02",
        "total        CAD 9.39  complete",
        "told, not read and not charged: age, sex",
    ]


def test_an_open_receipt_says_so():
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
    assert str(receipt).splitlines()[-1] == "told, not read and not charged: sex"
