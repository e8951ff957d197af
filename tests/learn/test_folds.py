"""Folds: classes are spread evenly, equal rows stay together, weights count as rows."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.folds import assign_folds, merge_duplicates, sample_half, split_by_hash
from thrifty.model.row_hash import hash_rows


def test_every_class_is_spread_evenly_over_the_folds():
    target = np.repeat([0, 1, 2], [50, 31, 4])
    fold = assign_folds(target, 5, np.random.RandomState(0))
    for value in range(3):
        counts = np.bincount(fold[target == value], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_numbers_of_every_size_are_in_every_fold():
    target = np.random.default_rng(0).permutation(100.0 + np.arange(90))
    fold = assign_folds(target, 3, np.random.RandomState(0))
    for k in range(3):
        ranks = np.sort(target[fold == k]) - 100.0
        np.testing.assert_array_equal(ranks // 3, np.arange(30))


def test_folds_take_one_permutation_from_the_random_state():
    random, twin = np.random.RandomState(0), np.random.RandomState(0)
    assign_folds(np.zeros(20), 4, random)
    twin.permutation(20)
    assert random.randint(1 << 30) == twin.randint(1 << 30)


def test_equal_rows_stay_together_and_classes_are_split_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(400, 1)).astype(float)
    X[:5] = np.nan
    codes = (X[:, 0] > 20).astype(np.int64)
    order, starts = split_by_hash(X, codes, None, seed=3)
    parts = np.split(order, starts)
    seen = [set(np.nan_to_num(X[part, 0], nan=-1.0)) for part in parts]
    assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])
    for code in (0, 1):
        share = np.mean(codes[parts[0]] == code) / np.mean(codes == code)
        assert 0.7 < share < 1.3


def test_a_row_of_weight_two_is_split_as_two_rows_are():
    X = np.random.default_rng(0).normal(size=(50, 2))
    codes = np.arange(50) % 3
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    order, starts = split_by_hash(X, codes, weight, seed=0)
    again, ends = split_by_hash(np.r_[X, X[:20]], np.r_[codes, codes[:20]], None, seed=0)
    for part, twin in zip(np.split(order, starts), np.split(again, ends), strict=True):
        assert set(part) == {row if row < 50 else row - 50 for row in twin}


def test_halves_differ_from_draw_to_draw_and_equal_rows_stay_together():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    row_hash = hash_rows(np.r_[X, X], seed=0)
    first, second = sample_half(row_hash, 0), sample_half(row_hash, 1)
    np.testing.assert_array_equal(first[:2000], first[2000:])
    for share in (first.mean(), second.mean(), np.mean(first != second)):
        assert share == pytest.approx(0.5, abs=0.05)


def test_duplicates_are_merged_if_their_classes_agree():
    X = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan], [2.0, 0.0]])
    merged, codes, weight = merge_duplicates(X, np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 4, 8]))
    assert len(merged) == 3
    assert sorted(zip(merged[:, 0].tolist(), codes.tolist(), weight.tolist(), strict=True)) == [
        (1.0, 0, 3.0), (1.0, 1, 4.0), (2.0, 1, 8.0),
    ]  # fmt: skip


def test_merged_rows_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    X, codes = rng.integers(0, 3, size=(60, 2)).astype(float), rng.integers(0, 2, size=60)
    order = rng.permutation(60)
    for one, other in zip(
        merge_duplicates(X, codes, None), merge_duplicates(X[order], codes[order], None),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)
