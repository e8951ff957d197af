"""The best split of one node on one feature: the least impurity of the worse child.

**Impurities** are the admissible functions of class counts of Nan et al. 2015, sec. 2.3, and Nan
2018, sec. 3.4.1. The counts of two classes share an int64 word, the even class in the upper half,
so that a histogram adds one word per row. A tally is an array (rows, words); a function reads one
row of it, because taking a view would cost more than the sum. Counts are integer quanta of weight
and `unit` is what one quantum is worth. Each pair of classes counts once, so that the least
positive impurity of unit weights is 1.

**Thresholds.** As the threshold rises, the impurity of the left child grows and that of the right
child shrinks, for any monotone impurity. The best threshold is where they cross, and bisection
finds it. Only the counts on one side of each tried threshold are needed, and counting the rows
again at every step, eight at a time, is faster than a histogram in all but the largest nodes. For
that, the rows of a node are sorted by the word of their class.

**Categories** are sorted by the share of the node's largest class, with the missing value as one of
them; the sets that may go left are the prefixes of that order.

Arrays are passed one by one because reading one from a record costs as much as counting ten rows.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from thrifty.kernels.binning import MISSING
from thrifty.kernels.jit import lean, tiny
from thrifty.kernels.random import draw_share

__all__ = [
    "EXPECTED",
    "MINIMAX",
    "PAIRS",
    "POLYNOMIAL",
    "POWERS",
    "STUMPS",
    "Form",
    "count_ends",
    "impurity_of",
    "rank_categories",
    "search",
    "weight_of",
]

PAIRS, POWERS, POLYNOMIAL = 0, 1, 2
HALF = 32
MASK = (1 << HALF) - 1

# Which impurity, its threshold or exponent, its terms, and how the counts are to be read.
Form = namedtuple("Form", "kind number coefficients powers classes unit")


@tiny
def impurity_of(form, tally, row):
    """F of the counts in `tally[row]`."""
    if form.kind == PAIRS and form.number == 0.0:
        return plain_pairs(form, tally, row)
    return other_impurity(form, tally, row)


@lean
def other_impurity(form, tally, row):
    """All but the most common one."""
    if form.kind == PAIRS:
        return threshold_pairs(form, tally, row)
    return powers(form, tally, row) if form.kind == POWERS else polynomial(form, tally, row)


@tiny
def count_of(form, tally, row, k):
    """Weight of class k."""
    word = tally[row, k >> 1]
    return (word & MASK if k & 1 else word >> HALF) * form.unit


@lean
def weight_of(tally, row):
    """Quanta of all classes together."""
    total = np.int64(0)
    for k in range(tally.shape[1]):
        word = tally[row, k]
        total += (word >> HALF) + (word & MASK)
    return total


@tiny
def plain_pairs(form, tally, row):
    """Pairs of rows of different classes."""
    if tally.shape[1] == 1:
        word = tally[row, 0]
        return float(word >> HALF) * float(word & MASK) * (form.unit * form.unit)
    total, squares = 0.0, 0.0
    for k in range(tally.shape[1]):
        word = tally[row, k]
        even, odd = float(word >> HALF), float(word & MASK)
        total += even + odd
        squares += even * even + odd * odd
    return 0.5 * (total * total - squares) * (form.unit * form.unit)


@lean
def threshold_pairs(form, tally, row):
    """Threshold-pairs impurity of the class counts (Nan et al. 2015, eq. 11)."""
    alpha = form.number
    total = 0.0
    for i in range(form.classes):
        over = count_of(form, tally, row, i) - alpha
        if over > 0.0:
            for j in range(i):
                other = max(0.0, count_of(form, tally, row, j) - alpha)
                total += max(0.0, over * other - alpha * alpha)
    return total


@lean
def powers(form, tally, row):
    """Impurity of powers of the class counts (Nan 2018, eq. 3.13)."""
    total, rest = 0.0, 0.0
    for k in range(form.classes):
        count = count_of(form, tally, row, k)
        total += count
        rest += count**form.number
    return max(0.0, total**form.number - rest)


@lean
def polynomial(form, tally, row):
    """Polynomial impurity of the class counts (Nan 2018, eq. 3.12)."""
    total = 0.0
    for i in range(len(form.coefficients)):
        term = form.coefficients[i]
        for k in range(form.classes):
            term *= count_of(form, tally, row, k) ** form.powers[i, k]
        total += term
    return total


MINIMAX, EXPECTED, STUMPS = 0, 1, 2

# Rows of a tally: counts up to each bin, then those of the node and of its parts.
TOTAL, LEFT, RIGHT, GAPS = 256, 257, 258, 259
# Not counts: where the rows of each word end.
ENDS, TALLY = 260, 261
# From here on the rows of a node leave the fast cache between two steps.
MANY_ROWS, MANY_BINS = 4096, 16


@lean
def search(form, splits, bins, slot, quanta, tally, low, high, gaps, edges, limit, state):
    """Impurity, cut, whether missing values go left; infinity where none is within `limit`.

    The rows are in the bins `low` to `high` or, with `gaps`, missing. `limit` is what the worse
    child may have at most to be of any interest.
    """
    dense = splits != MINIMAX or (len(bins) > MANY_ROWS and high - low > MANY_BINS)
    if dense:
        count_bins(bins, slot, quanta, tally, low, high)
    if gaps:
        count_gaps(bins, slot, quanta, tally)
    best, cut, missing_left = np.inf, np.intp(-1), False
    for side in range(2 if gaps else 1):
        if gaps and side == 0:
            # A cut above all values parts them from the missing ones, which are on the right.
            last = high
        else:
            last = high - 1
        if splits == MINIMAX:
            found, place = bisect(
                form, bins, quanta, tally, low, last, side == 1, dense, min(limit, best)
            )
        elif splits == EXPECTED:
            found, place = scan(form, tally, low, last, side == 1)
        else:
            found, place = throw(form, tally, low, last, side == 1, edges, state)
        if found < best:
            best, cut, missing_left = found, place, side == 1
    return best, cut, missing_left


@lean
def count_bins(bins, slot, quanta, tally, low, high):
    """Counts up to and including each bin from `low` to `high`."""
    words = tally.shape[1]
    for b in range(low, high + 1):
        for k in range(words):
            tally[b, k] = 0
    tally[MISSING] = 0
    if words == 1:
        for i in range(len(bins)):
            tally[bins[i], 0] += quanta[i]
    else:
        for i in range(len(bins)):
            tally[bins[i], slot[i]] += quanta[i]
    for b in range(low + 1, high + 1):
        for k in range(words):
            tally[b, k] += tally[b - 1, k]


@lean
def count_gaps(bins, slot, quanta, tally):
    """Counts of the missing values."""
    tally[GAPS] = 0
    for i in range(len(bins)):
        if bins[i] == MISSING:
            tally[GAPS, slot[i]] += quanta[i]


@lean
def count_below(bins, quanta, tally, cut):
    """Counts of the rows up to and including bin `cut`, row by row."""
    first = 0
    for k in range(tally.shape[1]):
        end = tally[ENDS, k]
        tally[LEFT, k] = sum_below(bins[first:end], quanta[first:end], np.uint8(cut))
        first = end


@lean
def sum_below(bins, quanta, cut):
    """Plain enough to be compiled to vector instructions."""
    total = np.int64(0)
    for i in range(len(bins)):
        if bins[i] <= cut:
            total += quanta[i]
    return total


@lean
def count_ends(slot, tally):
    """Fill row ENDS of `tally` with the end of the rows of each word; `slot` is sorted."""
    tally[ENDS] = 0
    for word in slot:
        tally[ENDS, word] += 1
    for k in range(1, tally.shape[1]):
        tally[ENDS, k] += tally[ENDS, k - 1]


@tiny
def part(tally, missing_left):
    """Put the missing values where they belong, and what is not left to the right."""
    for k in range(tally.shape[1]):
        if missing_left:
            tally[LEFT, k] += tally[GAPS, k]
        tally[RIGHT, k] = tally[TOTAL, k] - tally[LEFT, k]


@tiny
def part_at(tally, cut, missing_left):
    """The same, for a cut of the histogram."""
    for k in range(tally.shape[1]):
        tally[LEFT, k] = tally[cut, k]
    part(tally, missing_left)


@lean
def bisect(form, bins, quanta, tally, low, high, missing_left, dense, limit):
    """Cut at which the worse child is least impure."""
    best, place = np.inf, np.intp(-1)
    while low <= high:
        cut = (low + high) >> 1
        if dense:
            part_at(tally, cut, missing_left)
        else:
            count_below(bins, quanta, tally, cut)
            part(tally, missing_left)
        left, right = impurity_of(form, tally, LEFT), impurity_of(form, tally, RIGHT)
        worse = max(left, right)
        if worse < best:
            best, place = worse, cut
        # Any lower cut has no less on the right, any higher one no less on the left.
        if min(left, right) > limit:
            return np.inf, np.intp(-1)
        if left >= right:
            high = cut - 1
        else:
            low = cut + 1
    return best, place


@lean
def scan(form, tally, low, high, missing_left):
    """Cut at which the expected impurity of a row's child is least."""
    best, place = np.inf, np.intp(-1)
    total = float(weight_of(tally, TOTAL))
    for cut in range(low, high + 1):
        part_at(tally, cut, missing_left)
        here = float(weight_of(tally, LEFT))
        left, right = impurity_of(form, tally, LEFT), impurity_of(form, tally, RIGHT)
        found = (here * left + (total - here) * right) / total
        if found < best:
            best, place = found, cut
    return best, place


