"""Convert a fitted scikit-learn forest to a frozen `Forest`, to compare on the same trees."""

from __future__ import annotations

import numpy as np

from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes


def freeze(forest, n_features):
    """Return the `Forest` that averages the class distributions of the leaves."""
    nodes, values, roots, size = [], [], [], 0
    for estimator in forest.estimators_:
        tree = estimator.tree_
        order, child = breadth_first(tree)
        records = empty_nodes(len(order))
        records["child"] += size
        split = child >= 0
        records["child"][split] = child[split] + size
        records["threshold"][split] = tree.threshold[order][split]
        records["feature"][split] = tree.feature[order][split]
        share = tree.value[order][:, 0, :]
        nodes.append(records)
        values.append(share / share.sum(axis=1, keepdims=True))
        roots.append(size)
        size += len(order)
    k = values[0].shape[1]
    return Forest(
        nodes=np.concatenate(nodes), values=np.concatenate(values),
        roots=np.array(roots, dtype=np.int64), outputs=np.zeros(len(roots), dtype=np.int64),
        base=np.zeros(k), link="mean", n_features=n_features,
    )  # fmt: skip


def breadth_first(tree):
    """Return the nodes in breadth-first order, and the new index of each left child, or -1."""
    order, child = [0], []
    for node in order:
        left = tree.children_left[node]
        child.append(len(order) if left >= 0 else -1)
        if left >= 0:
            order += [left, tree.children_right[node]]
    return np.array(order), np.array(child)
