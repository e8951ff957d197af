"""The machine to be compressed: support vectors, one decision for each pair of classes.

Where the machine comes from: an SVC that is fitted already, or one that is trained here.

Few vectors in place of many, and what finding them starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC, NuSVC

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all
from thrifty.model.encoding import NUMERIC, Encoding
from thrifty.model.kernel_functions import KernelFunction, PolynomialKernel, RBFKernel
from thrifty.model.pairwise import pair_classes

__all__ = [
    "Job",
    "Machine",
    "Reduced",
    "given_svc",
    "machine_of",
    "plain_slots",
    "read_svc",
    "standard_slots",
    "train_machine",
    "whole",
]

Floats = NDArray[np.float64]
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Machine:
    """A trained support vector machine in the words of `SupportSet`.

    `owners` are the class numbers of the vectors; `coefficients` (s, pairs) are 0 where a vector
    is of neither class of a pair; `C` is the weight of the loss.
    """

    vectors: Floats
    owners: NDArray[np.int64]
    coefficients: Floats
    intercepts: Floats
    kernel: KernelFunction
    C: float
    n_classes: int

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First and second class of each pair."""
        return pair_classes(self.n_classes)

    def values(self, Z: Floats) -> Floats:
        """Decision of each pair, (n, pairs); BLAS, so equal to scikit-learn's to rounding."""
        found = np.empty((len(Z), len(self.intercepts)))
        for i in range(0, len(Z), ROWS_PER_BLOCK):
            block = slice(i, i + ROWS_PER_BLOCK)
            found[block] = self.kernel.matrix(Z[block], self.vectors) @ self.coefficients
        return found + self.intercepts

    @property
    def labels(self) -> Floats:
        """1 for the vectors of the first class of each pair, -1 of the second, else 0: (s, P)."""
        first, second = self.pairs
        owners = self.owners[:, np.newaxis]
        return np.asarray((owners == first) * 1.0 - (owners == second))

    def pair(self, number: int) -> Machine:
        """The machine of one pair of classes."""
        first, second = (int(side[number]) for side in self.pairs)
        own = (self.owners == first) | (self.owners == second)
        return Machine(
            self.vectors[own],
            (self.owners[own] == second).astype(np.int64),
            self.coefficients[own, number : number + 1],
            self.intercepts[number : number + 1],
            self.kernel,
            self.C,
            2,
        )


