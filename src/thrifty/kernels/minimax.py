"""The best split of one node on one feature: the least impurity of the worse child.

**Impurities** are the admissible functions of class counts of Nan et al. 2015, sec. 2.3, and Nan
2018, sec. 3.4.1, packed as in `node_rows`; `unit` is what one quantum of weight is worth. Each pair
of classes counts once, so that the least positive impurity of unit weights is 1.

**Thresholds.** As the threshold rises, the impurity of the left child grows and that of the right
child shrinks, for any monotone impurity. The best threshold is where they cross, and bisection
finds it. Only the counts on one side of each tried threshold are needed, and counting the rows
again at every step, with vector instructions, is faster than a histogram in all but the largest
nodes.

**Categories** are sorted by the share of the node's largest class, with the missing value as one of
them; the sets that may go left are the prefixes of that order.

`minimax.pxd` declares what other kernels call, the constants, and the fields of the class.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import pow
from cython.cimports.thrifty.kernels.node_rows import (
    Rows,
    Span,
    Table,
    Tally,
    count_bins,
    count_gaps,
    part_rows,
)
from cython.cimports.thrifty.kernels.random import Stream, draw_share

__all__ = [
    "EXPECTED",
    "MINIMAX",
    "PAIRS",
    "POLYNOMIAL",
    "POWERS",
    "STUMPS",
    "ImpurityForm",
    "impurity_of",
]

# Compiled, these are enums in the .pxd: C code reads no Python objects.
if not cython.compiled:  # pragma: no branch
    PAIRS, POWERS, POLYNOMIAL = 0, 1, 2
    MINIMAX, EXPECTED, STUMPS = 0, 1, 2

# From here on the rows of a node leave the fast cache between two steps.
MANY_ROWS = cython.declare(cython.Py_ssize_t, 4096)
MANY_BINS = cython.declare(cython.Py_ssize_t, 16)
INFINITY = cython.declare(cython.double, float("inf"))

# A cut: what it leaves, the last bin on the left, and whether missing values go left.
Cut = cython.struct(impurity=cython.double, place=cython.Py_ssize_t, missing_left=cython.bint)


@cython.cclass
class ImpurityForm:
    """Which impurity, and how the counts are to be read.

    Attributes
    ----------
    kind : int
        PAIRS, POWERS or POLYNOMIAL.
    number : float
        The threshold alpha of pairs, the exponent of powers.
    coefficients : float64 array of shape (m,)
        The coefficient of each term of a polynomial.
    powers : float64 array of shape (m, K)
        The power of each class in each term.
    classes : int
        Number of classes K.
    unit : float
        What one quantum of weight is worth.
    """

    def __init__(
        self,
        kind: cython.int,
        number: cython.double,
        coefficients: cython.const[cython.double][::1],
        powers: cython.const[cython.double][:, ::1],
        classes: cython.Py_ssize_t,
        unit: cython.double,
    ) -> None:
        self.kind = kind
        self.number = number
        self.coefficients = coefficients
        self.powers = powers
        self.classes = classes
        self.unit = unit


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def impurity_of(form: ImpurityForm, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """F of packed class counts."""
    return value_of(form, counts)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def value_of(form: ImpurityForm, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """The same, compiled into the searches of this module."""
    if form.kind == PAIRS and form.number == 0.0:
        return plain_pairs(form.unit, counts)
    return other_impurity(form, counts)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def plain_pairs(unit: cython.double, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """Pairs of rows of different classes."""
    if counts.shape[0] == 1:
        return even_of(counts[0]) * odd_of(counts[0]) * (unit * unit)
    total, squares = 0.0, 0.0
    for k in range(counts.shape[0]):
        even, odd = even_of(counts[k]), odd_of(counts[k])
        total += even + odd
        squares += even * even + odd * odd
    return 0.5 * (total * total - squares) * (unit * unit)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def even_of(word: cython.longlong) -> cython.double:
    """Quanta of the even class of a word."""
    return cython.cast(cython.double, word >> 32)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def odd_of(word: cython.longlong) -> cython.double:
    """Quanta of the odd class of a word."""
    return cython.cast(cython.double, word - (word >> 32 << 32))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def count_of(
    form: ImpurityForm, counts: cython.const[cython.longlong][::1], k: cython.Py_ssize_t
) -> cython.double:
    """Weight of class k."""
    word = counts[k >> 1]
    return (odd_of(word) if k & 1 else even_of(word)) * form.unit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def other_impurity(form: ImpurityForm, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """All but the most common impurity."""
    if form.kind == PAIRS:
        return threshold_pairs(form, counts)
    return powers(form, counts) if form.kind == POWERS else polynomial(form, counts)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def threshold_pairs(
    form: ImpurityForm, counts: cython.const[cython.longlong][::1]
) -> cython.double:
    """Threshold-pairs impurity of the class counts (Nan et al. 2015, eq. 11)."""
    alpha = form.number
    total = 0.0
    for i in range(form.classes):
        over = count_of(form, counts, i) - alpha
        if over > 0.0:
            for j in range(i):
                other = count_of(form, counts, j) - alpha
                if other > 0.0:
                    total += max(0.0, over * other - alpha * alpha)
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def powers(form: ImpurityForm, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """Impurity of powers of the class counts (Nan 2018, eq. 3.13)."""
    total, rest = 0.0, 0.0
    for k in range(form.classes):
        count = count_of(form, counts, k)
        total += count
        rest += pow(count, form.number)
    return max(0.0, pow(total, form.number) - rest)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def polynomial(form: ImpurityForm, counts: cython.const[cython.longlong][::1]) -> cython.double:
    """Polynomial impurity of the class counts (Nan 2018, eq. 3.12)."""
    total = 0.0
    for i in range(form.coefficients.shape[0]):
        term = form.coefficients[i]
        for k in range(form.classes):
            term *= pow(count_of(form, counts, k), form.powers[i, k])
        total += term
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search(
    form: ImpurityForm,
    splits: cython.int,
    table: Table,
    rows: Rows,
    tally: Tally,
    feature: cython.Py_ssize_t,
    span: Span,
    limit: cython.double,
    stream: Stream,
) -> Cut:
    """The best cut of the present node by its keys; infinite impurity if there is none.

    `limit` is the largest impurity of the worse child that is still useful: a search for a
    minimax cut may end early where all cuts are above it.
    """
    dense: cython.bint = splits != MINIMAX or (
        rows.last - rows.first > MANY_ROWS and span.high - span.low > MANY_BINS
    )
    if dense:
        count_bins(rows, tally, span)
    if span.gaps:
        count_gaps(rows, tally)
    best = Cut(INFINITY, -1, False)
    for side in range(2 if span.gaps else 1):
        # A cut above all values parts them from the missing ones, which are on the right.
        top = span.high if span.gaps and side == 0 else span.high - 1
        if splits == MINIMAX:
            most = min(limit, best.impurity)
            found = bisect(form, rows, tally, span.low, top, side == 1, dense, most)
        elif splits == EXPECTED:
            found = scan(form, tally, span.low, top, side == 1)
        else:
            found = try_random_cuts(form, table, tally, feature, span.low, top, side == 1, stream)
        if found.impurity < best.impurity:
            best = found
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def part_bins(tally: Tally, cut: cython.Py_ssize_t, missing_left: cython.bint) -> cython.longlong:
    """Part the counts at a cut of the histogram; return the sum of the words on the left."""
    words: cython.longlong = 0
    for k in range(tally.left.shape[0]):
        here: cython.longlong = tally.below[cut, k]
        if missing_left:
            here += tally.gaps[k]
        tally.left[k] = here
        tally.right[k] = tally.total[k] - here
        words += here
    return words


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bisect(
    form: ImpurityForm,
    rows: Rows,
    tally: Tally,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    missing_left: cython.bint,
    dense: cython.bint,
    limit: cython.double,
) -> Cut:
    """Cut at which the worse child is least impure."""
    best = Cut(INFINITY, -1, missing_left)
    while low <= high:
        cut = (low + high) >> 1
        if dense:
            part_bins(tally, cut, missing_left)
        else:
            part_rows(rows, tally, cython.cast(cython.uchar, cut), missing_left)
        left, right = value_of(form, tally.left), value_of(form, tally.right)
        worse = max(left, right)
        if worse < best.impurity:
            best.impurity, best.place = worse, cut
        # Any lower cut has no less on the right, any higher one no less on the left.
        if min(left, right) > limit:
            best.impurity = INFINITY
            return best
        if left >= right:
            high = cut - 1
        else:
            low = cut + 1
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def weight_of(counts: cython.const[cython.longlong][::1]) -> cython.double:
    """Quanta of all classes together."""
    total: cython.longlong = 0
    for k in range(counts.shape[0]):
        # Both halves at once: the quanta of all rows fit into a half.
        total += counts[k]
    return even_of(total) + odd_of(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan(
    form: ImpurityForm,
    tally: Tally,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    missing_left: cython.bint,
) -> Cut:
    """Cut at which the expected impurity of a row's child is least."""
    best = Cut(INFINITY, -1, missing_left)
    total = weight_of(tally.total)
    for cut in range(low, high + 1):
        words = part_bins(tally, cut, missing_left)
        here = even_of(words) + odd_of(words)
        left, right = value_of(form, tally.left), value_of(form, tally.right)
        found = (here * left + (total - here) * right) / total
        if found < best.impurity:
            best.impurity, best.place = found, cut
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_random_cuts(
    form: ImpurityForm,
    table: Table,
    tally: Tally,
    feature: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    missing_left: cython.bint,
    stream: Stream,
) -> Cut:
    """Return the best of some random cuts; their number is that of Nan et al. 2015, sec. 3."""
    best = Cut(INFINITY, -1, missing_left)
    # If all values are equal, only a cut between them and the missing values separates anything.
    if high < low:
        return best
    n_rows = weight_of(tally.total) * form.unit
    top = min(high, table.width[feature] - 2)
    for _ in range(80 if n_rows > 2000 else 40 if n_rows > 500 else 20):
        cut = high
        if top >= low:
            lowest, highest = table.edges[feature, low], table.edges[feature, top]
            value = lowest + draw_share(stream) * (highest - lowest)
            cut = find(table.edges, feature, low, top, value)
        part_bins(tally, cut, missing_left)
        found = max(value_of(form, tally.left), value_of(form, tally.right))
        if found < best.impurity:
            best.impurity, best.place = found, cut
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def find(
    edges: cython.const[cython.double][:, ::1],
    feature: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    value: cython.double,
) -> cython.Py_ssize_t:
    """First of the bins `low` to `high` whose upper edge is not below `value`, or `high`."""
    while low < high:
        middle = (low + high) >> 1
        if edges[feature, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
