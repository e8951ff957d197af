"""A grown tree of linear models becoming a frozen one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.tree_growing import GrownTree, Node
from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["constant_tree", "freeze_tree"]

Floats = NDArray[np.float64]


def freeze_tree(
    tree: GrownTree,
    level: int,
    encoding: Encoding,
    n_features: int,
    link: str,
    scale: float,
    offset: Floats,
) -> LinearTree:
    """The tree down to `level`; its answers are multiplied by `scale`, then `offset` is added.

    The encoding keeps only the slots that some node weighs.
    """
    kept = [number for number, node in enumerate(tree.nodes) if node.level <= level]
    place = {number: k for k, number in enumerate(kept)} | {-1: -1}
    nodes = [tree.nodes[number] for number in kept]
    slots = np.concatenate([node.slots for node in nodes])
    used, slots = np.unique(slots, return_inverse=True)
    is_inner = [node.level < level and node.left >= 0 for node in nodes]
    return LinearTree(
        left=np.array([place.get(node.left, -1) for node in nodes]),
        right=np.array([place.get(node.right, -1) for node in nodes]),
        starts=np.cumsum([0, *(len(node.slots) for node in nodes)]),
        slots=slots.astype(np.int64),
        route=np.concatenate([_route(n, i) for n, i in zip(nodes, is_inner, strict=True)]),
        threshold=np.where(is_inner, [node.threshold for node in nodes], 0.0),
        weights=scale * np.concatenate([node.weights for node in nodes]),
        bias=scale * np.array([node.bias for node in nodes]) + offset,
        link=link,
        n_features=n_features,
        encoding=Encoding(
            encoding.columns[used], encoding.codes[used], encoding.centers[used],
            encoding.scales[used], encoding.fills[used],
        ),
    )  # fmt: skip


def constant_tree(bias: Floats, link: str, n_features: int) -> LinearTree:
    """One node that weighs nothing and always answers the same."""
    whole, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    return LinearTree(
        left=np.array([-1]), right=np.array([-1]), starts=np.zeros(2, dtype=np.int64),
        slots=whole, route=none, threshold=np.zeros(1), weights=np.zeros((0, len(bias))),
        bias=bias[np.newaxis], link=link, n_features=n_features,
        encoding=Encoding(whole, whole, none, none, none),
    )  # fmt: skip


def _route(node: Node, is_inner: bool) -> Floats:
    return node.route if is_inner else np.zeros(len(node.slots))
