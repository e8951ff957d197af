"""Raw columns become encoded columns: numbers shifted and scaled, and indicators of categories."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.model.encoding import MAX_ABS, NUMERIC, Encoding

# Column 2 as a number, then two categories of column 0.
MIXED = Encoding(
    columns=np.array([2, 0, 0]),
    codes=np.array([NUMERIC, 0, 3]),
    centers=np.array([10.0, 0.0, 0.0]),
    scales=np.array([4.0, 1.0, 1.0]),
    fills=np.array([0.0, 0.25, 0.75]),
)


def identity(d):
    """Return the encoding of d numbers that changes nothing."""
    zeros = np.zeros(d)
    return Encoding(np.arange(d), np.full(d, NUMERIC), zeros, np.ones(d), zeros)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_scaled_and_categories_become_indicators(dtype):
    X = np.array([[0.0, 5.0, 18.0], [3.0, 5.0, 10.0], [1.0, 5.0, 8.0]], dtype=dtype)
    expected = [[2.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-0.5, 0.0, 0.0]]
    encoded = MIXED.apply(X)
    assert encoded.dtype == np.float64
    assert encoded.tolist() == expected


def test_a_missing_value_becomes_the_fill_of_each_encoded_column():
    X = np.array([[np.nan, 5.0, np.nan]])
    assert MIXED.apply(X).tolist() == [[0.0, 0.25, 0.75]]


def test_huge_numbers_are_clipped():
    X = np.array([[1e300, -np.inf]])
    assert identity(2).apply(X).tolist() == [[MAX_ABS, -MAX_ABS]]


def test_the_table_is_not_written_to():
    X = np.array([[np.nan, 1e300]])
    identity(2).apply(X)
    np.testing.assert_array_equal(X, [[np.nan, 1e300]])


def test_keep_selects_encoded_columns():
    X = np.array([[3.0, 5.0, 18.0]])
    kept = MIXED.keep(np.array([True, False, True]))
    assert kept.columns.tolist() == [2, 0]
    assert kept.apply(X).tolist() == [[2.0, 1.0]]


def test_plain_means_that_nothing_is_shifted_scaled_or_categorical():
    assert identity(3).is_plain
    assert not MIXED.is_plain
    assert not MIXED.keep(np.array([True, False, False])).is_plain
