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
            add_narrow(X, across, False, out)
        else:
            add_wide(X, across, False, out)


def add_squared_distances(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """out[i, k] += (X[i, j] - across[j, k]) ** 2, feature by feature."""
    with cython.nogil:
        if across.shape[1] < NARROW:
            add_narrow(X, across, True, out)
        else:
            add_wide(X, across, True, out)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def term(x: cython.double, v: cython.double, squared: cython.bint) -> cython.double:
    """What one feature adds; `squared`, for distances, is a constant in the compiled loops."""
    return (x - v) * (x - v) if squared else x * v


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_wide(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    squared: cython.bint,
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the terms of every row with all vectors, four features at a time."""
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(X.shape[0]):
        j = 0
        while j + 4 <= across.shape[0]:
            x0, x1, x2, x3 = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
            for k in range(across.shape[1]):
                out[i, k] = (
                    out[i, k]
                    + term(x0, across[j, k], squared)
                    + term(x1, across[j + 1, k], squared)
                    + term(x2, across[j + 2, k], squared)
                    + term(x3, across[j + 3, k], squared)
                )
            j += 4
        while j < across.shape[0]:
            x0 = X[i, j]
            for k in range(across.shape[1]):
                out[i, k] += term(x0, across[j, k], squared)
            j += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_narrow(
    X: cython.const[cython.double][:, ::1],
    across: cython.const[cython.double][:, ::1],
    squared: cython.bint,
    out: cython.double[:, ::1],
) -> cython.void:
    """Add the terms of every row with few vectors, one after the other, four rows at a time."""
    i: cython.Py_ssize_t
    for k in range(across.shape[1]):
        i = 0
        while i + 4 <= X.shape[0]:
            t0: cython.double = out[i, k]
            t1: cython.double = out[i + 1, k]
            t2: cython.double = out[i + 2, k]
            t3: cython.double = out[i + 3, k]
            for j in range(across.shape[0]):
                v = across[j, k]
                t0 += term(X[i, j], v, squared)
                t1 += term(X[i + 1, j], v, squared)
                t2 += term(X[i + 2, j], v, squared)
                t3 += term(X[i + 3, j], v, squared)
            out[i, k] = t0
            out[i + 1, k] = t1
            out[i + 2, k] = t2
            out[i + 3, k] = t3
            i += 4
        while i < X.shape[0]:
            t0 = out[i, k]
            for j in range(across.shape[0]):
                t0 += term(X[i, j], across[j, k], squared)
            out[i, k] = t0
            i += 1
