"""States: sizes of random ones, and those that a policy visits."""

from __future__ import annotations

import numpy as np

from thrifty.costs import Prices
from thrifty.learn.policy.items import Items
from thrifty.learn.policy.states import States, draw_states, visit_states


def test_drawn_states_spread_from_nothing_to_everything():
    items = Items.of(Prices([1.0] * 20).bind(20))
    states = draw_states(50, items, 4000, np.random.default_rng(0))
    size = states.bought.sum(axis=1)
    assert size.min() == 0
    assert size.max() == 20
    # Log-uniform: half of them have at most four of twenty items.
    assert 2 <= np.median(size) <= 5
    # Every row occurs equally often, and every item too.
    assert np.ptp(np.bincount(states.rows)) == 0
    assert np.ptp(states.bought.mean(axis=0)) < 0.06


def test_a_policy_visits_what_it_would_buy(fitted):
    policy, X = fitted.policies[0], fitted.table.X
    rows = np.arange(40)
    states = visit_states(policy, X, rows, 2, 0.0, np.random.default_rng(0))
    assert states.bought.sum(axis=1).tolist() == [0] * 40 + [1] * 40 + [2] * 40
    greedy = policy.with_first(-1)
    visit = next(greedy.run(X[rows]))
    np.testing.assert_array_equal(states.bought[40:80].argmax(axis=1), visit.item)


def test_exploration_visits_other_states(fitted):
    policy, X = fitted.policies[0], fitted.table.X
    states = visit_states(policy, X, np.arange(100), 1, 1.0, np.random.default_rng(0))
    assert set(states.bought[100:].argmax(axis=1).tolist()) == {0, 1, 2}


def test_no_more_is_bought_than_there_is(fitted):
    states = visit_states(
        fitted.policies[0], fitted.table.X, np.arange(5), 10, 0.5, np.random.default_rng(0)
    )
    assert len(states) == 4 * 5


def test_states_are_joined_and_cut():
    states = States(np.arange(4), np.eye(4, dtype=bool))
    joined = states + states.share(0.5)
    assert joined.rows.tolist() == [0, 1, 2, 3, 0, 1]
    assert joined.keep_items(np.array([1, 0])).bought[:2].tolist() == [[False, True], [True, False]]
