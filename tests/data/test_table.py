"""A table holds a data set and checks that its parts have the same length."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from thrifty.costs import Prices
from thrifty.data import Table
from thrifty.errors import DataError


def small(**parts: object) -> Table:
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    return Table(**{"name": "small", "X": X, "y": np.array([0, 1]), "prices": Prices()} | parts)


def test_a_table_shows_its_name_and_size() -> None:
    assert repr(small()) == "Table(small: 2 rows, 2 features)"


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().name = "other"  # type: ignore[misc]


def test_what_is_not_given_is_none() -> None:
    table = small()
    assert table.qid is None
    assert table.split is None
    assert table.note == ""


def test_all_parts_of_wrong_length_are_reported_at_once() -> None:
    with pytest.raises(DataError) as caught:
        small(y=np.zeros(3), split=np.array(["train"]))
    assert "y has 3 entries, X has 2 rows" in str(caught.value)
    assert "split has 1 entries, X has 2 rows" in str(caught.value)