@lean
def throw(form, tally, low, high, missing_left, edges, state):
    """Return the best of some random cuts; their number is that of Nan et al. 2015, sec. 3."""
    rows = weight_of(tally, TOTAL) * form.unit
    count = 80 if rows > 2000 else 40 if rows > 500 else 20
    top = min(high, len(edges) - 1)
    best, place = np.inf, np.intp(-1)
    for _ in range(count):
        cut = high  # where all values are one, and parted from the missing ones
        if top >= low:
            value = edges[low] + draw_share(state) * (edges[top] - edges[low])
            cut = low + np.searchsorted(edges[low:top], value)
        part_at(tally, cut, missing_left)
        found = max(impurity_of(form, tally, LEFT), impurity_of(form, tally, RIGHT))
        if found < best:
            best, place = found, cut
    return best, place


@lean
def rank_categories(form, bins, slot, quanta, tally, shares, rank):
    """Fill `rank` of each bin by its share of the node's largest class; return the last rank.

    Bins that are absent rank last; `shares` is room (3, 256).
    """
    largest = 0
    for k in range(form.classes):
        if count_of(form, tally, TOTAL, k) > count_of(form, tally, TOTAL, largest):
            largest = k
    shares[:] = 0.0
    for i in range(len(bins)):
        even, odd = quanta[i] >> HALF, quanta[i] & MASK
        shares[0, bins[i]] += even + odd
        if slot[i] == largest >> 1:
            shares[1, bins[i]] += odd if largest & 1 else even
    present = sort_present(shares)
    rank[:] = 255
    for k in range(present):
        rank[np.intp(shares[2, k])] = k
    return present - 1


@lean
def sort_present(shares):
    """Bins of weight shares[0] > 0 into shares[2], by shares[1] / shares[0]; return how many."""
    count = 0
    for b in range(256):
        if shares[0, b] > 0.0:
            share = shares[1, b] / shares[0, b]
            k = count
            while k > 0 and shares[1, k - 1] > share:
                shares[1, k], shares[2, k] = shares[1, k - 1], shares[2, k - 1]
                k -= 1
            shares[1, k], shares[2, k] = share, b
            count += 1
    return count
