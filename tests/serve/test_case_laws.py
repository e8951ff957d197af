"""Cases that people lead: several clients at once; led step by step, they are the batch."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import MAKERS, D, draw_predictor
from scripted import NAMES, asked, chain_predictor, where

from thrifty.errors import CaseConflictError, DataError
from thrifty.serve import Case, Cases, Ledger, Runtime

ROW = dict.fromkeys(NAMES, 1.0)


@pytest.fixture(scope="module")
def ledger():
    with Ledger.temporary() as opened:
        yield opened


# --- several clients at once


@pytest.mark.parametrize("n_processes", [1, 2])
def test_many_clients_at_once_are_charged_once_each_item(reopen, n_processes):
    processes = [reopen() for _ in range(n_processes)]

    async def client(cases, handle):
        state = await cases.get(handle)
        while not state.done:
            state = await cases.tell(handle, {f: ROW[f] for f in asked(state)})
        return state

    async def lead():
        handle = (await processes[0].create(Case("a"))).handle
        return await asyncio.gather(
            *(client(processes[i % n_processes], handle) for i in range(16))
        )

    states = asyncio.run(lead())
    assert {state.receipt.spent for state in states} == {19.0}
    assert sum(cases.spent["client"] for cases in processes) == 19.0
    ((_, entries),) = processes[0].runtime.ledger.cases()
    assert len(entries) == 4 and sum(entry.charged for entry in entries) == 19.0


@pytest.mark.parametrize("n_processes", [1, 2])
def test_of_conflicting_values_one_wins(reopen, n_processes):
    processes = [reopen() for _ in range(n_processes)]

    async def lead():
        handle = (await processes[0].create(Case("a"))).handle
        steps = (processes[i % n_processes].tell(handle, {"age": 1.0 + i}) for i in range(16))
        found = await asyncio.gather(*steps, return_exceptions=True)
        return found, await processes[0].get(handle)

    found, state = asyncio.run(lead())
    won = [each for each in found if not isinstance(each, Exception)]
    assert len(won) == 1 and state.receipt.spent == 1.0
    assert sum(isinstance(each, CaseConflictError) for each in found) == 15


def test_a_group_is_paid_once_by_clients_at_once(reopen):
    prices = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    processes = [reopen(predictor=chain_predictor(**prices)) for _ in range(2)]

    async def lead():
        handle = (await processes[0].create(Case("a"))).handle
        await asyncio.gather(
            processes[0].tell(handle, {"chol": 1.0}), processes[1].tell(handle, {"fbs": 1.0})
        )
        return await processes[0].get(handle)

    assert asyncio.run(lead()).receipt.spent == 10.0


def test_a_group_is_paid_once(ledger):
    prices = {"groups": {"blood": ["chol", "fbs"]}, "shared": {"blood": 2.0}}
    cases = Cases(Runtime(chain_predictor(**prices), [], ledger, asked=NAMES))

    async def lead():
        state = await cases.create(Case())
        paid = []
        for feature in NAMES:
            (question,) = state.asks
            before = state.receipt.spent
            state = await cases.tell(state.handle, {feature: 1.0})
            paid.append((question.price, state.receipt.spent - before))
        return state, paid

    state, paid = asyncio.run(lead())
    assert paid == [(1.0, 1.0), (7.0, 7.0), (3.0, 3.0), (10.0, 10.0)]
    assert state.receipt.spent == state.receipt.total == 21.0


# --- laws


@settings(max_examples=80, deadline=None)
@given(
    kind=st.sampled_from([*sorted(MAKERS), "call"]),
    seed=st.integers(0, 10**6),
    evaluation=st.sampled_from([0.0, 0.1]),
    requires=st.sampled_from([{}, {3: [4]}, {0: [1], 3: [0]}]),
)
def test_a_case_led_step_by_step_is_the_batch(ledger, kind, seed, evaluation, requires):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation, requires=requires)
    schema = predictor.schema
    names = [name for j, name in enumerate(schema.names) if j not in schema.calls]
    row = dict(zip(names, rng.normal(size=D).tolist(), strict=True))
    cases = Cases(Runtime(predictor, [], ledger, asked=names))

    async def lead():
        state = await cases.create(Case())
        while not state.done:
            some = asked(state)[: int(rng.integers(1, 4))]
            state = await cases.tell(state.handle, {feature: row[feature] for feature in some})
        return state

    state = asyncio.run(lead())
    X = np.array([[*row.values(), *[1.0] * len(schema.calls)]])
    table = X if not schema.named else {name: X[:, j] for j, name in enumerate(schema.names)}
    assert state.receipt.answer == predictor.predict(table)[0]
    assert state.receipt.total == predictor.bill(table)[0]
    assert np.isclose(state.receipt.spent, state.receipt.total)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from([*sorted(MAKERS), "call"]),
    seed=st.integers(0, 10**6),
    share=st.sampled_from([0.4, 0.8, None]),
    n_back=st.integers(1, 3),
)
def test_going_back_is_never_having_taken_the_steps(ledger, kind, seed, share, n_back):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation=0.1)
    schema = predictor.schema
    names = [name for j, name in enumerate(schema.names) if j not in schema.calls]
    cases = Cases(Runtime(predictor, [], ledger, asked=names))
    cap = None if share is None else share * predictor.ceiling

    async def step(state):
        feature = (asked(state) if rng.random() < 0.8 else names)[0]
        value = float(rng.normal())
        take = [
            lambda: cases.tell(state.handle, {feature: value}),
            lambda: cases.know(state.handle, {feature: value}),
            lambda: cases.skip(state.handle, [feature]),
            lambda: cases.stop(state.handle),
        ]
        return await take[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])]()

    async def lead():
        try:
            trail = [await cases.create(Case(cap=cap))]
        except DataError as error:
            assert "raise it to" in str(error)
            return
        for _ in range(6):
            while not trail[-1].done and len(trail) <= 1 + n_back:
                try:
                    state = await step(trail[-1])
                except CaseConflictError:  # above the cap, or answered already
                    break
                if state.receipt.charges == trail[-1].receipt.charges and not state.done:
                    break  # the same value once more: no step
                trail.append(state)
            while len(trail) > 1:
                trail.pop()
                assert where(await cases.back(trail[-1].handle)) == where(trail[-1])

    asyncio.run(lead())
