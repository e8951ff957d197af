"""Policies: batch and walk agree, caps hold, groups are paid once, files are checked."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
from drawing import GROUP, ITEM, OWN, SHARED, draw_policy
from face_laws import (
    float32_is_its_float64,
    rows_stay_within_bounds,
    state_is_the_values_told,
    unused_values_do_not_matter,
    values_arrive_in_any_order,
    walk_ends_like_the_batch,
)
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import Forest, Policy
from thrifty.model.forest.nodes import empty_nodes

SEEDS = st.integers(0, 2**32 - 1)


def prices_of(policy):
    """Return the prices that a drawn policy plans with; what it never buys is free."""
    own = np.zeros(policy.n_features)
    own[policy.item >= 0] = OWN[policy.item[policy.item >= 0]]
    return Prices(own.tolist(), groups={"lab": [4, 5, 6]}, shared={"lab": 0.4}).bind(7)


def buy_plainly(policy, x):
    """Return scores, items in order of purchase and steps of one row, one step at a time."""
    read, bought, steps = set(np.flatnonzero(policy.known).tolist()), [], 0
    done = {k for k in range(len(OWN)) if policy.known[policy.item == k].all()}
    while True:
        row = np.array([[x[j] if j in read else np.nan for j in range(len(x))]])
        scores, value = policy.predictor.score(row)[0], policy.value.raw(row)[0]
        steps += 1
        spent = [OWN[k] for k in bought] + [SHARED[0]] * any(GROUP[k] == 0 for k in bought)
        best, choice = -np.inf, None
        for k in sorted(set(range(len(OWN))) - done - set(bought)):
            opened = GROUP[k] < 0 or any(GROUP[b] == 0 for b in bought)
            price = OWN[k] + (0.0 if opened else SHARED[0])
            if sum(spent) + price <= policy.cap and value[k] / price > best:
                best, choice = value[k] / price, k
        start = policy.first
        first_price = OWN[start] + (SHARED[0] if GROUP[start] == 0 else 0.0)
        if not bought and start >= 0 and start not in done and first_price <= policy.cap:
            choice = start
        if choice is None or not max(best, 0.0) * (1.0 - scores.max()) > policy.cost_weight:
            return scores, bought, steps, read
        bought += [choice]
        if GROUP[choice] == 0 and 4 not in bought and 4 not in done:
            bought += [4]
        read |= set(np.flatnonzero(np.isin(policy.item, bought)).tolist())


@given(SEEDS)
def test_a_walk_ends_like_the_batch(seed):
    rng, policy, X = draw_policy(seed, rows=1)
    walk_ends_like_the_batch(rng, policy, X)
    values_arrive_in_any_order(rng, policy, X)
    state_is_the_values_told(rng, policy, X)


@given(SEEDS)
def test_rows_buy_what_a_plain_loop_buys(seed):
    _, policy, X = draw_policy(seed)
    scores, used, evaluations = policy.score(X), policy.used(X), policy.evaluations(X)
    for i, x in enumerate(X):
        due, _, steps, read = buy_plainly(policy, x)
        np.testing.assert_array_equal(scores[i], due)
        assert set(np.flatnonzero(used[i]).tolist()) == read
        assert evaluations[i] == steps * policy.trees_per_step


@given(SEEDS)
def test_rows_alone_are_what_they_are_in_their_batch(seed):
    _, policy, X = draw_policy(seed)
    alone = np.concatenate([policy.score(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_array_equal(policy.score(X), alone)


@given(SEEDS)
def test_unused_values_do_not_matter(seed):
    _, policy, X = draw_policy(seed)
    unused_values_do_not_matter(policy, X)
    rows_stay_within_bounds(policy, X)
    float32_is_its_float64(policy, X, policy.evaluations)


@given(SEEDS, st.floats(0.0, 3.0))
def test_no_bill_exceeds_the_cap(seed, cap):
    _, policy, X = draw_policy(seed, cap=cap)
    prices = prices_of(policy)
    used = policy.used(X) & ~policy.known
    assert prices.bill(used).max() <= cap


@pytest.mark.parametrize("cap", [0.3, 0.1 + 0.1 + 0.1])
def test_no_rounding_takes_a_bill_beyond_the_cap(cap):
    predictor = Forest.constant([0.0], "sigmoid", 3)
    policy = Policy.of(
        predictor, Forest.constant([1.0] * 3, "softmax", 3), prices=[0.1] * 3, cap=cap
    )
    bill = Prices([0.1] * 3).bind(3).bill(policy.used(np.zeros((1, 3))))[0]
    full = Prices([0.1] * 3).bind(3).full
    assert bill == full if full <= cap else bill == 0.2


@given(SEEDS)
def test_the_largest_bill_is_bounded_by_the_cap_at_the_planned_prices(seed):
    _, policy, _ = draw_policy(seed, cap=1.2)
    prices, nothing = prices_of(policy), np.zeros(7, dtype=bool)
    assert policy.largest_bill(prices.bill, nothing) <= 1.2
    doubled = Prices((2 * prices.own).tolist(), groups={"lab": [4, 5, 6]}, shared={"lab": 0.8})
    assert policy.largest_bill(doubled.bind(7).bill, nothing) <= 2.4
    # Other prices: all that it may read.
    other = Prices([5.0] * 7).bind(7)
    assert policy.largest_bill(other.bill, nothing) == other.bill(policy.support[np.newaxis])[0]


def test_the_first_item_opens_its_group_and_brings_the_free_ones_along():
    _, policy, X = draw_policy(3, first=3, cap=0.65, cost_weight=0.0)
    known = np.zeros(7, dtype=bool)
    # Every item helps a lot, and the predictor is never certain.
    policy = replace(
        policy,
        predictor=Forest.constant([0.0], "sigmoid", 7),
        value=Forest.constant([1.0] * 5, "softmax", 7),
        known=known,
    )
    assert np.flatnonzero(policy.used(X)[0]).tolist() == [4, 5, 6]
    walk = policy.walk()
    assert walk.asks == (4, 5, 6)
    walk.tell({5: 1.0})
    assert walk.asks == (4, 6)


def test_a_certain_row_buys_nothing_more():
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, 0)
    tree = Forest(
        nodes, np.array([[0.0], [-50.0], [0.5]]), np.array([0]), np.array([0]), np.zeros(1),
        "sigmoid", 2,
    )  # fmt: skip
    policy = Policy.of(tree, Forest.constant([1.0, 0.5], "softmax", 2), prices=[1.0, 1.0])
    used = policy.used(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert used.tolist() == [[True, False], [True, True]]


@given(SEEDS)
def test_known_values_are_read_first_and_change_the_plan(seed):
    rng, policy, X = draw_policy(seed, rows=1)
    features = rng.permutation(7)[:3].tolist()
    informed = policy.with_known(features)
    walk_ends_like_the_batch(rng, informed, X)
    assert informed.used(X)[0, features].all()
    # Their prices count no more: what else is bought stays within the cap.
    bought = informed.used(X) & ~informed.known
    assert prices_of(policy).bill(bought)[0] <= policy.cap


def test_a_policy_without_items_is_its_predictor():
    rng, policy, X = draw_policy(5)
    none = np.zeros(0)
    bare = Policy(
        policy.predictor, Forest.constant([0.0], "sum", 7), np.full(7, -1), none,
        none.astype(np.int64), none, np.ones(7, dtype=bool),
    )  # fmt: skip
    np.testing.assert_array_equal(bare.score(X), policy.predictor.score(X))
    walk_ends_like_the_batch(rng, bare, X[:1])


@given(SEEDS)
def test_a_copy_and_a_built_state_are_the_same_model(seed):
    _, policy, X = draw_policy(seed)
    for other in (copy.deepcopy(policy), Policy.build(*policy.state())):
        np.testing.assert_array_equal(other.score(X), policy.score(X))
        np.testing.assert_array_equal(other.used(X), policy.used(X))


def test_a_saved_policy_is_loaded_to_the_same_bits(tmp_path):
    _, policy, X = draw_policy(1)
    schema = Schema.of(np.zeros((2, 7)))
    classes = np.arange(policy.n_scores)
    Predictor(policy, schema, prices_of(policy), classes=classes).save(tmp_path / "p.thrifty")
    again = load(tmp_path / "p.thrifty")
    np.testing.assert_array_equal(again.model.score(X), policy.score(X))
    assert again.model.state()[0] == policy.state()[0]


DAMAGE = {
    "own": np.full(5, -1.0),
    "shared": np.array([np.nan]),
    "group": np.full(5, 7),
    "item": np.full(7, 5),
    "known": np.zeros(6, dtype=bool),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_array_is_refused(name):
    plain, arrays = draw_policy(0)[1].state()
    with pytest.raises(BundleError):
        Policy.build(plain, {**arrays, name: DAMAGE[name]})
    with pytest.raises(BundleError):
        Policy.build(plain, {**arrays, name: arrays[name].astype(np.float32)})
    with pytest.raises(BundleError):
        Policy.build(plain, {key: array for key, array in arrays.items() if key != name})


ENTRIES = [("cost_weight", (-1.0, "1", None, 3)), ("cap", (-1.0, "1")), ("first", (5, -2, 1.0))]
WRONG = [(name, value) for name, values in ENTRIES for value in values]


@pytest.mark.parametrize(("name", "value"), [*WRONG, ("parts", []), ("extra", 1)])
def test_a_wrong_entry_is_refused(name, value):
    plain, arrays = draw_policy(0)[1].state()
    with pytest.raises(BundleError):
        Policy.build({**plain, name: value}, arrays)


def test_parts_that_do_not_fit_are_refused():
    predictor, value = Forest.constant([0.0], "sigmoid", 2), Forest.constant([0.0], "sum", 2)
    with pytest.raises(DataError, match="output for each of 2 items"):
        Policy.of(predictor, value, prices=[1.0, 1.0])
    with pytest.raises(DataError, match="must be among the known features"):
        Policy.of(predictor, Forest.constant([0.0, 0.0], "softmax", 2), prices=[1.0, 0.0])
    with pytest.raises(DataError, match="class probabilities"):
        Policy.of(value, Forest.constant([0.0, 0.0], "softmax", 2), prices=[1.0, 1.0])


def test_every_feature_has_one_item():
    assert sorted(set(ITEM.tolist())) == [-1, *itertools.chain(range(len(OWN)))]


def test_a_policy_has_no_more_items_and_groups_than_features():
    predictor, value = (
        Forest.constant([0.0], "sigmoid", 2),
        Forest.constant([0.0] * 3, "softmax", 2),
    )
    with pytest.raises(DataError, match="3 items and 0 groups of 2 features"):
        Policy.of(predictor, value, prices=[1.0] * 3)
