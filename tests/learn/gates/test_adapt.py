"""Training gate and local model together: the starts, the share, and the units."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GatedClassifier, GatedRegressor, LinearFamily
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.base import Knob
from thrifty.learn.gates.losses import ValueLoss
from thrifty.learn.gates.problem import GateProblem


def test_every_start_gives_a_pair_and_the_best_comes_first(half_hard, problem_of) -> None:
    X, y = half_hard(150)
    problem, knob = problem_of(X, y), Knob(0.5, 0.01)
    gate = GatedClassifier(family=LinearFamily(starts=4), alternations=2)
    pairs = list(gate._train_pairs(problem, [knob], np.random.RandomState(0)))
    assert len(pairs) == 4

    def errors_and_bills(pair):
        values = pair.gate.score(X)
        sent = values > np.sort(values)[len(y) // 2]
        scores = np.where(sent[:, np.newaxis], problem.expensive_scores, pair.local.score(X))
        bills = (pair.gate.used(X) | pair.local.used(X)).sum(axis=1)
        return problem.mean(problem.errors(scores) + 0.01 * np.where(sent, 4.0, bills))

    assert errors_and_bills(pairs[0]) <= min(map(errors_and_bills, pairs)) + 0.02


def test_a_share_of_0_needs_one_start(half_hard, problem_of) -> None:
    X, y = half_hard(100)
    gate = GatedClassifier(family=LinearFamily(starts=4), alternations=2)
    pairs = gate._train_pairs(problem_of(X, y), [Knob(0.0, 0.0)], np.random.RandomState(0))
    assert len(list(pairs)) == 1


@pytest.mark.parametrize("family", ["boosted", "linear", "leaves"])
def test_local_models_are_in_the_unit_of_the_target(family, families) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = 1000.0 + 50.0 * X[:, 0] + rng.normal(size=120)
    train = TrainingSet.read("regression", X, y)
    problem = GateProblem.of(train, y + 20.0 * rng.normal(size=120), ValueLoss())
    gate = GatedRegressor(family=families[family], alternations=2)
    (pair, *_) = gate._train_pairs(problem, [Knob(0.3, 0.0)], np.random.RandomState(0))
    assert np.corrcoef(pair.local.score(X), y)[0, 1] > 0.8
    assert np.mean(pair.local.score(X)) == pytest.approx(1000.0, abs=30.0)
