"""Wallets: groups are paid once, and sums are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from drawing import draw_policy

from thrifty.model.policy.wallets import Wallets


def test_a_group_is_paid_once():
    _, policy, _ = draw_policy(0, cap=np.inf)
    wallets = Wallets.open(policy, 2)
    wallets.buy(policy, np.array([3, 0]))
    # The first row paid 0.2 and the group; the other item of the group came along.
    np.testing.assert_allclose(wallets.spent, [0.6, 0.3])
    price, affordable = wallets.quote(policy)
    assert price[1, 3] == 0.2 + 0.4
    assert affordable.tolist() == [
        [True, True, True, False, False],
        [False, True, True, True, True],
    ]


def test_what_exceeds_the_cap_is_not_affordable():
    _, policy, _ = draw_policy(0, cap=0.7)
    _, affordable = Wallets.open(policy, 1).quote(policy)
    assert affordable.tolist() == [[True, False, True, True, True]]


def test_sums_keep_twice_the_precision_of_a_float():
    _, policy, _ = draw_policy(0)
    wallets = Wallets.open(policy, 1)
    for item in (0, 1, 2):
        wallets.buy(policy, np.array([item]))
    exact = sum(Fraction(price) for price in policy.own[:3].tolist())
    assert Fraction(wallets.spent[0]) + Fraction(wallets.rest[0]) == exact
    assert wallets.steps == 3
