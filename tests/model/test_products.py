"""Products of rows and vectors: right, with the same bits alone, in a batch and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.model import products

SUMS = {
    "distances": lambda X, V: products.squared_distances(X, V),
    "dots": lambda X, V: products.dot_products(X, V),
    "sums": lambda X, V: products.weighted_sums(X, V.T, np.arange(float(len(V)))),
}
EXPECTED = {
    "distances": lambda X, V: ((X[:, np.newaxis] - V) ** 2).sum(axis=2),
    "dots": lambda X, V: X @ V.T,
    "sums": lambda X, V: np.arange(float(len(V))) + X @ V.T,
}


# Terms of the sums, (terms, n, m), the first one being where they start.
TERMS = {
    "distances": lambda X, V: [
        0.0 * X @ V.T,
        *np.square(X.T[:, :, np.newaxis] - V.T[:, np.newaxis]),
    ],
    "dots": lambda X, V: [0.0 * X @ V.T, *(X.T[:, :, np.newaxis] * V.T[:, np.newaxis])],
    "sums": lambda X, V: [
        np.tile(np.arange(float(len(V))), (len(X), 1)),
        *(X.T[:, :, np.newaxis] * V.T[:, np.newaxis]),
    ],
}


def draw(rows=30):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, 7)), rng.normal(size=(5, 7))


@pytest.mark.parametrize("name", SUMS)
def test_products_are_those_of_numpy(name):
    X, V = draw()
    np.testing.assert_allclose(SUMS[name](X, V), EXPECTED[name](X, V), rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 4, 5])
@pytest.mark.parametrize("name", SUMS)
def test_a_row_has_the_same_bits_alone_and_in_a_batch(name, rows):
    X, V = draw()
    whole = SUMS[name](X, V)
    for first in range(0, len(X), rows):
        part = SUMS[name](X[first : first + rows], V)
        np.testing.assert_array_equal(part, whole[first : first + rows])


@pytest.mark.parametrize("name", SUMS)
def test_terms_are_added_from_first_to_last(name):
    X, V = draw()
    expected = np.cumsum(TERMS[name](X, V), axis=0)[-1]
    np.testing.assert_array_equal(SUMS[name](X, V), expected)


@pytest.mark.parametrize("name", SUMS)
def test_tables_may_be_in_any_order_and_in_single_precision(name):
    X, V = draw()
    X = X.astype(np.float32).astype(np.float64)
    for other in (np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(SUMS[name](other, V), SUMS[name](X, V))


@pytest.mark.parametrize("name", SUMS)
def test_no_rows_and_no_columns_are_fine(name):
    X, V = draw()
    assert SUMS[name](X[:0], V).shape == (0, 5)
    np.testing.assert_array_equal(
        SUMS[name](X[:, :0], V[:, :0]), EXPECTED[name](X[:, :0], V[:, :0])
    )


def test_tables_are_not_written_to_and_may_be_read_only():
    X, V = draw()
    before = X.copy()
    X.setflags(write=False)
    for product in SUMS.values():
        product(X, V)
    np.testing.assert_array_equal(X, before)
