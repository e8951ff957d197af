"""Deep trees becoming a frozen forest whose leaves vote with their class shares."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.impurity import HALF, MASK
from thrifty.model import Forest
from thrifty.model.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes

__all__ = ["constant_forest", "freeze_trees"]


def freeze_trees(trees: Sequence[Any], categorical: NDArray[np.bool_], n_classes: int) -> Forest:
    """The forest of `thrifty.kernels.deep.Tree`s; it averages the class shares of the leaves."""
    sizes = [len(tree.left) for tree in trees]
    starts = list(accumulate([0, *sizes]))[:-1]
    subsets = list(accumulate([0, *(len(tree.subsets) for tree in trees)]))[:-1]
    nodes = [
        _nodes(tree, categorical, start, subset)
        for tree, start, subset in zip(trees, starts, subsets, strict=True)
    ]
    return Forest(
        nodes=np.concatenate([empty_nodes(0), *nodes]).astype(NODE),
        values=np.concatenate([_shares(tree, n_classes) for tree in trees]),
        roots=np.array(starts, dtype=np.int64),
        outputs=np.zeros(len(trees), dtype=np.int64),
        base=np.zeros(n_classes),
        link="mean",
        n_features=len(categorical),
        subsets=np.concatenate([tree.subsets for tree in trees]),
    )


def constant_forest(shares: NDArray[np.float64], n_features: int) -> Forest:
    """The forest without trees: everyone gets the class shares of the training rows."""
    return Forest(
        nodes=empty_nodes(0), values=np.empty((0, len(shares))),
        roots=np.empty(0, dtype=np.int64), outputs=np.empty(0, dtype=np.int64),
        base=shares, link="mean", n_features=n_features,
    )  # fmt: skip


def _nodes(tree: Any, categorical: NDArray[np.bool_], start: int, subset: int) -> NDArray[np.void]:
    nodes = empty_nodes(len(tree.left))
    nodes["child"] += start
    split = np.flatnonzero(tree.left >= 0)
    feature = tree.feature[split]
    by_set = categorical[feature]
    nodes["child"][split] = tree.left[split] + start
    nodes["threshold"][split] = tree.threshold[split] + np.where(by_set, subset, 0)
    nodes["feature"][split] = (
        feature
        | np.where(tree.missing_left[split], MISSING_LEFT, 0)
        | np.where(by_set, CATEGORICAL, 0)
    )
    return nodes


def _shares(tree: Any, n_classes: int) -> NDArray[np.float64]:
    """Class shares of every node, inner ones too: the best answer of a walk that stops there."""
    both = np.stack([tree.counts >> HALF, tree.counts & MASK], axis=2)
    counts = both.reshape(len(tree.counts), -1)[:, :n_classes].astype(np.float64)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
