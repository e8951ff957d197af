"""Tables, full SVMs and a custom kernel for the tests of SVM compression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty.learn.svm.sklearn_svc import svm_of
from thrifty.learn.svm.svm_model import KernelSVM
from thrifty.model.kernel_functions import KERNELS, KernelFunction, RBFKernel, register_kernel
from thrifty.model.products import squared_distances


def draw_clusters(n=240, classes=3, seed=0):
    """Clusters on a circle, one for each class, and two columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    angle = 2 * np.pi * y / classes
    X = rng.normal(size=(n, 4))
    X[:, :2] += 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X, y


def train_full_svm(classes=3, gamma=0.2, **settings):
    """An RBF SVM of the clusters."""
    X, y = draw_clusters(classes=classes)
    svc = SVC(gamma=gamma, **settings).fit(X, y)
    return svm_of(svc, svc.support_vectors_, RBFKernel(gamma))


@dataclass(frozen=True)
class Cauchy(KernelFunction):
    width: float
    name = "cauchy"

    def value(self, X, V):
        return 1.0 / (1.0 + squared_distances(X, V) / self.width**2)

    def gradient(self, X, V, weights):
        pull = weights * 2.0 * self.value(X, V) ** 2 / self.width**2
        return pull.T @ X - pull.sum(axis=0)[:, None] * V


@pytest.fixture
def clusters() -> Callable[..., tuple[Any, Any]]:
    """Draws a table and its labels: ``clusters(n, classes, seed)``."""
    return draw_clusters


@pytest.fixture
def full_svm() -> Callable[..., KernelSVM]:
    """Trains an SVM: ``full_svm(classes, gamma, **settings of SVC)``."""
    return train_full_svm


@pytest.fixture
def cauchy() -> KernelFunction:
    """A custom kernel that is not registered."""
    return Cauchy(1.5)


@pytest.fixture
def registered_cauchy() -> Iterator[KernelFunction]:
    """A custom kernel that model files may name."""
    yield register_kernel(Cauchy)(2.0)
    del KERNELS["cauchy"]
