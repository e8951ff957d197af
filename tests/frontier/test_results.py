"""Results on the test set: intervals, the constant, and differences paired over the rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thrifty.frontier.results import constant_outputs, difference_interval
from thrifty.learn.dataset import TrainingSet

RNG = np.random.default_rng(0)


def test_a_paired_interval_is_narrower_than_one_of_independent_rows() -> None:
    hits = (RNG.random(200) < 0.8).astype(float)
    other = hits.copy()
    other[:6] = 1 - other[:6]  # the two models agree but on six rows
    low, high = difference_interval(hits, other)
    independent = 1.96 * math.sqrt(2 * 0.8 * 0.2 / 200)
    assert (high - low) / 2 < 0.4 * independent
    assert low <= hits.mean() - other.mean() <= high


def test_models_that_agree_everywhere_have_an_interval_with_some_width() -> None:
    low, high = difference_interval(np.ones(100), np.ones(100))
    assert low == -high and 0.01 < high < 0.03


def test_the_interval_of_hits_is_that_of_agresti_and_min() -> None:
    ours = np.array([1.0] * 8 + [0.0] * 3 + [1.0] * 39)
    theirs = np.array([0.0] * 8 + [1.0] * 3 + [1.0] * 39)
    middle, n = (8.5 - 3.5) / 52, 52
    error = math.sqrt((8.5 + 3.5) / n - middle**2) / math.sqrt(n)
    low, high = difference_interval(ours, theirs)
    assert (low, high) == pytest.approx((middle - 1.96 * error, middle + 1.96 * error), abs=1e-4)


@pytest.mark.parametrize("kind", ["hits", "values"])
def test_the_interval_covers_the_difference_as_often_as_it_says(kind) -> None:
    covered, draws = 0, 400
    for _ in range(draws):
        base = RNG.random(120)
        if kind == "hits":
            ours, theirs = (base < 0.8).astype(float), (base + 0.1 * RNG.normal(size=120) < 0.7)
            theirs, true = theirs.astype(float), None
        else:
            ours, theirs, true = base, base + RNG.normal(0.1, 0.5, 120), -0.1
        low, high = difference_interval(ours, theirs)
        covered += low <= (0.1 if true is None else true) <= high
    assert covered / draws >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / draws)


def test_rows_of_one_cluster_are_one_observation() -> None:
    gains = np.repeat(RNG.normal(size=20), 10)
    clusters = np.repeat(np.arange(20), 10)
    alone, together = (difference_interval(gains, np.zeros(200), c) for c in (None, clusters))
    assert together[1] - together[0] > 2.5 * (alone[1] - alone[0])


def test_one_observation_tells_nothing() -> None:
    assert difference_interval(np.array([0.5]), np.array([0.2])) == (-math.inf, math.inf)


def test_the_constant_predicts_class_shares_or_the_mean_for_nothing() -> None:
    X = RNG.normal(size=(4, 1))
    labels = TrainingSet.read("classification", X, ["a", "b", "b", "b"])
    outputs = constant_outputs(labels, 2)
    assert outputs.scores.tolist() == [[0.25, 0.75], [0.25, 0.75]]
    assert outputs.bills.tolist() == [0.0, 0.0]
    values = TrainingSet.read("regression", X, [1.0, 2.0, 3.0, 6.0], sample_weight=[1, 1, 1, 3])
    assert constant_outputs(values, 3).scores.tolist() == [4.0, 4.0, 4.0]
