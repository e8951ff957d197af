"""ADAPT-LIN: gradients, the proximal step, and the solver."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty import GatedClassifier, LinearFamily, Prices
from thrifty.data import four_clusters
from thrifty.learn.gates.assignment import DISTANCES, KLDistance
from thrifty.learn.gates.linear import (
    LinearTrainer,
    PricedNorm,
    SmoothObjective,
    minimize_proximal,
)


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_are_finite_differences(
    distance, classes, half_hard, problem_of, check_gradient
) -> None:
    X, y = half_hard(60, classes)
    rng = np.random.default_rng(0)
    problem = problem_of(X, y, rng.uniform(0.5, 2.0, len(y)))
    q = rng.uniform(0.05, 0.9, len(y))
    trainer = LinearTrainer.of(LinearFamily(ridge=0.1), problem, 0.01, DISTANCES[distance])
    start = trainer.constant_pair()
    coef, intercept = rng.normal(size=start.coef.shape), rng.normal(size=start.intercept.shape)
    objective = SmoothObjective(trainer, q)

    def value(coef, intercept):
        return objective.value(coef, trainer.outputs(coef, intercept))

    by_coef, by_intercept = objective.gradient(coef, trainer.outputs(coef, intercept))
    check_gradient(
        lambda flat: value(flat.reshape(coef.shape), intercept), coef.ravel(), by_coef.ravel()
    )
    check_gradient(lambda flat: value(coef, flat), intercept, by_intercept)


def test_the_proximal_step_pays_for_columns_and_groups() -> None:
    prices = Prices([1.0, 0.0, 2.0], groups={"g": [0, 2]}, shared={"g": 1.5}).bind(3)
    norm = PricedNorm.of(np.array([0, 0, 1, 2]), prices, penalty=0.5)
    coef = np.random.default_rng(0).normal(size=(4, 2))
    by_hand = 0.5 * (
        np.linalg.norm(coef[:2])
        + 2.0 * np.linalg.norm(coef[3])
        + 1.5 * np.linalg.norm(coef[[0, 1, 3]])
    )
    assert norm.value(coef) == pytest.approx(by_hand)
    shrunk = norm.prox(coef, 0.3)

    def value(other):
        return 0.5 * np.square(other - coef).sum() + 0.3 * norm.value(other)

    rng = np.random.default_rng(1)
    for scale in (1e-3, 1e-1):
        for _ in range(50):
            assert value(shrunk) <= value(shrunk + scale * rng.normal(size=coef.shape)) + 1e-12
    np.testing.assert_array_equal(shrunk[2], coef[2])  # free


def test_the_solver_is_stationary_and_never_ends_above_its_start(half_hard, problem_of) -> None:
    X, y = half_hard(200)
    problem = problem_of(X, y)
    trainer = LinearTrainer.of(LinearFamily(), problem, 0.02, KLDistance())
    q = np.random.default_rng(0).uniform(0.05, 0.9, len(y))
    objective, start = SmoothObjective(trainer, q), trainer.constant_pair()

    def total(coef, intercept):
        raw = trainer.outputs(coef, intercept)
        return objective.value(coef, raw) + trainer.norm.value(coef)

    coef, intercept = minimize_proximal(objective, trainer.norm, start.coef, start.intercept)
    reached = total(coef, intercept)
    assert reached < total(start.coef, start.intercept)
    rng = np.random.default_rng(1)
    for _ in range(50):
        nearby = coef + 1e-2 * rng.normal(size=coef.shape)
        assert reached <= total(nearby, intercept) + 1e-6


def test_a_high_price_leaves_a_constant_model(half_hard, problem_of) -> None:
    X, y = half_hard(100)
    problem = problem_of(X, y)
    first, unpriced, *_ = LinearFamily(starts=3).initial_pairs(
        problem, 10.0, KLDistance(), np.random.RandomState(0)
    )
    gate, local = first.freeze()
    assert not gate.support.any() and not local.support.any()
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(local.score(X), np.tile(shares, (len(y), 1)), atol=1e-3)
    assert unpriced.freeze()[1].support.all()


def test_a_frozen_pair_has_the_outputs_of_the_training_pair(half_hard, problem_of) -> None:
    X, y = half_hard(100, classes=3)
    problem = problem_of(X, y)
    *_, drawn = LinearFamily(starts=3).initial_pairs(
        problem, 0.001, KLDistance(), np.random.RandomState(0)
    )
    gate, local = drawn.freeze()
    np.testing.assert_allclose(gate.score(X), drawn.gate_values, atol=1e-9)
    own = np.take_along_axis(local.score(X), y[:, np.newaxis], axis=1)[:, 0]
    np.testing.assert_allclose(-np.log(own), drawn.local_loss, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_the_cheapest_system_without_error_is_found_on_synthetic_2(seed) -> None:
    """Nan 2018, A.2.2, with its sizes of the clusters: 11/7, from the default starts."""
    clusters = four_clusters(random_state=seed)
    gated = GatedClassifier(
        SVC(gamma=1.0, C=10.0), share=4 / 7, penalty=0.03, family="linear", random_state=seed
    ).fit(clusters.X, clusters.y)
    assert gated.score(clusters.X, clusters.y) == 1.0
    assert gated.bill(clusters.X).mean() == pytest.approx(11 / 7)


def test_a_start_that_reads_some_columns_never_reads_another(half_hard, problem_of) -> None:
    X, y = half_hard(100)
    family = LinearFamily(starts=7)
    pairs = family.initial_pairs(problem_of(X, y), 0.001, KLDistance(), np.random.RandomState(0))
    assert len(pairs) == 7
    for pair in pairs[3::2]:
        reads = pair.coef.any(axis=1)
        assert reads.sum() <= 1
        q = np.random.default_rng(0).uniform(0.1, 0.9, len(y))
        assert not pair.update(q).coef[~reads].any()
