"""Bills: the laws that hold for every price list, breakdowns, and malicious model files."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty.costs import BoundPrices, Prices
from thrifty.costs import bound as bound_module
from thrifty.errors import BundleError, DataError

COINS = st.integers(0, 400).map(lambda quarters: quarters / 4)  # sums of these never round
AMOUNTS = st.one_of(COINS, st.floats(0, 1e6), st.floats(0, 1e100))
SIZES = st.integers(1, 7)


@st.composite
def price_lists(draw, amounts=AMOUNTS, features=SIZES) -> BoundPrices:
    d = draw(features)
    group = draw(st.lists(st.integers(-1, 2), min_size=d, max_size=d))
    names = draw(st.sampled_from([None, [f"x{j}" for j in range(d)]]))
    keys = names or range(d)
    groups = {f"g{g}": [keys[j] for j in range(d) if group[j] == g] for g in {*group} - {-1}}
    own = draw(st.lists(amounts, min_size=d, max_size=d))
    shared = {name: draw(amounts) for name in groups}
    calls = {"remote": draw(amounts), "oracle": draw(amounts)} if draw(st.booleans()) else {}
    prices = Prices(own, groups=groups, shared=shared, evaluation=draw(amounts), calls=calls)
    return prices.bind(names or d)


@st.composite
def purchases(draw, amounts=AMOUNTS):
    """Draw prices, the features that each row used, evaluations and calls."""
    prices = draw(price_lists(amounts))
    n = draw(st.integers(1, 5))
    used = draw(arrays(bool, (n, len(prices.own))))
    counts = draw(arrays(np.int64, n, elements=st.integers(0, 9)))
    calls = {name: draw(arrays(bool, n)) for name in prices.calls}
    return prices, used, counts, calls


def scaled(prices: BoundPrices, factor: float) -> BoundPrices:
    plain = prices.plain()
    return BoundPrices.build(
        plain
        | {name: [factor * price for price in plain[name]] for name in ("own", "shared")}
        | {"evaluation": factor * plain["evaluation"]}
        | {"calls": {name: factor * price for name, price in plain["calls"].items()}}
    )


def bill_by_definition(prices: BoundPrices, row, count: int, calls) -> float:
    """Add up the prices of one row, one after the other."""
    groups = {int(g) for g in prices.group[row]} - {-1}
    terms = [*prices.own[row], *(prices.shared[g] for g in groups)]
    terms += [prices.calls[name] for name, made in calls.items() if made]
    return math.fsum(terms) + prices.evaluation * count


# --- laws --------------------------------------------------------------------


@given(purchases())
def test_a_bill_is_own_prices_shared_prices_evaluations_and_calls(case):
    prices, used, counts, calls = case
    expected = [
        bill_by_definition(
            prices, used[i], counts[i], {name: made[i] for name, made in calls.items()}
        )
        for i in range(len(used))
    ]
    assert prices.bill(used, counts, calls).tolist() == expected


@given(purchases())
def test_a_row_alone_has_the_bill_it_has_in_a_batch(case):
    prices, used, counts, calls = case
    bills = prices.bill(used, counts, calls)
    for i in range(len(used)):
        row = slice(i, i + 1)
        alone = prices.bill(used[row], counts[i], {name: made[row] for name, made in calls.items()})
        assert alone.tolist() == [bills[i]]


@given(price_lists(), st.data(), st.integers(0, 50))
def test_a_total_is_the_bill_of_one_row_to_the_bit(prices, data, evaluations):
    used = data.draw(arrays(bool, (1, len(prices.own))))
    total = prices.total(np.flatnonzero(used).tolist(), evaluations)
    assert total == prices.bill(used, evaluations)[0]


@given(st.data(), st.integers(40, 90))
def test_a_bill_does_not_depend_on_the_order_of_the_columns(data, d):
    prices = data.draw(price_lists(st.floats(0, 1e3), st.just(d)))
    used = data.draw(arrays(bool, (3, d)))
    order = np.array(data.draw(st.permutations(range(d))))
    moved = Prices(
        prices.own[order],
        groups={
            name: np.flatnonzero(prices.group[order] == g)
            for g, name in enumerate(prices.group_names)
        },
        shared=dict(zip(prices.group_names, prices.shared, strict=True)),
    ).bind(d)
    assert moved.bill(used[:, order]).tolist() == prices.bill(used).tolist()


@given(purchases())
def test_many_rows_are_billed_like_few(case):
    prices, used, counts, calls = case
    whole = prices.bill(used, counts, calls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound_module, "ROWS_PER_BLOCK", 2)
        assert prices.bill(used, counts, calls).tolist() == whole.tolist()


@given(st.lists(AMOUNTS, min_size=1, max_size=6), AMOUNTS, st.data())
def test_a_group_is_paid_once(own, shared, data):
    prices = Prices(own, groups={"g": range(len(own))}, shared={"g": shared}).bind(len(own))
    used = data.draw(arrays(bool, (1, len(own))))
    expected = math.fsum([*np.array(own)[used[0]], shared]) if used.any() else 0.0
    assert prices.bill(used).tolist() == [expected]


@given(purchases(st.one_of(COINS, st.floats(1e-6, 1e6))))
def test_all_prices_doubled_double_the_bills(case):
    prices, used, counts, calls = case
    bills = prices.bill(used, counts, calls)
    assert scaled(prices, 2.0).bill(used, counts, calls).tolist() == (2 * bills).tolist()


@given(purchases(), st.data())
def test_a_free_feature_never_raises_a_bill(case, data):
    prices, used, counts, calls = case
    j = data.draw(st.integers(0, len(prices.own) - 1))
    plain = prices.plain()
    plain["own"][j] = 0.0
    # Free is what costs nothing of its own and brings no shared price either.
    plain["shared"] = [0.0 if g == prices.group[j] else s for g, s in enumerate(plain["shared"])]
    free = BoundPrices.build(plain)
    without, with_it = used.copy(), used.copy()
    without[:, j], with_it[:, j] = False, True
    assert free.bill(with_it, counts, calls).tolist() == free.bill(without, counts, calls).tolist()


@given(purchases(), st.data())
def test_using_more_never_lowers_a_bill(case, data):
    prices, used, counts, calls = case
    more = used | data.draw(arrays(bool, used.shape))
    assert (prices.bill(more, counts, calls) >= prices.bill(used, counts, calls)).all()


@given(price_lists(COINS), st.data())
def test_marginal_prices_add_up_to_the_bill_in_any_order(prices, data):
    everything = range(len(prices.own))
    order = data.draw(st.permutations(everything))[: data.draw(st.integers(0, len(everything)))]
    bought: set[int] = set()
    paid = 0.0
    for feature in order:
        paid += prices.marginal(feature, bought)
        bought.add(feature)
    used = np.isin(everything, order)
    assert [paid] == prices.bill(used[None]).tolist()


@given(price_lists(), st.data())
def test_a_marginal_price_is_the_difference_of_two_bills(prices, data):
    d = len(prices.own)
    feature = data.draw(st.integers(0, d - 1))
    bought = data.draw(st.sets(st.integers(0, d - 1)))
    used = np.array([[j in bought for j in range(d)], [j in bought | {feature} for j in range(d)]])
    before, after = prices.bill(used)
    marginal = prices.marginal(feature, bought)
    assert math.isclose(before + marginal, after, rel_tol=1e-12)
    assert prices.marginal(feature, list(bought)) == marginal


@given(price_lists())
def test_full_is_the_bill_of_every_feature(prices):
    used = np.ones((1, len(prices.own)), dtype=bool)
    assert [prices.full] == prices.bill(used).tolist()


@given(price_lists())
def test_prices_survive_json(prices):
    again = BoundPrices.build(json.loads(json.dumps(prices.plain())))
    assert again == prices
    assert again.own.tobytes() == prices.own.tobytes()
    assert again.shared.tobytes() == prices.shared.tobytes()


# --- breakdowns, copies, bad arguments ---------------------------------------

HEART = Prices(
    {"age": 1.0, "chol": 5.17, "fbs": 3.1, "thal": 102.9},
    groups={"blood": ["chol", "fbs"]},
    shared={"blood": 2.10},
    evaluation=0.01,
    calls={"remote": 0.5},
    unit="CAD",
).bind(["age", "chol", "fbs", "thal"])


@pytest.mark.parametrize(
    ("used", "evaluations", "calls", "text"),
    [
        ("0000", 0, None, "CAD 0.00: nothing bought"),
        ("0110", 0, None, "CAD 10.37: blood 2.10 + chol 5.17 + fbs 3.10"),
        ("1001", 0, None, "CAD 103.90: age 1.00 + thal 102.90"),
        ("1000", 1, None, "CAD 1.01: age 1.00 + 1 evaluation 0.01"),
        ("0000", 20, None, "CAD 0.20: 20 evaluations 0.20"),
        ("1000", 0, {"remote": True}, "CAD 1.50: age 1.00 + remote 0.50"),
        ("1000", 0, {"remote": False}, "CAD 1.00: age 1.00"),
    ],
)
def test_a_breakdown_names_what_was_paid(used, evaluations, calls, text):
    row = np.array([mark == "1" for mark in used])
    assert HEART.breakdown(row, evaluations, calls) == text


def test_a_breakdown_without_names_lists_positions():
    prices = Prices([1, 0.001], groups={"g": [0]}).bind(2)
    assert prices.breakdown([True, True]) == "1.001: [0] 1.00 + [1] 0.001"


def test_the_repr_counts():
    assert repr(HEART) == "BoundPrices(4 features, 1 group, 1 call, CAD 114.27 in full)"


def test_no_rows_have_no_bills():
    assert HEART.bill(np.zeros((0, 4), dtype=bool)).shape == (0,)


def test_the_arrays_are_read_only_in_copies_too():
    copies = [copy.copy(HEART), copy.deepcopy(HEART), pickle.loads(pickle.dumps(HEART))]
    for prices in (HEART, *copies):
        assert prices == HEART
        for array in (prices.own, prices.group, prices.shared):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    assert scaled(HEART, 2.0) != HEART
    assert HEART != "HEART"


def test_the_arrays_are_copies():
    own = np.array([1.0])
    prices = BoundPrices(None, own, np.array([-1]), np.empty(0), (), 0.0, {}, "")
    own[0] = 5.0
    assert prices.full == 1.0


@pytest.mark.parametrize(
    ("used", "arguments", "words"),
    [
        (np.zeros(4, dtype=bool), {}, r"shape \(4,\) where \(rows, 4\)"),
        (np.zeros((2, 3), dtype=bool), {}, r"shape \(2, 3\) where \(rows, 4\)"),
        (np.zeros((2, 4)), {}, "float64 where True or False"),
        (np.zeros((2, 4), dtype=bool), {"evaluations": [1, 2, 3]}, r"one value per row, \(2,\)"),
        (np.zeros((2, 4), dtype=bool), {"evaluations": [1, -2]}, "-2 is negative"),
        (np.zeros((2, 4), dtype=bool), {"evaluations": 0.5}, "whole numbers are needed"),
        (np.zeros((2, 4), dtype=bool), {"calls": {"remot": [True, True]}}, "mean 'remote'"),
        (np.zeros((2, 4), dtype=bool), {"calls": {"remote": [True]}}, "'remote': shape"),
        (np.zeros((2, 4), dtype=bool), {"calls": {"remote": [1, 0]}}, "True or False are needed"),
    ],
)
def test_a_bill_refuses_what_does_not_fit(used, arguments, words):
    with pytest.raises(DataError, match=words):
        HEART.bill(used, **arguments)


# --- model files from anyone -------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["age", "chol", "fbs"]},
        {"names": ["age", "age", "fbs", "thal"]},
        {"names": [0, 1, 2, 3]},
        {"names": "abcd"},
        {"names": 0},
        {"names": {}},
        {"group_names": {"blood": 1}},
        {"own": [1.0, 2.0, 3.0]},
        {"own": [1.0, 2.0, 3.0, -4.0]},
        {"own": [1.0, 2.0, 3.0, float("nan")]},
        {"own": [1.0, 2.0, 3.0, float("inf")]},
        {"own": [1.0, 2.0, 3.0, True]},
        {"own": [1.0, 2.0, 3.0, "4"]},
        {"own": [1.0, 2.0, 3.0, 10**5000]},
        {"own": [[1.0]] * 4},
        {"own": {"age": 1.0}},
        {"own": None},
        {"group": [-1, 0, 0]},
        {"group": [-1, 0, 0, 1]},
        {"group": [-1, 0, 0, -2]},
        {"group": [-1, -1, -1, -1]},
        {"group": [-1, 0, 0, False]},
        {"group": [-1, 0, 0, 2**70]},
        {"group": [-1, 0, 0, -1.0]},
        {"group": None},
        {"shared": []},
        {"shared": [-2.0]},
        {"shared": 2.0},
        {"group_names": []},
        {"group_names": ["blood", "blood"]},
        {"group_names": [["blood"]]},
        {"evaluation": -1.0},
        {"evaluation": None},
        {"calls": {"remote": -1.0}},
        {"calls": {3: 1.0}},
        {"calls": ["remote"]},
        {"unit": 3},
        {"unit": None},
        {"extra": 1},
    ],
)
def test_a_malicious_price_list_is_refused(change):
    with pytest.raises(BundleError, match="the prices of the model file"):
        BoundPrices.build(HEART.plain() | change)


@pytest.mark.parametrize("field", sorted(HEART.plain()))
def test_a_missing_field_is_refused(field):
    plain = HEART.plain()
    del plain[field]
    with pytest.raises(BundleError, match=f"missing fields \\['{field}'\\]"):
        BoundPrices.build(plain)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(JSON)
def test_what_is_not_a_price_list_at_all_is_refused(junk):
    with pytest.raises(BundleError):
        BoundPrices.build(junk)


@given(st.sampled_from(sorted(HEART.plain())), JSON)
def test_junk_in_a_field_is_refused_or_harmless(field, junk):
    try:
        prices = BoundPrices.build(HEART.plain() | {field: junk})
    except BundleError:
        return
    assert np.isfinite(prices.bill(np.ones((1, 4), dtype=bool), 3)).all()
    assert prices.breakdown(np.ones(4, dtype=bool))


def test_prices_in_another_order_bill_the_same_features_alike():
    names = ["d", "a", "c", "b", "e"]
    prices = Prices(
        {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0, "e": 16.0},
        groups={"lab": ["d", "b"], "pair": ["a", "e"]}, shared={"lab": 32.0},
        requires={"c": ["d"]}, panels=["pair"], delays={"lab": 3.0, "c": 1.0},
        also={"min": Prices({"a": 5.0})},
    ).bind(names)  # fmt: skip
    order = np.array([1, 3, 2, 0, 4])
    moved = prices.take(order)
    assert moved.names == tuple("abcde")
    used = np.random.default_rng(0).random((20, 5)) < 0.4
    for one, other in zip(prices.currencies.values(), moved.currencies.values(), strict=True):
        np.testing.assert_array_equal(one.bill(used), other.bill(used[:, order]))
    assert dict(zip(names, prices.delays, strict=True)) == dict(
        zip("abcde", moved.delays, strict=True)
    )
    back = moved.take(np.argsort(order))
    assert back == prices
