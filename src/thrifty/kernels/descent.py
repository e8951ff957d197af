"""Send rows down a forest: to all leaves, or only until the prediction is settled.

Trees are the outer loop and the rows of a block the inner one, eight rows at a time: while one
waits for memory the others move. Each leaf carries the set of features on its path as bits, so
that accounting for a tree takes one OR per row instead of a visit per node.

All read float tables and the frozen nodes of `thrifty.model.forest`, and share `step`; they are in
one module because the C compiler can then make it a part of their loops.
"""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["descend", "run_forest", "run_short_circuit"]

real = cython.fused_type(cython.float, cython.double)
cell = cython.fused_type(cython.double, cython.ulonglong)
Node = cython.struct(threshold=cython.double, child=cython.int, feature=cython.int)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def column(feature: cython.int) -> cython.int:
    """Column that a split reads; see `thrifty.model.forest.nodes` for the flags above its bits."""
    # Bits are spelled out: the C compiler does not know the value of a module's variable.
    return feature & ((1 << 29) - 1)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def step(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    categories: cython.bint,
    missing: cython.bint,
    X: cython.const[real][:, ::1],
    row: cython.Py_ssize_t,
    place: cython.uint,
) -> cython.uint:
    """Child of node `place` for one row; a leaf is its own child.

    `categories` and `missing` say whether the forest may have splits on categories, and the table
    missing values. They are constants in the compiled loops, which are free of these tests.
    """
    feature = nodes[place].feature
    child: cython.uint = nodes[place].child
    threshold = nodes[place].threshold
    x: cython.double = X[row, column(feature)]
    if categories:
        # One test for all that is rare: the common split is then free of branches.
        if (x != x) | (feature >> 29 & 1):
            return child + 1 - stays_left(feature, threshold, subsets, x)
    elif missing:
        return child + ((x > threshold) | ((x != x) & ~(feature >> 30)))
    return child + (x > threshold)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def stays_left(
    feature: cython.int,
    subset: cython.double,
    subsets: cython.const[cython.ulonglong][:, ::1],
    x: cython.double,
) -> cython.int:
    """Whether a missing value, or a category, goes left (0 or 1)."""
    if x != x:
        return feature >> 30 & 1
    # Free of branches: with them the loop over rows takes five times as long. Anything
    # that is not a code, such as 256 or a fraction, goes right.
    code = cython.cast(cython.longlong, min(max(x, -1.0), 256.0))
    is_code: cython.int = (code == x) & ((code >> 8) == 0)
    word = subsets[cython.cast(cython.Py_ssize_t, subset), (code >> 6) & 3]
    return is_code & cython.cast(cython.int, word >> (code & 63) & 1)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def march(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    categories: cython.bint,
    missing: cython.bint,
    root: cython.uint,
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    leaves: cython.int[:, ::1],
    out: cython.Py_ssize_t,
) -> cython.void:
    """Write the leaves of the rows `first` to `last` to the row `out` of `leaves`."""
    places = cython.declare(cython.uint[8])
    i = first
    k: cython.Py_ssize_t
    while i + 8 <= last:
        for k in range(8):
            places[k] = root
        moved: cython.uint = 1
        while moved:
            moved = 0
            for k in range(8):
                after = step(nodes, subsets, categories, missing, X, i + k, places[k])
                moved |= after ^ places[k]
                places[k] = after
        for k in range(8):
            leaves[out, i + k] = places[k]
        i += 8
    while i < last:
        place = root
        after = step(nodes, subsets, categories, missing, X, i, place)
        while after != place:
            place = after
            after = step(nodes, subsets, categories, missing, X, i, place)
        leaves[out, i] = place
        i += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_leaves(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    missing: cython.bint,
    root: cython.uint,
    X: cython.const[real][:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    leaves: cython.int[:, ::1],
    out: cython.Py_ssize_t,
) -> cython.void:
    """Choose the loop over rows without unneeded tests: see `march`."""
    if subsets.shape[0]:
        march(nodes, subsets, True, True, root, X, first, last, leaves, out)
    elif missing:
        march(nodes, subsets, False, True, root, X, first, last, leaves, out)
    else:
        march(nodes, subsets, False, False, root, X, first, last, leaves, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_be_missing(X: cython.const[real][:, ::1], trees: cython.Py_ssize_t) -> cython.bint:
    """Whether a value of the table is missing; true also where looking for it takes too long.

    Without missing values a step is a third faster, which is worth a look at all columns if there
    are not many more of them than trees.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    if X.shape[1] > 4 * trees:
        return True
    for i in range(X.shape[0]):
        missing: cython.int = 0
        for j in range(X.shape[1]):
            missing |= X[i, j] != X[i, j]
        if missing:
            return True
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def fetch_nodes(
    nodes: cython.const[Node][::1],
    roots: cython.const[cython.longlong][::1],
    tree: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
) -> cython.int:
    """Read a tree in the order of memory, so that rows find its nodes in the cache.

    Rows jump from node to node and would wait for each that is new; in order, the processor
    fetches many at once. With large trees this halves the time; few rows would not use what is
    fetched. The result means nothing but must be stored, or the compiler leaves the reads out.
    """
    seen: cython.int = 0
    place = roots[tree]
    last = roots[tree + 1] if tree + 1 < roots.shape[0] else nodes.shape[0]
    if last - place < 64 * rows:
        while place < last:
            seen += nodes[place].child != 0
            place += 4  # 64 bytes, which are fetched together
    return seen


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def fetch_rows(
    table: cython.const[cell][:, ::1],
    roots: cython.const[cython.longlong][::1],
    tree: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
) -> cython.int:
    """Do the same for a table with one row per node."""
    seen: cython.int = 0
    k: cython.Py_ssize_t
    place = roots[tree]
    last = roots[tree + 1] if tree + 1 < roots.shape[0] else table.shape[0]
    if last - place < 64 * rows:
        while place < last:
            for k in range(0, table.shape[1], 8):
                seen += table[place, k] != 0
            place += 1
    return seen


def descend(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    roots: cython.const[cython.longlong][::1],
    X: cython.const[real][:, ::1],
    block: cython.Py_ssize_t,
    out: cython.int[:, ::1],
):
    """Leaf that each row reaches in each tree, (trees, n), in blocks that stay in the cache."""
    n = X.shape[0]
    first: cython.Py_ssize_t = 0
    tree: cython.Py_ssize_t
    with cython.nogil:
        missing = may_be_missing(X, roots.shape[0])
        while first < n:
            last = min(first + block, n)
            for tree in range(roots.shape[0]):
                out[tree, first] = fetch_nodes(nodes, roots, tree, last - first)
                find_leaves(nodes, subsets, missing, roots[tree], X, first, last, out, tree)
            first = last


def run_forest(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    roots: cython.const[cython.longlong][::1],
    outputs: cython.const[cython.longlong][::1],
    values: cython.const[cython.double][:, ::1],
    paths: cython.const[cython.ulonglong][:, ::1],
    X: cython.const[real][:, ::1],
    raw: cython.double[:, ::1],
    words: cython.ulonglong[:, ::1],
):
    """Add the outputs of every tree to `raw` and the bits of every path to `words`."""
    n = X.shape[0]
    # The last entry takes the results of `fetch_nodes` and `fetch_rows`.
    leaves: cython.int[:, ::1] = np.empty((1, n + 1), dtype=np.int32)
    tree: cython.Py_ssize_t
    with cython.nogil:
        missing = may_be_missing(X, roots.shape[0])
        for tree in range(roots.shape[0]):
            leaves[0, n] = fetch_nodes(nodes, roots, tree, n)
            find_leaves(nodes, subsets, missing, roots[tree], X, 0, n, leaves, 0)
            if raw.shape[1]:
                leaves[0, n] = fetch_rows(values, roots, tree, n)
                add_outputs(values, leaves, outputs[tree], raw)
            if words.shape[1]:
                leaves[0, n] = fetch_rows(paths, roots, tree, n)
                add_paths(paths, leaves, words)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_outputs(
    values: cython.const[cython.double][:, ::1],
    leaves: cython.const[cython.int][:, ::1],
    output: cython.longlong,
    raw: cython.double[:, ::1],
) -> cython.void:
    """A tree with one value adds it to its own output, one with a row of values adds the row."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    if values.shape[1] == 1:
        for i in range(raw.shape[0]):
            raw[i, output] += values[leaves[0, i], 0]
    else:
        for i in range(raw.shape[0]):
            for k in range(values.shape[1]):
                raw[i, k] += values[leaves[0, i], k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_paths(
    paths: cython.const[cython.ulonglong][:, ::1],
    leaves: cython.const[cython.int][:, ::1],
    words: cython.ulonglong[:, ::1],
) -> cython.void:
    """Add the features on the way to the leaf of each row."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    if words.shape[1] == 1:
        for i in range(words.shape[0]):
            words[i, 0] |= paths[leaves[0, i], 0]
    else:
        for i in range(words.shape[0]):
            for k in range(words.shape[1]):
                words[i, k] |= paths[leaves[0, i], k]


def run_short_circuit(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    roots: cython.const[cython.longlong][::1],
    outputs: cython.const[cython.longlong][::1],
    order: cython.const[cython.longlong][::1],
    low: cython.const[cython.longlong][:, ::1],
    high: cython.const[cython.longlong][:, ::1],
    fills: cython.const[cython.double][:, ::1],
    start: cython.const[cython.longlong][:, ::1],
    rule: cython.const[cython.longlong][::1],
    X: cython.const[real][:, ::1],
    raw: cython.double[:, ::1],
    used: cython.uchar[:, ::1],
    done: cython.longlong[::1],
    ends: cython.longlong[:, ::1],
):
    """Fill `raw` with outputs, `used`, `done` (finished trees) and `ends` (bounds of output 0).

    For every row, each tree stands at a node. The first unfinished tree in `order` names the next
    feature to buy, and the value moves every tree that waits for it. Bounds on the outputs are
    integers, so they do not depend on the order in which the trees moved. `low`, `high`, `fills`,
    `start` and `rule` are fields of `thrifty.model.short_circuit.bounds.Bounds`.
    """
    # The trees that wait for a feature are a linked list: first[feature], after[tree], until -1.
    # Row 0 is the state at the roots, from which every row of the table starts, and row 1 now.
    first: cython.longlong[:, ::1] = np.empty((2, X.shape[1]), dtype=np.int64)
    after: cython.longlong[:, ::1] = np.empty((2, roots.shape[0]), dtype=np.int64)
    place: cython.uint[:, ::1] = np.empty((2, roots.shape[0]), dtype=np.uint32)
    bounds: cython.longlong[:, ::1] = np.empty((2, raw.shape[1]), dtype=np.int64)
    i: cython.Py_ssize_t
    with cython.nogil:
        leaves = line_up(nodes, roots, first, after, place)
        for i in range(X.shape[0]):
            first[1, :], after[1, :], place[1, :] = first[0], after[0], place[0]
            bounds[:] = start
            done[i] = leaves
            current: cython.Py_ssize_t = 0
            while not is_settled(bounds, rule):
                while current < order.shape[0] and is_leaf(nodes, place[1, order[current]]):
                    current += 1
                if current == order.shape[0]:
                    break
                feature = column(nodes[place[1, order[current]]].feature)
                used[i, feature] = 1
                tree: cython.longlong = first[1, feature]
                first[1, feature] = -1
                while tree >= 0:
                    following = after[1, tree]
                    before = place[1, tree]
                    here = move(nodes, subsets, X, i, before, used)
                    place[1, tree] = here
                    tighten(low, high, before, here, outputs[tree], bounds)
                    if is_leaf(nodes, here):
                        done[i] += 1
                    else:
                        feature = column(nodes[here].feature)
                        after[1, tree], first[1, feature] = first[1, feature], tree
                    tree = following
            ends[i, 0], ends[i, 1] = bounds[0, 0], bounds[1, 0]
            add_up(fills, place, outputs, raw, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def line_up(
    nodes: cython.const[Node][::1],
    roots: cython.const[cython.longlong][::1],
    first: cython.longlong[:, ::1],
    after: cython.longlong[:, ::1],
    place: cython.uint[:, ::1],
) -> cython.longlong:
    """Let all trees wait at their roots; return how many are leaves."""
    leaves: cython.longlong = 0
    tree: cython.Py_ssize_t
    first[0, :] = -1
    for tree in range(roots.shape[0]):
        place[0, tree], after[0, tree] = roots[tree], -1
        if is_leaf(nodes, place[0, tree]):
            leaves += 1
        else:
            feature = column(nodes[place[0, tree]].feature)
            after[0, tree], first[0, feature] = first[0, feature], tree
    return leaves


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_leaf(nodes: cython.const[Node][::1], place: cython.uint) -> cython.bint:
    """Whether a tree is finished at node `place`."""
    child: cython.uint = nodes[place].child
    return child == place


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def move(
    nodes: cython.const[Node][::1],
    subsets: cython.const[cython.ulonglong][:, ::1],
    X: cython.const[real][:, ::1],
    row: cython.Py_ssize_t,
    place: cython.uint,
    used: cython.const[cython.uchar][:, ::1],
) -> cython.uint:
    """The node that a tree reaches with the features that the row has bought."""
    while not is_leaf(nodes, place) and used[row, column(nodes[place].feature)]:
        place = step(nodes, subsets, True, True, X, row, place)
    return place


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def tighten(
    low: cython.const[cython.longlong][:, ::1],
    high: cython.const[cython.longlong][:, ::1],
    before: cython.uint,
    here: cython.uint,
    output: cython.longlong,
    bounds: cython.longlong[:, ::1],
) -> cython.void:
    """Replace the bounds of the node a tree has left by those of the node where it stands."""
    k: cython.Py_ssize_t
    for k in range(low.shape[1]):
        to = output if low.shape[1] == 1 else k
        bounds[0, to] += low[here, k] - low[before, k]
        bounds[1, to] += high[here, k] - high[before, k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_settled(
    bounds: cython.const[cython.longlong][:, ::1], rule: cython.const[cython.longlong][::1]
) -> cython.bint:
    """Whether nothing within the bounds can change the prediction.

    The kinds of rules, `rule[0]`, are those of `thrifty.model.short_circuit.bounds`.
    """
    if rule[0] == 0:  # VALUE
        return bounds[1, 0] - bounds[0, 0] <= rule[1]
    if rule[0] == 1:  # SIGN
        return (bounds[0, 0] > rule[1]) | (bounds[1, 0] < -rule[1])
    flat = rule[3]
    best: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    top = min(bounds[0, 0], flat)
    for k in range(1, bounds.shape[1]):
        if min(bounds[0, k], flat) > max(top, -flat):
            best, top = k, min(bounds[0, k], flat)
    top = max(top, -flat)
    for k in range(bounds.shape[1]):
        margin = rule[1] if k < best else rule[2]
        if k == best or top - min(max(bounds[1, k], -flat), flat) > margin:
            continue
        if k < best or (bounds[0, best] - flat < margin and -bounds[1, k] - flat < margin):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_up(
    fills: cython.const[cython.double][:, ::1],
    place: cython.const[cython.uint][:, ::1],
    outputs: cython.const[cython.longlong][::1],
    raw: cython.double[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.void:
    """Add what each tree gives where it stands, tree by tree as the whole forest does."""
    tree: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for tree in range(outputs.shape[0]):
        if fills.shape[1] == 1:
            raw[row, outputs[tree]] += fills[place[1, tree], 0]
        else:
            for k in range(fills.shape[1]):
                raw[row, k] += fills[place[1, tree], k]
