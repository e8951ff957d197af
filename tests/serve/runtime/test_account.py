"""The account of a case: sums that never grow when parts shrink."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scripted import chain_predictor, each

from thrifty.serve.runtime.account import Account, by_source
from thrifty.serve.runtime.catalog import Catalog

AMOUNTS = st.lists(st.floats(0, 1e6), max_size=8)


def account(cap=None, **prices):
    predictor = chain_predictor(**prices)
    catalog = Catalog(predictor, [each("a", "age", "chol"), each("b", "fbs", "thal")], ())
    return Account(catalog, predictor.schema, cap), catalog, predictor.walk()


@given(amounts=AMOUNTS, shares=st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_what_was_within_the_cap_when_quoted_is_within_it_when_paid(amounts, shares):
    found, _, walk = account()
    quotes = {str(i): amount for i, amount in enumerate(amounts)}
    found.paid = dict(quotes)
    found.cap = found.spent(walk)
    assert found.allows(walk)
    found.paid = {item: quote * shares[int(item)] for item, quote in quotes.items()}
    assert found.spent(walk) <= found.cap


def test_a_quote_replaces_what_was_quoted_for_the_same_item():
    found, _, walk = account(cap=5.0)
    found.paid = {"x": 4.0}
    assert found.allows(walk, quotes={"x": 5.0}) and not found.allows(walk, quotes={"y": 1.5})


def test_evaluations_that_may_follow_count():
    found, _, walk = account(cap=3.0, evaluation=4.0)
    assert found.allows(walk) and not found.allows(walk, told=["age"])


def test_offers_are_sorted_by_source():
    _, catalog, _ = account()
    offers = [catalog.by_feature[name] for name in ("age", "fbs", "chol", "thal")]
    assert [[o.item for o in group] for group in by_source(offers)] == [
        ["a/age", "a/chol"],
        ["b/fbs", "b/thal"],
    ]


def test_a_charge_enters_its_group():
    found, catalog, _ = account(groups={"g": ["age", "chol"]}, shared={"g": 2.0})
    first, second = (catalog.by_feature[name] for name in ("age", "chol"))
    assert [found.charge(first), found.charge(second)] == [3.0, 5.0]
