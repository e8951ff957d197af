"""Random forests of frozen nodes, random rows, and one row sent down one tree by plain steps."""

from __future__ import annotations

import numpy as np

from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, NODE

N_FEATURES = 70  # paths need more than one word of bits


def draw_forest(seed, n_trees=5, depth=4, categorical=False):
    """Return nodes, subsets and roots of random trees."""
    rng = np.random.default_rng(seed)
    nodes, roots = [], []

    def grow(place, level):
        if level == depth or rng.random() < 0.2:
            nodes[place] = (np.inf, place, MISSING_LEFT)
            return
        child = len(nodes)
        nodes.extend([None, None])
        feature = int(rng.integers(N_FEATURES))
        flags = MISSING_LEFT if rng.random() < 0.5 else 0
        threshold = float(rng.normal())
        if categorical and feature % 2:
            flags, threshold = flags | CATEGORICAL, float(rng.integers(3))
        nodes[place] = (threshold, child, feature | flags)
        grow(child, level + 1)
        grow(child + 1, level + 1)

    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append(None)
        grow(roots[-1], 0)
    subsets = rng.integers(0, 2**64, size=(3 if categorical else 0, 4), dtype=np.uint64)
    # Uncompiled kernels need a field as an attribute.
    return np.array(nodes, dtype=NODE).view(np.recarray), subsets, np.array(roots)


def draw_rows(seed, n, categorical=False, missing=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    if categorical:
        # Codes, what is no code, and fractions.
        X[:, 1::2] = rng.choice([0.0, 1.0, 63.0, 64.0, 255.0, 256.0, -1.0, 0.5], X[:, 1::2].shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def plain_walk(nodes, subsets, root, x):
    """Return the leaf and the features that one row reads."""
    place, read = int(root), set()
    while nodes[place]["child"] != place:
        threshold, child, feature = (
            nodes[place][name] for name in ("threshold", "child", "feature")
        )
        column = feature & INDEX
        read.add(column)
        value = x[column]
        if np.isnan(value):
            left = bool(feature & MISSING_LEFT)
        elif feature & CATEGORICAL:
            code = int(value)
            subset = [int(word) for word in subsets[int(threshold)]]
            left = code == value and 0 <= code < 256 and bool(subset[code >> 6] >> (code & 63) & 1)
        else:
            left = value <= threshold
        place = child + (not left)
    return place, read
