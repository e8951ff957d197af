"""Grow a tree of least-squares models from the root down (Kusner et al. 2014, algorithm 1).

`freeze_tree` turns a grown tree, down to some level, into a `thrifty.model.LinearTree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.encoding import encode_blockwise, standardize_blockwise
from thrifty.learn.purchases import Purchases
from thrifty.learn.submodular_tree.forward_selection import Buyer, Explainer, Layout
from thrifty.learn.submodular_tree.gram import Gram
from thrifty.learn.submodular_tree.inputs import (
    Inputs,
    StoredInputs,
    apply_by_rows,
    select_inputs,
)
from thrifty.learn.submodular_tree.least_squares import least_squares
from thrifty.learn.submodular_tree.stored_training_set import StoredTrainingSet
from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.products import weighted_sums

__all__ = [
    "DesignMatrix",
    "GrownTree",
    "Node",
    "TreeGrower",
    "constant_tree",
    "freeze_tree",
    "halving_threshold",
    "mean_and_deviation",
]

Floats = NDArray[np.float64]
# Width of the sigmoid of soft routing, in standard deviations of the routing values.
SIGMOID_WIDTH = 0.2
# Most inputs: the products of all pairs take 800 MB, several times over.
MAX_INPUTS = 10_000
# Platt scaling has few parameters: at most this many rows, evenly spaced, are enough to fit it.
MAX_CALIBRATION_ROWS = 5_000


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """The training rows as inputs and targets of least squares.

    Parameters
    ----------
    Z : array of shape (n, q), or StoredInputs
        Inputs: numbers are standardized, categories have an indicator per label.
    Y : array of shape (n, t)
        Targets.
    weight : array of shape (n,) or None
        Weights of the rows, with a mean of at least 1.
    encoding : Encoding
        Turns rows of the table into inputs.
    layout : Layout
        Columns of the inputs.
    """

    Z: Inputs
    Y: Floats
    weight: Floats | None
    encoding: Encoding
    layout: Layout

    @classmethod
    def of(cls, train: TrainingSet) -> Self:
        """Encode a training set.

        A number becomes a standardized target, so that sums of squares are exact even if it is far
        from 0. Classes become targets of -1 and 1: one for two classes, one per class for more.
        Weights are scaled up to a mean of 1 if it is smaller, so that their sum does not
        understate the number of rows.
        """
        if train.task == "regression":
            center, scale = mean_and_deviation(train.y, train.weight)
            targets = ((train.y - center) / scale)[:, np.newaxis]
        else:
            classes = np.arange(train.n_classes)[1 if train.n_classes == 2 else 0 :]
            targets = np.where(train.y[:, np.newaxis] == classes, 1.0, -1.0)
        weight = train.weight
        if weight is not None:
            weight = weight * max(1.0, len(weight) / weight.sum())
        encoding = standardize_blockwise(train.schema, train.X, weight)
        if len(encoding.columns) > MAX_INPUTS:
            raise DataError(
                f"table: {len(encoding.columns)} inputs; the products of all pairs of them are "
                f"kept, and the limit is {MAX_INPUTS}. Select columns first"
            )
        Z: Inputs = (
            StoredInputs(train.X, encoding)
            if isinstance(train, StoredTrainingSet)
            else encode_blockwise(encoding, train.X)
        )
        return cls(Z, targets, weight, encoding, Layout(encoding.columns, train.n_features))

    @cached_property
    def weights(self) -> Floats:
        """Weight of each row, 1 where none was given, (n,)."""
        return np.ones(len(self.Z)) if self.weight is None else self.weight

    @property
    def calibration_step(self) -> int:
        """Distance of the rows that Platt scaling is fitted to."""
        return -(-len(self.Y) // MAX_CALIBRATION_ROWS)


@dataclass(eq=False)
class Node:
    """A linear model of k inputs, and where it sends a row.

    Parameters
    ----------
    level : int
        Number of nodes above.
    inputs : int array of shape (k,)
        Inputs that the node uses, in increasing order.
    weights, bias : arrays of shapes (k, t) and (t,)
        Of its outputs.
    is_exact : bool
        Whether it explains its rows up to rounding, so that no child could do better.
    route : array of shape (k,)
        A row goes right if its inputs times these are above the threshold.
    threshold : float
    left, right : int
        Numbers of the children; -1 if there are none.
    """

    level: int
    inputs: NDArray[np.intp]
    weights: Floats
    bias: Floats
    is_exact: bool
    route: Floats = field(default_factory=lambda: np.zeros(0))
    threshold: float = 0.0
    left: int = -1
    right: int = -1

    def routing_values(self, Z: Inputs) -> Floats:
        """Return what is compared with the threshold, with the same bits as the frozen model."""
        route, zero = self.route[:, np.newaxis], np.zeros(1)
        return apply_by_rows(lambda z: weighted_sums(z, route, zero)[:, 0], Z)


@dataclass(eq=False)
class GrownTree:
    """The nodes of a tree, each after its parent, and its outputs for the calibration rows.

    ``outputs[level]`` (m, t) are those of the tree cut off below a level.
    """

    nodes: list[Node] = field(default_factory=list)
    outputs: list[Floats] = field(default_factory=list)

    @property
    def purchases(self) -> list[bytes]:
        """What each node uses, in a form that can be compared."""
        return [node.inputs.tobytes() for node in self.nodes]


@dataclass(frozen=True, eq=False)
class _NodeData:
    """The data that a node is fitted to.

    Parameters
    ----------
    rows : int array
        Rows that reach the node.
    weight : array or None
        Weights of these rows; with soft routing, of all rows.
    gram : Gram
        Weighted sums over them.
    paid : uint8 array of shape (d,)
        1 for each column that the nodes above have bought.
    level, parent, side
        Number of nodes above, number of the parent, and "left" or "right" of it.
    position : int
        Number of the node in a full tree, level by level from the left.
    """

    rows: NDArray[np.intp]
    weight: Floats | None
    gram: Gram
    paid: NDArray[np.uint8]
    level: int = 0
    parent: int = -1
    side: str = ""
    position: int = 0


class TreeGrower:
    """Grows trees on the same rows for any prices and node budget.

    The sums over all rows are computed once; every tree starts from them.

    Parameters
    ----------
    design : DesignMatrix
    max_depth : int
        Number of nodes on the longest path.
    min_weight : float
        Smallest number of rows, or sum of their weights, at a node.
    soft : bool
        Whether every row counts in every node, by how close it is to going there.
    greedy : bool
        Whether a node buys as in the paper: whatever a column explains, until the first that the
        budget does not cover.
    """

    def __init__(
        self,
        design: DesignMatrix,
        max_depth: int,
        min_weight: float,
        soft: bool,
        greedy: bool = False,
    ) -> None:
        self.design, self.max_depth, self.min_weight = design, max_depth, min_weight
        self.soft, self.greedy = soft, greedy
        self.gram = Gram.of(design.Z, design.Y, design.weight)

    def buy_at_root(self, prices: BoundPrices) -> Buyer:
        """Return what the root would buy, in order, without a budget."""
        return self._buy(self.gram, Purchases(prices, 0, "model"), np.inf)

    def grow(self, prices: BoundPrices, budget: float | Sequence[float]) -> GrownTree:
        """Grow a tree in which each node spends at most `budget`, or one that has its own.

        Budgets of their own are those of a full tree, level by level from the left.
        """
        design = self.design
        n, t = design.Y.shape
        step = design.calibration_step
        tree = GrownTree(outputs=[np.empty((-(-n // step), t)) for _ in range(self.max_depth)])
        nothing = np.zeros(len(prices.own), dtype=np.uint8)
        waiting = [_NodeData(np.arange(n), design.weight, self.gram, nothing)]
        while waiting:
            data = waiting.pop()
            # Buy: what the nodes above have bought is free.
            purchases = Purchases(prices, 0, "model")
            purchases.features[:] = data.paid
            limit = budget[data.position] if isinstance(budget, Sequence) else budget
            explainer = self._buy(data.gram, purchases, limit).explainer
            inputs = np.sort(np.array(explainer.chosen, dtype=np.intp))
            # Fit: with soft routing, to all rows.
            is_whole = self.soft or len(data.rows) == n
            Z = select_inputs(design.Z, None if is_whole else data.rows, inputs)
            Y = design.Y if is_whole else design.Y[data.rows]
            weights, bias = least_squares(Z, Y, data.weight, data.gram.products(inputs))
            node = Node(data.level, inputs, weights, bias, explainer.is_done)
            if self.soft and len(data.rows) < n:
                Z = select_inputs(design.Z, data.rows, inputs)
            number = len(tree.nodes)
            if data.parent >= 0:
                setattr(tree.nodes[data.parent], data.side, number)
            tree.nodes.append(node)
            # Predict: the outputs of a node hold on its level and, until a lower node has its own,
            # on the levels below.
            (kept,) = np.nonzero(data.rows % step == 0)
            outputs = Z[kept] @ node.weights + node.bias
            for level_outputs in tree.outputs[data.level :]:
                level_outputs[data.rows[kept] // step] = outputs
            if data.level + 1 < self.max_depth:
                waiting += self._split(data, node, Z, purchases.features, number)
        return tree

    def _buy(self, gram: Gram, purchases: Purchases, budget: float) -> Buyer:
        """Spend a budget on rows with these sums; `purchases` is updated."""
        explainer = Explainer.of(gram, self.design.layout)
        total_weight = np.inf if self.greedy else gram.total_weight
        buyer = Buyer(explainer, purchases, total_weight, self.greedy)
        buyer.spend(budget)
        return buyer

    def _split(
        self, data: _NodeData, node: Node, Z: Inputs, paid: NDArray[np.uint8], number: int
    ) -> list[_NodeData]:
        """Set route and threshold of a node; return the data of its children, the left one last.

        Returns none if the outputs of the rows are equal, or a child would have too few rows.
        """
        if node.is_exact:
            return []
        direction = np.ones(1)
        if node.weights.shape[1] > 1:
            # The combination of the outputs that varies most: their first principal component.
            covariance = data.gram.center().inputs[np.ix_(node.inputs, node.inputs)]
            component = np.linalg.eigh(node.weights.T @ covariance @ node.weights)[1][:, -1]
            direction = component * np.sign(component[np.argmax(np.abs(component))])
        node.route = node.weights @ direction
        values = node.routing_values(Z)
        weight = self.design.weights[data.rows]
        node.threshold = halving_threshold(values, weight)
        right = values > node.threshold
        least = max(self.min_weight, np.finfo(float).tiny)
        if min(weight[right].sum(), weight[~right].sum()) < least:
            return []
        weights, grams = self._divide(data, node, right)
        return [
            _NodeData(data.rows[right == is_right], weights[is_right], grams[is_right], paid,
                      data.level + 1, number, "right" if is_right else "left",
                      2 * data.position + 1 + is_right)
            for is_right in (True, False)
        ]  # fmt: skip

    def _divide(
        self, data: _NodeData, node: Node, right: NDArray[np.bool_]
    ) -> tuple[list[Floats | None], list[Gram]]:
        """Return the weights and the sums of the left and the right child.

        Only one child is summed; the other has the difference.
        """
        design = self.design
        if self.soft:
            weight = design.weights if data.weight is None else data.weight
            values = node.routing_values(select_inputs(design.Z, None, node.inputs))
            center = np.average(values, weights=weight)
            deviation = np.sqrt(np.average(np.square(values - center), weights=weight))
            upper = weight * expit((values - node.threshold) / (SIGMOID_WIDTH * deviation))
            sums = Gram.of(design.Z, design.Y, upper)
            return [weight - upper, upper], [data.gram - sums, sums]
        smaller_is_right = bool(right.mean() < 0.5)
        weights: list[Floats | None] = [None, None]
        if data.weight is not None:
            weights = [data.weight[~right], data.weight[right]]
        rows = data.rows[right == smaller_is_right]
        sums = Gram.of(design.Z, design.Y, weights[smaller_is_right], rows)
        rest = data.gram - sums
        return weights, [rest, sums] if smaller_is_right else [sums, rest]


def halving_threshold(values: Floats, weight: Floats) -> float:
    """Return the threshold between two values that divides the weights most evenly.

    It is infinite if all values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.grower import halving_threshold
    >>> halving_threshold(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4))
    2.5
    >>> halving_threshold(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4))
    0.5
    """
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return float(np.inf)
    below = np.cumsum(np.bincount(place, weight))[:-1]
    cut = int(np.argmin(np.abs(below - weight.sum() / 2.0)))
    low, high = distinct[cut : cut + 2]
    between = low + (high - low) / 2.0
    return float(between if low <= between < high else low)


def mean_and_deviation(y: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of y (n,); a deviation of 0 becomes 1."""
    center = float(np.average(y, weights=weight))
    scale = float(np.sqrt(np.average(np.square(y - center), weights=weight)))
    return center, scale if scale > 0.0 else 1.0


