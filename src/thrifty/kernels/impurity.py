"""Admissible impurities of class counts (001 sec. 2.3, 000 sec. 3.4.1), from packed counts.

Counts of two classes share an int64, the even class in the upper half, so that a histogram adds
one word a row and two classes need one word. A tally is (rows, words); a function reads one row
of it, because a view of the row would cost more than the sum. Counts are quanta of weight: `unit`
is what one is worth. Each pair of classes is counted once, so that the least impurity of unit
weights is 1.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from thrifty.kernels.lean import lean, tiny

__all__ = ["PAIRS", "POLYNOMIAL", "POWERS", "Form", "impurity_of", "weight_of"]

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
    """001 eq. 11: what exceeds alpha, pair by pair, less alpha squared."""
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
    """000 eq. 3.13."""
    total, rest = 0.0, 0.0
    for k in range(form.classes):
        count = count_of(form, tally, row, k)
        total += count
        rest += count**form.number
    return max(0.0, total**form.number - rest)


@lean
def polynomial(form, tally, row):
    """000 eq. 3.12."""
    total = 0.0
    for i in range(len(form.coefficients)):
        term = form.coefficients[i]
        for k in range(form.classes):
            term *= count_of(form, tally, row, k) ** form.powers[i, k]
        total += term
    return total
