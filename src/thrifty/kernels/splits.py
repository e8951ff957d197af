"""The best split of one node on one feature, from its histogram.

The gain is the reduction of the squared error, without the factor 1/2. Prices do not enter here:
they are the same for every threshold of a feature.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.histogram import unpack
from thrifty.kernels.jit import jit

__all__ = ["best_cut", "best_subset", "category_order"]


# A split is worth a division only if it may beat the best so far; this much is left for rounding.
SLACK = 1.0 - 1e-12


@jit
def beats(left, weight, total, total_weight, lightest, best):
    """Raw gain of sending `left` left if it is more than `best`, else `best`.

    In squared quanta of target per quantum of weight. Products are compared first: of the splits
    of a feature only a few ever come to the division.
    """
    if weight < lightest or total_weight - weight < lightest:
        return best
    right, rest = float(total - left), float(total_weight - weight)
    left, weight = float(left), float(weight)
    whole = float(total) * float(total) / float(total_weight)
    both, scale = left * left * rest + right * right * weight, weight * rest
    if both > (best + whole) * SLACK * scale:
        return max(best, both / scale - whole)
    return best


@jit
def best_cut(hist, slot, feature, width, total, total_weight, lightest):
    """Gain, last bin that goes left, and whether missing values go left, of an ordered feature."""
    missing, missing_weight = unpack(hist, slot, feature, MISSING)
    best, cut, missing_left = 0.0, -1, False
    left, weight = np.int64(0), np.int64(0)
    for b in range(width):
        target, here = unpack(hist, slot, feature, b)
        left += target
        weight += here
        if here == 0:
            continue  # an empty bin repeats the split before it
        gain = beats(left, weight, total, total_weight, lightest, best)
        if gain > best:
            best, cut, missing_left = gain, b, False
        if missing_weight > 0:
            both = weight + missing_weight
            gain = beats(left + missing, both, total, total_weight, lightest, best)
            if gain > best:
                best, cut, missing_left = gain, b, True
    if missing_weight == 0 and cut >= 0:
        missing_left = _heavier_left(hist, slot, feature, cut, total_weight)
    return best, cut, missing_left


@jit
def _heavier_left(hist, slot, feature, cut, total_weight):
    """Where no value is missing in training, a missing one follows the majority."""
    weight = np.int64(0)
    for b in range(cut + 1):
        weight += unpack(hist, slot, feature, b)[1]
    return 2 * weight > total_weight


@jit
def category_order(hist, slot, feature):
    """Bins of the categories present, the missing value as one of them, by their mean target."""
    bins = np.empty(256, dtype=np.int64)
    means = np.empty(256)
    count = 0
    for b in range(256):
        target, weight = unpack(hist, slot, feature, b)
        if weight > 0:
            bins[count], means[count] = b, target / weight
            count += 1
    return bins[:count][np.argsort(means[:count], kind="mergesort")]


@jit
def best_subset(hist, slot, feature, total, total_weight, lightest):
    """Gain and size of the best leading part of `category_order` to send left.

    For squared error the best of all subsets is one of these (Fisher 1958; Breiman et al. 1984,
    sec. 9.4), as long as no subset is too light to be a leaf.
    """
    best, size = 0.0, -1
    left, weight = np.int64(0), np.int64(0)
    order = category_order(hist, slot, feature)
    for k in range(len(order) - 1):
        target, here = unpack(hist, slot, feature, order[k])
        left += target
        weight += here
        gain = beats(left, weight, total, total_weight, lightest, best)
        if gain > best:
            best, size = gain, k + 1
    return best, size
