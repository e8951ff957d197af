"""Greedy selection from sums of products is greedy least squares on the rows."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection_cases import buyer_of, greedy_order, r2, random_rows, residual

from thrifty.costs import Prices
from thrifty.learn.purchases import Purchases
from thrifty.learn.submodular_tree.forward_selection import Buyer, Explainer, Layout
from thrifty.learn.submodular_tree.gram import Gram

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("targets", [1, 3])
def test_order_and_r2_are_those_of_greedy_least_squares(condition, targets):
    for seed in range(12):
        rng, Z, Y = random_rows(seed, targets=targets, condition=condition)
        weight = rng.random(len(Z)) + 0.1 if seed % 2 else None
        prices = rng.choice([1.0, 2.0, 7.0], Z.shape[1])
        order, left = greedy_order(Z, Y, prices, weight)
        layout = Layout(np.arange(Z.shape[1]), Z.shape[1])
        explainer = Explainer.of(Gram.of(Z, Y, weight), layout)
        for step, column in enumerate(order):
            rates = explainer.gains() / prices
            rates[explainer.chosen] = -1.0
            assert int(np.argmax(rates)) == column
            explainer.add(column)
            assert explainer.residual.sum() == pytest.approx(left[step + 1], rel=1e-6)
            assert explainer.r2 == pytest.approx(1 - left[step + 1] / left[0], abs=1e-7)


def test_a_buyer_follows_the_greedy_order_and_stops_at_the_budget():
    for seed in range(12):
        rng, Z, Y = random_rows(seed)
        prices = rng.choice([1.0, 2.0, 7.0], Z.shape[1])
        order, _ = greedy_order(Z, Y, prices)
        gram, layout = Gram.of(Z, Y), Layout(np.arange(6), 6)
        whole = buyer_of(gram, layout, Prices(prices.tolist()).bind(6))
        whole.spend(np.inf)
        assert whole.columns == order
        assert whole.spent == pytest.approx(np.cumsum(prices[order]))
        for budget in (0.5, 3.0, 9.0):
            buyer = buyer_of(gram, layout, Prices(prices.tolist()).bind(6))
            buyer.spend(budget)
            fits = int(np.sum(np.cumsum(prices[order]) <= budget))
            assert buyer.columns[:fits] == order[:fits]  # then whatever still fits
            spent = prices[buyer.columns].sum()
            assert spent <= budget
            rest = np.setdiff1d(np.arange(6), buyer.columns)
            assert not np.any(prices[rest] <= budget - spent)


def test_a_buyer_may_stop_at_the_first_column_that_does_not_fit():
    for seed in range(6):
        rng, Z, Y = random_rows(seed)
        prices = rng.choice([1.0, 2.0, 7.0], Z.shape[1])
        order, _ = greedy_order(Z, Y, prices)
        bound = Prices(prices.tolist()).bind(6)
        explainer = Explainer.of(Gram.of(Z, Y), Layout(np.arange(6), 6))
        buyer = Buyer(explainer, Purchases(bound, 0, "model"), np.inf, stop_at_first=True)
        buyer.spend(9.0)
        assert buyer.columns == order[: int(np.sum(np.cumsum(prices[order]) <= 9.0))]


def test_a_category_is_worth_what_all_its_inputs_explain():
    rng, Z, _ = random_rows(3, n=80, d=3)
    codes = rng.integers(0, 4, 80)
    inputs = np.column_stack([Z[:, 0], np.eye(4)[codes], Z[:, 1:]])
    Y = (codes[:, None] == 2) * 2.0 + Z[:, :1] + rng.normal(size=(80, 1))
    layout = Layout(np.array([0, 1, 1, 1, 1, 2, 3]), 5)  # the last column never varies
    explainer = Explainer.of(Gram.of(inputs, Y), layout)
    for taken in ([], [0], [0, 5]):
        for column in taken[-1:]:
            explainer.add({0: 0, 5: 2}[column])
        gained = residual(inputs, Y, taken) - residual(inputs, Y, [*taken, 1, 2, 3, 4])
        assert explainer.gains()[1] == pytest.approx(gained, rel=1e-9)
        assert explainer.gains()[4] == 0.0
    explainer.add(1)
    assert len(explainer.chosen) == 5  # one of four categories follows from the others
    assert explainer.residual.sum() == pytest.approx(residual(inputs, Y, [0, 5, 1, 2, 3, 4]))


@given(SEEDS)
def test_r2_never_decreases_and_ends_at_that_of_all_columns(seed):
    _, Z, Y = random_rows(seed, n=30, d=5, targets=2)
    buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(5), 5), Prices([1.0] * 5).bind(5))
    seen = [0.0]
    for column in range(5):
        buyer.explainer.add(column)
        seen.append(buyer.explainer.r2)
    assert np.all(np.diff(seen) >= 0)
    assert seen[-1] == pytest.approx(r2(Z, Y, range(5)), abs=1e-9)


def subsets(items):
    items = list(items)
    return chain.from_iterable(combinations(items, r) for r in range(len(items) + 1))


@pytest.mark.parametrize("seed", range(6))
def test_greedy_selection_reaches_its_share_of_the_optimum(seed):
    rng, Z, Y = random_rows(seed, n=40, d=5)
    prices = rng.choice([1.0, 2.0, 3.0], 5)
    worth = {frozenset(s): r2(Z, Y, s) for s in subsets(range(5))}
    ratios = [1.0]
    for chosen in worth:  # definition 2.1 over all sets
        for more in worth:
            joint = worth[chosen | more] - worth[chosen]
            if not chosen & more and joint > 1e-9:
                ratios.append(sum(worth[chosen | {s}] - worth[chosen] for s in more) / joint)
    bound = 1.0 - np.exp(-min(ratios))
    buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(5), 5), Prices(prices.tolist()).bind(5))
    buyer.spend(np.inf)
    for count in range(1, 6):
        spent = buyer.spent[count - 1]
        best = max(
            value for chosen, value in worth.items() if prices[list(chosen)].sum() <= spent + 1e-9
        )
        assert worth[frozenset(buyer.columns[:count])] >= bound * best - 1e-9


def block_better_than_single():
    """Two columns of a group that together explain more per price than a single one."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 3))
    return Z, Z @ np.array([[1.0], [1.0], [1.2]])


