"""Random trees of linear models, a small one by hand, and how one row goes down node by node."""

from __future__ import annotations

import numpy as np
from forests import Shape, descend_plainly, draw_forest, draw_table
from hypothesis import strategies as st

from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "hinge", "softmax"])
INPUTS = st.sampled_from(["columns", "trees"])
OUTPUTS = {"sum": 1, "sigmoid": 1, "hinge": 3, "softmax": 3}
SHAPE = Shape(trees=8, depth=3)


def plain_columns(columns):
    """An encoding that leaves numbers as they are."""
    columns = np.asarray(columns, dtype=np.int64)
    numeric = np.full(len(columns), -1, dtype=np.int64)
    zeros, ones = np.zeros(len(columns)), np.ones(len(columns))
    return Encoding(columns, numeric, zeros, ones, zeros)


def quadrants():
    """The root reads column 0; the left leaf reads column 1, the right one columns 0 and 2."""
    return LinearTree(
        left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), starts=np.array([0, 1, 2, 4]),
        inputs=np.array([0, 1, 0, 2]), route=np.array([1.0, 0, 0, 0]), threshold=np.zeros(3),
        weights=np.array([[0.5], [10.0], [1.0], [100.0]]), bias=np.array([[7.0], [1.0], [2.0]]),
        link="sum", n_features=3, encoding=plain_columns([0, 1, 2]),
    )  # fmt: skip


def draw_children(rng, count):
    """Random children: leaves, nodes with one exit and one child, nodes with two children."""
    left, right = np.full((2, count), -1, dtype=np.int64)
    free = [(0, 0), (0, 1)]
    for node in range(1, count):
        parent, side = free.pop(rng.integers(len(free)))
        (left, right)[side][parent] = node
        free += [(node, 0), (node, 1)]
    return left, right


def draw_tree(seed, link="sum", inputs="columns", rows=25):
    """A generator, a random tree, and a table with missing values and codes."""
    rng = np.random.default_rng(seed)
    nodes, q = int(rng.integers(1, 8)), 9
    encoding = base = None
    if inputs == "trees":
        base, q = draw_forest(rng, SHAPE), SHAPE.trees
    else:
        columns = rng.integers(0, SHAPE.features, q)
        codes = np.where(columns < SHAPE.categorical, rng.integers(0, 5, q), -1)
        encoding = Encoding(columns, codes, rng.normal(size=q), rng.random(q) + 0.5,
                            rng.normal(size=q))  # fmt: skip
    picks = [rng.permutation(q)[: rng.integers(0, 4)] for _ in range(nodes)]
    read = np.concatenate([np.zeros(0, dtype=np.int64), *picks])
    left, right = draw_children(rng, nodes)
    tree = LinearTree(
        left, right, np.cumsum([0, *map(len, picks)]), read, rng.normal(size=len(read)),
        rng.normal(size=nodes), rng.normal(size=(len(read), OUTPUTS[link])),
        rng.normal(size=(nodes, OUTPUTS[link])), link, SHAPE.features, encoding, base,
    )  # fmt: skip
    X = draw_table(rng, SHAPE, rows=rows, missing=0.2)
    X[:, : SHAPE.categorical] %= 5
    return rng, tree, X


def input_of(tree, number, x):
    """One input of one row, and the features that it reads."""
    if tree.base is not None:
        leaf, read = descend_plainly(tree.base, tree.base.roots[number], x)
        return tree.base.values[leaf, 0], read
    encoding = tree.encoding
    column, code = int(encoding.columns[number]), encoding.codes[number]
    if np.isnan(x[column]):
        return encoding.fills[number], {column}
    if code >= 0:
        return float(x[column] == code), {column}
    return (x[column] - encoding.centers[number]) / encoding.scales[number], {column}


def descend_node_by_node(tree, x):
    """Outputs before the link, features read, inputs read and nodes visited by one row."""
    node, features, inputs, visited = 0, set(), set(), []
    while True:
        visited.append(node)
        value, outputs = 0.0, tree.bias[node].copy()
        for k in range(tree.starts[node], tree.starts[node + 1]):
            z, reads = input_of(tree, tree.inputs[k], x)
            features |= reads
            inputs.add(int(tree.inputs[k]))
            value += z * tree.route[k]
            outputs += z * tree.weights[k]
        follows = tree.right[node] if value > tree.threshold[node] else tree.left[node]
        if follows < 0:
            return outputs, features, inputs, visited
        node = follows
