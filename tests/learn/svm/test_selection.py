"""Least angle regression: against scikit-learn, against its definition, and on support vectors."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import lars_path_gram

from thrifty.learn.svm import selection
from thrifty.learn.svm.selection import LeastAnglePath, least_angle_order, select_vectors


def test_least_angles_of_one_response_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    _, order, _ = lars_path_gram(
        A.T @ y, A.T @ A, n_samples=60, max_iter=12, method="lar", alpha_min=0
    )
    assert least_angle_order(A.T @ A, (A.T @ y)[:, np.newaxis], 12).tolist() == list(order)


def test_along_least_angles_the_active_are_equally_correlated() -> None:
    rng = np.random.default_rng(1)
    A, Y = rng.normal(size=(50, 15)), rng.normal(size=(50, 3))
    path = LeastAnglePath(A.T @ A, A.T @ Y, 10)
    for _ in range(10):
        assert path.enter()
        # What the least squares of the active leave, and what some combination of them does.
        active = A[:, path.active]
        target = A.T @ (Y - active @ np.linalg.lstsq(active, Y)[0])
        np.testing.assert_allclose(path.target_correlations, target, atol=1e-9)
        path.advance()
        left = path.correlations
        fit = np.linalg.solve(active.T @ active, active.T @ Y - left[path.active])
        np.testing.assert_allclose(left, A.T @ (Y - active @ fit), atol=1e-9)
        lengths = np.linalg.norm(left, axis=1)
        np.testing.assert_allclose(lengths[path.active], lengths[path.active[0]], rtol=1e-8)
        assert lengths[path.available].max() <= lengths[path.active[0]] * (1 + 1e-8)


def test_a_candidate_in_the_span_of_others_never_enters() -> None:
    A = np.random.default_rng(0).normal(size=(30, 3))
    A = np.column_stack([A, A[:, 0] + A[:, 1], A[:, 2]])
    order = least_angle_order(A.T @ A, A.T @ np.arange(30.0)[:, np.newaxis], 5)
    assert len(order) == 3


def test_a_longer_selection_starts_with_a_shorter_one(full_svm) -> None:
    svm, random = full_svm(4), np.random.RandomState(0)
    few, many = (select_vectors(svm, count, random) for count in (3, 9))
    assert len(set(many)) == 9 and np.array_equal(many[:3], few)


def test_of_too_many_support_vectors_a_sample_is_compared(full_svm, monkeypatch) -> None:
    svm = full_svm(3)
    monkeypatch.setattr(selection, "MAX_CANDIDATES", 20)
    order = select_vectors(svm, 50, np.random.RandomState(0))
    assert len(order) <= 20
    assert np.array_equal(order, select_vectors(svm, 50, np.random.RandomState(0)))
    assert set(order) != set(select_vectors(svm, 50, np.random.RandomState(1)))
