"""The rows of a tree that `hist_tree` grows, block by block: start, count, divide, order, pay.

A block has fewer than 2^22 rows, and its rows lie side by side in one part of the table. Sums are
integers, so they do not depend on the blocks.
"""

from __future__ import annotations

import cython
from cython.cimports.thrifty.kernels.growth import Blocks, Candidates, Table, Targets, Tree
from cython.cimports.thrifty.kernels.histogram import add_partial, add_rows, clear
from cython.cimports.thrifty.kernels.splits import COUNT_BITS

__all__ = [
    "count_rows",
    "divide_rows",
    "mark_paid",
    "order_quanta",
    "start_rows",
    "weigh_unpaid",
]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def start_rows(blocks: Blocks, targets: Targets, candidates: Candidates) -> cython.void:
    """Give all rows to node 0, with their quanta, and sum those up."""
    candidates.total[0, 0] = candidates.total[0, 1] = 0
    for b in range(blocks.base.shape[0]):
        first, last = blocks.begin[b], blocks.begin[b + 1]
        blocks.first[b, 0], blocks.last[b, 0] = first, last
        for i in range(first, last):
            blocks.rows[i] = i - blocks.base[b]
        for plane in range(targets.quanta.shape[0]):
            total: cython.longlong = 0
            for i in range(first, last):
                targets.ordered[plane, i] = targets.quanta[plane, i]
                total += targets.quanta[plane, i]
            if targets.quanta.shape[0] == 1:
                candidates.total[0, 0] += total >> COUNT_BITS
                candidates.total[0, 1] += total & ((1 << COUNT_BITS) - 1)
            else:
                candidates.total[0, plane] += total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_rows(
    table: Table,
    blocks: Blocks,
    targets: Targets,
    candidates: Candidates,
    node: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Histograms of features[first:last] over the rows of `node`, into `slot`."""
    clear(candidates.hist, slot, candidates.features, first, last, table.width)
    # Without weights, several blocks are counted one after the other in packed histograms.
    is_packed: cython.bint = targets.ordered.shape[0] < candidates.hist.shape[1]
    for b in range(blocks.base.shape[0]):
        begin, end = blocks.first[b, node], blocks.last[b, node]
        if begin == end:
            continue
        if not is_packed:
            add_rows(
                table.bins[blocks.part[b]], blocks.rows, targets.ordered, begin, end,
                candidates.features, first, last, candidates.hist, slot,
            )  # fmt: skip
            continue
        clear(blocks.partial, 0, candidates.features, first, last, table.width)
        add_rows(
            table.bins[blocks.part[b]], blocks.rows, targets.ordered, begin, end,
            candidates.features, first, last, blocks.partial, 0,
        )  # fmt: skip
        add_partial(
            blocks.partial, candidates.hist, slot, candidates.features, first, last, table.width
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide_rows(table: Table, blocks: Blocks, tree: Tree, node: cython.Py_ssize_t) -> cython.void:
    """Give the rows of `node` to its children, and count them."""
    left = tree.left[node]
    tree.count[left] = 0
    for b in range(blocks.base.shape[0]):
        first, last = blocks.first[b, node], blocks.last[b, node]
        middle = divide(
            table.bins[blocks.part[b]], tree.goes_left, blocks.rows, blocks.spare, first, last,
            node, tree.feature[node],
        )  # fmt: skip
        blocks.first[b, left], blocks.last[b, left] = first, middle
        blocks.first[b, left + 1], blocks.last[b, left + 1] = middle, last
        tree.count[left] += middle - first
    tree.count[left + 1] = tree.count[node] - tree.count[left]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide(
    bins: cython.const[cython.uchar][:, ::1],
    goes_left: cython.const[cython.uchar][:, ::1],
    rows: cython.uint[::1],
    spare: cython.uint[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Bring the rows of a block that go left to the front, in order; return where they end."""
    left = first
    right: cython.Py_ssize_t = 0
    for i in range(first, last):
        row = rows[i]
        goes: cython.Py_ssize_t = goes_left[node, bins[feature, row]]
        # Write both ways, advance one: no branch to mispredict.
        rows[left] = row
        spare[right] = row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def order_quanta(blocks: Blocks, targets: Targets, node: cython.Py_ssize_t) -> cython.void:
    """Bring the quanta of `node`, which is to be counted, into the order of its rows."""
    for b in range(blocks.base.shape[0]):
        copy_quanta(
            targets.quanta, targets.ordered, blocks.rows, blocks.base[b],
            blocks.first[b, node], blocks.last[b, node],
        )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy_quanta(
    quanta: cython.const[cython.longlong][:, ::1],
    ordered: cython.longlong[:, ::1],
    rows: cython.const[cython.uint][::1],
    base: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Copy the quanta of rows[first:last]."""
    for plane in range(quanta.shape[0]):
        for i in range(first, last):
            ordered[plane, i] = quanta[plane, base + rows[i]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_paid(
    blocks: Blocks, node: cython.Py_ssize_t, paid: cython.uchar[:, ::1], bill: cython.Py_ssize_t
) -> cython.void:
    """Mark the rows of `node` in paid[bill]."""
    for b in range(blocks.base.shape[0]):
        for i in range(blocks.first[b, node], blocks.last[b, node]):
            paid[bill, blocks.base[b] + blocks.rows[i]] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh_unpaid(
    blocks: Blocks,
    targets: Targets,
    node: cython.Py_ssize_t,
    paid: cython.const[cython.uchar][:, ::1],
    bill: cython.Py_ssize_t,
) -> cython.longlong:
    """Weight, in quanta, of the rows of `node` where paid[bill] is not set."""
    weight: cython.longlong = 0
    is_weighted: cython.bint = targets.quanta.shape[0] > 1
    for b in range(blocks.base.shape[0]):
        base = blocks.base[b]
        for i in range(blocks.first[b, node], blocks.last[b, node]):
            row = base + blocks.rows[i]
            unpaid = 1 - cython.cast(cython.longlong, paid[bill, row])
            weight += targets.quanta[1, row] * unpaid if is_weighted else unpaid
    return weight
