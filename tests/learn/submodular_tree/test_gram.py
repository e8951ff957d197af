"""Sums of products add up over parts of the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from selection_cases import random_rows

from thrifty.learn.submodular_tree.gram import Gram

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(0, 40))
def test_sums_add_up_over_parts_of_the_rows(seed, cut):
    rng, Z, Y = random_rows(seed, n=40, d=4, targets=2)
    weight = rng.random(40)
    order = rng.permutation(40)
    parts = [Gram.of(Z, Y, weight[rows], rows) for rows in (order[:cut], order[cut:])]
    whole = Gram.of(Z, Y, weight)
    for name in ("inputs", "cross", "squares", "input_sums", "target_sums", "total_weight"):
        expected = getattr(whole, name)
        assert np.allclose(getattr(parts[0] + parts[1], name), expected, atol=1e-9)
        assert np.allclose(getattr(whole - parts[0], name), getattr(parts[1], name), atol=1e-9)


def test_centered_sums_are_those_of_centered_rows():
    rng, Z, Y = random_rows(0, targets=2)
    weight = rng.random(len(Z))
    Z0, Y0 = (A - np.average(A, axis=0, weights=weight) for A in (Z, Y))
    sums = Gram.of(Z, Y, weight).center()
    assert np.allclose(sums.inputs, (weight * Z0.T) @ Z0)
    assert np.allclose(sums.cross, (weight * Z0.T) @ Y0)
    assert np.allclose(sums.targets, weight @ np.square(Y0))


def test_a_target_that_never_varies_has_sums_of_exactly_0():
    _, Z, _ = random_rows(0)
    sums = Gram.of(Z, np.full((len(Z), 1), 0.1)).center()
    assert sums.targets.tolist() == [0.0] and not sums.cross.any()
