"""Products of rows with vectors, summed in a fixed order.

BLAS adds in an order that depends on the number of rows, so a row alone could get another result
than the same row in a batch. Here sums over features run in the order of the features. The inner
loop runs over the vectors, which are the columns of `across`, so that the compiler can vectorize
it, and takes four features at a time, so that it reads and writes a sum once for all four. With
fewer vectors than `NARROW` it would be mostly overhead: four rows are summed side by side instead.
"""

from __future__ import annotations

import cython

__all__ = ["add_products", "add_squared_distances"]

NARROW = cython.declare(cython.Py_ssize_t, 4)


def add_products(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """out[i, k] += X[i, j] * across[j, k], feature by feature."""
    with cython.nogil:
        if across.shape[1] < NARROW:
            for k in range(across.shape[1]):
                multiply_narrow(X, across, k, out)
        else:
            multiply_wide(X, across, out)


def add_squared_distances(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """out[i, k] += (X[i, j] - across[j, k]) ** 2, feature by feature."""
    with cython.nogil:
        if across.shape[1] < NARROW:
            for k in range(across.shape[1]):
                measure_narrow(X, across, k, out)
        else:
            measure_wide(X, across, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def multiply_wide(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the products of every row, four features at a time."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(X.shape[0]):
        j = 0
        while j + 4 <= across.shape[0]:
            x0, x1, x2, x3 = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
            for k in range(across.shape[1]):
                out[i, k] = (
                    out[i, k]
                    + x0 * across[j, k]
                    + x1 * across[j + 1, k]
                    + x2 * across[j + 2, k]
                    + x3 * across[j + 3, k]
                )
            j += 4
        while j < across.shape[0]:
            x0 = X[i, j]
            for k in range(across.shape[1]):
                out[i, k] += x0 * across[j, k]
            j += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def multiply_narrow(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    k: cython.Py_ssize_t,
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the products of every row with one vector, four rows at a time."""
    i: cython.Py_ssize_t = 0
    while i + 4 <= X.shape[0]:
        t0: cython.double = out[i, k]
        t1: cython.double = out[i + 1, k]
        t2: cython.double = out[i + 2, k]
        t3: cython.double = out[i + 3, k]
        for j in range(across.shape[0]):
            v = across[j, k]
            t0 += X[i, j] * v
            t1 += X[i + 1, j] * v
            t2 += X[i + 2, j] * v
            t3 += X[i + 3, j] * v
        out[i, k] = t0
        out[i + 1, k] = t1
        out[i + 2, k] = t2
        out[i + 3, k] = t3
        i += 4
    while i < X.shape[0]:
        t0 = out[i, k]
        for j in range(across.shape[0]):
            t0 += X[i, j] * across[j, k]
        out[i, k] = t0
        i += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_wide(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the squared distances of every row, four features at a time."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(X.shape[0]):
        j = 0
        while j + 4 <= across.shape[0]:
            x0, x1, x2, x3 = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
            for k in range(across.shape[1]):
                out[i, k] = (
                    out[i, k]
                    + square(x0 - across[j, k])
                    + square(x1 - across[j + 1, k])
                    + square(x2 - across[j + 2, k])
                    + square(x3 - across[j + 3, k])
                )
            j += 4
        while j < across.shape[0]:
            x0 = X[i, j]
            for k in range(across.shape[1]):
                out[i, k] += square(x0 - across[j, k])
            j += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_narrow(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    k: cython.Py_ssize_t,
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the squared distances of every row to one vector, four rows at a time."""
    i: cython.Py_ssize_t = 0
    while i + 4 <= X.shape[0]:
        t0: cython.double = out[i, k]
        t1: cython.double = out[i + 1, k]
        t2: cython.double = out[i + 2, k]
        t3: cython.double = out[i + 3, k]
        for j in range(across.shape[0]):
            v = across[j, k]
            t0 += square(X[i, j] - v)
            t1 += square(X[i + 1, j] - v)
            t2 += square(X[i + 2, j] - v)
            t3 += square(X[i + 3, j] - v)
        out[i, k] = t0
        out[i + 1, k] = t1
        out[i + 2, k] = t2
        out[i + 3, k] = t3
        i += 4
    while i < X.shape[0]:
        t0 = out[i, k]
        for j in range(across.shape[0]):
            t0 += square(X[i, j] - across[j, k])
        out[i, k] = t0
        i += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def square(x: cython.double) -> cython.double:
    """x times x."""
    return x * x
