"""Pacing in a runtime: points are chosen per case, kept on resuming, and paid for as spent."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace

import pytest
from paced_points import chain_points
from scripted import NAMES, chain_predictor, each

from thrifty.bundle import OperatingPoints
from thrifty.costs import Prices
from thrifty.errors import CaseConflictError, DataError, LedgerError
from thrifty.serve import Case, Cases, FunctionSource, Ledger, Pacing, Runtime
from thrifty.serve.runtime import pacing as module


def paced(budget, ledger=None, sources=None, points=None, **options):
    """Return a runtime whose sources deliver 1.0 for everything, and its pacing."""
    points = points or chain_points()
    pacing = Pacing(points, budget, **options)
    sources = [each("lab", *NAMES)] if sources is None else sources
    return Runtime(points.predictor, sources, ledger, pacing=pacing), pacing


def test_the_mean_spend_is_held_at_the_budget():
    runtime, pacing = paced(6.0)
    with runtime:
        spent = [runtime.answer(Case()).spent for _ in range(400)]
    assert set(spent) <= {0.0, 1.0, 19.0}
    assert sum(spent) / len(spent) == pytest.approx(6.0, rel=0.02)
    metrics = pacing.metrics()
    assert metrics["spent"] == sum(spent) and metrics["open"] == 0
    assert sum(metrics["by_point"]) == 400


def test_dearer_sources_are_paced_by_what_they_charge():
    with pytest.warns(UserWarning, match="the model was trained with"):
        runtime, pacing = paced(6.0, sources=[each("lab", *NAMES, price=dict.fromkeys(NAMES, 6.0))])
    with runtime:
        spent = [runtime.answer(Case()).spent for _ in range(400)]
    assert sum(spent) / len(spent) == pytest.approx(6.0, rel=0.05)
    assert pacing.metrics()["spent"] > pacing.metrics()["expected"]


def test_points_share_sources_breakers_and_catalog():
    runtime, pacing = paced(6.0)

    async def look():
        shared = runtime.shared()
        other = shared.at_point(pacing.models[1])
        assert other.predictor is pacing.points.predictors[1]
        for name in ("catalog", "ledger", "breakers", "spent", "turns", "tasks"):
            assert getattr(other, name) is getattr(shared, name)
        assert shared.at_point(runtime.model) is shared

    asyncio.run(look())
    assert all(map(runtime.has, pacing.models)) and not runtime.has("another")


def test_a_case_goes_on_with_the_point_that_it_began_with(ledger):
    first, _ = paced(30.0, ledger)  # the best point
    with first:
        receipt = first.answer(Case("a", deadline=0.0))
    assert receipt.stopped == "deadline"
    second, pacing = paced(0.5, ledger)  # by now, the free one for most
    with second:
        for _ in range(20):
            second.answer(Case())
        assert second.answer(Case("a")).spent == 19.0
    assert pacing.metrics()["spent"] > 19.0


def test_a_case_of_another_model_is_refused(ledger):
    with Runtime(chain_predictor(), [each("lab", *NAMES)], ledger) as other:
        other.answer(Case("a"))
    runtime, _ = paced(6.0, ledger)
    with runtime, pytest.raises(CaseConflictError, match="began with another model; serve"):
        runtime.answer(Case("a"))


def test_a_case_that_was_refused_does_not_count():
    runtime, pacing = paced(6.0, per_day=50.0)
    with runtime, pytest.raises(DataError, match="age"):
        runtime.answer(Case(known={"age": "old"}))
    metrics = pacing.metrics()
    assert metrics["cases"] == 0 and metrics["committed"]["day"] == 0.0


def test_a_purchase_that_comes_too_late_is_corrected(ledger, still_clock):
    release = asyncio.Event()

    async def slow(query):
        still_clock.now += 0.1
        await release.wait()
        raise ConnectionError

    late = FunctionSource("late", slow, ["age"], timeout=0.01, retries=0)
    runtime, pacing = paced(30.0, ledger, [late, each("rest", *NAMES[1:])])

    async def serve():
        async with runtime:
            receipt = await runtime.serve(Case("a"))
            assert receipt.spent == pacing.metrics()["spent"]
            release.set()

    asyncio.run(serve())
    ((_row, entries),) = ledger.cases()
    charged = sum(entry.charged for entry in entries)
    assert pacing.metrics()["spent"] == charged


def test_more_that_an_ended_case_spends_is_corrected(ledger):
    runtime, pacing = paced(30.0, ledger)
    with runtime:
        runtime.answer(Case("a", deadline=0.0))
        assert pacing.metrics()["spent"] == 0.0
        ledger.flush().result()
        runtime.answer(Case("a"))
    assert (pacing.metrics()["spent"], pacing.metrics()["cases"]) == (19.0, 1)


def test_a_case_that_many_send_at_once_counts_once(ledger):
    runtime, pacing = paced(30.0, ledger)

    async def send():
        receipts = await asyncio.gather(*(runtime.serve(Case("a")) for _ in range(16)))
        await runtime.aclose()
        return receipts

    receipts = asyncio.run(send())
    assert {receipt.answer for receipt in receipts} == {"ill"}
    assert (pacing.metrics()["cases"], pacing.metrics()["spent"]) == (1, 19.0)


def test_a_case_that_could_not_be_recorded_keeps_its_ticket(ledger, monkeypatch):
    runtime, pacing = paced(30.0, ledger, per_day=100.0)
    with runtime:
        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "put", lambda entries: 1 / 0)
            for _ in range(3):
                with pytest.raises(LedgerError):
                    runtime.answer(Case("a"))
        assert (pacing.metrics()["open"], pacing.metrics()["committed"]["day"]) == (1, 19.0)
        runtime.answer(Case("a"))
    assert (pacing.metrics()["open"], pacing.metrics()["spent"]) == (0, 19.0)


# --- cases that wait for their clients


def test_a_waiting_case_counts_as_expected_and_is_settled_when_it_ends(ledger):
    points = chain_points()
    pacing = Pacing(points, 30.0)
    cases = Cases(Runtime(points.predictor, [], ledger, asked=NAMES, pacing=pacing))

    async def lead():
        state = await cases.create(Case("a"))
        assert pacing.metrics()["open"] == 1 and pacing.metrics()["spent"] == 0.0
        for name in NAMES:
            state = await cases.tell(state.handle, {name: 1.0})
        assert state.done and state.receipt.spent == 19.0
        assert (pacing.metrics()["open"], pacing.metrics()["spent"]) == (0, 19.0)
        state = await cases.back(state.handle)
        assert (pacing.metrics()["cases"], pacing.metrics()["spent"]) == (0, 0.0)
        state = await cases.tell(state.handle, {"thal": -1.0})
        assert state.done and state.receipt.spent == 19.0
        assert (pacing.metrics()["cases"], pacing.metrics()["spent"]) == (1, 19.0)
        await cases.aclose()

    asyncio.run(lead())


def test_a_waiting_case_goes_on_in_another_process_with_its_point(tmp_path):
    points = chain_points()

    async def begin(ledger):
        cases = Cases(
            Runtime(points.predictor, [], ledger, asked=NAMES, pacing=Pacing(points, 30.0))
        )
        state = await cases.create(Case("a"))
        assert state.asks[0].feature == "age"
        await cases.aclose()
        return state.handle

    async def go_on(ledger, handle):
        pacing = Pacing(points, 0.5)
        cases = Cases(Runtime(points.predictor, [], ledger, asked=NAMES, pacing=pacing))
        state = await cases.tell(handle, {"age": 1.0})
        assert state.asks[0].feature == "chol"  # the best point, not the free one
        state = await cases.stop(handle)
        assert state.done and pacing.metrics()["spent"] == 1.0
        await cases.aclose()

    with Ledger.open(tmp_path / "ledger.db") as ledger:
        handle = asyncio.run(begin(ledger))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        asyncio.run(go_on(ledger, handle))


def test_a_case_is_created_again_under_a_cap_that_pacing_has_lowered(ledger):
    points = chain_points()
    pacing = Pacing(points, 30.0, per_day=7.0)
    cases = Cases(Runtime(points.predictor, [], ledger, asked=NAMES, pacing=pacing))

    async def lead():
        state = await cases.create(Case("a", cap=50.0))
        assert state.left == 7.0
        again = await cases.create(Case("a", cap=50.0))
        assert again.handle == state.handle and again.left == 7.0
        with pytest.raises(CaseConflictError, match="cap"):
            await cases.create(Case("a", cap=5.0))
        await cases.aclose()

    asyncio.run(lead())


# --- ceilings


def test_a_ceiling_ends_in_free_answers(monkeypatch):
    monkeypatch.setattr("thrifty.serve.pacer.time.time", lambda: 0.0)
    runtime, pacing = paced(30.0, per_minute=50.0)
    with runtime:
        receipts = [runtime.answer(Case()) for _ in range(10)]
    spent = [receipt.spent for receipt in receipts]
    assert sum(spent) <= 50.0 and spent[:2] == [19.0, 19.0] and spent[-1] == 0.0
    assert receipts[-1].stopped == "cap"
    assert pacing.metrics()["limited"] > 0


def test_a_ceiling_holds_for_all_that_share_a_ledger(tmp_path):
    ledgers = [Ledger.open(tmp_path / "ledger.db") for _ in range(3)]
    pairs = [paced(30.0, ledger, per_day=150.0) for ledger in ledgers]

    async def play():
        cases = [runtime.serve(Case()) for _ in range(8) for runtime, _ in pairs]
        receipts = await asyncio.gather(*cases)
        for runtime, _ in pairs:
            await runtime.aclose()
        return [receipt.spent for receipt in receipts]

    spent = asyncio.run(play())
    assert 100.0 < sum(spent) <= 150.0
    (state,) = [json.loads(ledgers[0].state(pacing._name)[1]) for _, pacing in pairs[:1]]
    assert state["grants"]["day"][1] == pytest.approx(sum(spent))  # the rest was given back
    for ledger in ledgers:
        ledger.close()


def test_a_ceiling_holds_over_a_restart_and_after_a_crash(tmp_path):
    total = 0.0
    for crash in (False, True, False, False):
        with Ledger.open(tmp_path / "ledger.db") as ledger:
            runtime, _ = paced(30.0, ledger, per_day=60.0)
            total += sum(runtime.answer(Case()).spent for _ in range(2))
            if not crash:  # else what it was granted stays granted
                runtime.close()
    assert total <= 60.0


# --- the state


def test_the_cost_weight_survives_a_restart(ledger):
    runtime, pacing = paced(6.0, ledger)
    with runtime:
        for _ in range(30):
            runtime.answer(Case())
    again, other = paced(6.0, ledger)
    assert other.metrics()["cost_weight"] == pytest.approx(pacing.metrics()["cost_weight"])
    again.close()


def test_the_state_is_written_at_most_once_a_second(ledger, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    _runtime, pacing = paced(6.0, ledger)
    pacing.exchange()

    def version():
        return ledger.state(pacing._name)[0]

    first = version()
    assert not pacing.is_due
    now[0] = 1.5
    assert pacing.is_due
    pacing.exchange()
    assert not pacing.is_due and version() == first + 1


def test_without_a_ledger_nothing_is_written():
    runtime, pacing = paced(6.0)
    assert not pacing.is_due
    pacing.exchange()
    runtime.close()


def test_a_state_that_is_none_of_a_pacer_is_refused(ledger):
    _runtime, pacing = paced(6.0, ledger)
    version, _ = ledger.state(pacing._name)
    for body in ("{", '{"log_price": 1}'):
        assert ledger.swap_state(pacing._name, version, body)
        version += 1
        with pytest.raises(LedgerError, match=r"pacer/.*: the state of the pacer"):
            pacing.exchange()


def test_a_state_that_others_write_all_the_time_is_given_up(ledger, monkeypatch):
    _runtime, pacing = paced(6.0, ledger)
    monkeypatch.setattr(Ledger, "swap_state", lambda *_: False)
    with pytest.raises(LedgerError, match="could not be written"):
        pacing.exchange()


def test_tickets_of_cases_that_never_end_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MAX_CASES", 2)
    _runtime, pacing = paced(6.0)
    for name in "abc":
        asyncio.run(pacing.choose(name, None))
    assert list(pacing._tickets) == ["b", "c"]
    pacing.ended("a", pacing.models[2], 19.0, None)
    assert pacing.metrics()["spent"] == 19.0


# --- what is refused


def test_one_point_cannot_be_paced():
    single = OperatingPoints([chain_predictor()], [5.0], [0.9])
    with pytest.raises(DataError, match="one operating point, .* save it with BudgetClassifier"):
        Pacing(single, 5.0)


def test_a_budget_below_the_cheapest_point_is_refused():
    with pytest.raises(DataError, match="budget"):
        Pacing(chain_points(), 0.0)


def test_a_predictor_that_is_not_among_the_points_is_refused():
    with pytest.raises(DataError, match="not one of its operating points"):
        Runtime(chain_predictor(), [each("lab", *NAMES)], pacing=Pacing(chain_points(), 5.0))


def test_sources_must_deliver_what_any_point_reads():
    points = chain_points(default=1)
    with pytest.raises(DataError, match="no source delivers 'chol'"):
        Runtime(points.predictor, [each("lab", "age")], pacing=Pacing(points, 5.0))


def test_a_case_reserves_all_that_its_sources_may_charge(chain):
    _runtime, pacing = paced(30.0, per_day=1000.0)

    async def serve():
        ticket = await pacing.choose("a", None)
        assert ticket.cap == 19.0 and not math.isinf(ticket.expected)

    asyncio.run(serve())


def test_ceilings_need_a_free_answer():
    points = chain_points()
    prices = Prices(dict.fromkeys(NAMES, 1.0), evaluation=0.01).bind(NAMES)
    points = replace(points, predictors=[each.with_prices(prices) for each in points.predictors])
    with pytest.raises(DataError, match="evaluations have a price, so that no answer is free"):
        paced(30.0, points=points, per_day=50.0)
    runtime, _ = paced(30.0, points=points)
    assert runtime.answer(Case()).spent > 0
    runtime.close()
