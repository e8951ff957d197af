"""Where a case stands, made anew from what a ledger has of it."""

from __future__ import annotations

import asyncio

import pytest
from scripted import NAMES, chain_predictor, each

from thrifty.serve import Case, Runtime
from thrifty.serve.ledger.records import CaseRecord, Entry
from thrifty.serve.runtime.progress import Progress


def entry(item, outcome, values=None, paid=0.0, state="settled"):
    return Entry("c", item, "me", 1, state, paid, 0.0, 0.0, None, paid, outcome, values, 0.0)


def progress_of(*entries, sources=(), asked=NAMES, case=None, retry=True, **prices):
    async def shared():
        return Runtime(chain_predictor(**prices), sources, asked=asked).shared()

    record = CaseRecord(entries={each.item: each for each in entries})
    return Progress(asyncio.run(shared()), case or Case(), record, retry)


def test_answers_of_a_client_are_told_known_or_skipped():
    found = progress_of(
        entry("client/age", "delivered", '[["age", 1.0]]', 1.0),
        entry("client/chol", "known", '[["chol", 1.0]]'),
        entry("client/fbs", "declined"),
    )
    walk = found.walk
    assert (walk.told, walk.known, walk.skipped) == ({"age": 1.0}, {"chol": 1.0}, ("fbs",))
    assert [question.feature for question in found.questions()] == ["thal"]
    assert found.account.spent(walk) == 1.0


def test_what_was_withdrawn_is_asked_for_again():
    found = progress_of(entry("client/age", "withdrawn", state="void"))
    assert [question.feature for question in found.questions()] == ["age"]


def test_a_client_that_has_stopped_has_stopped():
    found = progress_of(entry("client", "stopped"))
    assert found.walk.end[0] == "stopped" and found.questions() == ()
    assert found.receipt(0.0).charges == ()


def test_what_another_model_had_asked_for_is_left_out():
    found = progress_of(
        entry("client/years", "declined"), entry("client/month", "known", '[["month", 3]]')
    )
    assert found.values == {} and found.walk.skipped == ()


def test_nothing_is_asked_of_the_client_while_sources_have_to_be_asked():
    found = progress_of(sources=[each("lab", "age")], asked=NAMES[1:])
    assert found.from_sources(found.affordable()) == ("age",) and found.questions() == ()
    assert progress_of(entry("client", "stopped")).affordable() == ()


@pytest.mark.parametrize("retry", [True, False])
def test_a_source_that_has_failed_is_asked_again_only_if_wanted(retry):
    lab = each("lab", "age")
    failed = entry("lab/age", "failed", state="void")
    found = progress_of(failed, sources=[lab], asked=NAMES[1:], retry=retry)
    offers, lost = found.offers(["age"])
    assert ([offer.item for offer in offers], lost) == (
        (["lab/age"], []) if retry else ([], ["age"])
    )


def test_a_value_waits_for_what_it_requires():
    early = entry("client/fbs", "delivered", '[["fbs", 1.0]]', 3.0)
    thal = entry("client/thal", "delivered", '[["thal", 1.0]]', 10.0)
    found = progress_of(early, requires={"fbs": ["thal"]})
    assert found.walk.told == {} and found.values == {"fbs": 1.0}
    assert found.receipt(0.0).spent == 3.0
    assert set(progress_of(early, thal, requires={"fbs": ["thal"]}).walk.told) == {"fbs", "thal"}
