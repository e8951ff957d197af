"""Figures of every currency and of the latency."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserRegressor, Prices
from thrifty.report.spending import spending_facts, spending_sentences


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(300, 2))
    prices = Prices([1, 2], unit="CAD", also={"ms": Prices([10, 0])}, delays={1: 3})
    model = GreedyMiserRegressor(prices).fit(X, X[:, 0] + X[:, 1])
    return model.predictor_, X


def test_currencies_and_latency_are_measured(fitted):
    predictor, X = fitted
    facts = spending_facts(predictor, X, {"ms": 12.0})
    main, other = facts["currencies"]
    assert (main["name"], main["mean"], main["budget"]) == ("CAD", 3.0, None)
    assert (other["mean"], other["p95"], other["ceiling"], other["budget"]) == (10, 10, 10, 12)
    assert facts["latency"]["mean"] == predictor.latency(X).mean()
    assert spending_sentences(facts) == [
        "Bill in CAD: CAD 3.00 per example, 95% within CAD 3.00, at most CAD 3.00.",
        "Bill in ms: 10.00 ms per example, 95% within 10.00 ms, at most 10.00 ms; the budget is "
        "12.00 ms.",
        "Latency: 3 per example, 95% within 3, at most 3.",
    ]


def test_plain_prices_have_neither(fitted):
    predictor, X = fitted
    assert spending_facts(predictor.with_prices(Prices().bind(2)), X) == {}
    assert spending_sentences({}) == []
