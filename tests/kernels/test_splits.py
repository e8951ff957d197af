"""The best split read from a histogram equals the best of all splits of its rows."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from uncompiled import agree

from thrifty.kernels.binning import MISSING
from thrifty.kernels.fixed_point import quantize
from thrifty.kernels.histogram import add_rows
from thrifty.kernels.splits import COUNT_BITS, best_cut, best_subset


def count_one(bins, rows, quanta, hist):
    """Add all rows to the histogram of the only feature."""
    add_rows(bins, rows, quanta, 0, len(rows), np.arange(1), 0, 1, hist, 0)


def histogram(bins, target):
    """Return the histogram of one feature, and the totals of its rows in quanta."""
    quanta, _ = quantize(target)
    hist = np.zeros((1, 1, 1, 256), dtype=np.int64)
    rows = np.arange(len(bins), dtype=np.uint32)
    count_one(bins[np.newaxis], rows, quanta, hist)
    return hist, int(target.sum()), len(bins)


def gain_of(target, left):
    """Return the reduction of the squared error by sending `left` left."""
    parts = target[left], target[~left]
    if min(map(len, parts)) == 0:
        return 0.0
    return sum(part.sum() ** 2 / len(part) for part in parts) - target.sum() ** 2 / len(target)


def draw(seed, missing):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    bins = rng.integers(0, 6, n).astype(np.uint8)
    bins[rng.random(n) < missing] = MISSING
    # Integers whose absolute sum is 2^39 exactly, so that one quantum is one.
    target = rng.integers(-1000, 1000, n).astype(float)
    target[0] = 2.0**39 - np.abs(target[1:]).sum()
    return bins, target


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_cut_is_the_best_of_all_thresholds_and_sides(missing):
    for seed in range(60):
        bins, target = draw(seed, missing)
        hist, total, weight = histogram(bins, target)
        gain, cut, missing_left = best_cut(hist, 0, 0, 6, total, weight, 1).values()
        gains = [
            gain_of(target, (bins <= b) | ((bins == MISSING) & side))
            for b in range(6)
            for side in (False, True)
        ]
        assert gain == pytest.approx(max(gains), rel=1e-9)
        if cut >= 0:
            left = (bins <= cut) | ((bins == MISSING) & missing_left)
            assert gain_of(target, left) == pytest.approx(gain, rel=1e-9)


def test_a_missing_value_never_seen_in_training_follows_the_majority():
    target = np.array([-1.0, -1.0, -1.0, 5.0])
    for bins, side in (([0, 0, 0, 1], True), ([1, 1, 1, 0], False)):
        quanta, units = quantize(target)
        hist = np.zeros((1, 1, 1, 256), dtype=np.int64)
        rows, table = np.arange(4, dtype=np.uint32), np.array([bins], dtype=np.uint8)
        count_one(table, rows, quanta, hist)
        total = round(target.sum() / units[0])
        _, cut, missing_left = best_cut(hist, 0, 0, 2, total, 4, 1).values()
        assert (cut, missing_left) == (0, side)


@pytest.mark.parametrize("lightest", [1, 3])
def test_no_side_of_a_cut_is_too_light(lightest):
    for seed in range(30):
        bins, target = draw(seed, 0.2)
        hist, total, weight = histogram(bins, target)
        _, cut, missing_left = best_cut(hist, 0, 0, 6, total, weight, lightest).values()
        if cut >= 0:
            left = (bins <= cut) | ((bins == MISSING) & missing_left)
            assert min(left.sum(), (~left).sum()) >= lightest


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_leading_set_is_the_best_of_all_subsets_of_categories(missing):
    for seed in range(40):
        bins, target = draw(seed, missing)
        hist, total, weight = histogram(bins, target)
        gain, size, _ = best_subset(hist, 0, 0, total, weight, 1).values()
        present = sorted(set(bins.tolist()))
        subsets = chain.from_iterable(combinations(present, k) for k in range(1, len(present)))
        best = max((gain_of(target, np.isin(bins, subset)) for subset in subsets), default=0.0)
        assert gain == pytest.approx(best, rel=1e-9, abs=1e-3)
        order = sorted(present, key=lambda b: (target[bins == b].mean(), b))
        if size >= 0:
            left = np.isin(bins, order[:size])
            assert gain_of(target, left) == pytest.approx(gain, rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_compiled_and_uncompiled_splits_agree(missing):
    for seed in range(12):
        bins, target = draw(seed, missing)
        hist, total, weight = histogram(bins, target)
        # The same sums in two planes, as with sample weights.
        packed = hist[:, 0]
        wide = np.stack([packed >> COUNT_BITS, packed & ((1 << COUNT_BITS) - 1)], axis=1)

        def run(kernels, planes=(hist, wide), sums=(total, weight)):
            found = []
            for some in planes:
                for lightest in (1, 3):
                    found.append(kernels.best_cut(some, 0, 0, 6, *sums, lightest))
                    found.append(kernels.best_subset(some, 0, 0, *sums, lightest))
                found += [kernels.unpack(some, 0, 0, b) for b in (0, 3, MISSING)]
            return found

        agree("splits", run)
