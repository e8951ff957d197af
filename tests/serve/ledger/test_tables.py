"""Cases and entries as rows, and back."""

from __future__ import annotations

import pytest

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRow, Ending, Entry, Header
from thrifty.serve.ledger.tables import (
    CASE_COLUMNS,
    ENTRY_COLUMNS,
    VERSION,
    case_row,
    check_ledger,
    entry_row,
    read_case,
    read_entry,
    record,
    with_entries,
)

ENTRY = Entry("c", "i", "me", 1, "settled", 2.0, 3.0, 4.0, "s", 1.5, "delivered", "[]", 5.0)
ENDING = Ending("cap", "cap reached", "1", "[]", 1.0, 2.0, "CAD")


def test_an_entry_comes_back_from_its_row():
    row = entry_row(ENTRY)
    assert len(row) == len(ENTRY_COLUMNS) and read_entry(row) == ENTRY


@pytest.mark.parametrize("ending", [None, ENDING])
def test_a_case_comes_back_from_its_row(ending):
    case = CaseRow(
        Header("c", "s", "m", "[]", 9.0, "[]"), 1.0, None if ending is None else 2.0, ending
    )
    row = case_row(case)
    assert len(row) == len(CASE_COLUMNS) and read_case(row) == case


@pytest.mark.parametrize(
    ("column", "value"),
    [("case_id", 5), ("item", None), ("owner", b"me"), ("epoch", -1), ("epoch", 1.5),
     ("state", "sold"), ("state", None), ("quoted", "2"), ("quoted", -1.0),
     ("quoted", float("inf")), ("intent_at", None), ("paid", "free"), ("delivered", b"[]"),
     ("delivered", "\ud800"), ("settled_at", "now")],
)  # fmt: skip
def test_a_damaged_entry_is_refused_and_not_quoted(column, value):
    row = list(entry_row(ENTRY))
    row[ENTRY_COLUMNS.index(column)] = value
    with pytest.raises(LedgerError, match=f"damaged: a purchase has no usable {column}") as caught:
        read_entry(row)
    assert value is None or repr(value) not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value"),
    [("case_id", None), ("model", 5), ("known", 7.0), ("started_at", "x"), ("ended_at", "x"),
     ("stopped", None), ("reason", 1), ("answer", 5), ("bill", None), ("spent", -2.0),
     ("unit", None)],
)  # fmt: skip
def test_a_damaged_case_is_refused(column, value):
    row = list(case_row(CaseRow(Header("c", "s", "m", "[]"), 1.0, 2.0, ENDING)))
    row[CASE_COLUMNS.index(column)] = value
    with pytest.raises(LedgerError, match=f"damaged: a case has no usable {column}"):
        read_case(row)


def test_a_case_whose_values_were_erased_can_be_read():
    row = list(case_row(CaseRow(Header("c", "s", "m", None), 1.0, 2.0, ENDING)))
    row[CASE_COLUMNS.index("answer")] = None
    assert read_case(row).ending.answer is None


@pytest.mark.parametrize(
    "meta",
    [{}, {"version": "1"}, {"key_check": "c"}, {"version": "one", "key_check": "c"},
     {"version": "0", "key_check": "c"}, {"version": "-1", "key_check": "c"},
     {"version": "1" * 5000, "key_check": "c"}, {"version": 1, "key_check": "c"},
     {"version": "\u0661", "key_check": "c"}, {"version": "1", "key_check": None}],
)  # fmt: skip
def test_a_ledger_that_does_not_say_its_version_is_refused(meta):
    with pytest.raises(LedgerError, match="it is damaged"):
        check_ledger("ledger x", meta, "c")


def test_the_entries_of_a_case_are_in_the_order_of_purchase():
    late, early = (
        entry_row(Entry("c", item, "", 0, "settled", 1.0, time, time))
        for item, time in (("a", 2.0), ("b", 1.0))
    )
    assert list(record([], [late, early], []).entries) == ["b", "a"]


def test_the_last_row_of_what_is_kept_counts():
    old, new = (entry_row(Entry("x", "i", "", 0, "settled", t, t, t)) for t in (1.0, 2.0))
    found = record([], [], [old, new])
    assert found.row is None and found.kept["i"].quoted == 2.0


def test_entries_go_to_their_cases_in_the_order_of_purchase():
    rows = [CaseRow(Header(case), 0.0) for case in "ab"]
    entries = [Entry(c, i, "", 0, "intent", 1.0, t, 9.0) for c, i, t in
               (("b", "x", 2.0), ("a", "y", 1.0), ("b", "z", 0.0))]  # fmt: skip
    listed = [[entry.item for entry in found] for _, found in with_entries(rows, entries)]
    assert listed == [["y"], ["z", "x"]]


def test_an_older_ledger_with_the_right_key_is_accepted():
    check_ledger("ledger x", {"version": str(VERSION), "key_check": "k"}, "k")
    check_ledger("ledger x", {"version": str(VERSION), "key_check": "k"}, None)
    with pytest.raises(LedgerError, match="another key"):
        check_ledger("ledger x", {"version": str(VERSION), "key_check": "k"}, "z")
