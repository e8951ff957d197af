"""The questions of small trees: thresholds, categories, missing values."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.shallow_tree import Splits


def test_many_values_are_divided_at_quantiles():
    X = np.column_stack([np.arange(1000.0), np.zeros(1000)])
    splits = Splits.of(X, np.array([False, False]))
    assert splits.feature.tolist() == [0] * 8  # a constant column has nothing to ask
    shares = splits.answers(X).mean(axis=0)
    assert shares == pytest.approx(np.arange(1, 9) / 9, abs=0.01)


def test_categories_are_asked_one_by_one_the_common_ones_first():
    codes = np.repeat(np.arange(12.0), np.arange(12, 0, -1))[:, np.newaxis]
    splits = Splits.of(codes, np.array([True]))
    assert splits.threshold.tolist() == list(range(8))
    assert (splits.answers(codes).sum(axis=0) == np.arange(12, 4, -1)).all()


def test_a_missing_value_answers_yes_or_no():
    X = np.array([[1.0], [2.0], [np.nan]])
    splits = Splits.of(X, np.array([False]))
    answers = {tuple(column) for column in splits.answers(X).T.tolist()}
    assert answers == {(True, False, False), (True, False, True), (True, True, False)}
    for split in range(len(splits)):
        threshold, feature = splits.node(split, 0)
        assert np.isfinite(threshold) and feature & 1 == 0
