"""Both forms of a Gram matrix plus a diagonal agree with the matrix itself."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.baselines.ridged_gram import RidgedGram


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)], ids=["tall", "wide"])
@pytest.mark.parametrize("columns", [None, [2, 0], [3, 1, 0, 2]], ids=str)
def test_products_and_systems_are_those_of_the_matrix(shape, columns):
    rng = np.random.default_rng(0)
    A, ridges, b = rng.normal(size=shape), rng.uniform(0.1, 2.0, shape[1]), rng.normal(size=9)
    matrix, gram, b = A.T @ A + np.diag(ridges), RidgedGram(A, ridges), b[: shape[1]]
    np.testing.assert_allclose(gram @ b, matrix @ b)
    largest = np.linalg.eigvalsh(matrix)[-1]
    assert largest * (1 - 1e-12) <= gram.largest_eigenvalue() <= largest + ridges.max()
    some = np.arange(shape[1]) if columns is None else np.array(columns)
    found = gram.solve(b[some], None if columns is None else some)
    np.testing.assert_allclose(matrix[np.ix_(some, some)] @ found, b[some])
