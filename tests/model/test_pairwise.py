"""Class probabilities from the log-odds of pairs of classes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thrifty.model.pairwise import couple, pair_classes


@given(st.integers(2, 6), st.integers(0, 1000))
def test_pairs_that_agree_are_coupled_to_their_common_distribution(k, seed) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(k), size=4) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    first, second = pair_classes(k)
    coupled = couple(np.log(p[:, first] / p[:, second]), k)
    np.testing.assert_allclose(coupled, p, rtol=1e-7)


def test_two_classes_have_the_sigmoid() -> None:
    logits = np.array([[-3.0], [0.0], [0.7]])
    np.testing.assert_allclose(couple(logits, 2)[:, 0], 1.0 / (1.0 + np.exp(-logits[:, 0])))


def test_extreme_log_odds_give_finite_probabilities() -> None:
    coupled = couple(np.array([[1e300, -1e300, 1e300]]), 3)
    assert np.isfinite(coupled).all()
    np.testing.assert_allclose(coupled.sum(axis=1), 1.0)
