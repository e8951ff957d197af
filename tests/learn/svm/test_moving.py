"""Moving vectors: gradients, optimal coefficients, and that decisions come closer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty.learn.svm import moving
from thrifty.learn.svm.moving import MatchingObjective, Sample, move_vectors
from thrifty.learn.svm.selection import select_vectors
from thrifty.learn.svm.sklearn_svc import svm_of
from thrifty.model.kernel_functions import PolynomialKernel, RBFKernel

RANDOM = np.random.RandomState(0)


@pytest.fixture(params=["rbf", "polynomial", "cauchy"])
def kernel(request, cauchy):
    known = {"rbf": RBFKernel(0.3), "polynomial": PolynomialKernel(2, 0.5, 1.0), "cauchy": cauchy}
    return known[request.param]


@pytest.mark.parametrize(("classes", "others"), [(2, 0.0), (4, 0.0), (4, 0.1), (4, 1.0)])
def test_the_gradient_of_the_move_equals_finite_differences(
    kernel, classes, others, clusters
) -> None:
    X, y = clusters(90, classes)
    svc = SVC(kernel=kernel).fit(X, y)
    full = svm_of(svc, X[svc.support_], kernel)
    objective = MatchingObjective(full, Sample.of(full), others, distance_weight=1e-3, ridge=1e-6)
    V = full.vectors[:: len(full.vectors) // 3].copy()
    _, gradient = objective.loss(V)
    h = 1e-5
    for place in [(0, 0), (1, 2), (len(V) - 1, 3)]:
        step = np.zeros_like(V)
        step[place] = h
        slope = (objective.loss(V + step)[0] - objective.loss(V - step)[0]) / (2 * h)
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("others", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_coefficients_are_the_best_for_the_vectors(classes, others, full_svm) -> None:
    full = full_svm(classes)
    objective = MatchingObjective(full, Sample.of(full), others, distance_weight=0.0, ridge=1e-12)
    V = full.vectors[:6]
    K = np.column_stack([full.kernel.matrix(full.vectors, V), np.ones(len(full.vectors))])
    found = objective.solve(V)
    for pair, decisions in enumerate(full.decisions(full.vectors).T):
        weight = np.sqrt(np.where(full.labels[:, pair] != 0, 1.0, others))
        expected = np.linalg.lstsq(K * weight[:, np.newaxis], decisions * weight)[0]
        np.testing.assert_allclose(found.coefficients[:, pair], expected[:-1], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.intercepts[pair], expected[-1], rtol=1e-3, atol=1e-4)


def test_other_classes_count_if_there_are_as_many_vectors_as_rows(monkeypatch, full_svm) -> None:
    weights = []

    class Recorded(MatchingObjective):
        def __init__(self, svm, sample, others, *settings):
            weights.append(others)
            super().__init__(svm, sample, others, *settings)

    monkeypatch.setattr(moving, "MatchingObjective", Recorded)
    full = full_svm(4)
    rows = len(full.vectors) // 2  # of the two classes of a pair, on average
    move_vectors(full, full.vectors[: rows // 2], 1, RANDOM)
    move_vectors(full, full.vectors[:rows], 1, RANDOM)
    assert weights == [0.0, 0.0, 1.0, moving.OTHERS_WEIGHT_FINAL]


@pytest.mark.parametrize("smallest", [0.1, 0.0, -0.1])
def test_symmetric_equations_are_solved_whether_definite_or_not(smallest) -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    equations = turn @ np.diag([5.0, 4.0, 3.0, 2.0, 1.0, smallest]) @ turn.T
    right = equations @ np.arange(6.0)
    found = moving._solve_symmetric(equations.copy(), right)
    np.testing.assert_allclose(equations @ found, right, atol=1e-9)


def test_moving_brings_decisions_closer_to_the_full_svm(full_svm) -> None:
    full = full_svm(4)
    start = full.vectors[select_vectors(full, 8, RANDOM)]
    errors = []
    for moves in (0, 5, 50):
        found = move_vectors(full, start, moves, RANDOM)
        sums = full.kernel.matrix(full.vectors, found.vectors) @ found.coefficients
        difference = sums + found.intercepts - full.decisions(full.vectors)
        errors.append(np.square(difference * full.labels).mean())
    assert errors[0] > errors[1] > errors[2]


def test_without_moves_the_vectors_stay(full_svm) -> None:
    full = full_svm(3)
    found = move_vectors(full, full.vectors[:5], 0, RANDOM)
    assert np.array_equal(found.vectors, full.vectors[:5])
    assert found.coefficients.shape == (5, 3) and found.intercepts.shape == (3,)


def test_many_support_vectors_are_compared_in_random_samples(monkeypatch, full_svm) -> None:
    full = full_svm(3)
    start = full.vectors[select_vectors(full, 6, RANDOM)]
    monkeypatch.setattr(moving, "ROWS_PER_SEARCH", 40)
    sizes = [len(part.rows) for part, _ in Sample.of(full).parts(20, np.random.RandomState(0))]
    assert len(sizes) == moving.SEARCHES and max(sizes) <= 43
    found = move_vectors(full, start, 20, np.random.RandomState(0))
    again = move_vectors(full, start, 20, np.random.RandomState(0))
    assert np.array_equal(found.vectors, again.vectors)
    assert not np.array_equal(found.vectors, start)
