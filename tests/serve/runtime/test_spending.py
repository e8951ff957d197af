"""What is spent never exceeds the cap, whatever the model, the prices, the sources and failures."""

from __future__ import annotations

import asyncio
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import MAKERS, D, draw_predictor

from thrifty.errors import CaseConflictError, DataError
from thrifty.serve import (
    AsyncSource,
    Case,
    Cases,
    Ledger,
    NotFoundError,
    RefusedError,
    Runtime,
    Terms,
    UnclearError,
    UnsentError,
    UnusableError,
)

FAILURES = (
    UnsentError,
    RefusedError,
    NotFoundError,
    UnclearError,
    UnusableError,
    ValueError,
    "garbage",
    "part",
    "empty",
)


class Vendor(AsyncSource):
    """A source that fails as it is told to, and counts what it charges."""

    def __init__(self, terms, row, rng, failing):
        super().__init__(terms)
        self.row, self.rng, self.failing = row, rng, failing
        self.charged = {}  # by key and feature: how often

    def charge(self, query, features):
        for feature in features if self.terms.sold == "each" else ("all",):
            same = self.terms.idempotent and (query.key, feature) in self.charged
            if not same:
                n = self.charged.get((query.key, feature), 0)
                self.charged[query.key, feature] = n + 1

    async def fetch(self, query):
        values = {feature: self.row[feature] for feature in query.features}
        if self.rng.random() >= self.failing:
            self.charge(query, query.features)
            return values
        kind = FAILURES[self.rng.integers(len(FAILURES))]
        if kind == "garbage":
            self.charge(query, query.features)
            return {feature: "what?" for feature in values}
        if kind == "part":
            came = dict(list(values.items())[:1])
            self.charge(query, query.features if self.terms.bills_failures else came)
            return came
        if kind == "empty":
            self.charge(query, query.features)
            return dict.fromkeys(values)
        is_billed = {
            UnsentError: False,
            UnclearError: bool(self.rng.integers(2)),
            UnusableError: True,
        }.get(kind, self.terms.bills_failures)
        if is_billed:
            self.charge(query, query.features)
        raise kind("no")


def draw_vendors(predictor, rng, failing):
    """Divide the features among sources with random terms."""
    names = [n for j, n in enumerate(predictor.schema.names) if j not in predictor.schema.calls]
    row = dict(zip(names, rng.normal(size=D).tolist(), strict=True))
    owner = rng.integers(3, size=D)
    vendors = []
    for k in range(3):
        features = tuple(name for name, o in zip(names, owner, strict=True) if o == k)
        if not features:
            continue
        sold = ("each", "together")[rng.integers(2)]
        price = None if rng.random() < 0.5 else float(rng.integers(9))
        terms = Terms(
            f"s{k}", features, price=price, sold=sold, retries=int(rng.integers(3)), pause=0.0,
            bills_failures=bool(rng.integers(2)), idempotent=bool(rng.integers(2)), trips_after=2,
        )  # fmt: skip
        vendors.append(Vendor(terms, row, rng, failing))
    return vendors, row


@settings(max_examples=300)
@given(
    kind=st.sampled_from([*sorted(MAKERS), "call"]),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 1.5),
    evaluation=st.sampled_from([0.0, 0.1, 1.0, 7.0]),
    failing=st.sampled_from([0.0, 0.2, 0.6]),
    requires=st.sampled_from([{}, {3: [4]}, {0: [1], 3: [0]}]),
)
def test_what_is_spent_never_exceeds_the_cap(kind, seed, share, evaluation, failing, requires):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation, requires=requires)
    vendors, row = draw_vendors(predictor, rng, failing)
    known = {next(iter(row)): 0.5} if rng.random() < 0.3 else {}
    cap = share * predictor.ceiling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of prices that differ
        runtime = Runtime(predictor, vendors)
    try:
        receipt = asyncio.run(runtime.serve(Case(known=known, cap=cap)))
    except DataError as error:
        assert "raise it to" in str(error)
        assert not any(vendor.charged for vendor in vendors)
        return
    assert receipt.spent <= cap
    assert receipt.stopped is not None and receipt.answer in (0, 1)
    # Nothing is charged twice, and all that is charged is on the receipt.
    assert all(n == 1 for vendor in vendors for n in vendor.charged.values())
    paid = {charge.item: charge.paid for charge in receipt.charges}
    for vendor in vendors:
        if vendor.terms.price:
            n = len(vendor.charged)
            items = [item for item in paid if item.split("/")[0] == vendor.terms.name]
            assert sum(paid[item] for item in items) >= n * vendor.terms.price
    assert receipt.spent >= sum(paid.values()) - 1e-9


