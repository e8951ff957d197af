"""Splitting rows: every row once, classes in proportion, queries whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.frontier.splits import split_rows, split_three


@given(st.integers(20, 300), st.integers(1, 4), st.integers(0, 5))
def test_every_row_is_in_one_part_and_every_class_is_trained_on(n, k, seed) -> None:
    y = np.arange(n) % k
    parts = split_three("classification", y, None, 0.2, seed)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(n))
    assert set(y[parts["train"]]) == set(y)


def test_classes_keep_their_shares() -> None:
    y = np.repeat(["a", "b"], [900, 100])
    for index in split_three("classification", y, None, 0.2, 0).values():
        assert np.mean(y[index] == "b") == pytest.approx(0.1)


def test_a_class_of_one_row_is_trained_on() -> None:
    y = np.repeat(["a", "b"], [99, 1])
    assert 99 in split_three("classification", y, None, 0.2, 0)["train"]


def test_a_query_stays_whole() -> None:
    qid = np.repeat(np.arange(20), 5)
    parts = split_three("ranking", np.zeros(100), qid, 0.2, 0)
    sets = [set(qid[index]) for index in parts.values()]
    assert sum(map(len, sets)) == 20


def test_the_seed_decides() -> None:
    y = np.arange(50) % 2
    first, again, other = (
        split_three("classification", y, None, 0.2, seed)["test"].tolist() for seed in (0, 0, 1)
    )
    assert first == again != other


def test_too_few_rows_are_refused_with_the_sizes() -> None:
    with pytest.raises(DataError, match=r"too few rows .*validation 1.*give more"):
        split_three("regression", np.zeros(5), None, 0.2, 0)


@pytest.mark.parametrize("share", [0, 0.5, -1])
def test_a_share_leaves_rows_to_train_on(share) -> None:
    with pytest.raises(ValueError, match="share"):
        split_three("regression", np.zeros(50), None, share, 0)


def test_a_validation_set_gets_its_share_of_every_class() -> None:
    y = np.repeat(["a", "b"], [80, 20])
    train, validation = split_rows("classification", y, None, 0.25, np.random.default_rng(0))
    assert len(train) == 75 and len(validation) == 25
    assert np.sum(y[validation] == "b") == 5


def test_too_few_rows_for_a_validation_set_are_refused() -> None:
    with pytest.raises(DataError, match="too few to hold out a validation set"):
        split_rows("classification", np.arange(4), None, 0.2, np.random.default_rng(0))


@pytest.mark.parametrize("share", [0, 1, 2])
def test_a_validation_share_is_between_0_and_1(share) -> None:
    with pytest.raises(ValueError, match="share"):
        split_rows("regression", np.zeros(50), None, share, np.random.default_rng(0))
