"""Where cases stand: those that are open, and those that nobody has answered in time."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest
from paced_points import chain_points
from scripted import NAMES, asked, chain_predictor

from thrifty.serve import Case, CaseExpiredError, Pacing

DAY = 86_400.0


class Clock:
    """A clock that counts days when a test says so."""

    def __init__(self) -> None:
        self.days = 20_000.0

    def __call__(self) -> float:
        return self.days * DAY


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_open_cases_are_listed_and_what_they_have_spent(reopen):
    cases = reopen()

    async def lead():
        handles = [(await cases.create(Case(str(i)))).handle for i in range(3)]
        await cases.tell(handles[0], {"age": 1.0})
        await cases.know(handles[0], {"chol": 1.0})
        await cases.skip(handles[1], ["age"])
        await cases.stop(handles[2])
        return handles, await cases.open_cases(), await cases.open_cases(1), (
            await cases.spent_since(0.0), await cases.spent_since(2e10), await cases.count_open()
        )  # fmt: skip

    handles, found, one, figures = asyncio.run(lead())
    assert [(c.handle, c.spent, c.n_answers) for c in found] == [
        (handles[0], 1.0, 2),
        (handles[1], 0.0, 1),
    ]
    assert one == found[:1] and figures == (1.0, 0.0, 2)


def test_a_case_that_nobody_answers_ends_with_its_best_answer_so_far(reopen, clock):
    cases = reopen(clock=clock, expire_days=7.0)

    async def lead():
        handle = (await cases.create(Case("a"))).handle
        before = await cases.tell(handle, {"age": 1.0})
        clock.days += 6.9
        assert await cases.expire() == 0
        clock.days += 0.2
        assert await cases.expire() == 1
        return before, await cases.get(handle), await cases.count_open()

    before, state, n_open = asyncio.run(lead())
    assert (state.done, state.asks, n_open) == (True, (), 0)
    assert state.receipt.stopped == "expired"
    assert state.receipt.reason == "expired: nobody answered in time"
    assert (state.receipt.answer, state.receipt.spent) == (before.receipt.answer, 1.0)
    assert cases.ended == {"expired": 1} and cases.billed == state.receipt.total


def test_a_case_that_has_expired_cannot_go_on(reopen, clock):
    cases = reopen(clock=clock)

    async def lead():
        handle = (await cases.create(Case("a"))).handle
        await cases.tell(handle, {"age": 1.0})
        clock.days += 8
        await cases.expire()
        for step in (
            cases.tell(handle, {"chol": 1.0}), cases.skip(handle, ["chol"]), cases.stop(handle),
            cases.back(handle), cases.create(Case("a")),
        ):  # fmt: skip
            with pytest.raises(CaseExpiredError, match="not answered in time; start another one"):
                await step

    asyncio.run(lead())


def test_every_answer_gives_a_case_more_time(reopen, clock):
    cases = reopen(clock=clock)

    async def lead():
        handle = (await cases.create(Case())).handle
        for feature in NAMES[:2]:
            clock.days += 6
            await cases.tell(handle, {feature: 1.0})
        clock.days += 6
        assert await cases.expire() == 0
        return await cases.get(handle)

    assert asked(asyncio.run(lead())) == ["fbs"]


def test_a_case_that_is_answered_just_in_time_does_not_expire(reopen, clock, monkeypatch):
    cases = reopen(clock=clock)

    async def lead():
        handle = (await cases.create(Case())).handle
        clock.days += 8
        ledger, idle = cases.runtime.ledger, Future()
        idle.set_result(ledger.idle_cases(7.0).result())
        await cases.tell(handle, {"age": 1.0})  # after it was seen to be idle
        monkeypatch.setattr(ledger, "idle_cases", lambda *_: idle)
        assert await cases.expire() == 0
        return await cases.tell(handle, {"chol": 1.0})

    assert asked(asyncio.run(lead())) == ["fbs"]


def test_cases_that_have_expired_make_room_for_others(reopen, clock):
    cases = reopen(clock=clock, max_open=1)

    async def lead():
        await cases.create(Case())
        clock.days += 8
        return await cases.create(Case())

    assert asked(asyncio.run(lead())) == ["age"]


@pytest.mark.parametrize("is_paced", [False, True])
def test_a_case_of_a_model_that_is_gone_expires_without_an_answer(reopen, clock, is_paced):
    before, points = reopen(clock=clock), chain_points(default=1)
    handle = asyncio.run(before.create(Case(known={"age": 1.0}))).handle
    clock.days += 8
    if is_paced:
        after = reopen(predictor=points.predictor, pacing=Pacing(points, 30.0), clock=clock)
    else:
        names = ["sex", "bmi", "pulse", "ecg"]
        after = reopen(asked=names, predictor=chain_predictor(names), clock=clock)

    async def lead():
        assert await after.expire() == 1
        with pytest.raises(CaseExpiredError):
            await after.get(handle)
        return await after.count_open()

    assert asyncio.run(lead()) == 0
    assert after.ended == {"expired": 1}


def test_what_an_expired_case_has_spent_counts_for_the_pace(reopen, clock):
    points = chain_points(default=1)
    pacing = Pacing(points, 30.0)
    cases = reopen(predictor=points.predictor, pacing=pacing, clock=clock)

    async def lead():
        handle = (await cases.create(Case())).handle
        await cases.tell(handle, {"age": 1.0})
        clock.days += 8
        await cases.expire()

    asyncio.run(lead())
    assert (pacing.metrics()["open"], pacing.metrics()["spent"]) == (0, 1.0)
