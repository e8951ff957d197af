"""SVMs read from scikit-learn: equal decisions, and clear errors where that is impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, LinearSVC, NuSVC

from thrifty import CompressedSVC
from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.learn.svm.sklearn_svc import check_svc, read_svc, svm_of, train_svm
from thrifty.model.kernel_functions import PolynomialKernel, RBFKernel


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_svm_decides_as_the_svc_it_was_read_from(classes, clusters) -> None:
    X, y = clusters(classes=classes)
    svc = SVC(gamma=0.2, decision_function_shape="ovo").fit(X, y)
    theirs = svc.decision_function(X).reshape(len(X), -1) * (-1 if classes == 2 else 1)
    svm = svm_of(svc, svc.support_vectors_, RBFKernel(0.2))
    np.testing.assert_allclose(svm.decisions(X), theirs, atol=1e-9)
    pair = svm.pair(0)
    np.testing.assert_allclose(pair.decisions(X), theirs[:, :1], atol=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "poly", "degree": 2, "coef0": 0.5}, {"kernel": "linear"}]
)
def test_every_known_kernel_is_read_with_its_parameters(settings, clusters) -> None:
    X, y = clusters(classes=2)
    svc = SVC(**settings).fit(X, y)
    svm = read_svc(svc, Schema.of(X))
    np.testing.assert_allclose(svm.decisions(X)[:, 0], -svc.decision_function(X), atol=1e-9)


def test_an_svc_is_trained_with_the_kernel_that_was_asked_for(clusters) -> None:
    X, y = clusters(classes=2)
    svm = train_svm(X, y, None, "poly", 2.0, "scale")
    assert svm.kernel == PolynomialKernel(3, 1.0 / (4 * X.var()), 1.0) and svm.C == 2.0
    svc = SVC(kernel="poly", coef0=1.0, C=2.0).fit(X, y)
    np.testing.assert_allclose(svm.decisions(X)[:, 0], -svc.decision_function(X), atol=1e-9)
    assert train_svm(X, y, None, "rbf", 1.0, 0.7).kernel == RBFKernel(0.7)


def test_a_frozen_svc_is_unwrapped(clusters) -> None:
    svc = NuSVC(nu=0.2).fit(*clusters())
    assert check_svc(FrozenEstimator(svc)) is svc


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: SVC(), "not fitted"),
        (lambda X, y: SVC(kernel="precomputed").fit(X @ X.T, y), "precomputed"),
        (lambda X, y: SVC(kernel="sigmoid").fit(X, y), "'sigmoid' has no known gradient"),
        (lambda X, y: SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "no known gradient"),
        (lambda X, y: LinearSVC().fit(X, y), "keeps no support vectors"),
        (lambda X, y: "svc.joblib", "a str cannot be compressed"),
        (lambda X, y: SVC().fit(X[:, :3], y), "trained on 3 columns, the table has 4"),
        (lambda X, y: SVC().fit(X, y + 1), r"\[0\] are not classes of the svc \[1, 2, 3\]"),
    ],
)
def test_an_svc_that_cannot_be_compressed_is_refused(make, message, clusters) -> None:
    X, y = clusters()
    with pytest.raises(DataError, match=message):
        CompressedSVC(make(X, y)).fit(X, y)


def test_a_class_without_support_vectors_is_refused(monkeypatch, clusters) -> None:
    X, y = clusters()
    svc = SVC().fit(X, y)
    monkeypatch.setattr(SVC, "n_support_", np.array([9, 0, len(svc.support_) - 9]))
    with pytest.raises(DataError, match="class 1 has no support vectors"):
        CompressedSVC(svc).fit(X, y)


def test_columns_that_the_svc_was_not_trained_on_are_named(clusters) -> None:
    X, y = clusters()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    svc = SVC().fit(frame, y)
    with pytest.raises(DataError, match="column 1 was 'b' .* it is 'e'"):
        CompressedSVC(svc).fit(frame.rename(columns={"b": "e"}), y)
    with pytest.raises(DataError, match="column 'b' holds categories"):
        CompressedSVC(svc).fit(frame.assign(b=np.where(y == 0, "x", "z")), y)
