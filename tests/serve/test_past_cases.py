"""Past cases on another model."""

from __future__ import annotations

import asyncio

import pytest
from scripted import NAMES, chain_predictor, each

from thrifty.serve import Case, Ledger, Runtime, what_if

DEARER = {"age": 2.0, "chol": 5.0, "fbs": 3.0, "thal": 10.0}


@pytest.fixture
def ledger(tmp_path):
    rows = {
        "all": dict.fromkeys(NAMES, 1.0),
        "young": {"age": -1.0},
        "some": {"age": 1.0, "chol": -1.0},
    }
    with Ledger.open(tmp_path / "ledger.db") as opened:
        for case, row in rows.items():
            source = each("lab", *NAMES, act=lambda query, row=row: {f: row[f] for f in
                                                                     query.features})  # fmt: skip
            asyncio.run(Runtime(chain_predictor(), [source], opened).serve(Case(case)))
        yield opened


def test_the_same_model_gives_the_same_answers_and_bills(ledger):
    found = what_if(ledger.cases(), chain_predictor())
    assert (len(found.replayed), found.changed, found.incomplete) == (3, 0, 0)
    assert found.bill_after == found.bill_before == pytest.approx((19 + 1 + 6) / 3)
    assert all(case.spent_before == case.bill_before for case in found.replayed)


def test_other_prices_give_other_bills(ledger):
    from thrifty.costs import Prices

    dearer = chain_predictor().with_prices(Prices(DEARER).bind(NAMES))
    found = what_if(ledger.cases(), dearer)
    assert found.bill_after == pytest.approx(found.bill_before + 1.0)


def test_a_case_that_lacks_a_value_is_not_compared(ledger):
    from dataclasses import replace

    cases = [(row, [e for e in entries if e.item != "lab/chol"]) for row, entries in ledger.cases()]
    found = what_if(cases, chain_predictor())
    assert [case.bill_after for case in found.replayed] == [1.0]
    assert (found.incomplete, found.lacking) == (2, {"chol": 2})
    unended = [(replace(row, ending=None), entries) for row, entries in cases]
    assert what_if(unended, chain_predictor()).without_values == 3


def test_a_cap_bounds_the_replay(ledger):
    found = what_if(ledger.cases(), chain_predictor(), cap=6.0)
    assert max(case.bill_after for case in found.replayed) == 6.0
    costly = chain_predictor(evaluation=1.0)
    known = [
        (type(row)(type(row.header)(row.header.case, None, "", '[["age", -1.0]]'), 0.0, 1.0,
                   row.ending), entries)
        for row, entries in ledger.cases()
    ]  # fmt: skip
    assert what_if(known, costly, cap=0.5).lacking == {"(cap)": 3}


def test_a_ledger_whose_values_were_erased_has_nothing_to_compare(ledger):
    ledger.retain(values_days=-1.0)
    found = what_if(ledger.cases(), chain_predictor())
    assert (found.replayed, found.without_values) == ((), 3)
    assert found.bill_before == found.bill_after == 0.0


def test_past_cases_that_people_led_can_be_replayed(reopen):
    async def lead():
        cases = reopen()
        handle = (await cases.create(Case("a", known={"age": 1.0}))).handle
        await cases.tell(handle, {"chol": 9.0})
        await cases.back(handle)
        await cases.tell(handle, {"chol": 1.0})
        await cases.skip(handle, ["fbs"])
        await cases.know(handle, {"thal": 1.0})
        return cases.runtime.ledger

    found = what_if(asyncio.run(lead()).cases(), chain_predictor())
    (case,) = found.replayed
    assert (case.answer_before, case.bill_before, case.spent_before) == ("ill", 5.0, 5.0)
    assert (case.answer_after, case.bill_after) == ("ill", 5.0)
