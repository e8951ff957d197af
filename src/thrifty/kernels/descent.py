"""Send rows down trees: leaves, outputs and used features in one pass.

Trees are the outer loop and the rows of a block the inner one, eight rows at a time: while one
waits for memory the others move. Each leaf carries the set of features on its path as bits, so
that accounting for a tree takes one OR per row instead of a visit per node.

`run_forest` and `descend` read float tables and the frozen nodes of `thrifty.model.forest`;
`follow` reads binned tables and a tree that has just been grown.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["descend", "follow", "run_forest"]

# The layout of a node is fixed by thrifty.model.forest.nodes; kernels know arrays only.
MISSING_LEFT = 1 << 30
CATEGORICAL = 1 << 29
INDEX = CATEGORICAL - 1


@jit
def step(nodes, subsets, X, row, place):
    """Child of node `place` for one row; a leaf is its own child.

    `subsets` is None where no split is on categories: that is compiled apart, without a branch.
    """
    node = nodes[place]
    feature = node.feature
    x = X[row, np.uint32(feature & INDEX)]
    if subsets is None:
        lost = (x != x) & ((feature & MISSING_LEFT) == 0)
        return np.uint32(node.child) + np.uint32((x > node.threshold) | lost)
    # One test for all that is rare: the common split is then free of branches.
    if (x != x) | ((feature & CATEGORICAL) != 0):
        return np.uint32(node.child) + np.uint32(not stays_left(node, subsets, x))
    return np.uint32(node.child) + np.uint32(x > node.threshold)


@jit
def stays_left(node, subsets, x):
    """Whether a missing value, or a category, goes left."""
    if x != x:
        return (node.feature & MISSING_LEFT) != 0
    # Free of branches: with them the loop over rows takes five times as long. What is no code, as
    # 256 or a fraction, goes right.
    code = np.int64(min(max(x, -1.0), 256.0))
    is_code = (code == x) & ((code >> 8) == 0)
    word = subsets[np.intp(node.threshold), (code >> 6) & 3]
    return is_code & (((word >> np.uint64(code & 63)) & np.uint64(1)) != 0)


@jit
def find_leaves(nodes, subsets, root, X, leaves):
    """Leaf of each row of X in one tree."""
    n = len(X)
    places = np.empty(8, dtype=np.uint32)
    for i in range(0, n - 7, 8):
        places[:] = root
        moved = True
        while moved:
            moved = False
            for k in range(8):
                after = step(nodes, subsets, X, i + k, places[k])
                moved |= after != places[k]
                places[k] = after
        for k in range(8):
            leaves[i + k] = places[k]
    for i in range(n - n % 8, n):
        place, after = np.uint32(root), step(nodes, subsets, X, i, np.uint32(root))
        while after != place:
            place, after = after, step(nodes, subsets, X, i, after)
        leaves[i] = place


@jit
def descend(nodes, subsets, roots, X, out):
    """Leaf that each row reaches in each tree, (trees, n)."""
    for tree in range(len(roots)):
        find_leaves(nodes, subsets, roots[tree], X, out[tree])


@jit
def run_forest(nodes, subsets, roots, outputs, values, paths, X, raw, words):
    """Add the outputs of every tree to `raw` and the bits of every path to `words`."""
    leaves = np.empty(len(X), dtype=np.int32)
    for tree in range(len(roots)):
        find_leaves(nodes, subsets, roots[tree], X, leaves)
        if raw.shape[1]:
            add_outputs(values, leaves, outputs[tree], raw)
        if words.shape[1] == 1:
            for i in range(len(X)):
                words[i, 0] |= paths[leaves[i], 0]
        else:
            for i in range(len(X)):
                for w in range(words.shape[1]):
                    words[i, w] |= paths[leaves[i], w]


@jit
def add_outputs(values, leaves, output, raw):
    """A tree with one value adds it to its own output, one with a row of values adds the row."""
    width = values.shape[1]
    if width == 1:
        for i in range(len(leaves)):
            raw[i, output] += values[leaves[i], 0]
    else:
        for i in range(len(leaves)):
            for k in range(width):
                raw[i, k] += values[leaves[i], k]


@jit
def follow(bins, left, feature, goes_left, leaves, used, news):
    """Leaf of each row, and its features into `used` (n, d).

    The rows that read something for the first time are put into `news`; returns how many.
    """
    count = 0
    for row in range(bins.shape[1]):
        node, new = 0, False
        while left[node] >= 0:
            split = feature[node]
            new |= not used[row, split]
            used[row, split] = True
            node = left[node] + 1 - goes_left[node, bins[split, row]]
        leaves[row] = node
        news[count] = row
        count += new
    return count
