"""Write a kernel SVM as LibSVM's model file, and the file of ranges that ``svm-scale`` reads.

In LibSVM a vector belongs to a class and takes part only in the pairs of that class, with one
coefficient for each other class. A vector that several pairs share is therefore written once for
each class that it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.model import KernelMachine
from thrifty.model.kernel_functions import PolynomialKernel, RBFKernel
from thrifty.model.pairwise import pair_classes

__all__ = ["libsvm_model", "libsvm_ranges"]

Floats = NDArray[np.float64]


def libsvm_model(model: KernelMachine, classes: NDArray[Any]) -> str:
    """Return the text of the model file; labels that are not whole numbers become 0, 1, ...

    Raises
    ------
    DataError
        If LibSVM does not have the kernel.
    """
    kernel, k = model.kernel, model.n_classes
    if isinstance(kernel, RBFKernel):
        kernel_lines = ["kernel_type rbf", f"gamma {kernel.gamma!r}"]
    elif isinstance(kernel, PolynomialKernel):
        kernel_lines = ["kernel_type polynomial", f"degree {kernel.degree}"]
        kernel_lines += [f"gamma {kernel.gamma!r}", f"coef0 {kernel.coef0!r}"]
    else:
        raise DataError(
            f"kernel: LibSVM has no kernel {kernel.name!r}; save a .thrifty file instead"
        )
    labels = classes if classes.dtype.kind in "iub" else np.arange(k)
    owned = [_class_vectors(model, code) for code in range(k)]
    lines = [
        "svm_type c_svc",
        *kernel_lines,
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
        for vector, own in zip(model.vectors[rows].tolist(), coefficients.tolist(), strict=True):
            values = [f"{j}:{x!r}" for j, x in enumerate(vector, start=1) if x != 0.0]
            lines.append(" ".join([*(repr(a) for a in own), *values]))
    return "\n".join(lines) + "\n"


def libsvm_ranges(model: KernelMachine) -> str:
    """Return the text of the ranges: the values that ``svm-scale`` maps to -1 and 1."""
    encoding = model.encoding
    categorical = encoding.codes >= 0
    centers = np.where(categorical, 0.0, encoding.centers)
    scales = np.where(categorical, 1.0, encoding.scales)
    pairs = zip((centers - scales).tolist(), (centers + scales).tolist(), strict=True)
    ranges = [f"{j} {low!r} {high!r}" for j, (low, high) in enumerate(pairs, start=1)]
    return "\n".join(["x", "-1 1", *ranges]) + "\n"


def _class_vectors(model: KernelMachine, code: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the vectors that LibSVM gives to a class, and their coefficients for other classes.

    With two classes, a coefficient goes where LibSVM expects its sign: a positive one to the first
    class, a negative one to the second. With more, it goes to the first class of its pair.
    """
    first, second = pair_classes(model.n_classes)
    A = np.zeros((len(model.vectors), model.n_classes - 1))
    if model.n_classes == 2:
        side = model.coefficients if code == 0 else -model.coefficients
        A = np.where(side > 0, model.coefficients, 0.0)
    else:
        own = first == code
        A[:, second[own] - 1] = model.coefficients[:, own]
    rows = np.flatnonzero(A.any(axis=1))
    return rows, A[rows]


def _line(name: str, numbers: Floats) -> str:
    return " ".join([name, *(repr(x) for x in numbers.tolist())])
