"""Precedence, panels and caps hold for any input: random price lists, models and rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_cases import MODELS, NAMES, D, draw_policy, draw_rows, predictor_of, price_lists

from thrifty.bundle.latency import largest_latency

SEEDS = st.integers(0, 10_000)


def walk_to_the_end(predictor, row):
    """Return a finished walk, and the rounds in which it asked."""
    walk, rounds = predictor.walk(), []
    while walk.asks:
        rounds.append(walk.asks)
        walk.tell({name: row[NAMES.index(name)] for name in walk.asks})
    return walk, rounds


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=40, deadline=None)
@given(prices=price_lists(), seed=SEEDS)
def test_walk_and_batch_agree_and_precedence_holds(kind, prices, seed):
    rng = np.random.default_rng(seed)
    bound = prices.bind(NAMES)
    predictor = predictor_of(MODELS[kind](rng, bound), bound)
    X, table = draw_rows(rng)
    bills, used = predictor.bill(table), predictor.used(table)
    latency = predictor.latency(table)
    assert latency.max() <= largest_latency(predictor.model, bound)
    assert bills.max() <= predictor.ceiling
    for row, bill, read, wait in zip(X, bills, used, latency, strict=True):
        walk, rounds = walk_to_the_end(predictor, row)
        receipt = walk.receipt
        assert receipt.total == bill
        assert sum(p.price for p in receipt.purchases) + receipt.evaluation == pytest.approx(bill)
        asked = {p.feature for p in receipt.purchases if p.why == "asked"}
        assert asked == {NAMES[j] for j in np.flatnonzero(read)}
        assert not receipt.unread
        assert receipt.rounds == tuple(rounds)
        assert receipt.latency == wait
        assert wait == sum(max(prices.delays[name] for name in now) for now in rounds)
        bought = set()
        for now in rounds:
            for name in now:
                needed = set(prices.requires.get(name, ()))
                for panel in prices.panels:
                    members = prices.groups[panel]
                    if name in members:
                        assert set(members) <= bought | set(now)
                        needed.update(*(prices.requires.get(mate, ()) for mate in members))
                assert needed <= bought
            bought.update(now)
        assert bought == {p.feature for p in receipt.purchases}


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=25, deadline=None)
@given(prices=price_lists(), seed=SEEDS)
def test_the_bill_is_the_same_in_whatever_order_values_arrive(kind, prices, seed):
    rng = np.random.default_rng(seed)
    bound = prices.bind(NAMES)
    predictor = predictor_of(MODELS[kind](rng, bound), bound)
    X, table = draw_rows(rng, rows=3)
    for number, (row, bill) in enumerate(zip(X, predictor.bill(table), strict=True)):
        walk = predictor.walk()
        for j in rng.permutation(D).tolist():
            if walk.done:
                break
            walk.tell({NAMES[j]: row[j]})
        assert walk.done
        assert walk.receipt.total == bill
        assert walk.receipt.latency == predictor.latency(table)[number]


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=40, deadline=None)
@given(prices=price_lists(), seed=SEEDS)
def test_walks_with_known_and_skipped_values_end_in_order(kind, prices, seed):
    rng = np.random.default_rng(seed)
    bound = prices.bind(NAMES)
    predictor = predictor_of(MODELS[kind](rng, bound), bound)
    X, table = draw_rows(rng, rows=3)
    proba = predictor.predict_proba(table)
    for number, row in enumerate(X):
        known = {NAMES[j]: row[j] for j in np.flatnonzero(rng.random(D) < 0.4)}
        skips = rng.random() < 0.5
        walk = predictor.walk(known)
        while walk.asks:
            for name in walk.asks:
                panel = next((p for p in prices.panels if name in prices.groups[p]), None)
                mates = [name] if panel is None else prices.groups[panel]
                needed = {n for mate in mates for n in prices.requires.get(mate, ())}
                assert needed <= walk.told.keys() | walk.known.keys() | set(walk.skipped)
            if skips:
                walk.skip(walk.asks[0])
                skips = False
                continue
            walk.tell({name: row[NAMES.index(name)] for name in walk.asks})
        receipt = walk.receipt
        paid = sum(purchase.price for purchase in receipt.purchases)
        assert paid + receipt.evaluation == pytest.approx(receipt.total)
        assert not walk._walk.asks
        if not walk.skipped:
            assert walk.scores.tolist() == proba[number].tolist()
            assert receipt.total <= predictor.bill(table)[number]


@settings(max_examples=60, deadline=None)
@given(prices=price_lists(), seed=SEEDS, share=st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_a_policy_never_passes_its_cap(prices, seed, share):
    rng = np.random.default_rng(seed)
    bound = prices.bind(NAMES)
    cap = share * bound.full
    policy = draw_policy(rng, bound, cap)
    X, _ = draw_rows(rng, rows=30)
    bills = bound.bill(policy.used(X))
    assert bills.max() <= cap
    assert bills.max() <= policy.largest_bill(bound.bill, np.zeros(D, dtype=bool))


@settings(max_examples=100, deadline=None)
@given(prices=price_lists(), seed=SEEDS)
def test_a_bill_is_that_of_the_closure(prices, seed):
    bound = prices.bind(NAMES)
    structure = bound.structure
    used = np.random.default_rng(seed).random((20, D)) < 0.3
    for row, bill in zip(used, bound.bill(used), strict=True):
        bought = set(np.flatnonzero(row).tolist())
        while True:
            more = {NAMES.index(n) for j in bought for n in prices.requires.get(NAMES[j], ())}
            panels = [{NAMES.index(n) for n in prices.groups[name]} for name in prices.panels]
            more |= {j for panel in panels if panel & bought for j in panel}
            if more <= bought:
                break
            bought |= more
        own = sum(prices.own[NAMES[j]] for j in bought)
        names = {NAMES[j] for j in bought}
        groups = [name for name, members in prices.groups.items() if names & set(members)]
        assert bill == pytest.approx(own + sum(prices.shared[name] for name in groups))
        if structure is not None:
            assert bought == structure.closure(np.flatnonzero(row).tolist())
        steps, had = 0.0, set()
        for j in rng_order(seed, bought):
            steps += bound.marginal(j, had)
            had |= {j} if structure is None else structure.closure([j])
        assert steps == pytest.approx(bill)


def rng_order(seed, features):
    """Return features in a random order."""
    return np.random.default_rng(seed).permutation(sorted(features)).tolist()
