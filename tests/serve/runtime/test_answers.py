"""What a client answers: checked, compared with the case, priced."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from random_models import draw_predictor
from scripted import NAMES, chain_predictor

from thrifty.errors import CaseConflictError, DataError
from thrifty.serve import Case, Runtime
from thrifty.serve.ledger.records import CaseRecord, Entry
from thrifty.serve.runtime.answers import (
    Answers,
    check_answers,
    next_number,
    price_answers,
    withdraw_last,
)
from thrifty.serve.runtime.progress import Progress


def entry(item, outcome, values=None, paid=0.0, epoch=1, state="settled"):
    return Entry("c", item, "me", epoch, state, paid, 0.0, 0.0, None, paid, outcome, values, 0.0)


def priced(answers, *entries, case=None, **prices):
    async def shared():
        return Runtime(chain_predictor(**prices), [], asked=NAMES).shared()

    parts = asyncio.run(shared())
    record = CaseRecord(entries={each.item: each for each in entries})
    return price_answers(parts, Progress(parts, case or Case(), record), record, answers)


def test_values_become_plain_and_missing_ones_none():
    answers = Answers({"age": np.float64(63.0)}, {"chol": float("nan")}, ["fbs"])
    checked = check_answers(chain_predictor().schema, answers)
    assert (checked.told, checked.known, checked.declined) == (
        {"age": 63},
        {"chol": None},
        ("fbs",),
    )


def test_all_problems_are_named_at_once():
    answers = Answers({"agee": 1, "chol": "x"}, {"chol": 1}, ["nothing"])
    with pytest.raises(DataError) as caught:
        check_answers(chain_predictor().schema, answers)
    for words in ("'agee'; did you mean 'age'", "'chol': is numeric", "'chol' is answered twice",
                  "'nothing'"):  # fmt: skip
        assert words in str(caught.value)


def test_a_call_is_not_for_the_client():
    schema = draw_predictor("call", np.random.default_rng(0)).schema
    with pytest.raises(DataError, match="'remote' is a call"):
        check_answers(schema, Answers(declined=["remote"]))


def test_answers_are_priced_and_a_group_once():
    answers = Answers({"chol": 1.0, "fbs": 2.0}, {"age": 3.0}, ["thal"], stop=True)
    groups = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    assert priced(answers, **groups) == [
        ("client/chol", 7.0, "delivered", '[["chol", 1.0]]'),
        ("client/fbs", 3.0, "delivered", '[["fbs", 2.0]]'),
        ("client/age", 0.0, "known", '[["age", 3.0]]'),
        ("client/thal", 0.0, "declined", None),
        ("client", 0.0, "stopped", None),
    ]


def test_a_known_feature_of_a_group_does_not_pay_for_the_group():
    groups = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    known = entry("client/chol", "known", '[["chol", 1.0]]')
    ((_, paid, _, _),) = priced(Answers({"fbs": 1.0}), known, **groups)
    assert paid == 5.0


def test_what_is_there_already_is_left_out():
    told = entry("client/age", "delivered", '[["age", 1.0]]', 1.0)
    declined, stop = entry("client/chol", "declined"), entry("client", "stopped")
    answers = Answers({"age": 1}, {"thal": None}, ["chol"], stop=True)
    case = Case(known={"thal": float("nan")})
    assert priced(answers, told, declined, stop, case=case) == []


def test_all_conflicts_are_named_at_once():
    told = entry("client/age", "delivered", '[["age", 1.0]]', 1.0)
    declined = entry("client/chol", "declined")
    with pytest.raises(CaseConflictError) as caught:
        priced(Answers({"age": 2.0, "chol": 1.0}, declined=["thal"]), told, declined,
               case=Case(known={"thal": 1.0}))  # fmt: skip
    for words in ("'age' has another value", "'chol' was declined", "'thal' has a value"):
        assert words in str(caught.value)


def test_a_value_that_was_erased_is_told_again_at_the_price_of_then():
    erased = entry("client/age", "delivered", None, 0.75)
    assert priced(Answers({"age": 5.0}), erased) == [
        ("client/age", 0.75, "delivered", '[["age", 5.0]]')
    ]


def test_evaluations_count_against_the_cap():
    assert priced(Answers({"age": 1.0}), case=Case(cap=1.5))
    with pytest.raises(CaseConflictError, match="cap: 'age' would exceed it, CAD 1.50 is left"):
        priced(Answers({"age": 1.0}), case=Case(cap=1.5), evaluation=1.0)


def test_the_newest_step_is_taken_back_as_a_whole():
    record = CaseRecord(
        entries={
            each.item: each
            for each in (
                entry("client/age", "delivered", "[]", 1.0, epoch=1),
                entry("client/chol", "delivered", "[]", 5.0, epoch=2),
                entry("client/fbs", "known", "[]", epoch=2),
                entry("client/thal", "withdrawn", epoch=3, state="void"),
                entry("lab/x", "delivered", "[]", 9.0, epoch=8),
            )
        }
    )
    assert withdraw_last(record) == [
        ("client/chol", 0.0, "withdrawn", None),
        ("client/fbs", 0.0, "withdrawn", None),
    ]
    assert next_number(record) == 4
    with pytest.raises(CaseConflictError, match="no answer to take back"):
        withdraw_last(CaseRecord())
