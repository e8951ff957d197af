"""Tables of every type are read alike; what is not a table is refused with a remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty.bundle.tables import Table, stack, unmask
from thrifty.errors import DataError


def refusal(table) -> str:
    with pytest.raises(DataError) as caught:
        Table.read(table)
    return str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        {"age": [63, 41], "sex": ["m", None]},
        pd.DataFrame({"age": [63, 41], "sex": ["m", None]}),
        pl.DataFrame({"age": [63, 41], "sex": ["m", None]}),
    ],
    ids=["mapping", "pandas", "polars"],
)
def test_a_frame_has_names_rows_and_columns(table):
    read = Table.read(table)
    assert (read.names, read.rows, len(read.columns)) == (("age", "sex"), 2, 2)
    assert read.block is None


def test_an_array_of_numbers_is_kept_whole():
    X = np.arange(6).reshape(3, 2)
    read = Table.read(X)
    assert read.names is None and read.block is X
    assert [column.tolist() for column in read.columns] == [[0, 2, 4], [1, 3, 5]]
    assert Table.read(X.astype(object)).block is None


def test_numbers_in_a_mixed_list_stay_numbers():
    assert Table.read([[1, "b"], [2.5, "a"]]).columns[0].tolist() == [1, 2.5]


def test_columns_numbered_from_zero_are_nameless():
    assert Table.read(pd.DataFrame([[1, 2]])).names is None
    assert Table.read({0: [1], 1: [2]}).names is None


def test_masked_values_become_missing():
    masked = np.ma.array([1, 2], mask=[False, True])
    np.testing.assert_array_equal(unmask(masked), [1.0, np.nan])
    plain = np.array([1, 2])
    assert unmask(plain) is plain


def test_stacked_columns_stand_side_by_side():
    n = 3000  # more than one block of rows
    columns = [np.arange(n), np.arange(n) % 2 == 0]
    X = stack(columns, n)
    assert X.flags.c_contiguous and X.dtype == np.float64
    np.testing.assert_array_equal(X, np.column_stack(columns))


# --- what is refused ---------------------------------------------------------

REFUSED = [
    ("Reshape your data", np.arange(3.0)),
    ("3-D data", np.zeros((1, 1, 1))),
    ("0-D data", "age"),
    ("table: there are no rows", np.zeros((0, 2))),
    ("0 feature(s) (shape=(3, 0)) while a minimum of 1 is required.", np.zeros((3, 0))),
    ("0 feature(s) (shape=(2, 0))", pd.DataFrame(index=[0, 1])),
    ("Complex data not supported", np.eye(2) * 1j),
    ("equal length", [[1, 2], [3]]),
    ("differ in length: [1, 2]", {"a": [1], "b": [1, 2]}),
    ("more than one column is named 'a'", pd.DataFrame([[1, 2]], columns=["a", "a"])),
    ("3 is neither", pd.DataFrame([[1, 2]], columns=["a", 3])),
    ("5 is neither", {5: [1], 6: [2]}),
    ("'age', 'sex' is a single value", {"age": 63, "sex": "m"}),
    ("'age' is a single value", {"age": np.array(63)}),
    ("call .collect() first", pl.LazyFrame({"a": [1]})),
    ("cannot read a Table", pl.DataFrame({"a": [1]}).to_arrow()),
]


@pytest.mark.parametrize("message, table", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_a_table_is_refused(message, table):
    assert message in refusal(table)


def test_sparse_tables_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    assert "X.toarray()" in refusal(sparse.eye(2))
