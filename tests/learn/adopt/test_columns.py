"""Columns of models that were trained elsewhere: how many, which, and of what kind."""

from __future__ import annotations

import pytest

from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.learn.adopt.columns import find_columns

NUMBERS = Schema.of({"a": [1.0, 2.0], "b": [3.0, 4.0]})
MIXED = Schema.of({"a": [1.0, 2.0], "b": ["x", "y"]})


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_the_same_columns_are_accepted(names) -> None:
    find_columns("forest", 2, names, NUMBERS, numeric=True)
    find_columns("forest", 2, names, MIXED, numeric=False)


@pytest.mark.parametrize(
    ("n_features", "names", "table", "words"),
    [
        (3, None, NUMBERS, "forest: trained on 3 columns, the table has 2"),
        (2, ["a", "c"], NUMBERS, "column 1 was 'c', in the table it is 'b'"),
        (2, None, MIXED, "trained on numbers, but column 'b' holds categories"),
    ],
)
def test_other_columns_are_refused(n_features, names, table, words) -> None:
    with pytest.raises(DataError, match=words):
        find_columns("forest", n_features, names, table, numeric=True)


def test_columns_go_by_name_or_by_their_position_in_the_training_table() -> None:
    table = Schema.of({"b": [1.0], "c": [2.0], "a": [3.0]}).sort()
    assert find_columns("forest", 3, ["c", "b", "a"], table, numeric=True).tolist() == [2, 1, 0]
    assert find_columns("forest", 3, None, table, numeric=True).tolist() == [1, 2, 0]
