"""The receipt of a case: as text and as JSON."""

from __future__ import annotations

import json

from thrifty.bundle import Purchase, Receipt
from thrifty.serve import CaseReceipt, Charge

BILL = Receipt((Purchase("age", 63, 1.0, "asked"),), 0.0, 1.0, "CAD", "complete", reason="complete")
CHARGES = (
    Charge("lab/age", "lab", ("age",), "delivered", 1.0),
    Charge("blood", "blood", ("chol", "fbs"), "assumed", 8.0, 2, "no answer in time"),
)
RECEIPT = CaseReceipt.of(BILL, spent=9.0, charges=CHARGES, skipped=("chol",), recorded=True)


def test_the_text_has_what_was_spent_in_vain():
    assert str(RECEIPT) == f"{BILL}\nspent: CAD 9.00\nblood: assumed, 8.00"


def test_the_text_of_a_case_that_spent_what_it_used_is_that_of_its_bill():
    assert str(CaseReceipt.of(BILL, spent=1.0, charges=CHARGES[:1])) == str(BILL)
    assert str(CaseReceipt.of(BILL, spent=1.0 + 1e-15, charges=CHARGES[:1])) == str(BILL)


def test_the_plain_form_is_json_with_all_charges():
    plain = json.loads(json.dumps(RECEIPT.to_dict()))
    assert (plain["total"], plain["spent"], plain["recorded"]) == (1.0, 9.0, True)
    assert plain["charges"][1] == {
        "item": "blood",
        "source": "blood",
        "features": ["chol", "fbs"],
        "outcome": "assumed",
        "paid": 8.0,
        "attempts": 2,
        "error": "no answer in time",
    }
