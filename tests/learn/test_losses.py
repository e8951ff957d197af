"""Losses: gradients are slopes of the value, starts are the best constants."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from thrifty.learn.losses import LambdaLoss, LogLoss, SquaredHinge, SquaredLoss
from thrifty.learn.ndcg import ndcg

ROWS = 12


def draw(name, weighted=False, seed=0):
    """A loss bound to a random target, and outputs away from its kinks."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 3.0, size=ROWS) if weighted else None
    if name == "squared":
        loss = SquaredLoss(rng.normal(size=ROWS), weight)
    else:
        kind, classes = name
        codes = np.arange(ROWS) % classes
        loss = kind(codes, weight, classes)
    return loss, rng.normal(size=(loss.outputs, ROWS))


LOSSES = ["squared", (LogLoss, 2), (LogLoss, 4), (SquaredHinge, 2), (SquaredHinge, 4)]
IDS = ["squared", "logistic", "softmax", "hinge", "hinges"]


def total(loss, raw):
    """Sum of the losses of all rows and outputs, by weight."""
    weight = ROWS if loss.weight is None else loss.weight.sum()
    outputs = loss.outputs if isinstance(loss, SquaredHinge) else 1
    return loss.value(raw) * weight * outputs


def slopes(loss, raw, step=1e-6):
    found = np.empty_like(raw)
    for place in np.ndindex(raw.shape):
        up, down = raw.copy(), raw.copy()
        up[place] += step
        down[place] -= step
        found[place] = (total(loss, up) - total(loss, down)) / (2 * step)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES, ids=IDS)
def test_the_gradient_is_the_slope_of_the_value(name, weighted):
    loss, raw = draw(name, weighted)
    gradient, _ = loss.derivatives(raw)
    weight = np.ones(ROWS) if loss.weight is None else loss.weight
    np.testing.assert_allclose(-gradient * weight, slopes(loss, raw), atol=1e-6)


@pytest.mark.parametrize("name", LOSSES[1:3], ids=IDS[1:3])
def test_the_hessian_is_the_slope_of_the_gradient(name):
    loss, raw = draw(name)
    _, hessian = loss.derivatives(raw)
    step = 1e-6
    for k in range(loss.outputs):
        shift = np.zeros_like(raw)
        shift[k] = step
        up, down = loss.derivatives(raw + shift)[0][k], loss.derivatives(raw - shift)[0][k]
        np.testing.assert_allclose(hessian[k], -(up - down) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("name", ["squared", *LOSSES[3:]], ids=["squared", "hinge", "hinges"])
def test_a_loss_with_a_unit_hessian_has_none(name):
    loss, raw = draw(name)
    assert loss.derivatives(raw)[1] is None
    assert loss.damping == 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES, ids=IDS)
def test_the_start_is_the_best_constant(name, weighted):
    loss, _ = draw(name, weighted)
    raw = np.repeat(loss.start()[:, np.newaxis], ROWS, axis=1)
    weight = np.ones(ROWS) if loss.weight is None else loss.weight
    np.testing.assert_allclose(loss.derivatives(raw)[0] @ weight, 0.0, atol=1e-9)
    for shift in np.vstack([np.eye(loss.outputs), -np.eye(loss.outputs)]) * 0.1:
        assert loss.value(raw) <= loss.value(raw + shift[:, np.newaxis]) + 1e-12


def test_the_value_of_the_squared_loss_is_half_the_mean_squared_error():
    loss = SquaredLoss(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]))
    assert loss.value(np.zeros((1, 3))) == 0.5 * (1 + 4 + 2 * 16) / 4


def test_the_value_of_the_log_loss_is_the_mean_negative_log_likelihood():
    loss = LogLoss(np.array([0, 1, 1]), None, 2)
    p = 1 / (1 + np.exp(-np.array([0.5, -1.0, 2.0])))
    expected = -np.mean(np.log([1 - p[0], p[1], p[2]]))
    assert loss.value(np.array([[0.5, -1.0, 2.0]])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [LogLoss, SquaredHinge])
def test_a_class_without_rows_still_has_a_finite_start(kind):
    loss = kind(np.array([0, 0, 1]), None, 3)
    raw = np.repeat(loss.start()[:, np.newaxis], 3, axis=1)
    assert np.isfinite(raw).all()
    assert np.isfinite(loss.derivatives(raw)[0]).all()
    assert np.isfinite(loss.value(raw))


def test_extreme_outputs_keep_the_log_loss_finite():
    loss = LogLoss(np.array([0, 1]), None, 2)
    raw = np.array([[800.0, -800.0]])
    assert np.isfinite(loss.value(raw))
    gradient, hessian = loss.derivatives(raw)
    np.testing.assert_allclose(gradient, [[-1.0, 1.0]])
    np.testing.assert_allclose(hessian, 0.0)


