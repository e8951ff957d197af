"""The best split of one node on one feature, from its histogram.

The gain is the reduction of the squared error, without the factor 1/2. Prices do not enter here:
they are the same for every threshold of a feature.
"""

from __future__ import annotations

import cython
from cython.cimports.thrifty.kernels.binning import MISSING

__all__ = ["COUNT_BITS", "best_cut", "best_subset", "unpack"]

# A histogram with one plane holds the target above this many bits of count, see `histogram`.
# Compiled, this is an enum in the .pxd: C code reads no Python objects.
if not cython.compiled:  # pragma: no branch
    COUNT_BITS = 22
# A split is worth a division only if it may beat the best so far; this much is left for rounding.
_SLACK = cython.declare(cython.double, 1.0 - 1e-12)

# Sums over some rows, in quanta.
Sums = cython.struct(target=cython.longlong, weight=cython.longlong)
# A split: its raw gain; the last bin that goes left, or how many categories do (-1 if no split
# gains); whether missing values go left.
Cut = cython.struct(gain=cython.double, place=cython.Py_ssize_t, missing_left=cython.bint)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def unpack(
    hist: cython.const[cython.longlong][:, :, :, ::1],
    slot: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    b: cython.Py_ssize_t,
) -> Sums:
    """Target and weight of one bin, in quanta."""
    if hist.shape[1] == 2:
        return Sums(hist[slot, 0, feature, b], hist[slot, 1, feature, b])
    packed = hist[slot, 0, feature, b]
    return Sums(packed >> COUNT_BITS, packed & ((1 << COUNT_BITS) - 1))


# The node whose splits are rated: its sums, the squared target per weight, the lightest leaf.
Node = cython.struct(
    target=cython.longlong,
    weight=cython.longlong,
    unsplit_score=cython.double,
    lightest=cython.longlong,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def node_of(target: cython.longlong, weight: cython.longlong, lightest: cython.longlong) -> Node:
    """The record of a node with these sums."""
    total = cython.cast(cython.double, target)
    return Node(target, weight, total * total / cython.cast(cython.double, weight), lightest)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def larger_gain(
    left: cython.longlong, weight: cython.longlong, node: Node, best: cython.double
) -> cython.double:
    """Raw gain of sending `left` left if it is more than `best`, else `best`.

    In squared quanta of target per quantum of weight. Products are compared first: of the splits
    of a feature only a few ever reach the division.
    """
    if weight < node.lightest or node.weight - weight < node.lightest:
        return best
    here = cython.cast(cython.double, left)
    rest = cython.cast(cython.double, node.target - left)
    here_weight = cython.cast(cython.double, weight)
    rest_weight = cython.cast(cython.double, node.weight - weight)
    both = here * here * rest_weight + rest * rest * here_weight
    scale = here_weight * rest_weight
    if both > (best + node.unsplit_score) * _SLACK * scale:
        return max(best, both / scale - node.unsplit_score)
    return best


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def best_cut(
    hist: cython.const[cython.longlong][:, :, :, ::1],
    slot: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    total: cython.longlong,
    total_weight: cython.longlong,
    lightest: cython.longlong,
) -> Cut:
    """Best split of an ordered feature of `width` bins."""
    filled = cython.declare(cython.uchar[256])
    count = filled_bins(hist, slot, feature, width, filled)
    missing = unpack(hist, slot, feature, MISSING)
    node = node_of(total, total_weight, lightest)
    best = Cut(0.0, -1, False)
    best_weight: cython.longlong = 0
    left: cython.longlong = 0
    weight: cython.longlong = 0
    for k in range(count):
        b: cython.Py_ssize_t = filled[k]
        here = unpack(hist, slot, feature, b)
        left += here.target
        weight += here.weight
        if here.weight == 0:
            continue
        if total_weight - weight < lightest:
            break  # from here on, too little is left on the right
        gain = larger_gain(left, weight, node, best.gain)
        if gain > best.gain:
            best = Cut(gain, b, False)
            best_weight = weight
        if missing.weight > 0:
            gain = larger_gain(left + missing.target, weight + missing.weight, node, best.gain)
            if gain > best.gain:
                best = Cut(gain, b, True)
    if missing.weight == 0:
        # Where no value is missing in training, a missing one follows the majority.
        best.missing_left = 2 * best_weight > total_weight
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def filled_bins(
    hist: cython.const[cython.longlong][:, :, :, ::1],
    slot: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    filled: cython.p_uchar,
) -> cython.Py_ssize_t:
    """Fill `filled` with the bins that hold something, in order; return their number.

    An empty bin repeats the split before it, and in small nodes most bins are empty.
    """
    count: cython.Py_ssize_t = 0
    last = hist.shape[1] - 1
    for b in range(width):
        # Write always, advance for some: no branch to mispredict.
        filled[count] = b
        count += (hist[slot, 0, feature, b] | hist[slot, last, feature, b]) != 0
    return count


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def best_subset(
    hist: cython.const[cython.longlong][:, :, :, ::1],
    slot: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    total: cython.longlong,
    total_weight: cython.longlong,
    lightest: cython.longlong,
) -> Cut:
    """Best leading part of `category_order` to send left; its size is the place of the cut.

    For squared error the best of all subsets is one of these (Fisher 1958; Breiman et al. 1984,
    sec. 9.4), as long as no subset is too light to be a leaf.
    """
    order = cython.declare(cython.uchar[256])
    count = category_order(hist, slot, feature, order)
    node = node_of(total, total_weight, lightest)
    best = Cut(0.0, -1, False)
    left: cython.longlong = 0
    weight: cython.longlong = 0
    for k in range(count - 1):
        here = unpack(hist, slot, feature, order[k])
        left += here.target
        weight += here.weight
        gain = larger_gain(left, weight, node, best.gain)
        if gain > best.gain:
            best = Cut(gain, k + 1, False)
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def category_order(
    hist: cython.const[cython.longlong][:, :, :, ::1],
    slot: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    order: cython.p_uchar,
) -> cython.Py_ssize_t:
    """Fill `order` with the categories present, sorted by mean target; return their number.

    The missing value is one of the categories. Of equal means the lower bin comes first.
    """
    means = cython.declare(cython.double[256])
    count: cython.Py_ssize_t = 0
    for b in range(256):
        here = unpack(hist, slot, feature, b)
        if here.weight > 0:
            target = cython.cast(cython.double, here.target)
            means[b] = target / cython.cast(cython.double, here.weight)
            order[count] = b
            count += 1
    sort_by_mean(order, means, count)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_by_mean(
    order: cython.p_uchar, means: cython.p_double, count: cython.Py_ssize_t
) -> cython.void:
    """Sort `order` by the means of its bins: merge runs of 1, 2, 4, ... until one is left."""
    spare = cython.declare(cython.uchar[256])
    size: cython.Py_ssize_t = 1
    while size < count:
        start: cython.Py_ssize_t = 0
        while start < count:
            merge(
                order, means, start, min(start + size, count), min(start + 2 * size, count), spare
            )
            start += 2 * size
        for k in range(count):
            order[k] = spare[k]
        size *= 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge(
    order: cython.p_uchar,
    means: cython.p_double,
    start: cython.Py_ssize_t,
    middle: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    out: cython.p_uchar,
) -> cython.void:
    """Merge the sorted runs order[start:middle] and order[middle:end] into `out`."""
    left, right = start, middle
    for k in range(start, end):
        # Among equals the first run goes first.
        if right >= end or (left < middle and means[order[left]] <= means[order[right]]):
            out[k] = order[left]
            left += 1
        else:
            out[k] = order[right]
            right += 1
