"""Gradients of LambdaRank equal a plain sum over the pairs of each query."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from uncompiled import agree

from thrifty.kernels.lambdarank import lambda_gradients, share_ranks


def plain_gradients(scores, gains, starts, scale):
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    for q, (first, last) in enumerate(pairwise(starts)):
        order = np.argsort(-scores[first:last])
        discount = np.empty(last - first)
        discount[order] = 1.0 / np.log2(np.arange(last - first) + 2.0)
        for i in range(first, last):
            for j in range(first, last):
                if gains[i] > gains[j]:
                    apart = abs(discount[i - first] - discount[j - first])
                    swap = (gains[i] - gains[j]) * apart * scale[q]
                    p = 1.0 / (1.0 + np.exp(scores[i] - scores[j]))
                    gradient[i] += swap * p
                    gradient[j] -= swap * p
                    hessian[[i, j]] += swap * p * (1.0 - p)
    return gradient, hessian


def test_gradients_equal_a_plain_sum_over_pairs():
    rng = np.random.default_rng(0)
    starts = np.array([0, 4, 5, 12])
    scores, gains = rng.normal(size=12), 2.0 ** rng.integers(0, 4, 12) - 1.0
    scale = np.array([0.5, 1.0, 0.0])  # nothing is relevant in the last query
    gradient, hessian = np.full((2, 12), 9.0)
    lambda_gradients(scores, gains, starts, scale, gradient, hessian)
    due = plain_gradients(scores, gains, starts, scale)
    np.testing.assert_allclose(gradient, due[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hessian, due[1], rtol=1e-12, atol=1e-15)
    assert not gradient[5:].any()


def test_rows_of_equal_score_share_the_mean_discount_of_their_ranks():
    discount, spread = share_ranks(np.array([1.0, 3.0, 1.0, 1.0]))
    ranks = 1.0 / np.log2(np.arange(4) + 2.0)
    np.testing.assert_allclose(discount, [ranks[1:].mean(), 1.0, *[ranks[1:].mean()] * 2])
    pairs = [abs(a - b) for a in ranks[1:] for b in ranks[1:] if a != b]
    np.testing.assert_allclose(spread, [np.mean(pairs), 0.0, *[np.mean(pairs)] * 2])


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_the_order_of_tied_rows_does_not_rank_them(order):
    gains = np.array([0.0, 1.0, 3.0, 0.0])
    starts, scale = np.array([0, 4]), np.ones(1)
    gradient, hessian = np.empty((2, 4))
    lambda_gradients(np.zeros(4), gains, starts, scale, gradient, hessian)
    moved, curved = np.empty((2, 4))
    lambda_gradients(np.zeros(4), gains[order], starts, scale, moved, curved)
    np.testing.assert_allclose(moved, gradient[order], rtol=1e-12)
    np.testing.assert_allclose(curved, hessian[order], rtol=1e-12)


# Scores of one query: different, some equal, all equal, alone, and none.
SCORES = [[0.3, -1.0, 2.0, 0.7, 5.0], [1.0, 0.0, 1.0, 2.0, 0.0, 1.0], [0.0] * 7, [4.0], []]


@pytest.mark.parametrize("scores", SCORES)
def test_ranks_are_the_same_compiled_and_uncompiled(scores):
    agree("lambdarank", lambda module: module.share_ranks(np.array(scores)))


def test_gradients_are_the_same_compiled_and_uncompiled():
    def run(module):
        rng = np.random.default_rng(1)
        sizes = [4, 0, 1, 9, 3]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        scores, gains = rng.normal(size=17).round(1), 2.0 ** rng.integers(0, 3, 17) - 1.0
        scores[0] = 1e4  # its odds have no float
        scores[5:10], gains[5:10] = 0.5, [0.0, 1.0, 3.0, 0.0, 1.0]
        scale = np.array([0.5, 1.0, 1.0, 2.0, 0.0])
        gradient, hessian = np.full((2, 17), 9.0)
        module.lambda_gradients(scores, gains, starts, scale, gradient, hessian)
        assert np.isfinite(gradient).all() and gradient.any()
        return gradient, hessian

    agree("lambdarank", run)


def test_a_sort_of_many_rows_is_that_of_numpy():
    scores = np.random.default_rng(2).normal(size=1001).round(1)
    discount, _ = share_ranks(scores)
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(discount[order]) <= 0).all()
    # Rows of equal score have the same discount; others do not.
    assert len(np.unique(discount)) == len(np.unique(scores))
