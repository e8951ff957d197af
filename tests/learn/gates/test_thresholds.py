"""Thresholds: ties, and means at every split."""

from __future__ import annotations

import math

import numpy as np

from thrifty.learn.gates.thresholds import Thresholds


def test_rows_with_equal_gate_values_go_the_same_way() -> None:
    thresholds = Thresholds(np.array([1.0, 1.0, 3.0, 2.0, 2.0]))
    assert thresholds.counts.tolist() == [0, 1, 3, 5]
    assert thresholds.at_share(0.59) == 1 and thresholds.at_share(0.6) == 2
    assert thresholds.sent(2).tolist() == [False, False, True, True, True]


def test_all_or_none_need_no_finite_threshold() -> None:
    thresholds = Thresholds(np.array([1.0, 1.0, 3.0, 2.0, 2.0]))
    assert thresholds.threshold(0) == math.inf and thresholds.threshold(3) == -math.inf


def test_adjacent_floats_are_separated() -> None:
    values = np.array([1.0, np.nextafter(1.0, 2.0)])
    threshold = Thresholds(values).threshold(1)
    assert (values > threshold).tolist() == [False, True]


def test_means_are_those_of_every_split() -> None:
    rng = np.random.default_rng(0)
    thresholds = Thresholds(rng.integers(0, 5, 20).astype(float))
    local, expensive = rng.normal(size=20), rng.normal(size=20)
    by_hand = [
        np.where(thresholds.sent(index), expensive, local).mean()
        for index in range(len(thresholds.counts))
    ]
    np.testing.assert_allclose(thresholds.means(local, expensive), by_hand)


def test_a_limited_number_of_thresholds_is_spread_over_the_rows() -> None:
    thresholds = Thresholds(np.random.default_rng(0).normal(size=100), most=6)
    assert thresholds.counts.tolist() == [0, 20, 40, 60, 80, 100]
    assert Thresholds(np.array([1.0, 2.0]), most=6).counts.tolist() == [0, 1, 2]
