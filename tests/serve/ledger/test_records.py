"""What an entry costs."""

from __future__ import annotations

from thrifty.serve.ledger.records import Entry


def test_an_entry_costs_its_quote_until_it_is_settled_and_nothing_if_it_failed_for_free():
    def entry(state, paid=None):
        return Entry("c", "i", "me", 0, state, 2.0, 0.0, 1.0, paid=paid)

    assert entry("intent").charged == 2.0
    assert entry("settled", 1.5).charged == 1.5
    assert entry("assumed", 2.0).charged == 2.0
    assert entry("void", 0.0).charged == 0.0


def test_no_repr_shows_a_value():
    entry = Entry("c", "i", "me", 0, "settled", 2.0, 0.0, 1.0, values='[["age", 63]]')
    assert "63" not in repr(entry)