def machine_of(svc: Any, vectors: Floats, kernel: KernelFunction) -> Machine:
    """The machine of a fitted SVC or NuSVC with these support vectors."""
    dual = _dense(svc.dual_coef_)
    owners = np.repeat(np.arange(len(svc.n_support_)), svc.n_support_).astype(np.int64)
    k = len(svc.n_support_)
    # scikit-learn turns the sign where there are two classes only.
    sign = -1.0 if k == 2 else 1.0
    coefficients = np.zeros((len(owners), k * (k - 1) // 2))
    for p, (i, j) in enumerate(zip(*pair_classes(k), strict=True)):
        coefficients[owners == i, p] = dual[j - 1, owners == i]
        coefficients[owners == j, p] = dual[i, owners == j]
    intercepts = sign * np.asarray(svc.intercept_, dtype=np.float64)
    # A NuSVC has no C of its own.
    C = float(svc.C) if isinstance(svc, SVC) else 1.0
    return Machine(vectors, owners, sign * coefficients, intercepts, kernel, C, k)


def _dense(array: Any) -> Floats:
    return np.asarray(array.toarray() if hasattr(array, "toarray") else array, dtype=np.float64)


POLYNOMIAL_DEGREE = 3


def given_svc(svc: Any) -> Any:
    """The SVC that was handed over, once it is known to be fit for compression."""
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
    raise_all(DataError, "svc", _faults(svc))
    return svc


def read_svc(svc: Any, schema: Schema) -> Machine:
    """The machine of an SVC that was trained on the columns of `schema` as they stand."""
    vectors = svc.support_vectors_
    if callable(svc.kernel):
        # With a callable kernel scikit-learn keeps the rows and no vectors.
        vectors = np.asarray(svc._BaseLibSVM__Xfit)[svc.support_]
    if hasattr(vectors, "toarray"):
        vectors = vectors.toarray()
    names = getattr(svc, "feature_names_in_", None)
    raise_all(DataError, "svc", _misfits(vectors.shape[1], names, schema))
    return machine_of(svc, np.asarray(vectors, dtype=np.float64), _kernel_of(svc))


def train_machine(
    Z: Floats,
    codes: NDArray[np.int64],
    weight: Floats | None,
    kernel: str | KernelFunction,
    C: float,
    gamma: float | str,
) -> Machine:
    """Train an SVC on encoded rows."""
    found = _own_kernel(kernel, gamma, Z)
    named = {"kernel": found} if isinstance(kernel, KernelFunction) else _named(found)
    svc = SVC(C=C, **named).fit(Z, codes, sample_weight=weight)
    raise_all(DataError, "svc", _faults(svc))
    return machine_of(svc, Z[svc.support_], found)


def plain_slots(X: NDArray[np.floating]) -> Encoding:
    """Numbers as they stand, as an SVC that came from elsewhere has seen them."""
    d = X.shape[1]
    return Encoding(
        np.arange(d),
        np.full(d, NUMERIC),
        np.zeros(d),
        np.ones(d),
        np.nanmean(X, axis=0, dtype=float),
    )


def standard_slots(schema: Schema, X: NDArray[np.floating], weight: Floats | None) -> Encoding:
    """Numbers standardized, a slot for each category; what never varies is left out."""
    slots = []
    for j, column in enumerate(schema.columns):
        present = ~np.isnan(X[:, j])
        if not present.any():  # its values were those of rows without weight
            continue
        x = X[present, j].astype(np.float64)
        w = None if weight is None else weight[present]
        if column.categories is None:
            slots.append((j, NUMERIC, *_standard(x, w)))
            continue
        for code in range(len(column.categories)):
            share = float(np.average(x == code, weights=w))
            slots.append((j, code, 0.0, float(0 < share < 1), share))
    slots = [slot for slot in slots if slot[3] > 0]
    if not slots:
        raise DataError("table: no column varies; there is nothing to tell the classes apart by")
    columns, codes, centers, scales, fills = zip(*slots, strict=True)
    return Encoding(
        np.array(columns, np.int64), np.array(codes, np.int64), np.array(centers),
        np.array(scales), np.array(fills),
    )  # fmt: skip


def _standard(x: Floats, weight: Floats | None) -> tuple[float, float, float]:
    """Center, scale (0 for what never varies) and fill of a column of numbers."""
    center = float(np.average(x, weights=weight))
    scale = float(np.sqrt(np.average(np.square(x - center), weights=weight)))
    return center, scale if np.ptp(x) > 0 else 0.0, 0.0


def _own_kernel(kernel: str | KernelFunction, gamma: float | str, Z: Floats) -> KernelFunction:
    if isinstance(kernel, KernelFunction):
        return kernel
    if gamma == "scale":
        gamma = 1.0 / (Z.shape[1] * (float(Z.var()) or 1.0))
    if kernel == "rbf":
        return RBFKernel(float(gamma))
    return PolynomialKernel(POLYNOMIAL_DEGREE, float(gamma), 1.0)


def _named(kernel: KernelFunction) -> dict[str, Any]:
    """Settings of an SVC that computes the kernel itself, which is faster."""
    if isinstance(kernel, RBFKernel):
        return {"kernel": "rbf", "gamma": kernel.gamma}
    return {"kernel": "poly", **kernel.parameters}


def _kernel_of(svc: Any) -> KernelFunction:
    """The kernel of a fitted SVC."""
    if isinstance(svc.kernel, KernelFunction):
        return svc.kernel
    if svc.kernel == "rbf":
        return RBFKernel(float(svc._gamma))
    if svc.kernel == "linear":
        return PolynomialKernel(1)
    return PolynomialKernel(int(svc.degree), float(svc._gamma), float(svc.coef0))


def _faults(svc: Any) -> list[str]:
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


def _misfits(width: int, names: Any, schema: Schema) -> list[str]:
    if width != len(schema):
        return [f"it was trained on {width} columns, the table has {len(schema)}"]
    problems = [
        f"it was trained on numbers, but column {column.name!r} holds categories; let "
        "CompressedSVC train its own (svc=None), which encodes them"
        for column in schema.columns
        if column.categories is not None
    ]
    if names is not None and schema.named:
        problems += [
            f"column {j} was {theirs!r} when it was trained, in the table it is {ours!r}"
            for j, (theirs, ours) in enumerate(zip(names, schema.names, strict=True))
            if theirs != ours
        ]
    return problems


@dataclass(frozen=True, eq=False)
class Job:
    """A machine to be compressed, with the rows and class numbers it was trained on."""

    machine: Machine
    Z: Floats
    codes: NDArray[np.int64]

    def pairs(self) -> list[Job]:
        """A job for each pair of classes."""
        return [
            self._pair(number, int(first), int(second))
            for number, (first, second) in enumerate(zip(*self.machine.pairs, strict=True))
        ]

    def _pair(self, number: int, first: int, second: int) -> Job:
        own = (self.codes == first) | (self.codes == second)
        codes = (self.codes[own] == second).astype(np.int64)
        return Job(self.machine.pair(number), self.Z[own], codes)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Vectors (m, q), what each adds to the decision of each pair (m, P), and where those start."""

    vectors: Floats
    coefficients: Floats
    intercepts: Floats

    @classmethod
    def side_by_side(cls, pairs: Sequence[Reduced]) -> Self:
        """One set for all pairs of what was found for each: a vector speaks in one pair only."""
        sizes = [len(pair.vectors) for pair in pairs]
        coefficients = np.zeros((sum(sizes), len(pairs)))
        row = 0
        for number, (pair, size) in enumerate(zip(pairs, sizes, strict=True)):
            coefficients[row : row + size, number] = pair.coefficients[:, 0]
            row += size
        return cls(
            np.vstack([pair.vectors for pair in pairs]),
            coefficients,
            np.concatenate([pair.intercepts for pair in pairs]),
        )


def whole(machine: Machine) -> Reduced:
    """The machine as it is."""
    return Reduced(machine.vectors, machine.coefficients, machine.intercepts)