# --- the lambda loss


def pairs_of(loss, scores):
    """Every pair of a query with different grades: better row, worse row, weight of the pair."""
    for first, last in zip(loss.starts[:-1], loss.starts[1:], strict=True):
        rows = np.arange(first, last)
        best = sorted(loss.y[rows], reverse=True)
        ideal = sum((2**grade - 1) / np.log2(rank + 2) for rank, grade in enumerate(best))
        for i in rows:
            for j in rows:
                if loss.y[i] > loss.y[j]:
                    gain = 2 ** loss.y[i] - 2 ** loss.y[j]
                    yield i, j, gain * distance(scores[rows], i - first, j - first) / ideal


def distance(scores, i, j):
    """How far the discounts of two rows are apart; rows of equal score share their ranks."""
    ranks = [[r for r, s in enumerate(-np.sort(-scores)) if s == scores[k]] for k in (i, j)]
    discounts = [[1 / np.log2(rank + 2) for rank in shared] for shared in ranks]
    if scores[i] != scores[j]:
        return abs(np.mean(discounts[0]) - np.mean(discounts[1]))
    return np.mean([abs(a - b) for a, b in permutations(discounts[0], 2)])


def draw_ranking(seed=0, tied=False):
    rng = np.random.default_rng(seed)
    starts = np.array([0, 5, 6, 13, 20, 24])
    grades = rng.integers(0, 4, size=24).astype(float)
    grades[20:] = 0.0  # a query in which nothing is relevant
    scores = np.round(rng.normal(size=24), 1 if tied else 9)
    query = np.repeat(np.arange(5), np.diff(starts))
    return LambdaLoss(grades, None, query), scores


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_lambda_gradients_equal_a_loop_over_the_pairs(seed, tied):
    loss, scores = draw_ranking(seed, tied)
    gradient, hessian = loss.derivatives(scores[np.newaxis])
    expected, curve = np.zeros(24), np.zeros(24)
    for i, j, weight in pairs_of(loss, scores):
        doubt = 1 / (1 + np.exp(scores[i] - scores[j]))
        expected[[i, j]] += [weight * doubt, -weight * doubt]
        curve[[i, j]] += weight * doubt * (1 - doubt)
    np.testing.assert_allclose(gradient[0], expected, atol=1e-12)
    np.testing.assert_allclose(hessian[0], curve, atol=1e-12)


def test_lambda_gradients_are_slopes_of_the_weighted_pair_loss():
    loss, scores = draw_ranking()
    pairs = list(pairs_of(loss, scores))  # a swap counts as it stands now

    def value(s):
        return sum(weight * np.log1p(np.exp(s[j] - s[i])) for i, j, weight in pairs)

    gradient, _ = loss.derivatives(scores[np.newaxis])
    for i in range(24):
        shift = 1e-6 * np.eye(24)[i]
        slope = (value(scores + shift) - value(scores - shift)) / 2e-6
        assert -gradient[0, i] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_lambda_gradients_of_a_query_sum_to_zero(seed):
    loss, scores = draw_ranking(seed)
    gradient, hessian = loss.derivatives(scores[np.newaxis])
    sums = np.add.reduceat(gradient[0], loss.starts[:-1])
    np.testing.assert_allclose(sums, 0.0, atol=1e-12)
    assert np.all(hessian >= 0)


def test_a_pair_in_the_wrong_order_is_pulled_together():
    loss = LambdaLoss(np.array([0.0, 2.0]), None, np.array([0, 0]))
    gradient, _ = loss.derivatives(np.array([[3.0, -3.0]]))
    assert gradient[0, 0] < 0 < gradient[0, 1]


def test_a_query_without_a_relevant_row_is_left_alone():
    loss, scores = draw_ranking()
    gradient, hessian = loss.derivatives(scores[np.newaxis])
    assert not gradient[0, 20:].any()
    assert not hessian[0, 20:].any()


def test_far_apart_scores_overflow_nothing():
    loss = LambdaLoss(np.array([0.0, 2.0, 1.0]), None, np.array([0, 0, 0]))
    for scores in ([1e6, -1e6, 0.0], [-1e6, 1e6, 0.0]):
        gradient, hessian = loss.derivatives(np.array([scores]))
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()


def test_the_value_of_the_lambda_loss_is_what_ndcg_lacks():
    loss, scores = draw_ranking()
    assert loss.value(scores[np.newaxis]) == 1.0 - ndcg(loss.y, scores, loss.query, first=None)
    assert loss.value(loss.y[np.newaxis]) == pytest.approx(0.0)
