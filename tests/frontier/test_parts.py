"""Dividing rows: every row once, classes in proportion, queries whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.frontier.splits import divide, take


@given(st.integers(20, 300), st.integers(1, 4), st.integers(0, 5))
def test_every_row_is_in_one_part_and_every_class_is_learnt_from(n, k, seed) -> None:
    y = np.arange(n) % k
    parts = divide(y, None, 0.2, seed)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(n))
    assert set(y[parts["train"]]) == set(y)


def test_classes_keep_their_shares() -> None:
    y = np.repeat(["a", "b"], [900, 100])
    for index in divide(y, None, 0.2, 0).values():
        assert np.mean(y[index] == "b") == pytest.approx(0.1)


def test_a_class_of_one_row_is_learnt_from() -> None:
    y = np.repeat(["a", "b"], [99, 1])
    assert 99 in divide(y, None, 0.2, 0)["train"]


def test_a_query_stays_whole() -> None:
    qid = np.repeat(np.arange(20), 5)
    parts = divide(np.zeros(100), qid, 0.2, 0)
    sets = [set(qid[index]) for index in parts.values()]
    assert sum(map(len, sets)) == 20


def test_the_seed_decides() -> None:
    y = np.arange(50) % 2
    first, again, other = (divide(y, None, 0.2, seed)["test"].tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_too_few_rows_are_refused_with_the_sizes() -> None:
    with pytest.raises(DataError, match=r"too few rows .*1 to validation.*give more"):
        divide(np.zeros(5), None, 0.2, 0)


@pytest.mark.parametrize("share", [0, 0.5, -1])
def test_a_share_leaves_rows_to_learn_from(share) -> None:
    with pytest.raises(ValueError, match="share"):
        divide(np.zeros(50), None, share, 0)


def test_a_row_comes_as_plain_values_by_name() -> None:
    X = pd.DataFrame({"n": [1, 2], "t": ["a", None], "c": pd.Categorical(["u", "v"])}, index=[7, 9])
    rows = take(np.array([1, 0]), X, np.array([0, 1]), None)
    row = rows.row(0)
    assert row["n"] == 2 and type(row["n"]) is int
    assert row["t"] is None or row["t"] != row["t"]
    assert row["c"] == "v"


def test_a_row_of_an_array_comes_by_position() -> None:
    rows = take(np.array([1]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), None)
    assert rows.row(0) == {0: 3.0, 1: 4.0}