def test_a_group_competes_as_a_block():
    Z, Y = block_better_than_single()
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 3.0}).bind(3)
    buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(3), 3), prices, total_weight=4000.0)
    buyer.spend(5.0)
    # One member costs 4 and explains 1; the other column costs 4 and explains 1.44; the block
    # costs 5 and explains 2.
    assert sorted(buyer.columns) == [0, 1]
    assert buyer.spent == [4.0, 5.0]


def test_a_block_beyond_the_budget_does_not_compete():
    Z, Y = block_better_than_single()
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 3.0}).bind(3)
    buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(3), 3), prices, total_weight=4000.0)
    buyer.spend(4.5)
    assert buyer.columns == [2]


def test_a_group_is_paid_once_and_parents_have_paid():
    Z, Y = block_better_than_single()
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 3.0}).bind(3)
    purchases = Purchases(prices, 0, "model")
    purchases.features[0] = 1
    explainer = Explainer.of(Gram.of(Z, Y), Layout(np.arange(3), 3))
    buyer = Buyer(explainer, purchases, 4000.0)
    buyer.spend(1.0)
    assert (buyer.columns, buyer.spent) == ([0, 1], [0.0, 1.0])


def test_a_category_in_a_group_counts_as_one_column():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 2000)
    inputs = np.column_stack([np.eye(3)[codes], rng.normal(size=(2000, 2))])
    Y = 2.0 * (codes[:, None] == 1) + inputs[:, 3:4] + 1.1 * inputs[:, 4:]
    prices = Prices([1.0, 1.0, 4.0], groups={"g": [0, 1]}, shared={"g": 3.0}).bind(3)
    layout = Layout(np.array([0, 0, 0, 1, 2]), 3)
    buyer = buyer_of(Gram.of(inputs, Y), layout, prices, total_weight=2000.0)
    buyer.spend(5.0)
    assert sorted(buyer.columns) == [0, 1]
    assert len(buyer.explainer.chosen) == 3


def test_a_budget_that_is_a_sum_of_prices_buys_them_all():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 3))
    gram, layout = Gram.of(Z, Z.sum(axis=1, keepdims=True)), Layout(np.arange(3), 3)
    buyer = buyer_of(gram, layout, Prices([0.1] * 3).bind(3), total_weight=500.0)
    buyer.spend(0.3)  # which is less than 0.1 + 0.1 + 0.1
    assert len(buyer.columns) == 3


def test_a_copy_of_a_column_explains_nothing_more():
    _, Z, Y = random_rows(0)
    Z = np.column_stack([Z, Z[:, 0], 3.0 * Z[:, 1] - Z[:, 2], np.full(len(Z), 7.0)])
    buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(9), 9), Prices([1.0] * 9).bind(9))
    buyer.spend(np.inf)
    assert 8 not in buyer.columns
    assert len(buyer.columns) == 6
    assert np.linalg.matrix_rank(Z[:, buyer.columns]) == 6


def test_columns_of_noise_are_not_bought_even_if_they_are_free():
    rng = np.random.default_rng(5)
    bought = 0
    for _ in range(20):
        Z = rng.normal(size=(200, 40))
        prices = Prices([0.0, *[1.0] * 39]).bind(40)
        Y = rng.normal(size=(200, 1))
        buyer = buyer_of(Gram.of(Z, Y), Layout(np.arange(40), 40), prices, total_weight=200.0)
        buyer.spend(np.inf)
        bought += len(buyer.columns)
    assert bought <= 1