def freeze_tree(
    tree: GrownTree,
    level: int,
    design: DesignMatrix,
    n_features: int,
    link: str,
    scale: float,
    offset: Floats,
) -> LinearTree:
    """Freeze a tree down to a level; outputs are multiplied by `scale`, then `offset` is added.

    The encoding keeps only the inputs that some node uses.
    """
    kept = [number for number, node in enumerate(tree.nodes) if node.level <= level]
    place = {number: k for k, number in enumerate(kept)} | {-1: -1}
    nodes = [tree.nodes[number] for number in kept]
    used, inputs = np.unique(np.concatenate([node.inputs for node in nodes]), return_inverse=True)
    is_inner = [node.level < level and node.left >= 0 for node in nodes]
    routes = [
        node.route if inner else np.zeros(len(node.inputs))
        for node, inner in zip(nodes, is_inner, strict=True)
    ]
    return LinearTree(
        left=np.array([place.get(node.left, -1) for node in nodes]),
        right=np.array([place.get(node.right, -1) for node in nodes]),
        starts=np.cumsum([0, *(len(node.inputs) for node in nodes)]),
        inputs=inputs.astype(np.int64),
        route=np.concatenate(routes),
        threshold=np.where(is_inner, [node.threshold for node in nodes], 0.0),
        weights=scale * np.concatenate([node.weights for node in nodes]),
        bias=scale * np.array([node.bias for node in nodes]) + offset,
        link=link,
        n_features=n_features,
        encoding=design.encoding.keep(used),
    )


def constant_tree(bias: Floats, link: str, n_features: int) -> LinearTree:
    """Return the tree of one node that uses no inputs: its outputs are the bias."""
    whole, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    return LinearTree(
        left=np.array([-1]), right=np.array([-1]), starts=np.zeros(2, dtype=np.int64),
        inputs=whole, route=none, threshold=np.zeros(1), weights=np.zeros((0, len(bias))),
        bias=bias[np.newaxis], link=link, n_features=n_features,
        encoding=Encoding(whole, whole, none, none, none),
    )  # fmt: skip