@pytest.fixture(scope="module")
def ledger():
    with Ledger.temporary() as opened:
        yield opened


@settings(max_examples=120, deadline=None)
@given(
    kind=st.sampled_from([*sorted(MAKERS), "call"]),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 1.5),
    evaluation=st.sampled_from([0.0, 0.1, 1.0, 7.0]),
    failing=st.sampled_from([0.0, 0.4]),
    requires=st.sampled_from([{}, {3: [4]}, {0: [1], 3: [0]}]),
)
def test_sources_and_clients_together_never_exceed_the_cap(
    ledger, kind, seed, share, evaluation, failing, requires
):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation, requires=requires)
    vendors, row = draw_vendors(predictor, rng, failing)
    asked = vendors.pop(int(rng.integers(len(vendors)))).terms.features
    cap = share * predictor.ceiling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of prices that differ
        cases = Cases(Runtime(predictor, vendors, ledger, asked=asked))

    async def step(state):
        questions = [question.feature for question in state.asks]
        feature = rng.choice(list(row) if rng.random() < 0.2 or not questions else questions)
        feature = feature.item()
        take = [
            lambda: cases.tell(state.handle, {feature: row[feature]}),
            lambda: cases.tell(state.handle, dict(row)),
            lambda: cases.know(state.handle, {feature: row[feature]}),
            lambda: cases.skip(state.handle, [feature]),
            lambda: cases.back(state.handle),
            lambda: cases.tell(state.handle, {}),
        ]
        return await take[rng.choice(6, p=[0.4, 0.1, 0.15, 0.15, 0.15, 0.05])]()

    async def lead():
        try:
            states = [await cases.create(Case(cap=cap))]
        except DataError as error:
            assert "raise it to" in str(error)
            return []
        for _ in range(12):
            try:
                states.append(await step(states[-1]))
            except CaseConflictError:  # refused: too dear, ended, or answered already
                states.append(await cases.get(states[-1].handle))
        return states

    states = asyncio.run(lead())
    assert all(state.receipt.spent <= cap for state in states)
    assert all(n == 1 for vendor in vendors for n in vendor.charged.values())


@settings(max_examples=60)
@given(kind=st.sampled_from(sorted(MAKERS)), seed=st.integers(0, 10**6))
def test_without_failures_and_at_the_prices_of_the_model_the_answer_is_that_of_the_batch(
    kind, seed
):
    rng = np.random.default_rng(seed)
    predictor = draw_predictor(kind, rng, evaluation=0.1)
    row = dict(enumerate(rng.normal(size=D).tolist()))
    vendor = Vendor(Terms("all", tuple(row)), row, rng, 0.0)
    receipt = asyncio.run(Runtime(predictor, [vendor]).serve(Case()))
    X = np.array([list(row.values())])
    assert receipt.answer == predictor.predict(X)[0]
    assert receipt.total == predictor.bill(X)[0]
    assert np.isclose(
        receipt.spent,
        receipt.total
        + sum(
            charge.paid for charge in receipt.charges if set(charge.features) <= set(receipt.unread)
        ),
    )
