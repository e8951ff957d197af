"""Mixtures: temperatures and weights with the least loss on unseen rows, pulled to equal ones."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.ladder import mixture as mixture_module
from thrifty.learn.ladder.mixture import mix_parts
from thrifty.learn.ladder.parts import Part
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.links import apply_temperature

N = 3000


def stump(feature, below, above, link="mean", n_features=2):
    """A tree with one split at 0, which predicts `below` or `above`."""
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    width = len(below)
    values = np.array([np.zeros(width), below, above])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(width), link, n_features)


def part_of(model, X):
    """A part whose model has not seen any row."""
    return Part(model, model.score(X), None)


def make_noisy(seed=0):
    """Column 0 is right for 80 % of the rows, column 1 tells nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    return X, (X[:, 0] > 0) == (rng.random(N) < 0.8)


def test_a_part_that_is_too_sure_is_cooled_and_one_that_is_not_sure_enough_is_heated(read_rows):
    X, y = make_noisy()
    rows = read_rows("classification", X, y)
    too_sure = stump(0, [0.99, 0.01], [0.01, 0.99])
    unsure = stump(0, [0.55, 0.45], [0.45, 0.55])
    model, scores = mix_parts(
        [part_of(too_sure, X), part_of(unsure, X)], rows, np.array([0]), np.array([0.5, 0.5])
    )
    assert model.factors[0] < 0.5 and model.factors[1] > 2
    # Either of them then says what is true.
    for part, factor in zip(model.parts, model.factors, strict=True):
        assert apply_temperature(part.score(X), factor).max() == pytest.approx(0.8, abs=0.03)
    assert scores.max() == pytest.approx(0.8, abs=0.03)


def test_a_part_that_tells_nothing_gets_little_weight_but_some(read_rows):
    X, y = make_noisy()
    rows = read_rows("classification", X, y)
    good, useless = stump(0, [0.8, 0.2], [0.2, 0.8]), stump(1, [0.8, 0.2], [0.2, 0.8])
    model, _ = mix_parts(
        [part_of(useless, X), part_of(good, X)], rows, np.arange(2), np.array([0.5, 0.5])
    )
    assert model.weights.sum() == pytest.approx(1.0)
    # Half of the pull of 200 rows against 3000 goes to the useless one.
    assert model.weights[0] == pytest.approx(100 / 3200, abs=0.005)


def test_few_rows_lead_to_nearly_equal_weights(read_rows, monkeypatch):
    X, y = make_noisy()
    parts = [
        part_of(stump(1, [0.8, 0.2], [0.2, 0.8]), X[:30]),
        part_of(stump(0, [0.8, 0.2], [0.2, 0.8]), X[:30]),
    ]
    rows = read_rows("classification", X[:30], y[:30])
    model, _ = mix_parts(parts, rows, np.arange(2), np.array([0.5, 0.5]))
    assert 0.44 < model.weights[0] < 0.5 < model.weights[1] < 0.56
    monkeypatch.setitem(mixture_module.PULL_ROWS, "classification", 0.003)
    model, _ = mix_parts(parts, rows, np.arange(2), np.array([0.5, 0.5]))
    assert model.weights[0] < 0.25


@pytest.mark.parametrize("task", ["classification", "regression", "ranking"])
def test_the_scores_are_those_of_the_average(task, read_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    more = {"qid": np.arange(90) // 10} if task == "ranking" else {}
    rows = read_rows(task, X, y, **more)
    if task == "classification":
        forests = [stump(j, [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]) for j in range(2)]
    else:
        forests = [stump(j, [-1.0], [2.0], "sum") for j in range(2)]
    prior = np.full(3, 1 / 3) if task == "classification" else np.ones(1)
    model, scores = mix_parts([part_of(f, X) for f in forests], rows, np.arange(2), prior)
    np.testing.assert_array_equal(scores, model.score(X))
    np.testing.assert_array_equal(model.prior, prior)


def test_all_features_of_the_rung_are_bought_whatever_the_parts_read(read_rows):
    X, y = make_noisy()
    rows = read_rows("classification", X, y)
    model, _ = mix_parts(
        [part_of(stump(0, [0.8, 0.2], [0.2, 0.8]), X)], rows, np.arange(2), np.array([0.5, 0.5])
    )
    assert model.support.tolist() == [True, True]
    assert model.weights.tolist() == [1.0]


def test_values_are_averaged_by_least_squares_without_temperatures(read_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    rows = read_rows("regression", X, y)
    twice, opposite = stump(0, [-2.0], [2.0], "sum"), stump(0, [2.0], [-2.0], "sum")
    # 3/4 of the first and 1/4 of the second predict y; on a grid of tenths, 0.7 or 0.8.
    model, scores = mix_parts([part_of(twice, X), part_of(opposite, X)], rows, ALL, np.zeros(1))
    assert model.factors.tolist() == [1.0, 1.0]
    pull = mixture_module.PULL_ROWS["regression"]
    unpulled = (model.weights[0] * (N + pull) - pull / 2) / N
    assert min(abs(unpulled - 0.7), abs(unpulled - 0.8)) < 1e-9
    assert np.abs(scores - y).max() < 0.4


def test_a_ranking_is_averaged_by_the_order_alone(read_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y, qid = (X[:, 0] > 0).astype(int), np.arange(600) // 10
    rows = read_rows("ranking", X, y, qid=qid)
    # The first part ranks well by numbers that are far from the grades.
    far, wrong = stump(0, [-70.0], [90.0], "sum"), stump(0, [1.0], [0.0], "sum")
    _, scores = mix_parts([part_of(wrong, X), part_of(far, X)], rows, ALL, np.zeros(1))
    assert scores[y == 1].min() > scores[y == 0].max()


def test_sample_weights_count(read_rows):
    X, y = make_noisy()
    # The useless column is right about the heavy rows.
    heavy = (X[:, 1] > 0) == y
    parts = [part_of(stump(j, [0.8, 0.2], [0.2, 0.8]), X) for j in range(2)]
    plain, weighted = (
        mix_parts(
            parts, read_rows("classification", X, y, sample_weight=weight), ALL, np.full(2, 0.5)
        )[0].weights[1]
        for weight in (np.ones(N), np.where(heavy, 20.0, 1.0))
    )
    assert weighted > plain + 0.3


ALL = np.arange(2)
