"""A kernel machine as LibSVM's model file, and the file of ranges that its svm-scale reads.

In LibSVM a vector belongs to a class and speaks only in the pairs of that class, with one
coefficient for each other class. A vector that several pairs share is written once for each class
that it must speak for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.model import SupportSet
from thrifty.model.kernel_functions import KernelFunction, PolynomialKernel, RBFKernel
from thrifty.model.pairwise import pair_classes

__all__ = ["libsvm_model", "libsvm_ranges"]

Floats = NDArray[np.float64]


def libsvm_model(model: SupportSet, classes: NDArray[Any]) -> str:
    """Text of the model file."""
    k = model.n_classes
    owned = [_owned(model, owner) for owner in range(k)]
    labels = classes if classes.dtype.kind in "iub" else np.arange(k)
    lines = [
        "svm_type c_svc",
        *_kernel_lines(model.kernel),
        f"nr_class {k}",
        f"total_sv {sum(len(rows) for rows, _ in owned)}",
        _line("rho", -model.intercepts),
        f"label {' '.join(str(int(label)) for label in labels)}",
        _line("probA", -model.slopes),
        _line("probB", np.zeros(len(model.slopes))),
        f"nr_sv {' '.join(str(len(rows)) for rows, _ in owned)}",
        "SV",
    ]
    for rows, coefficients in owned:
        lines += _vectors(model.vectors[rows], coefficients)
    return "\n".join(lines) + "\n"


def libsvm_ranges(model: SupportSet) -> str:
    """Text of the ranges: center and scale of each input as what -1 and 1 stand for."""
    slots = model.encoding
    label = slots.codes >= 0
    centers = np.where(label, 0.0, slots.centers)
    scales = np.where(label, 1.0, slots.scales)
    pairs = zip((centers - scales).tolist(), (centers + scales).tolist(), strict=True)
    ranges = [f"{j} {low!r} {high!r}" for j, (low, high) in enumerate(pairs, start=1)]
    return "\n".join(["x", "-1 1", *ranges]) + "\n"


def _owned(model: SupportSet, owner: int) -> tuple[NDArray[np.intp], Floats]:
    """Vectors that speak for a class, and their coefficients for each other class.

    A coefficient of a pair is written where it is like one of LibSVM's: positive with the first
    class, negative with the second. With more than two classes it is written with the first.
    """
    first, second = pair_classes(model.n_classes)
    A = np.zeros((len(model.vectors), model.n_classes - 1))
    if model.n_classes == 2:
        side = model.coefficients if owner == 0 else -model.coefficients
        A = np.where(side > 0, model.coefficients, 0.0)
    else:
        own = first == owner
        A[:, second[own] - 1] = model.coefficients[:, own]
    rows = np.flatnonzero(A.any(axis=1))
    return rows, A[rows]


def _kernel_lines(kernel: KernelFunction) -> list[str]:
    if isinstance(kernel, RBFKernel):
        return ["kernel_type rbf", f"gamma {kernel.gamma!r}"]
    if isinstance(kernel, PolynomialKernel):
        return [
            "kernel_type polynomial",
            f"degree {kernel.degree}",
            f"gamma {kernel.gamma!r}",
            f"coef0 {kernel.coef0!r}",
        ]
    raise DataError(f"kernel: LibSVM has no kernel {kernel.name!r}; save a .thrifty file instead")


def _vectors(vectors: Floats, coefficients: Floats) -> Iterator[str]:
    for vector, row in zip(vectors.tolist(), coefficients.tolist(), strict=True):
        values = [f"{j}:{x!r}" for j, x in enumerate(vector, start=1) if x != 0.0]
        yield " ".join([*(repr(a) for a in row), *values])


def _line(name: str, numbers: Floats) -> str:
    return " ".join([name, *(repr(x) for x in numbers.tolist())])
