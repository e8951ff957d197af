"""The nodes of a tree of linear models: how many rows reach each, what they buy, who stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.model import LinearTree

__all__ = ["TreeNode", "exit_similarity", "tree_nodes"]


@dataclass(frozen=True)
class TreeNode:
    """One node of a tree of linear models, with statistics of the rows that reach it.

    Parameters
    ----------
    node, parent, depth : int
        Its number, that of its parent (-1 for the root), and its depth (0 for the root).
    side : str
        Which child of the parent it is: "" (root), "left" or "right".
    threshold : float or None
        Rows whose linear score is above it go right; None in a leaf.
    share, exits : float
        Fraction of all rows that reach the node, and that stop there.
    bought : tuple of str or int
        Features that rows read here for the first time.
    price : float
        What these features cost, averaged over the rows that reach the node.
    prediction : str
        Summary of the final predictions of the rows that reach the node: the mean value, the mean
        probability of the second of two classes, or the most frequent class.
    """

    node: int
    parent: int
    depth: int
    side: str
    threshold: float | None
    share: float
    exits: float
    bought: tuple[str | int, ...]
    price: float
    prediction: str


def tree_nodes(predictor: Predictor, rows: NDArray[np.floating]) -> tuple[TreeNode, ...]:
    """Describe the nodes of a tree of linear models in preorder: a node, its left, its right side.

    `rows` (n, d) are encoded by the schema of the predictor.

    Raises
    ------
    DataError
        If the model of the predictor is not a `thrifty.model.LinearTree`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeRegressor
    >>> from thrifty.report.tree_nodes import tree_nodes
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = 4.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> model = SubmodularTreeRegressor(Prices([1.0, 5.0, 5.0]), 5, max_depth=2).fit(X, y)
    >>> [(node.share, node.bought, node.price) for node in tree_nodes(model.predictor_, X)]
    [(1.0, (0,), 1.0), (0.5, (2,), 5.0), (0.5, (1,), 5.0)]
    """
    tree = _linear_tree(predictor)
    visited, leaf = tree.visited(rows), tree.leaf(rows)
    # Features that each row has read once it is past a node; -1 stands for "above the root".
    read = {-1: np.zeros((len(rows), tree.n_features), dtype=bool)}
    nodes: dict[int, TreeNode] = {}
    for node, parent in enumerate(tree.parents.tolist()):
        here = np.flatnonzero(visited[:, node])
        read[node] = read[parent].copy()
        read[node][here] |= tree.nodes[node].inputs.used(rows, here)
        before, after = (predictor.prices.bill(read[k][here]) for k in (parent, node))
        new = (read[node][here] & ~read[parent][here]).any(axis=0)
        is_right = parent >= 0 and tree.right[parent] == node
        nodes[node] = TreeNode(
            node=node,
            parent=parent,
            depth=0 if parent < 0 else nodes[parent].depth + 1,
            side="" if parent < 0 else "right" if is_right else "left",
            threshold=None if tree.nodes[node].is_leaf else float(tree.threshold[node]),
            share=len(here) / len(rows),
            exits=float(np.mean(leaf == node)),
            bought=tuple(predictor.schema.name(int(j)) for j in np.flatnonzero(new)),
            price=float((after - before).mean()) if len(here) else 0.0,
            prediction=_prediction(predictor, rows[here]),
        )
    return tuple(nodes[node] for node in _preorder(tree))


def exit_similarity(predictor: Predictor) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Compare the features read on the way to every pair of exits (Xu 2014, fig. 3.9).

    Returns
    -------
    exits : tuple of int
        The nodes where rows can stop, in preorder.
    similarity : float array of shape (exits, exits)
        Jaccard coefficients: features that both paths read over features that either reads.
    """
    tree = _linear_tree(predictor)
    reads: dict[int, NDArray[np.bool_]] = {-1: np.zeros(tree.n_features, dtype=bool)}
    for node, parent in enumerate(tree.parents.tolist()):
        reads[node] = reads[parent] | tree.nodes[node].inputs.support
    exits = [k for k in _preorder(tree) if min(tree.left[k], tree.right[k]) < 0]
    sets = np.array([reads[node] for node in exits])
    both = (sets[:, np.newaxis] & sets).sum(axis=2)
    either = (sets[:, np.newaxis] | sets).sum(axis=2)
    similarity = np.divide(both, either, out=np.ones(both.shape), where=either > 0)
    return tuple(exits), similarity


def _linear_tree(predictor: Predictor) -> LinearTree:
    """Return the model of a predictor, or raise if it is not a tree of linear models."""
    if not isinstance(predictor.model, LinearTree):
        raise DataError(
            f"the model is a {type(predictor.model).__name__}, not a tree of linear models; give "
            "a fitted SubmodularTree, CostTree or CostCascade estimator or its predictor"
        )
    return predictor.model


def _preorder(tree: LinearTree) -> list[int]:
    """List the nodes from the root down, each before its left and then its right side."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [int(child[node]) for child in (tree.right, tree.left) if child[node] >= 0]
    return order


def _prediction(predictor: Predictor, rows: NDArray[np.floating]) -> str:
    """Summarize the predictions for encoded rows in a few words."""
    if not len(rows):
        return "no rows"
    scores, classes = predictor.model.score(rows), predictor.classes
    if classes is None:
        return f"mean {scores.mean():.3g}"
    if len(classes) == 2:
        return f"{classes[1]}: {100 * scores[:, 1].mean():.0f}%"
    counts = np.bincount(scores.argmax(axis=1), minlength=len(classes))
    return f"{classes[counts.argmax()]}: {100 * counts.max() / counts.sum():.0f}%"
