"""From scikit-learn's SVC or NuSVC to a `KernelSVM`: read a fitted one, or train one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC, NuSVC

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all
from thrifty.learn.svm.svm_model import KernelSVM
from thrifty.model.kernel_functions import KernelFunction, PolynomialKernel, RBFKernel
from thrifty.model.pairwise import pair_classes

__all__ = ["check_svc", "read_svc", "svm_of", "train_svm"]

Floats = NDArray[np.float64]
# Degree and constant of kernel="poly".
POLYNOMIAL_DEGREE, POLYNOMIAL_COEF0 = 3, 1.0


def check_svc(svc: Any) -> SVC | NuSVC:
    """Unwrap a user's SVC and return it.

    Raises
    ------
    DataError
        If it is no fitted SVC or NuSVC, or its kernel or its support vectors cannot be used.
    """
    while type(svc).__name__ == "FrozenEstimator":
        svc = svc.estimator
    name = type(svc).__name__
    if isinstance(svc, LinearSVC):
        raise DataError("svc: a LinearSVC keeps no support vectors; there is nothing to compress")
    if not isinstance(svc, SVC | NuSVC):
        raise DataError(f"svc: a {name} cannot be compressed; give a fitted SVC or NuSVC")
    if not hasattr(svc, "support_"):
        raise DataError(
            f"svc: this {name} is not fitted; fit it first (clone forgets fits: to keep one, wrap "
            "it in sklearn.frozen.FrozenEstimator)"
        )
    raise_all(DataError, "svc", _problems(svc))
    return svc


def read_svc(svc: Any, schema: Schema) -> KernelSVM:
    """Read an SVC that was trained on the columns of `schema`, without any scaling.

    Raises
    ------
    DataError
        If it was trained on other columns, or a column holds categories.
    """
    vectors = svc.support_vectors_
    if callable(svc.kernel):
        # With a callable kernel scikit-learn keeps the training rows and no vectors.
        vectors = np.asarray(svc._BaseLibSVM__Xfit)[svc.support_]
    if hasattr(vectors, "toarray"):
        vectors = vectors.toarray()
    if vectors.shape[1] != len(schema):
        raise DataError(
            f"svc: it was trained on {vectors.shape[1]} columns, the table has {len(schema)}"
        )
    problems = [
        f"it was trained on numbers, but column {column.name!r} holds categories; let "
        "CompressedSVC train its own (svc=None), which encodes them"
        for column in schema.columns
        if column.categories is not None
    ]
    names = getattr(svc, "feature_names_in_", None)
    known = schema.table_names if names is None or not schema.named else tuple(names.tolist())
    problems += [
        f"column {j} was {theirs!r} when it was trained, in the table it is {ours!r}"
        for j, (theirs, ours) in enumerate(zip(known, schema.table_names, strict=True))
        if theirs not in schema.names
    ]
    raise_all(DataError, "svc", problems)
    vectors = vectors[:, [known.index(name) for name in schema.names]]
    if isinstance(svc.kernel, KernelFunction):
        kernel = svc.kernel
    elif svc.kernel == "rbf":
        kernel = RBFKernel(float(svc._gamma))
    elif svc.kernel == "linear":
        kernel = PolynomialKernel(1)
    else:
        kernel = PolynomialKernel(int(svc.degree), float(svc._gamma), float(svc.coef0))
    return svm_of(svc, np.asarray(vectors, dtype=np.float64), kernel)


def train_svm(
    Z: Floats,
    y: NDArray[np.int64],
    weight: Floats | None,
    kernel: str | KernelFunction,
    C: float,
    gamma: float | str,
) -> KernelSVM:
    """Train an SVC on encoded rows Z (n, q) and class codes y (n,)."""
    if gamma == "scale":
        gamma = 1.0 / (Z.shape[1] * (float(Z.var()) or 1.0))
    settings: dict[str, Any]
    if isinstance(kernel, KernelFunction):
        function, settings = kernel, {"kernel": kernel}
    elif kernel == "rbf":
        # A kernel that scikit-learn knows by name is computed by LibSVM itself, which is faster.
        function = RBFKernel(float(gamma))
        settings = {"kernel": "rbf", "gamma": function.gamma}
    else:
        function = PolynomialKernel(POLYNOMIAL_DEGREE, float(gamma), POLYNOMIAL_COEF0)
        settings = {"kernel": "poly", **function.parameters}
    svc = SVC(C=C, **settings).fit(Z, y, sample_weight=weight)
    raise_all(DataError, "svc", _problems(svc))
    return svm_of(svc, Z[svc.support_], function)


def svm_of(svc: Any, vectors: Floats, kernel: KernelFunction) -> KernelSVM:
    """Rearrange the dual coefficients of a fitted SVC or NuSVC by pairs of classes.

    `vectors` (s, q) are its support vectors and `kernel` is its kernel as a `KernelFunction`.
    """
    k = len(svc.n_support_)
    dual = svc.dual_coef_
    dual = np.asarray(dual.toarray() if hasattr(dual, "toarray") else dual, dtype=np.float64)
    owners = np.repeat(np.arange(k), svc.n_support_).astype(np.int64)
    coefficients = np.zeros((len(owners), k * (k - 1) // 2))
    for pair, (i, j) in enumerate(zip(*pair_classes(k), strict=True)):
        coefficients[owners == i, pair] = dual[j - 1, owners == i]
        coefficients[owners == j, pair] = dual[i, owners == j]
    # scikit-learn flips the sign if there are only two classes.
    sign = -1.0 if k == 2 else 1.0
    intercepts = sign * np.asarray(svc.intercept_, dtype=np.float64)
    # A NuSVC has no C of its own.
    C = float(svc.C) if isinstance(svc, SVC) else 1.0
    return KernelSVM(vectors, owners, sign * coefficients, intercepts, kernel, C, k)


def _problems(svc: Any) -> list[str]:
    """List why a fitted SVC cannot be compressed."""
    problems = []
    kernel = svc.kernel
    if kernel == "precomputed":
        problems.append(
            "its kernel is precomputed, so its vectors are not known; train it with "
            "kernel='rbf', 'poly' or a KernelFunction"
        )
    elif not (isinstance(kernel, KernelFunction) or kernel in ("rbf", "poly", "linear")):
        problems.append(
            f"its kernel {kernel!r} has no known gradient; use 'rbf', 'poly', 'linear' or a "
            "registered thrifty.model.kernel_functions.KernelFunction"
        )
    problems += [
        f"class {label!r} has no support vectors; train it on rows of every class"
        for label, count in zip(svc.classes_.tolist(), svc.n_support_, strict=True)
        if count == 0
    ]
    return problems
