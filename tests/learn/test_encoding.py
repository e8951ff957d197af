"""The standardizer: two orders of summation, one meaning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.learn import encoding as encoding_module
from thrifty.learn.encoding import (
    encode_blockwise,
    identity_encoding,
    standardize,
    standardize_blockwise,
    standardize_columns,
)

BOTH = pytest.mark.parametrize("fit", [standardize, standardize_blockwise])


@pytest.fixture
def mixed_table():
    """A table with a number, a category of three labels, a constant, and missing values."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(50.0, 9.0, size=300)})
    frame["town"] = rng.choice(["bonn", "trier", "ulm"], size=300)
    frame["same"] = 7.0
    frame.loc[::6, "size"] = np.nan
    frame.loc[::9, "town"] = None
    schema = Schema.of(frame)
    return schema, schema.encode(frame)


@BOTH
def test_numbers_are_standardized_and_categories_become_indicators(fit, mixed_table) -> None:
    schema, X = mixed_table
    encoding = fit(schema, X, None)
    assert encoding.columns.tolist() == [0, 1, 1, 1]
    assert encoding.codes.tolist() == [-1, 0, 1, 2]
    Z = encoding.apply(X)
    known = ~np.isnan(X)
    np.testing.assert_allclose(
        [Z[known[:, 0], 0].mean(), Z[known[:, 0], 0].std()], [0, 1], atol=1e-9
    )
    assert set(np.unique(Z[known[:, 1], 1:])) == {0.0, 1.0}
    assert not Z[~known[:, 0], 0].any()
    np.testing.assert_allclose(Z[~known[:, 1], 1:].sum(axis=1), 1.0)


@BOTH
def test_a_row_of_weight_two_counts_as_two_rows(fit, mixed_table) -> None:
    schema, X = mixed_table
    weight = np.random.default_rng(1).integers(1, 4, size=len(X))
    weighted = fit(schema, X, weight.astype(float))
    repeated = fit(schema, np.repeat(X, weight, axis=0), None)
    for name in ("columns", "codes", "centers", "scales", "fills"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-12)


def test_both_orders_of_summation_agree_up_to_rounding(mixed_table, monkeypatch) -> None:
    schema, X = mixed_table
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X))
    monkeypatch.setattr(encoding_module, "ROWS_PER_BLOCK", 64)
    one, other = standardize(schema, X, weight), standardize_blockwise(schema, X, weight)
    np.testing.assert_allclose(one.apply(X), encode_blockwise(other, X), atol=1e-12)


@BOTH
def test_a_column_without_any_value_is_left_out(fit) -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    assert fit(Schema.of(np.array([[1.0, 2.0], [3.0, 4.0]])), X, None).columns.tolist() == [0]


def test_a_constant_that_is_no_binary_fraction_does_not_vary() -> None:
    X = np.column_stack([np.full(10_000, 0.1), np.arange(10_000.0)])
    schema = Schema.of(X)
    assert standardize(schema, X, None).columns.tolist() == [1]
    assert standardize_blockwise(schema, X, None).columns.tolist() == [1]


def test_a_table_in_which_nothing_varies_is_refused_or_encoded_as_nothing() -> None:
    X = np.ones((5, 2))
    with pytest.raises(DataError, match="no column varies"):
        standardize(Schema.of(X), X, None)
    assert encode_blockwise(standardize_blockwise(Schema.of(X), X, None), X).shape == (5, 0)


def test_the_identity_keeps_numbers_and_fills_in_means() -> None:
    X = np.array([[1.0, 4.0], [3.0, np.nan], [8.0, 6.0]])
    encoding = identity_encoding(X)
    assert encoding.is_plain
    assert encoding.apply(X).tolist() == [[1.0, 4.0], [3.0, 5.0], [8.0, 6.0]]


def test_columns_without_a_schema_are_encoded_by_the_number_of_their_codes(mixed_table) -> None:
    schema, X = mixed_table
    one, other = (
        standardize_blockwise(schema, X, None),
        standardize_columns(X, [None, 3, None], None),
    )
    np.testing.assert_array_equal(other.apply(X), one.apply(X))
