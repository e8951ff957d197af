"""What a column is made of is found for every kind of transformer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from thrifty.bundle.columns import read_column
from thrifty.bundle.tables import Table
from thrifty.errors import DataError
from thrifty.learn.lineage import find_sources, rebuild

RNG = np.random.default_rng(3)
N = 300
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, size=N),
        "chol": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "town": RNG.choice(["ulm", "bonn", "kiel"], size=N),
    }
)
FRAME.loc[7, "town"] = "rare"
NUMBERS = FRAME[["age", "chol"]].fillna(0.0)


def sources_of(step, table, y=None):
    step.fit(table, y)

    def transform(table):
        out = step.transform(table)
        out = out.toarray() if hasattr(out, "toarray") else out
        return [read_column(column)[0] for column in Table.read(out).columns]

    return find_sources(transform, table).astype(int).tolist()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (StandardScaler(), [[1, 0], [0, 1]]),
        (PCA(2), [[1, 1], [1, 1]]),
        (PolynomialFeatures(2), [[0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1]]),
        (FunctionTransformer(lambda X: X[["chol"]] * 2), [[0, 1]]),
        (KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
         [[1, 0]] * 3 + [[0, 1]] * 3),
    ],
    ids=["scaled", "pca", "polynomial", "function", "bins"],
)  # fmt: skip
def test_columns_of_numbers_are_traced(step, expected):
    assert sources_of(step, NUMBERS) == expected


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_category_that_one_row_has_is_traced(kind):
    step = make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["age"]))
    expected = [[0, 0, 1]] * 4 + [[1, 0, 0]]
    assert sources_of(step, kind(dict(FRAME))) == expected


def test_a_column_that_only_says_what_is_missing_is_traced():
    step = SimpleImputer(add_indicator=True)
    assert sources_of(step, FRAME[["age", "chol"]]) == [[1, 0], [0, 1], [0, 1]]
    full = SimpleImputer(add_indicator=True).fit(FRAME[["age", "chol"]])
    # In these rows nothing is missing, but it may be in others.
    found = find_sources(lambda table: list(full.transform(table).T), NUMBERS)
    assert found.astype(int).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_constant_column_is_traced():
    table = NUMBERS.assign(chol=1.0)
    assert sources_of(StandardScaler(), table) == [[1, 0], [0, 1]]


def test_arrays_are_traced():
    assert sources_of(StandardScaler(), NUMBERS.to_numpy()) == [[1, 0], [0, 1]]
    words = np.array([["a", "x"], ["b", "y"]] * 5, dtype=object)
    assert sources_of(OneHotEncoder(), words) == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_a_column_without_any_value_is_traced():
    def transform(table):
        return [np.isnan(table[:, 0]), table[:, 1]]

    table = np.column_stack([np.full(9, np.nan), np.arange(9.0)])
    assert find_sources(transform, table).astype(int).tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_a_transform_that_looks_at_other_rows_is_refused(kind):
    def transform(table):
        ranks = table[:, 0].argsort().argsort()
        return [ranks if kind == "numbers" else ranks.astype(str).astype(object)]

    with pytest.raises(DataError, match="transforms a row differently if other rows are with it"):
        find_sources(transform, NUMBERS.to_numpy())


def test_a_transform_that_fails_says_why():
    def transform(table):
        if np.any(table[:, 1] != 2 * table[:, 0]):
            raise ValueError("not twice the first")
        return [table[:, 0]]

    x = np.arange(9.0)
    with pytest.raises(ValueError, match="not twice the first"):
        find_sources(transform, np.column_stack([x, 2 * x]))


def test_a_table_is_rebuilt_with_its_names_and_types():
    columns = [FRAME["age"].iloc[[3, 1]], FRAME["chol"].iloc[[0, 0]], np.array(["x", "y"])]
    table = rebuild(FRAME, columns)
    assert list(table.columns) == list(FRAME.columns) and table.index.tolist() == [0, 1]
    assert table["age"].tolist() == FRAME["age"].iloc[[3, 1]].tolist()
