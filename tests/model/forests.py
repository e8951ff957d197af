"""Random forests and tables, and a reference that sends one row down a tree, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, empty_nodes

LINKS = ("sum", "sigmoid", "hinge", "softmax", "mean", "vote")
CODES = 200  # of a categorical column: they need more than three words of bits


@dataclass
class Shape:
    """The shape of a random forest; the first `categorical` columns hold codes."""

    link: str = "sum"
    outputs: int = 1
    trees: int = 12
    depth: int = 4
    features: int = 7
    categorical: int = 2

    @classmethod
    def of(cls, link, **changes):
        outputs = {"sum": 1, "sigmoid": 1, "hinge": 3}.get(link, 3)
        return cls(link, **{"outputs": outputs, **changes})


def draw_forest(rng, shape):
    """Draw a random forest; some trees are a single leaf."""
    wide = shape.link in ("mean", "vote")
    trees, subsets, size = [], [], 0
    for _ in range(shape.trees):
        depth = 0 if rng.random() < 0.1 else shape.depth
        nodes = draw_tree(rng, depth, shape, subsets)
        leaf = nodes["child"] == np.arange(len(nodes))
        nodes["child"] += size
        nodes["feature"][leaf] = MISSING_LEFT
        nodes["threshold"][leaf] = np.inf
        trees.append(nodes)
        size += len(nodes)
    sizes = [len(nodes) for nodes in trees]
    return Forest(
        nodes=np.concatenate([empty_nodes(0), *trees]),
        values=rng.normal(size=(size, shape.outputs if wide else 1)),
        roots=np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        outputs=np.arange(shape.trees, dtype=np.int64) % (1 if wide else shape.outputs),
        base=np.zeros(shape.outputs) if wide else rng.normal(size=shape.outputs),
        link=shape.link,
        n_features=shape.features,
        subsets=np.array(subsets, dtype=np.uint64).reshape(-1, 4),
    )


def with_shares(forest):
    """Return the forest with class shares as values: those of a node are the mean of its leaves."""
    values = np.abs(forest.values)
    values /= values.sum(axis=1, keepdims=True)
    child = forest.nodes["child"]
    for node in reversed(range(len(child))):
        if child[node] != node:
            values[node] = (values[child[node]] + values[child[node] + 1]) / 2
    return replace(forest, values=values)


def draw_tree(rng, depth, shape, subsets):
    """Draw the nodes of one tree, from node 0 on; new subsets are appended to `subsets`."""
    nodes = [None]
    open_leaves = [(0, 0)]
    while open_leaves:
        node, level = open_leaves.pop(rng.integers(len(open_leaves)))
        if level == depth or (level > 0 and rng.random() < 0.2):
            nodes[node] = (np.inf, node, MISSING_LEFT)
            continue
        nodes[node] = (*draw_split(rng, shape, subsets, child=len(nodes)),)
        open_leaves += [(len(nodes), level + 1), (len(nodes) + 1, level + 1)]
        nodes += [None, None]
    tree = empty_nodes(len(nodes))
    tree[:] = nodes
    return tree


def draw_split(rng, shape, subsets, child):
    """Draw threshold, child and feature of one split; a new subset is appended to `subsets`."""
    feature = int(rng.integers(shape.features))
    flags = MISSING_LEFT if rng.random() < 0.5 else 0
    if feature >= shape.categorical:
        return float(rng.integers(0, 6)), child, feature | flags
    subsets.append(rng.integers(0, 2**64, size=4, dtype=np.uint64))
    return float(len(subsets) - 1), child, feature | flags | CATEGORICAL


def draw_table(rng, shape, rows=37, dtype=np.float64, missing=0.15):
    """Draw rows whose values often lie on a threshold."""
    X = rng.integers(0, 12, size=(rows, shape.features)) / 2.0
    k = shape.categorical
    X[:, :k] = rng.integers(0, CODES, size=(rows, k))
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(dtype)


def next_node(forest, place, x):
    """Return the child to which the split at `place` sends one row."""
    node = forest.nodes[place]
    value = float(x[int(node["feature"]) & INDEX])
    if np.isnan(value):
        left = bool(node["feature"] & MISSING_LEFT)
    elif node["feature"] & CATEGORICAL:
        word = int(forest.subsets[int(node["threshold"])][int(value) // 64])
        left = bool(word >> int(value) % 64 & 1)
    else:
        left = value <= node["threshold"]
    return int(node["child"]) + (not left)


def descend_plainly(forest, root, x):
    """Return the leaf of one row in one tree, and the features read on the way."""
    place, read = int(root), set()
    while forest.nodes["child"][place] != place:
        read.add(int(forest.nodes["feature"][place]) & INDEX)
        place = next_node(forest, place, x)
    return place, read


def leaves_and_used(forest, X):
    """Return leaves (trees, n) and used features (n, d), one row and tree at a time."""
    leaves = np.empty((len(forest.roots), len(X)), dtype=np.int32)
    used = np.zeros((len(X), forest.n_features), dtype=bool)
    for i, x in enumerate(X):
        for tree, root in enumerate(forest.roots):
            leaves[tree, i], read = descend_plainly(forest, root, x)
            used[i, list(read)] = True
    return leaves, used
