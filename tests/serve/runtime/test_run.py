"""One case: rounds, failures, lateness, resumption."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future

import pytest
from scripted import Late, chain_predictor, each

from thrifty.errors import DataError, LedgerError
from thrifty.serve import (
    Case,
    NotFoundError,
    RefusedError,
    Runtime,
    UnclearError,
    UnsentError,
    UnusableError,
)
from thrifty.serve.ledger.records import CaseRecord, Intent

FEATURES = ("age", "chol", "fbs", "thal")


def serve(runtime, case=None):
    async def run():
        async with runtime:
            return await runtime.serve(case or Case())

    return asyncio.run(run())


def outcomes(receipt):
    return {charge.item: (charge.outcome, charge.paid) for charge in receipt.charges}


def raising(error):
    def act(query):
        raise error

    return act


def test_a_case_is_bought_round_by_round(chain):
    source = each("lab", *FEATURES)
    receipt = serve(Runtime(chain, [source]))
    assert [query.features for query in source.asked] == [(name,) for name in FEATURES]
    assert (receipt.answer, receipt.total, receipt.spent) == ("ill", 19.0, 19.0)
    assert receipt.stopped == "complete"


def test_a_source_sees_what_the_case_has_so_far(chain):
    source = each("lab", *FEATURES)
    serve(Runtime(chain, [source]), Case(known={"age": 7.0}, context={"who": "ann"}))
    assert [dict(query.values) for query in source.asked[:2]] == [
        {"age": 7.0},
        {"age": 7.0, "chol": 1.0},
    ]
    assert source.asked[0].context == {"who": "ann"}
    assert "ann" not in repr(source.asked[0])


def test_known_values_are_free(chain):
    receipt = serve(Runtime(chain, [each("lab", *FEATURES)]), Case(known={"age": 1, "thal": 1}))
    assert (receipt.total, receipt.spent) == (8.0, 8.0)


def test_a_value_that_no_source_delivers_is_skipped_if_the_case_lacks_it(chain):
    runtime = Runtime(chain, [each("lab", "chol", "fbs", "thal")], given=["age"])
    receipt = serve(runtime)
    assert receipt.skipped == ("age",) and "age" not in outcomes(receipt)
    assert receipt.stopped == "complete"


def test_what_is_sold_together_is_asked_for_and_charged_once(chain):
    blood = each("blood", "chol", "fbs", sold="together")
    receipt = serve(Runtime(chain, [each("lab", "age", "thal"), blood]))
    assert [query.features for query in blood.asked] == [("chol", "fbs")]
    assert outcomes(receipt)["blood"] == ("delivered", 8.0)


def test_what_is_paid_for_and_not_used_is_spent_but_not_billed(chain):
    blood = each("blood", "age", "thal", sold="together", act=lambda q: {"age": -1.0, "thal": 1.0})
    receipt = serve(Runtime(chain, [blood, each("lab", "chol", "fbs")]))
    assert (receipt.total, receipt.spent, receipt.unread) == (1.0, 11.0, ("thal",))
    assert "spent: CAD 11.00" in str(receipt)


def test_a_price_that_differs_from_training_is_charged_and_warned_of(chain):
    with pytest.warns(UserWarning, match="'lab/age' costs CAD 2.00.*trained with CAD 1.00"):
        runtime = Runtime(
            chain, [each("lab", "age", price=2.0), each("rest", "chol", "fbs", "thal")]
        )
    receipt = serve(runtime)
    assert (receipt.total, receipt.spent) == (19.0, 20.0)


def test_an_empty_value_is_paid_for(chain):
    source = each("lab", *FEATURES, act=lambda query: dict.fromkeys(query.features))
    receipt = serve(Runtime(chain, [source]))
    assert outcomes(receipt)["lab/age"] == ("delivered", 1.0)
    assert receipt.skipped == () and receipt.spent == receipt.total > 0


# --- failures ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "terms", "expected"),
    [
        (UnsentError("down"), {}, ("failed", 0.0)),
        (UnsentError("down"), {"bills_failures": True}, ("failed", 0.0)),
        (RefusedError("status 500"), {}, ("failed", 0.0)),
        (RefusedError("status 500"), {"bills_failures": True}, ("failed", 5.0)),
        (NotFoundError("no such row"), {}, ("failed", 0.0)),
        (UnclearError("connection lost"), {}, ("assumed", 5.0)),
        (UnusableError("no JSON"), {}, ("invalid", 5.0)),
        (ValueError("secret"), {}, ("failed", 0.0)),
        (ValueError("secret"), {"bills_failures": True}, ("failed", 5.0)),
        (TimeoutError("late"), {}, ("assumed", 5.0)),
    ],
)
def test_a_failure_costs_the_value_and_not_the_answer(chain, failure, terms, expected):
    lab = each("lab", "chol", act=raising(failure), **terms)
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert outcomes(receipt)["lab/chol"] == expected
    assert receipt.skipped == ("chol",) and receipt.stopped == "complete"
    assert receipt.spent == receipt.total + expected[1]
    assert "secret" not in str(receipt.to_dict())


@pytest.mark.parametrize("value", ["what?", [1.0], {"a": 1}, 1e400, object(), "\ud800"])
def test_garbage_is_paid_for_and_not_told_to_the_model(chain, value):
    lab = each("lab", "chol", act=lambda query: {"chol": value})
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert outcomes(receipt)["lab/chol"] == ("invalid", 5.0)
    assert receipt.skipped == ("chol",)


def test_no_mapping_at_all_is_garbage(chain):
    lab = each("lab", "chol", act=lambda query: 7)
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert outcomes(receipt)["lab/chol"] == ("invalid", 5.0)


def test_what_is_left_out_was_not_delivered(chain):
    lab = each("lab", "chol", act=lambda query: {})
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert outcomes(receipt)["lab/chol"] == ("failed", 0.0)
    assert receipt.charges[1].error == "not delivered"


# --- retries -----------------------------------------------------------------


def attempts_of(chain, failure, **terms):
    lab = each("lab", "chol", act=raising(failure), retries=2, pause=0.0, **terms)
    serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    return len(lab.asked)


def test_a_failure_that_was_not_charged_is_tried_again(chain):
    assert attempts_of(chain, UnsentError("down")) == 3
    assert attempts_of(chain, UnsentError("down"), bills_failures=True) == 3
    assert attempts_of(chain, RefusedError("429")) == 3


def test_a_failure_that_may_have_been_charged_is_not_tried_again(chain):
    assert attempts_of(chain, RefusedError("429"), bills_failures=True) == 1
    assert attempts_of(chain, UnclearError("lost")) == 1
    assert attempts_of(chain, UnusableError("garbage")) == 1


def test_an_idempotent_source_is_asked_again_with_the_same_key(chain):
    lab = each("lab", "chol", act=raising(UnclearError("lost")), retries=2, pause=0.0,
               idempotent=True)  # fmt: skip
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert len(lab.asked) == 3 and len({query.key for query in lab.asked}) == 1
    assert outcomes(receipt)["lab/chol"] == ("assumed", 5.0)


@pytest.mark.parametrize(
    ("first", "terms", "expected"),
    [
        (UnclearError("lost"), {}, ("assumed", 5.0)),
        (UnusableError("garbage"), {}, ("invalid", 5.0)),
        (RefusedError("no"), {"bills_failures": True}, ("failed", 5.0)),
    ],
)
@pytest.mark.parametrize("later", [UnsentError("down"), {}])
def test_a_charge_is_not_forgotten_when_a_later_attempt_fails_for_free(
    chain, first, terms, expected, later
):
    replies = iter([first, later])

    def act(query):
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    lab = each("lab", "chol", act=act, retries=1, pause=0.0, idempotent=True, **terms)
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert outcomes(receipt)["lab/chol"] == expected


def test_what_does_not_exist_is_asked_for_once(chain):
    assert attempts_of(chain, NotFoundError("no row")) == 1


def test_a_retry_that_works_is_an_answer(chain):
    replies = iter([RefusedError("busy"), {"chol": 1.0}])

    def act(query):
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    lab = each("lab", "chol", act=act, retries=1, pause=0.0)
    receipt = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab]))
    assert receipt.charges[1].attempts == 2 and receipt.spent == 19.0


# --- the breaker -------------------------------------------------------------


def test_a_source_that_keeps_failing_is_left_alone(chain):
    lab = each("lab", "chol", act=raising(UnsentError("down")), trips_after=2, rests=60.0)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab])

    async def many():
        return [await runtime.serve(Case()) for _ in range(5)]

    receipts = asyncio.run(many())
    assert len(lab.asked) == 2 and runtime.down == ["lab"]
    assert all(receipt.skipped == ("chol",) for receipt in receipts)
    charge = receipts[-1].charges[1]
    assert (charge.outcome, charge.attempts, charge.error) == ("failed", 0, "source 'lab' is down")


# --- deadlines ---------------------------------------------------------------


def test_a_case_ends_at_its_deadline_with_its_best_answer(chain, ledger, still_clock):
    late = Late(still_clock, 0.2)
    lab = each("lab", "chol", act=late)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab], ledger)

    async def run():
        async with runtime:
            receipt = await runtime.serve(Case("a", deadline=0.1))
            late.release.set()
            return receipt

    receipt = asyncio.run(run())
    assert (receipt.stopped, receipt.reason) == ("deadline", "deadline reached")
    assert (receipt.seconds, receipt.answer) == (pytest.approx(0.2), "ill")
    assert outcomes(receipt)["lab/chol"] == ("open", 5.0)
    assert (receipt.total, receipt.spent) == (1.0, 6.0)
    # What came late was settled, and is there when the case is sent again.
    assert not ledger.open_purchases()
    again = serve(Runtime(chain, [each("rest", "age", "fbs", "thal"), lab], ledger), Case("a"))
    assert len(lab.asked) == 1 and outcomes(again)["lab/chol"] == ("earlier", 5.0)
    assert (again.total, again.spent) == (19.0, 19.0)


def test_a_walk_goes_on_without_a_source_that_is_slower_than_its_terms(chain, still_clock):
    lab = each("lab", "chol", act=Late(still_clock, 0.1), timeout=0.05)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab])
    receipt = asyncio.run(runtime.serve(Case()))
    assert receipt.skipped == ("chol",) and receipt.stopped == "complete"
    assert outcomes(receipt)["lab/chol"] == ("open", 5.0)


def test_a_source_that_hangs_counts_as_paid_after_a_while(chain, ledger, still_clock):
    lab = each("lab", "chol", act=Late(still_clock, 1.0), timeout=0.5)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab], ledger, linger=1.0)

    async def run():
        async with runtime:
            await runtime.serve(Case("a"))
            (entry,) = ledger.open_purchases()
            still_clock.now += 1.0
            return entry.item

    assert asyncio.run(run()) == "lab/chol"
    ((_, entries),) = ledger.cases()
    (entry,) = (entry for entry in entries if entry.item == "lab/chol")
    assert (entry.state, entry.paid) == ("assumed", 5.0)


def test_a_request_that_had_to_wait_for_its_turn_too_long_was_not_charged(chain, still_clock):
    async def hang(query):
        while not runtime.shared().turns["lab"]._waiters:
            await asyncio.sleep(0)
        still_clock.now += 0.2
        await asyncio.Event().wait()

    lab = each("lab", "chol", act=hang, timeout=0.1, at_once=1)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab], linger=0.0)

    async def run():
        async with runtime:
            receipts = await asyncio.gather(*(runtime.serve(Case()) for _ in range(2)))
        return receipts, dict(runtime.spent)

    receipts, spent = asyncio.run(run())
    assert len(lab.asked) == 1 and spent["lab"] == 5.0
    assert all(receipt.skipped == ("chol",) for receipt in receipts)


def test_a_deadline_of_nothing_buys_nothing(chain):
    source = each("lab", *FEATURES)
    receipt = serve(Runtime(chain, [source]), Case(deadline=0.0))
    assert not source.asked and receipt.stopped == "deadline" and receipt.spent == 0.0


def test_a_case_that_is_cancelled_leaves_a_settled_purchase(chain, ledger, still_clock):
    is_asked, late = asyncio.Event(), Late(still_clock, 0.0)

    def act(query):
        is_asked.set()
        return late(query)

    runtime = Runtime(chain, [each("lab", *FEATURES, act=act)], ledger)

    async def run():
        async with runtime:
            task = asyncio.create_task(runtime.serve(Case("a")))
            await is_asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert runtime.open_purchases == 1
            late.release.set()

    asyncio.run(run())
    ((row, entries),) = ledger.cases()
    assert row.ending is None
    assert [(entry.item, entry.state) for entry in entries] == [("lab/age", "settled")]


def test_a_purchase_under_way_when_the_event_loop_ends_counts_as_paid(chain, ledger, still_clock):
    lab = each("lab", "chol", act=Late(still_clock, 0.1), timeout=0.05)
    runtime = Runtime(chain, [each("rest", "age", "fbs", "thal"), lab], ledger)
    asyncio.run(runtime.serve(Case("a")))  # not closed: the loop cancels what goes on
    ledger.flush().result()
    entries = {entry.item: entry for _, entries in ledger.cases() for entry in entries}
    assert entries["lab/chol"].state == "assumed"


# --- the cap -----------------------------------------------------------------


def test_a_case_stops_at_its_cap(chain):
    receipt = serve(Runtime(chain, [each("lab", *FEATURES)]), Case(cap=7.0))
    assert (receipt.stopped, receipt.reason, receipt.spent) == (
        "cap",
        "cap of CAD 7.00 reached",
        6.0,
    )


def test_the_cap_counts_what_failed_and_was_charged(chain):
    age = each("lab", "age", act=raising(UnclearError("lost")))
    runtime = Runtime(chain, [age, each("rest", "chol", "fbs", "thal")])
    receipt = serve(runtime, Case(cap=5.5))
    assert (receipt.total, receipt.spent, receipt.stopped) == (0.0, 1.0, "cap")


def test_the_cap_is_that_of_the_case_over_all_its_runs(chain, ledger):
    runtime = Runtime(chain, [each("lab", *FEATURES)], ledger)
    assert serve(runtime, Case("a", cap=6.0)).spent == 6.0
    assert serve(runtime, Case("a", cap=8.9)).spent == 6.0
    assert serve(runtime, Case("a", cap=9.0)).spent == 9.0


def test_a_cap_below_the_first_evaluations_is_refused():
    chain = chain_predictor(evaluation=1.0)
    source = each("lab", *FEATURES)
    receipt = serve(Runtime(chain, [source]), Case(cap=1.5))
    assert receipt.stopped == "cap" and not source.asked
    known = dict.fromkeys(FEATURES, 1.0)
    with pytest.raises(DataError, match="raise it to CAD 1.00"):
        serve(Runtime(chain, [source]), Case(known=known, cap=0.5))


def test_skipping_stops_where_its_evaluations_exceed_the_cap():
    chain = chain_predictor(evaluation=4.0)
    thal = each("thal", "thal", act=raising(RefusedError("no")), bills_failures=True, price=10.0)
    runtime = Runtime(chain, [each("lab", "age", "chol", "fbs"), thal])
    receipt = serve(runtime, Case(cap=19.0))
    assert receipt.spent <= 19.0 and receipt.stopped == "cap"


# --- resumption --------------------------------------------------------------


def test_a_case_that_is_sent_again_buys_nothing_again(chain, ledger):
    source = each("lab", *FEATURES)
    first, second = (serve(Runtime(chain, [source], ledger), Case("a")) for _ in range(2))
    assert len(source.asked) == 4
    assert (first.answer, first.total, first.spent) == (second.answer, second.total, second.spent)
    assert first.recorded and second.recorded
    assert {charge.outcome for charge in second.charges} == {"earlier"}


def test_what_failed_for_free_is_tried_again_when_the_case_is_sent_again(chain, ledger):
    lab = each("lab", "chol", act=raising(UnsentError("down")))
    rest = each("rest", "age", "fbs", "thal")
    serve(Runtime(chain, [rest, lab], ledger), Case("a"))
    lab.act = None
    receipt = serve(Runtime(chain, [rest, lab], ledger), Case("a"))
    assert receipt.skipped == () and receipt.spent == 19.0


def test_what_failed_and_was_charged_is_not_bought_again(chain, ledger):
    lab = each("lab", "chol", act=raising(RefusedError("no")), bills_failures=True)
    rest = each("rest", "age", "fbs", "thal")
    for _ in range(2):
        receipt = serve(Runtime(chain, [rest, lab], ledger), Case("a"))
    assert len(lab.asked) == 1 and receipt.skipped == ("chol",)
    assert outcomes(receipt)["lab/chol"] == ("earlier", 5.0)


def test_what_is_assumed_is_asked_for_again_only_if_that_costs_nothing(chain, ledger):
    rest = each("rest", "age", "fbs", "thal")
    for case, is_idempotent in (("a", False), ("b", True)):
        lab = each("lab", "chol", act=raising(UnclearError("lost")), idempotent=is_idempotent)
        assert serve(Runtime(chain, [rest, lab], ledger), Case(case)).spent == 19.0
        lab.act = None
        receipt = serve(Runtime(chain, [rest, lab], ledger), Case(case))
        assert len(lab.asked) == 1 + is_idempotent
        assert receipt.spent == 19.0 and (receipt.skipped == ()) is is_idempotent
        assert len({query.key for query in lab.asked}) == 1


def test_a_case_whose_values_were_erased_goes_on_without_them(chain, ledger):
    serve(Runtime(chain, [each("lab", *FEATURES)], ledger), Case("a"))
    ledger.retain(values_days=-1.0)
    source = each("lab", *FEATURES)
    receipt = serve(Runtime(chain, [source], ledger), Case("a"))
    assert not source.asked and receipt.spent == 19.0 and receipt.skipped


def test_sixteen_clients_on_one_case_buy_each_item_once(chain, ledger):
    async def brief(query):
        await asyncio.sleep(0.01)  # the others come meanwhile
        return dict.fromkeys(query.features, 1.0)

    source = each("lab", *FEATURES, act=brief)
    runtimes = [Runtime(chain, [source], ledger) for _ in range(16)]

    async def all_at_once():
        cases = (runtime.serve(Case("a", cap=19.0)) for runtime in runtimes)
        return await asyncio.gather(*cases)

    receipts = asyncio.run(all_at_once())
    assert sorted(query.features[0] for query in source.asked) == sorted(FEATURES)
    assert {(receipt.answer, receipt.spent) for receipt in receipts} == {("ill", 19.0)}


def test_a_client_does_not_wait_longer_for_another_than_for_the_source(
    chain, ledger, still_clock, monkeypatch
):
    late, is_asked, wait = Late(still_clock, 0.0), asyncio.Event(), ledger.wait

    def act(query):
        is_asked.set()
        return late(query)

    async def wait_too_long(*arguments):
        still_clock.now += 0.2
        return await wait(*arguments)

    monkeypatch.setattr(ledger, "wait", wait_too_long)
    lab = each("lab", "age", act=act, timeout=0.1)
    rest = each("rest", "chol", "fbs", "thal")

    async def race():
        first, second = (Runtime(chain, [lab, rest], ledger) for _ in range(2))
        async with first, second:
            slow_one = asyncio.create_task(first.serve(Case("a", known={"chol": -1.0})))
            await is_asked.wait()
            receipt = await second.serve(Case("a"))
            late.release.set()
            await slow_one
            return receipt

    receipt = asyncio.run(race())
    assert outcomes(receipt)["lab/age"] == ("open", 1.0)
    assert len(lab.asked) == 1


def test_an_abandoned_purchase_of_another_process_counts_as_paid(chain, ledger):
    header = ledger.header("a", None, "", None)
    ledger.intend(header, [Intent("lab/age", 1.0, lease=0.0)]).result()
    lab = each("lab", *FEATURES)
    receipt = serve(Runtime(chain, [lab], ledger), Case("a"))
    assert outcomes(receipt)["lab/age"] == ("assumed", 1.0)
    assert receipt.skipped == ("age",) and receipt.spent == 19.0


# --- kept values -------------------------------------------------------------


def test_a_fresh_value_of_the_same_subject_is_reused(chain, ledger):
    source = each("lab", *FEATURES, max_age=60.0)
    runtime = Runtime(chain, [source], ledger)
    serve(runtime, Case("a", subject="ann"))
    receipt = serve(runtime, Case("b", subject="ann"))
    assert len(source.asked) == 4 and receipt.spent == 0.0
    assert outcomes(receipt) == dict.fromkeys((f"lab/{f}" for f in FEATURES), ("kept", 0.0))
    assert serve(runtime, Case("c", subject="bob")).spent == 19.0


def test_a_case_may_ask_for_fresher_values(chain, ledger):
    source = each("lab", *FEATURES, max_age=60.0)
    runtime = Runtime(chain, [source], ledger)
    serve(runtime, Case("a", subject="ann"))
    receipt = serve(runtime, Case("b", subject="ann", max_age={"age": 0.0}))
    assert receipt.spent == 1.0


def test_values_are_not_reused_unless_the_source_says_so(chain, ledger):
    runtime = Runtime(chain, [each("lab", *FEATURES)], ledger)
    serve(runtime, Case("a", subject="ann"))
    assert serve(runtime, Case("b", subject="ann")).spent == 19.0


# --- the ledger fails --------------------------------------------------------


def test_nothing_is_bought_that_cannot_be_recorded_and_the_receipt_is_not_lost(chain, ledger):
    def act(query):
        if query.features == ("chol",):
            ledger._writer.submit(
                lambda store: store._writer.execute("PRAGMA query_only = ON")
            ).result()
        return dict.fromkeys(query.features, 1.0)

    source = each("lab", *FEATURES, act=act)
    with pytest.raises(LedgerError, match="Nothing was bought") as caught:
        serve(Runtime(chain, [source], ledger), Case("a"))
    assert [query.features for query in source.asked] == [("age",), ("chol",)]
    assert caught.value.receipt.spent == 6.0 and caught.value.receipt.answer == "ill"


def test_a_purchase_that_was_assumed_before_it_settled_is_not_called_recorded(chain, ledger):
    def act(query):
        for entry in ledger.open_purchases():  # as another process does once the lease has expired
            ledger.assume_paid(entry)
        return dict.fromkeys(query.features, 1.0)

    receipt = serve(Runtime(chain, [each("lab", *FEATURES, act=act)], ledger), Case("a"))
    assert {charge.outcome for charge in receipt.charges} == {"delivered"}
    assert not receipt.recorded


def test_an_intent_that_is_granted_after_the_deadline_is_given_back(
    chain, ledger, still_clock, monkeypatch
):
    hold, started, intend = threading.Event(), threading.Event(), ledger.intend

    def intend_too_late(*arguments):
        still_clock.now += 0.1
        return intend(*arguments)

    monkeypatch.setattr(ledger, "intend", intend_too_late)
    ledger._writer.submit(lambda store: (started.set(), hold.wait()))
    started.wait()
    source = each("lab", *FEATURES)
    receipt = asyncio.run(Runtime(chain, [source], ledger).serve(Case("a", deadline=0.05)))
    hold.set()
    assert not source.asked and (receipt.stopped, receipt.spent) == ("deadline", 0.0)
    assert not receipt.recorded
    while ledger.flush().result() or ledger.open_purchases():  # what is granted is given back
        time.sleep(0.001)
    states = [entry.state for _, entries in ledger.cases() for entry in entries]
    assert states == ["void"]


# --- what several runs of a case do to each other


def test_the_ledger_holds_the_cap_where_runs_do_not_know_of_each_other(chain, ledger, monkeypatch):
    serve(Runtime(chain, [each("lab", *FEATURES)], ledger), Case("a", cap=6.0))
    nothing = Future()
    nothing.set_result(CaseRecord())
    monkeypatch.setattr(ledger, "find", lambda *_: nothing)  # read before the other run had begun
    source = each("other", *FEATURES)
    receipt = serve(Runtime(chain, [source], ledger), Case("a", cap=6.5))
    assert not source.asked and receipt.stopped == "cap"


def test_what_another_run_has_under_way_counts_as_spent(chain, ledger):
    header = ledger.header("a", None, "", None)
    ledger.intend(header, [Intent("elsewhere", 7.0, lease=3600.0)]).result()
    receipt = serve(Runtime(chain, [each("lab", *FEATURES)], ledger), Case("a"))
    assert receipt.spent == 26.0 and outcomes(receipt)["elsewhere"] == ("open", 7.0)


def test_a_lower_cap_does_not_evaluate_what_was_bought_before(ledger):
    chain = chain_predictor(evaluation=1.0)
    serve(Runtime(chain, [each("lab", *FEATURES)], ledger), Case("a"))
    receipt = serve(Runtime(chain, [each("lab", *FEATURES)], ledger), Case("a", cap=19.0))
    assert (receipt.stopped, receipt.spent) == ("cap", 19.0)


def test_a_kept_value_of_a_source_that_is_gone_is_not_used(chain, ledger):
    old = each("old", *FEATURES, max_age=60.0)
    serve(Runtime(chain, [old], ledger), Case("a", subject="ann"))
    new = each("new", *FEATURES, max_age=60.0)
    assert serve(Runtime(chain, [new], ledger), Case("b", subject="ann")).spent == 19.0


def test_what_requires_a_lost_value_is_skipped_too():
    chain = chain_predictor(requires={"fbs": ["chol"]})
    lab = each("lab", "chol", act=raising(UnsentError("down")))
    rest = each("rest", "age", "fbs", "thal")
    receipt = serve(Runtime(chain, [lab, rest]), Case(cap=19.0))
    assert set(receipt.skipped) == {"chol", "fbs"}
    assert [query.features for query in rest.asked] == [("age",), ("thal",)]


def test_a_value_that_came_along_waits_for_what_it_requires():
    chain = chain_predictor(requires={"fbs": ["thal"]})
    pair = each("pair", "age", "fbs", sold="together", act=lambda q: {"age": -1.0, "fbs": 1.0})
    receipt = serve(Runtime(chain, [pair, each("rest", "chol", "thal")]))
    assert (receipt.answer, receipt.spent) == ("well", 4.0)  # thal was not bought for fbs
    pair.act = None
    receipt = serve(Runtime(chain, [pair, each("rest", "chol", "thal")]))
    assert (receipt.answer, receipt.spent, receipt.total) == ("ill", 19.0, 19.0)


def test_skipping_what_others_require_stops_where_it_would_exceed_the_cap():
    chain = chain_predictor(evaluation=4.0, requires={"thal": ["fbs"]})
    fbs = each("lab", "fbs", act=raising(UnclearError("lost")))
    receipt = serve(Runtime(chain, [each("rest", "age", "chol", "thal"), fbs]), Case(cap=19.5))
    assert receipt.spent <= 19.5
