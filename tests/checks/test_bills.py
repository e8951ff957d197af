from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.bundle import NamedWalk, Receipt
from thrifty.checks import (
    LawError,
    law_bills,
    law_free,
    law_penalty,
    law_receipts,
    law_scale,
)
from thrifty.costs import BoundPrices

HONEST = BoundPrices.bill


def test_a_group_that_is_paid_twice_is_caught(bend, numbers) -> None:
    def bill(self, X):
        used, prices = self.used(X), self.prices_
        shared = np.append(prices.shared, 0.0)[prices.group]
        bills = prices.own + shared
        evaluations = self.predictor_.evaluations(X) * prices.evaluation
        return (used * bills).sum(axis=1) + evaluations

    with pytest.raises(LawError, match=r"bill for \[.*\] and \d+ evaluations of row \d+"):
        law_bills(bend(bill=bill), numbers)


def test_a_bill_without_evaluations_is_caught(bend, numbers) -> None:
    def bill(self, X):
        return self.prices_.bill(self.used(X))

    with pytest.raises(LawError, match="6 evaluations of row 0"):
        law_bills(bend(bill=bill), numbers)


def test_bills_of_another_shape_are_caught(bend, numbers) -> None:
    def bill(self, X):
        return GreedyMiserClassifier.bill(self, X)[:, np.newaxis]

    with pytest.raises(LawError, match=r"bills have shape \(40, 1\)"):
        law_bills(bend(bill=bill), numbers)


def test_a_receipt_that_charges_a_group_with_every_member_is_caught(
    honest, frame, monkeypatch
) -> None:
    marginal = BoundPrices.marginal
    monkeypatch.setattr(BoundPrices, "marginal", lambda self, j, *_: marginal(self, j, ()))
    with pytest.raises(LawError, match=r"price of '\w+' of row \d+"):
        law_receipts(honest, frame)


def test_a_receipt_that_does_not_add_up_is_caught(honest, numbers, monkeypatch) -> None:
    receipt = NamedWalk.receipt.fget

    def padded(self):
        true = receipt(self)
        return Receipt(true.purchases, true.evaluation, true.total + 0.01, true.unit)

    monkeypatch.setattr(NamedWalk, "receipt", property(padded))
    with pytest.raises(LawError, match="total of the receipt of row 0"):
        law_receipts(honest, numbers)


def test_a_bill_with_a_fee_does_not_scale(honest, numbers, monkeypatch) -> None:
    monkeypatch.setattr(BoundPrices, "bill", lambda *given: HONEST(*given) + 0.5)
    with pytest.raises(LawError, match="bill at doubled prices of row 0"):
        law_scale(honest, numbers)


def test_a_penalty_that_forgets_the_prices_is_caught(bend, numbers) -> None:
    def fit(self, X, y):
        honest, self.penalty = self.penalty, self.penalty**2 * 100
        GreedyMiserClassifier.fit(self, X, y)
        self.penalty = honest
        return self

    with pytest.raises(LawError, match=r"model array '\w+' at doubled prices"):
        law_penalty(bend(fit=fit), numbers)


def test_a_bill_that_rises_for_what_is_free_is_caught(honest, numbers, monkeypatch) -> None:
    def bill(self, used, *rest):
        return HONEST(self, used, *rest) + (used & (self.own == 0)).sum(axis=1)

    monkeypatch.setattr(BoundPrices, "bill", bill)
    with pytest.raises(LawError, match=r"bill of row \d+ rises when \d is free|with the free 5"):
        law_free(honest, numbers)


def test_a_bill_at_no_price_is_caught(honest, numbers, monkeypatch) -> None:
    def bill(self, used, *rest):
        return np.maximum(HONEST(self, used, *rest), 0.1)

    monkeypatch.setattr(BoundPrices, "bill", bill)
    with pytest.raises(LawError, match="bill at no price of row 0"):
        law_free(honest, numbers)


@pytest.mark.filterwarnings("ignore:categories never seen")
def test_rows_of_a_case_use_several_members_of_a_group(honest, numbers, frame) -> None:
    for case in (numbers, frame):
        fitted = case.fit(honest)
        members = fitted.prices_.group == 0
        assert (fitted.used(case.test_table)[:, members].sum(axis=1) > 1).any()
