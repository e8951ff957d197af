"""Products equal those of NumPy, and a row alone gets the bits that it gets in a batch."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.kernels.products import dot_products, squared_distances, weighted_sums

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 5))
VECTORS = RNG.normal(size=(3, 5))
ACROSS = np.ascontiguousarray(VECTORS.T)

PLAIN = {
    squared_distances: ((X[:, np.newaxis] - VECTORS) ** 2).sum(axis=2),
    dot_products: X @ VECTORS.T,
    weighted_sums: X @ ACROSS,
}


@pytest.mark.parametrize("kernel", PLAIN, ids=lambda kernel: kernel.py_func.__name__)
def test_a_kernel_adds_the_product_to_what_is_there(kernel):
    out = np.full((7, 3), 10.0)
    kernel(X, ACROSS, out)
    np.testing.assert_allclose(out, 10.0 + PLAIN[kernel], rtol=1e-12)


@pytest.mark.parametrize("kernel", PLAIN, ids=lambda kernel: kernel.py_func.__name__)
def test_a_row_alone_gets_the_bits_it_gets_in_a_batch(kernel):
    batch, alone = np.zeros((7, 3)), np.zeros((7, 3))
    kernel(X, ACROSS, batch)
    for row in range(7):
        kernel(X[row : row + 1], ACROSS, alone[row : row + 1])
    np.testing.assert_array_equal(alone, batch)
