"""A tree of linear models on some rows: who comes to each node, what it buys there, who exits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.model import LinearTree

__all__ = ["Branch", "branches", "similarity"]

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Branch:
    """One node.

    Parameters
    ----------
    node, parent, depth : int
        Its number, that of its parent (-1 for the root), and how many nodes are above it.
    side : str
        How a row comes here from the parent: "" (root), "left" or "right".
    threshold : float or None
        Rows whose value is above it go right; None where every row exits.
    share, exits : float
        Share of all rows that come here, and that are answered here.
    bought : tuple of str or int
        Features that rows read here for the first time.
    price : float
        What that costs a row that comes here, on average.
    answer : str
        What the rows that come here are answered in the end: the mean, the probability of the
        second of two classes, or the most frequent class.
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
    answer: str


def branches(predictor: Predictor, X: Any) -> tuple[Branch, ...]:
    """The nodes of a tree of linear models, in the order of a reader: left before right.

    Raises
    ------
    DataError
        If the model of the predictor is not a `thrifty.model.LinearTree`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeRegressor
    >>> from thrifty.report.branches import branches
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = 4.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> model = SubmodularTreeRegressor(Prices([1.0, 5.0, 5.0]), 5, max_depth=2).fit(X, y)
    >>> [(branch.share, branch.bought, branch.price) for branch in branches(model.predictor_, X)]
    [(1.0, (0,), 1.0), (0.5, (2,), 5.0), (0.5, (1,), 5.0)]
    """
    tree, rows = tree_of(predictor), predictor.schema.encode(X)
    visited, leaf = tree.visited(rows), tree.leaf(rows)
    seen = {-1: np.zeros((len(rows), tree.n_features), dtype=bool)}
    found: dict[int, Branch] = {}
    for node, parent in enumerate(tree.parents.tolist()):
        here = np.flatnonzero(visited[:, node])
        seen[node] = seen[parent].copy()
        seen[node][here] |= tree.nodes[node].slots.used(rows, here)
        before, after = (predictor.prices.bill(seen[k][here]) for k in (parent, node))
        new = (seen[node][here] & ~seen[parent][here]).any(axis=0)
        is_right = parent >= 0 and tree.right[parent] == node
        found[node] = Branch(
            node=node,
            parent=parent,
            depth=0 if parent < 0 else found[parent].depth + 1,
            side="" if parent < 0 else "right" if is_right else "left",
            threshold=None if tree.nodes[node].is_leaf else float(tree.threshold[node]),
            share=len(here) / len(rows),
            exits=float(np.mean(leaf == node)),
            bought=tuple(predictor.schema.name(int(j)) for j in np.flatnonzero(new)),
            price=float((after - before).mean()) if len(here) else 0.0,
            answer=_answer(predictor, rows[here]) if len(here) else "no rows",
        )
    return tuple(found[node] for node in _reading(tree, 0))


def similarity(predictor: Predictor) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Nodes where rows exit, and the Jaccard coefficients of what is read on the way to them.

    The share of the features that the ways to two exits have in common, of those that either has
    (Xu 2014, fig. 3.9).
    """
    tree = tree_of(predictor)
    reads: dict[int, NDArray[np.bool_]] = {-1: np.zeros(tree.n_features, dtype=bool)}
    for node, parent in enumerate(tree.parents.tolist()):
        reads[node] = reads[parent] | tree.nodes[node].slots.support
    exits = [k for k in _reading(tree, 0) if min(tree.left[k], tree.right[k]) < 0]
    sets = np.array([reads[node] for node in exits])
    common = (sets[:, np.newaxis] & sets).sum(axis=2)
    either = (sets[:, np.newaxis] | sets).sum(axis=2)
    alike = np.divide(common, either, out=np.ones(common.shape), where=either > 0)
    return tuple(exits), alike


def tree_of(predictor: Predictor) -> LinearTree:
    """The model of a predictor, if it is a tree of linear models."""
    if not isinstance(predictor.model, LinearTree):
        raise DataError(
            f"the model is a {type(predictor.model).__name__}, not a tree of linear models; give "
            "a fitted SubmodularTree, CostTree or CostCascade estimator or its predictor"
        )
    return predictor.model


def _reading(tree: LinearTree, node: int) -> list[int]:
    """Nodes from `node` down: itself, the left branch, the right branch."""
    found, waiting = [], [node]
    while waiting:
        here = waiting.pop()
        found.append(here)
        waiting += [int(child[here]) for child in (tree.right, tree.left) if child[here] >= 0]
    return found


def _answer(predictor: Predictor, rows: NDArray[np.floating]) -> str:
    scores = predictor.model.score(rows)
    if predictor.classes is None:
        return f"mean {scores.mean():.3g}"
    if len(predictor.classes) == 2:
        return f"{predictor.classes[1]}: {100 * scores[:, 1].mean():.0f} %"
    counts = np.bincount(scores.argmax(axis=1), minlength=len(predictor.classes))
    share = 100 * counts.max() / counts.sum()
    return f"{predictor.classes[counts.argmax()]}: {share:.0f} %"
