"""Cases that people lead: steps, what is wrong, restarts, sources and clients together."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest
from scripted import NAMES, Late, asked, chain_predictor, each, where

from thrifty.errors import CaseConflictError, CaseNotFoundError, DataError, LedgerError
from thrifty.serve import Case, Cases, Ledger, RefusedError, Runtime, TooManyCasesError
from thrifty.serve.ledger.records import Header


@pytest.fixture(scope="module")
def ledger():
    with Ledger.temporary() as opened:
        yield opened


@pytest.fixture
def cases(ledger) -> Cases:
    return Cases(Runtime(chain_predictor(), [], ledger, asked=NAMES))


# --- steps


def test_a_case_waits_for_its_client_and_is_answered(cases):
    async def lead():
        states = [await cases.create(Case("a", cap=20.0))]
        for feature in NAMES:
            states.append(await cases.tell(states[0].handle, {feature: 1.0}))
        return states

    states = asyncio.run(lead())
    assert [asked(state) for state in states] == [["age"], ["chol"], ["fbs"], ["thal"], []]
    assert [state.receipt.spent for state in states] == [0.0, 1.0, 6.0, 9.0, 19.0]
    assert [state.left for state in states] == [20.0, 19.0, 14.0, 11.0, 1.0]
    assert [state.done for state in states] == [False] * 4 + [True]
    assert states[0].receipt.stopped is None and states[-1].receipt.stopped == "complete"
    assert states[-1].receipt.answer == "ill"
    assert {(c.source, c.outcome) for c in states[-1].receipt.charges} == {("client", "delivered")}


def test_a_question_says_what_it_costs_and_why_it_is_asked(cases):
    (question,) = asyncio.run(cases.create(Case())).asks
    assert (question.feature, question.price, question.labels) == ("age", 1.0, None)
    assert question.why == "can still move the log-odds by up to 9"


def test_known_values_are_free_before_and_during_a_case(cases):
    async def lead():
        handle = (await cases.create(Case(known={"age": 1.0}))).handle
        return await cases.know(handle, {"chol": 1.0})

    state = asyncio.run(lead())
    assert (asked(state), state.receipt.spent) == (["fbs"], 0.0)
    assert [(c.item, c.outcome, c.paid) for c in state.receipt.charges] == [
        ("client/chol", "known", 0.0)
    ]


def test_what_cannot_be_had_is_gone_without(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        return await cases.skip(handle, ["age"])

    state = asyncio.run(lead())
    assert state.receipt.skipped == ("age",) and "age" not in asked(state)
    assert state.receipt.spent == 0.0


def test_a_case_that_is_stopped_has_its_best_answer_so_far(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        before = await cases.tell(handle, {"age": 1.0})
        return before, await cases.stop(handle), await cases.get(handle)

    before, state, seen = asyncio.run(lead())
    assert (state.done, state.receipt.stopped, state.asks) == (True, "stopped", ())
    assert state.receipt.answer == before.receipt.answer
    assert where(seen) == where(state) and seen.receipt.recorded


def test_a_value_that_was_not_asked_for_is_taken_and_charged(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        early = await cases.tell(handle, {"thal": 1.0})
        return early, await cases.tell(handle, {"age": 1.0, "chol": 1.0, "fbs": 1.0})

    early, state = asyncio.run(lead())
    assert (asked(early), early.receipt.spent, early.receipt.unread) == (["age"], 10.0, ("thal",))
    assert (state.done, state.receipt.spent, state.receipt.total) == (True, 19.0, 19.0)


def test_a_case_with_one_id_is_one_case(cases):
    async def lead():
        first = await cases.create(Case("same", cap=9.0, known={"age": 1.0}))
        await cases.tell(first.handle, {"chol": 1.0})
        return (
            first,
            await cases.create(Case("same")),
            await cases.create(Case("same", cap=9.0, known={"age": 1.0, "fbs": 1.0})),
        )

    first, again, more = asyncio.run(lead())
    assert first.handle == again.handle == more.handle and "same" not in first.handle
    assert (asked(again), again.receipt.spent, again.left) == (["fbs"], 5.0, 4.0)
    assert (more.receipt.spent, more.receipt.stopped) == (5.0, "cap")


@pytest.mark.parametrize("change", [{"cap": 8.0}, {"known": {"age": 2.0}}])
def test_a_case_that_is_sent_again_with_something_else_is_a_conflict(cases, change):
    async def lead():
        case = {"cap": 9.0, "known": {"age": 1.0}}
        await cases.create(Case(f"changed {change}", **case))
        await cases.create(Case(f"changed {change}", **(case | change)))

    with pytest.raises(CaseConflictError):
        asyncio.run(lead())


def test_only_so_many_cases_may_be_open(reopen):
    cases = reopen(max_open=1)

    async def lead():
        first = await cases.create(Case("a"))
        with pytest.raises(TooManyCasesError):
            await cases.create(Case("b"))
        await cases.create(Case("a"))
        await cases.stop(first.handle)
        await cases.create(Case("b"))

    asyncio.run(lead())


# --- what is wrong


def test_all_that_is_wrong_is_said_at_once_and_nothing_is_recorded(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        with pytest.raises(DataError) as caught:
            await cases.tell(handle, {"agee": 1, "chol": "much", "fbs": 1}, {"fbs": 2})
        return str(caught.value), await cases.get(handle)

    message, state = asyncio.run(lead())
    assert "there is no feature 'agee'; did you mean 'age'?" in message
    assert "'chol': is numeric; 'much' is not a number" in message
    assert "'fbs' is answered twice" in message
    assert (asked(state), state.receipt.spent, state.receipt.charges) == (["age"], 0.0, ())


def test_the_same_value_again_changes_nothing_and_another_is_a_conflict(cases):
    async def lead():
        handle = (await cases.create(Case(known={"age": 1.0}))).handle
        first = await cases.tell(handle, {"chol": 1.0})
        again = await cases.tell(handle, {"chol": 1, "age": 1.0})
        for step in (
            cases.tell(handle, {"chol": 2.0, "fbs": 1.0}),
            cases.know(handle, {"age": None}),
            cases.skip(handle, ["chol"]),
        ):
            with pytest.raises(CaseConflictError, match="already; go back"):
                await step
        return first, again, await cases.get(handle)

    first, again, after = asyncio.run(lead())
    assert where(first) == where(again) == where(after)


def test_what_was_declined_is_answered_after_going_back(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        first = await cases.skip(handle, ["age"])
        again = await cases.skip(handle, ["age"])
        with pytest.raises(CaseConflictError, match="declined; go back"):
            await cases.tell(handle, {"age": 1.0})
        await cases.back(handle)
        return first, again, await cases.tell(handle, {"age": 1.0})

    first, again, told = asyncio.run(lead())
    assert where(first) == where(again)
    assert (asked(told), told.receipt.skipped) == (["chol"], ())


def test_after_the_end_there_is_no_step_but_back(cases):
    async def lead():
        handle = (await cases.create(Case())).handle
        before = await cases.get(handle)
        end = await cases.tell(handle, {"age": -1.0})
        assert where(await cases.tell(handle, {"age": -1.0})) == where(end)
        for step in (
            cases.tell(handle, {"chol": 1.0}),
            cases.skip(handle, ["chol"]),
            cases.stop(handle),
        ):
            with pytest.raises(CaseConflictError, match="ended"):
                await step
        reopened = await cases.back(handle)
        return before, end, reopened, await cases.open_cases()

    before, end, reopened, found = asyncio.run(lead())
    assert end.done and where(before) == where(reopened)
    assert reopened.handle in [summary.handle for summary in found]


def test_there_is_nothing_to_take_back_before_the_first_step(cases):
    async def lead():
        await cases.back((await cases.create(Case())).handle)

    with pytest.raises(CaseConflictError, match="no answer to take back"):
        asyncio.run(lead())


def test_an_unknown_case_is_not_found(cases):
    async def lead():
        for step in (
            cases.get("x"),
            cases.get("\0" * 64),
            cases.tell("0" * 64, {}),
            cases.skip("0" * 64, []),
            cases.stop("0" * 64),
            cases.back("0" * 64),
        ):
            with pytest.raises(CaseNotFoundError):
                await step

    asyncio.run(lead())


def test_values_that_the_cap_does_not_allow_are_refused(cases):
    async def lead():
        handle = (await cases.create(Case(cap=6.5))).handle
        with pytest.raises(CaseConflictError, match=r"cap: 'thal' would exceed it, CAD 6.50 is"):
            await cases.tell(handle, {"thal": 1.0})
        await cases.tell(handle, {"age": 1.0})
        return await cases.tell(handle, {"chol": 1.0})

    state = asyncio.run(lead())
    assert (state.receipt.stopped, state.receipt.spent, state.left) == ("cap", 6.0, 0.5)


def test_a_group_whose_first_feature_is_taken_back_is_still_paid(reopen):
    prices = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    cases = reopen([each("lab", "fbs")], ["age", "chol", "thal"], chain_predictor(**prices))

    async def lead():
        handle = (await cases.create(Case("a", known={"age": 1.0}))).handle
        paid = await cases.tell(handle, {"chol": 1.0})  # the lab delivers fbs at once
        back = await cases.back(handle)
        return paid, back, await cases.tell(handle, {"chol": 2.0})

    paid, back, again = asyncio.run(lead())
    assert [state.receipt.spent for state in (paid, back, again)] == [10.0, 3.0, 10.0]
    assert asked(back) == ["chol"] and back.asks[0].price == 7.0
    assert again.receipt.spent == again.receipt.total


# --- restarts and other models


def test_a_case_survives_a_restart_at_every_step(reopen):
    async def lead():
        handle = (await reopen().create(Case("visit", known={"age": 1.0}, cap=30.0))).handle
        await reopen().tell(handle, {"chol": 1.0})
        declined = await reopen().skip(handle, ["fbs"])
        back = await reopen().back(handle)
        known = await reopen().know(handle, {"fbs": 1.0})
        end = await reopen().tell(handle, {"thal": 1.0})
        return declined, back, known, end, await reopen().get(handle)

    declined, back, known, end, seen = asyncio.run(lead())
    assert [asked(state) for state in (declined, back, known)] == [["thal"], ["fbs"], ["thal"]]
    assert (end.done, end.receipt.spent, end.left) == (True, 15.0, 15.0)
    assert where(seen) == where(end)


def test_a_case_whose_server_died_before_it_wrote_the_end_is_ended_by_the_next_step(reopen):
    cases = reopen()
    ledger = cases.runtime.ledger

    async def lead():
        handle = (await cases.create(Case("a"))).handle
        record = await asyncio.wrap_future(ledger.find(Header(handle), 0.0))
        told = [("client/age", 1.0, "delivered", '[["age", -1.0]]')]
        await asyncio.wrap_future(
            ledger.take_step(record, ledger.draft(record.row.header, 1, told))
        )
        seen, n_before = await cases.get(handle), await cases.count_open()
        again = await cases.tell(handle, {"age": -1.0})
        return seen, n_before, again, await cases.count_open()

    seen, n_before, again, n_after = asyncio.run(lead())
    assert seen.done and where(seen) == where(again)
    assert (n_before, n_after) == (1, 0)


def test_a_case_that_another_model_has_answered_is_not_this_models(reopen):
    async def lead():
        handle = (await reopen().create(Case("a"))).handle
        await reopen().tell(handle, {"age": 1.0})
        other = reopen(predictor=chain_predictor(evaluation=0.5))
        state = await other.get(handle)  # it goes on with another model
        await reopen().stop(handle)
        with pytest.raises(CaseConflictError, match="another model"):
            await other.get(handle)
        return state

    state = asyncio.run(lead())
    assert (asked(state), state.receipt.spent) == (["chol"], 1.0)


def test_values_that_were_erased_are_told_again_free_of_charge(reopen):
    async def lead():
        cases = reopen()
        handle = (await cases.create(Case("a"))).handle
        await cases.tell(handle, {"age": 1.0})
        cases.runtime.ledger.retain(values_days=-1.0)
        erased = await cases.get(handle)
        told = await cases.tell(handle, {"age": 2.0})
        await cases.stop(handle)
        cases.runtime.ledger.retain(values_days=-1.0)
        with pytest.raises(CaseNotFoundError, match="erased"):
            await cases.get(handle)
        return erased, told

    erased, told = asyncio.run(lead())
    assert (asked(erased), erased.receipt.spent) == ([], 1.0)
    assert (asked(told), told.receipt.spent) == (["chol"], 1.0)


# --- sources and clients together


def test_sources_are_asked_first_and_the_client_for_the_rest(reopen):
    lab = each("lab", "age", "fbs")
    cases = reopen([lab], ["chol", "thal"])

    async def lead():
        first = await cases.create(Case("a"))
        return first, await cases.tell(first.handle, {"chol": 1.0})

    first, second = asyncio.run(lead())
    assert (asked(first), first.receipt.spent) == (["chol"], 1.0)
    assert (asked(second), second.receipt.spent) == (["thal"], 9.0)
    assert [query.features for query in lab.asked] == [("age",), ("fbs",)]
    assert cases.spent == {"lab": 4.0, "client": 5.0}


def test_a_client_may_have_what_a_source_sells(reopen):
    lab = each("lab", *NAMES)
    cases = reopen([each("slow", "age"), lab := each("lab", "fbs", "thal")], ["chol"])

    async def lead():
        handle = (await cases.create(Case("a"))).handle
        await cases.know(handle, {"fbs": 1.0})
        with pytest.raises(CaseConflictError, match="'age' has another value"):
            await cases.tell(handle, {"age": 5.0})
        return await cases.tell(handle, {"chol": 1.0})

    state = asyncio.run(lead())
    assert state.done and [query.features for query in lab.asked] == [("thal",)]


def test_a_source_that_has_failed_is_not_asked_at_every_step(reopen):
    def refuse(query):
        raise RefusedError("no")

    lab = each("lab", "age", act=refuse, trips_after=99)
    cases = reopen([lab], NAMES[1:])

    async def lead():
        handle = (await cases.create(Case("a"))).handle
        await cases.tell(handle, {"chol": 1.0})
        told = await cases.tell(handle, {"age": 1.0})  # the client has it
        return told, await cases.create(Case("a"))

    told, again = asyncio.run(lead())
    assert len(lab.asked) == 1
    assert asked(told) == asked(again) == ["fbs"]


def test_a_context_that_is_gone_has_to_be_sent_again(reopen):
    lab = each("lab", "fbs")

    async def lead():
        context = {"patient": "p7"}
        handle = (await reopen([lab], ["age", "chol", "thal"]).create(Case(context=context))).handle
        restarted = reopen([lab], ["age", "chol", "thal"])
        await restarted.tell(handle, {"age": 1.0})
        with pytest.raises(CaseConflictError, match="'fbs' comes from a source.*'patient' again"):
            await restarted.tell(handle, {"chol": 1.0})
        unchanged = await restarted.get(handle)
        return unchanged, await restarted.tell(handle, {"chol": 1.0}, context=context)

    unchanged, state = asyncio.run(lead())
    assert (asked(unchanged), unchanged.receipt.spent) == (["chol"], 1.0)
    assert asked(state) == ["thal"]
    assert [dict(query.context) for query in lab.asked] == [{"patient": "p7"}]


def test_contexts_are_forgotten_when_there_are_too_many(reopen):
    cases = reopen([each("lab", "fbs")], ["age", "chol", "thal"], max_open=1)

    async def lead():
        first = await cases.create(Case(context={"n": 0}))
        await cases.stop(first.handle)
        second = await cases.create(Case(context={"n": 1}))
        await cases.back(first.handle)
        await cases.tell(first.handle, {"age": 1.0}, context={"n": 0})
        with pytest.raises(CaseConflictError, match="send 'n' again"):
            await cases.tell(second.handle, {"age": 1.0, "chol": 1.0})
        return await cases.tell(first.handle, {"chol": 1.0})

    assert asked(asyncio.run(lead())) == ["thal"]


def test_a_ledger_that_does_not_answer_is_not_ready(cases, monkeypatch):
    monkeypatch.setattr("thrifty.serve.cases.READY_WITHIN", 0.01)
    monkeypatch.setattr(cases.runtime.ledger, "flush", Future)
    with pytest.raises(LedgerError, match="not answered within"):
        asyncio.run(cases.check())


def test_a_case_that_was_late_goes_on(reopen, still_clock):
    slow = Late(still_clock, 0.1)
    cases = reopen([each("lab", "age", act=slow)], NAMES[1:])

    async def lead():
        late = await cases.create(Case("a", deadline=0.05))
        slow.release.set()
        while cases.runtime.open_purchases:
            await asyncio.sleep(0)
        await asyncio.wrap_future(cases.runtime.ledger.flush())
        seen, n_before = await cases.get(late.handle), await cases.count_open()
        return late, seen, n_before, await cases.tell(late.handle, {}), await cases.count_open()

    late, seen, n_before, state, n_after = asyncio.run(lead())
    assert late.done and late.receipt.stopped == seen.receipt.stopped == "deadline"
    assert (asked(state), state.receipt.spent) == (["chol"], 1.0)
    assert (n_before, n_after) == (0, 1)


def test_a_step_goes_on_when_its_client_is_gone(reopen):
    async def lead():
        is_asked, may_answer = asyncio.Event(), asyncio.Event()

        async def slow(query):
            is_asked.set()
            await may_answer.wait()
            return {"chol": 1.0}

        cases = reopen([each("lab", "chol", act=slow)], ["age", "fbs", "thal"])
        handle = (await cases.create(Case("a"))).handle
        client = asyncio.create_task(cases.tell(handle, {"age": 1.0}))
        await is_asked.wait()
        client.cancel()
        waiting = await cases.get(handle)
        may_answer.set()
        await cases.aclose()
        return waiting, await cases.get(handle)

    waiting, state = asyncio.run(lead())
    assert (waiting.done, waiting.asks, waiting.receipt.spent) == (False, (), 6.0)
    assert (asked(state), state.receipt.spent) == (["fbs"], 6.0)
