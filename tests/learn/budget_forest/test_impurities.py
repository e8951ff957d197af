"""Impurities are admissible: nonnegative, 0 if pure, monotone, supermodular (Nan et al. 2015)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.kernels.minimax import impurity_of
from thrifty.learn.budget_forest.impurities import Impurity, Polynomial, Powers, ThresholdPairs

K = 4
PAIRWISE = [(1.0, tuple(int(c in pair) for c in range(K))) for pair in ((0, 1), (0, 2), (1, 3))]
IMPURITIES = [
    ThresholdPairs(),
    ThresholdPairs(1),
    ThresholdPairs(2.5),
    ThresholdPairs(4),
    Powers(2),
    Powers(3),
    Powers(5),
    Polynomial(PAIRWISE),
    Polynomial([*PAIRWISE, (0.5, (2, 1, 0, 3)), (2.0, (1, 1, 1, 1))]),
]
each = pytest.mark.parametrize("impurity", IMPURITIES, ids=repr)

sets = st.lists(st.integers(0, 12), min_size=K, max_size=K).map(lambda some: np.array(some, float))
classes = st.integers(0, K - 1)


def one(k: int) -> np.ndarray:
    return np.eye(K)[k]


@each
@given(counts=sets)
def test_no_set_has_a_negative_impurity(impurity, counts):
    assert impurity.value(counts) >= 0


@each
@given(k=classes, n=st.integers(0, 50))
def test_a_pure_set_has_none(impurity, k, n):
    assert impurity.value(n * one(k)) == 0


@each
@given(small=sets, more=sets)
def test_a_larger_set_has_no_less(impurity, small, more):
    assert impurity.value(small + more) >= impurity.value(small)


@each
@given(small=sets, more=sets, k=classes)
def test_an_example_adds_no_less_to_a_larger_set(impurity, small, more, k):
    large = small + more
    added = impurity.value(large + one(k)) - impurity.value(large)
    assert added >= impurity.value(small + one(k)) - impurity.value(small) - 1e-9


@pytest.mark.parametrize("alpha", [0, 1, 3, 4])
@given(counts=sets)
def test_the_least_impurity_above_0_is_1(alpha, counts):
    value = ThresholdPairs(alpha).value(counts)
    assert value == 0 or value >= 1


@each
@given(counts=sets, unit=st.sampled_from([1.0, 0.25]))
def test_the_compiled_impurity_is_the_plain_one(impurity, counts, unit):
    quanta = (counts / unit).astype(np.int64)
    packed = np.array([quanta[0] << 32 | quanta[1], quanta[2] << 32 | quanta[3]])
    compiled = impurity_of(impurity.form(K, unit), packed)
    assert compiled == pytest.approx(float(impurity.value(counts)), rel=1e-12, abs=1e-9)


@each
def test_many_sets_are_valued_at_once(impurity):
    counts = np.random.default_rng(0).integers(0, 9, size=(3, 5, K)).astype(float)
    values = impurity.value(counts)
    assert values.shape == (3, 5)
    assert values[1, 2] == impurity.value(counts[1, 2])


def test_gini_is_not_monotone():
    class Gini(Impurity):
        def value(self, counts):
            share = counts / counts.sum(axis=-1, keepdims=True)
            return 1 - (share**2).sum(axis=-1)

    assert Gini().value(np.array([1.0, 1.0])) > Gini().value(np.array([9.0, 1.0]))
    assert Gini().form(2, 1.0) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ThresholdPairs(-1), "alpha is -1"),
        (lambda: ThresholdPairs(float("nan")), "alpha is nan"),
        (lambda: Powers(1), "l is 1"),
        (lambda: Powers(2.5), "l is 2.5"),
        (lambda: Polynomial([]), "at least one"),
        (lambda: Polynomial([(1.0, (1, 1)), (1.0, (1, 1, 0))]), "one power for each class"),
        (lambda: Polynomial([(0.0, (1, 1))]), "above 0"),
        (lambda: Polynomial([(1.0, (-1, 1))]), "whole number"),
        (lambda: Polynomial([(1.0, (2, 0))]), "pure sets impure"),
    ],
)
def test_an_impurity_that_is_not_admissible_is_refused(make, words):
    with pytest.raises(DataError, match=words):
        make()
