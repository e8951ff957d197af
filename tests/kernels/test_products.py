"""Products equal those of NumPy, and a row alone gets the bits that it gets in a batch."""

from __future__ import annotations

import numpy as np
import pytest
from uncompiled import agree

from thrifty.kernels import products

PLAIN = {
    "add_products": lambda X, across: X @ across,
    "add_squared_distances": lambda X, across: ((X[:, np.newaxis] - across.T) ** 2).sum(axis=2),
}
# Rows, features and vectors: fewer and more than the kernels take at a time, and none.
SHAPES = [(1, 1, 1), (7, 5, 3), (4, 8, 2), (3, 6, 4), (2, 3, 9), (0, 4, 5), (3, 0, 5), (3, 4, 0)]


def draw(shape):
    """Return rows X and vectors, which are the columns of the second array."""
    n, q, m = shape
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, q)), rng.normal(size=(q, m))


def run(module, name, shape):
    """Return what a kernel makes of an array of tens."""
    X, across = draw(shape)
    out = np.full((len(X), across.shape[1]), 10.0)
    getattr(module, name)(X, across, out)
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLAIN)
def test_a_kernel_adds_the_product_to_what_is_there(name, shape):
    expected = 10.0 + PLAIN[name](*draw(shape))
    np.testing.assert_allclose(run(products, name, shape), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLAIN)
def test_the_kernels_are_the_same_compiled_and_uncompiled(name, shape):
    agree("products", lambda module: run(module, name, shape))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLAIN)
def test_a_row_alone_gets_the_bits_it_gets_in_a_batch(name, shape):
    X, across = draw(shape)
    batch, alone = np.zeros((2, len(X), across.shape[1]))
    kernel = getattr(products, name)
    kernel(X, across, batch)
    for row in range(len(X)):
        kernel(X[row : row + 1], across, alone[row : row + 1])
    np.testing.assert_array_equal(alone, batch)


@pytest.mark.parametrize("name", PLAIN)
def test_sums_run_in_the_order_of_the_features(name):
    # Added from last to first, the small numbers would survive.
    X, across = np.array([[1e8, 1.0, 1.0, 1.0, 1.0, 1.0]]), np.zeros((6, 5))
    across[0], across[1:] = 1e8 if name == "add_products" else 0.0, 1.0
    across[1:] *= 1.0 if name == "add_products" else 0.0
    out = np.zeros((1, 5))
    getattr(products, name)(X, across, out)
    assert (out == 1e16).all()


def test_rows_and_vectors_may_be_read_only():
    X, across = draw((7, 5, 6))
    X.setflags(write=False)
    across.setflags(write=False)
    for name in PLAIN:
        getattr(products, name)(X, across, np.zeros((7, 6)))
