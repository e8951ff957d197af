"""Quality at every threshold: the score of the frozen model, and bounds on it."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.gates.quality import QUALITIES, Ndcg
from thrifty.learn.gates.thresholds import Thresholds


def qualities(task, n=60, seed=0, noise=0.3):
    """Return the qualities of a noisy local and a precise expensive model, by threshold."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 3, n).astype(float)
    train = TrainingSet.read(task, X, y, qid=np.arange(n) // 6 if task == "ranking" else None)
    validation = (X, y, np.arange(n) // 6) if task == "ranking" else (X, y)
    rows = ValidationSet.read(validation, train)
    local, expensive = y + rng.normal(size=n), y + noise * rng.normal(size=n)
    thresholds = Thresholds(np.round(rng.normal(size=n), 1), QUALITIES[task].most_thresholds)
    return QUALITIES[task](rows, thresholds, local, expensive)


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_values_are_the_quality_of_each_mixture(task) -> None:
    quality = qualities(task)
    for index, value in enumerate(quality.values):
        mixed = np.where(quality.thresholds.sent(index), quality.expensive, quality.local)
        assert value == pytest.approx(quality.rows.quality(mixed))


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_a_bound_is_below_the_value_and_rises_with_less_confidence(task) -> None:
    quality = qualities(task)
    assert np.all(quality.bounds(0.95) < quality.bounds(0.8))
    assert np.all(quality.bounds(0.8) < quality.values)


def test_bounds_on_r2_hold_about_as_often_as_they_claim() -> None:
    truth = float(np.mean([qualities("regression", 3000, seed).values[-1] for seed in range(3)]))
    bounds = [qualities("regression", 60, seed).bounds(0.9)[-1] for seed in range(60)]
    assert 0.8 < np.mean(np.array(bounds) <= truth) <= 1.0


def test_a_query_alone_makes_nothing_certain() -> None:
    quality = qualities("ranking", n=6)
    assert quality.count == 1 and np.all(np.isneginf(quality.bounds(0.9)))


def test_an_order_is_perfect_where_no_row_is_relevant() -> None:
    X, y = np.zeros((4, 1)), np.zeros(4)
    X[0] = 1.0
    rows = ValidationSet.read((X, y), TrainingSet.read("ranking", X, y))
    quality = Ndcg(rows, Thresholds(np.arange(4.0)), y, y)
    assert quality.values.tolist() == [1.0] * 5
