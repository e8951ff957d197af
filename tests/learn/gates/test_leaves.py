"""ADAPT-LSTSQ on leaves: gradients, least squares, and the confidence rule as the start."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.gates.assignment import DISTANCES, KLDistance
from thrifty.learn.gates.thresholds import Thresholds
from thrifty.model import LeafGate


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_are_finite_differences(
    distance, classes, half_hard, problem_of, families, check_gradient
) -> None:
    X, y = half_hard(60, classes)
    rng = np.random.default_rng(0)
    problem = problem_of(X, y, rng.uniform(0.5, 2.0, len(y)))
    q = rng.uniform(0.05, 0.9, len(y))
    trainer = families["leaves"].trainer(
        problem, 0.0, DISTANCES[distance], np.random.RandomState(0)
    )
    values = trainer.leaf_values + rng.normal(size=len(trainer.leaf_values))
    gradient = trainer.local_objective(values, q)[1]
    check_gradient(lambda flat: trainer.local_objective(flat, q)[0], values, gradient)
    weights = rng.normal(size=len(trainer.leaves) + 2)
    gradient = trainer.gate_objective(weights, q)[1]
    check_gradient(lambda flat: trainer.gate_objective(flat, q)[0], weights, gradient)


def test_the_least_squares_gate_is_the_best_one(half_hard, problem_of, families) -> None:
    X, y = half_hard(200)
    trainer = families["leaves"].trainer(
        problem_of(X, y), 0.0, DISTANCES["symmetric"], np.random.RandomState(0)
    )
    q = np.random.default_rng(0).uniform(0.05, 0.9, len(y))
    weights = trainer.fit_gate(q, trainer.confidence_gate)
    np.testing.assert_allclose(trainer.gate_objective(weights, q)[1], 0.0, atol=1e-6)


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
def test_fits_are_never_worse_than_their_start(distance, half_hard, problem_of, families) -> None:
    X, y = half_hard(200)
    trainer = families["leaves"].trainer(
        problem_of(X, y), 0.0, DISTANCES[distance], np.random.RandomState(0)
    )
    q = np.random.default_rng(0).uniform(0.05, 0.9, len(y))
    values = trainer.fit_leaf_values(q, trainer.leaf_values)
    assert (
        trainer.local_objective(values, q)[0] < trainer.local_objective(trainer.leaf_values, q)[0]
    )
    weights = trainer.fit_gate(q, trainer.confidence_gate)
    before = trainer.gate_objective(trainer.confidence_gate, q)[0]
    assert trainer.gate_objective(weights, q)[0] < before


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gate_starts_as_minus_the_margin(classes, half_hard, problem_of, families) -> None:
    X, y = half_hard(200, classes)
    (pair,) = families["leaves"].initial_pairs(
        problem_of(X, y), 0.0, KLDistance(), np.random.RandomState(0)
    )
    gate, local = pair.freeze()
    assert isinstance(gate, LeafGate) and gate.same_trees(local)
    raw = np.sort(local.raw(X), axis=1)
    margin = np.abs(raw[:, 0]) if classes == 2 else raw[:, -1] - raw[:, -2]
    np.testing.assert_allclose(pair.gate_values, -margin, atol=1e-12)
    np.testing.assert_allclose(gate.score(X), -margin, atol=1e-9)


def test_an_update_changes_leaf_values_but_not_trees(half_hard, problem_of, families) -> None:
    X, y = half_hard(200)
    (pair,) = families["leaves"].initial_pairs(
        problem_of(X, y), 0.0, KLDistance(), np.random.RandomState(0)
    )
    q = np.where(np.abs(X[:, 0]) < 0.5, 0.9, 0.05)
    updated = pair.update(q)
    (_, before), (gate, after) = pair.freeze(), updated.freeze()
    np.testing.assert_array_equal(before.nodes, after.nodes)
    assert not np.array_equal(before.values, after.values)
    np.testing.assert_allclose(gate.score(X), updated.gate_values, atol=1e-9)
    assert gate.score(X)[q > 0.5].mean() > gate.score(X)[q < 0.5].mean()


def test_the_greedy_start_is_a_logistic_regression_of_the_errors(
    half_hard, problem_of, families
) -> None:
    X, y = half_hard(300)
    problem = problem_of(X, y)
    trainer = families["leaves"].trainer(
        problem, 0.0, DISTANCES["symmetric"], np.random.RandomState(0)
    )
    pair = trainer.initial_pair("greedy")
    wrong = pair.freeze()[1].score(X).argmax(axis=1) != y
    gate = pair.gate_values
    assert gate[wrong].mean() > gate[~wrong].mean() + 0.5
    # At the optimum of the unpenalized constant, the mean log-odds are those of the errors.
    assert np.mean(1 / (1 + np.exp(-gate))) == pytest.approx(wrong.mean(), abs=1e-3)
    np.testing.assert_array_equal(pair.values, trainer.leaf_values)


def test_ridge_and_start_are_those_of_the_largest_area_out_of_fold(
    half_hard, problem_of, families, monkeypatch
) -> None:
    X, y = half_hard(400)
    problem, family = problem_of(X, y), families["leaves"]
    monkeypatch.setattr("thrifty.learn.gates.leaves.RIDGES", (0.5, 50.0))
    areas = []
    area = Thresholds.area
    monkeypatch.setattr(Thresholds, "area", lambda *a: areas.append(area(*a)) or areas[-1])
    arguments = (problem, 0.0, DISTANCES["symmetric"], 0.3, 2)
    tuned = family.tuned(*arguments, np.random.RandomState(0))
    by_candidate = np.reshape(areas, (2, 4)).sum(axis=0)  # two folds, two starts, two ridges
    candidates = [("confidence", 0.5), ("confidence", 50.0), ("greedy", 0.5), ("greedy", 50.0)]
    assert (tuned.start, tuned.ridge) == candidates[int(np.argmax(by_candidate))]
    assert tuned.tuned(*arguments, np.random.RandomState(0)) is tuned
    small = problem.take(np.arange(100))
    assert family.tuned(small, *arguments[1:], np.random.RandomState(0)) is family
