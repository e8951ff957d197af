"""What the nodes of a tree or a cascade of linear models read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty import Predictor
from thrifty.learn.cost_tree.inputs import features_read
from thrifty.model import LinearTree

Node = dict[str, Any]


def nodes_of(predictor: Predictor, X: Any, y: np.ndarray) -> list[Node]:
    """Return what each node of a linear tree reads, and which of some rows exit there.

    A model that is no such tree, the constant one, has no nodes.
    """
    tree = predictor.model
    if not isinstance(tree, LinearTree):
        return []
    exits = tree.leaf(predictor.encode(X))
    depth = np.zeros(len(tree.left), dtype=int)
    found = []
    for node in range(len(tree.left)):
        children = [child[node] for child in (tree.left, tree.right) if child[node] >= 0]
        depth[children] = depth[node] + 1
        inputs = tree.inputs[tree.starts[node] : tree.starts[node + 1]]
        if tree.base is None:
            columns = np.unique(tree.encoding.columns[inputs])
        else:
            columns = np.flatnonzero(features_read(tree.base)[:, inputs].any(axis=1))
        here = exits == node
        found.append(
            {
                "depth": depth[node],
                "columns": columns,
                "prices": predictor.prices.own[columns],
                "rows": here.mean(),
                "label": float(np.mean(y[here])) if here.any() else None,
            }
        )
    return found


def first_reads(trees: Sequence[list[Node]], depths: int) -> list[tuple[float, float]]:
    """Return, by depth, how many features a tree reads there first, and their mean price."""
    by_depth: list[list[float]] = [[] for _ in range(depths)]
    for tree in trees:
        read: set[int] = set()
        for node in sorted(tree, key=lambda one: one["depth"]):
            for column, price in zip(node["columns"], node["prices"], strict=True):
                if column not in read:
                    by_depth[node["depth"]].append(price)
                    read.add(column)
    return [
        (len(prices) / len(trees), float(np.mean(prices)) if prices else float("nan"))
        for prices in by_depth
    ]
