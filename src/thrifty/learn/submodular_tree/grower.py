"""Growing a tree of least-squares models from the root down (Kusner et al. 2014, algorithm 1).

A grown tree of linear models becoming a frozen one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.costs import BoundPrices
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.submodular_tree.forward_selection import Buyer, Explainer, Layout
from thrifty.learn.submodular_tree.gram import Gram
from thrifty.learn.submodular_tree.least_squares import least_squares
from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.products import weighted_sums

__all__ = ["GrownTree", "Node", "Rows", "TreeGrower", "constant_tree", "freeze_tree"]

Floats = NDArray[np.float64]
SIDES = ("left", "right")
# Where routing is soft, a row that lies so many deviations above the threshold has a say of
# e / (e + 1) in the right child.
SOFTNESS = 0.2


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows as inputs.

    Parameters
    ----------
    Z : array (n, q)
        Inputs.
    Y : array (n, t)
        Targets.
    weight : array (n,) or None
        Weights of the rows.
    layout : Layout
        Columns of the inputs.
    """

    Z: Floats
    Y: Floats
    weight: Floats | None
    layout: Layout

    @property
    def mass(self) -> Floats:
        """Weight of each row."""
        return np.ones(len(self.Z)) if self.weight is None else self.weight


@dataclass(eq=False)
class Node:
    """One node: its inputs, what it answers, and where it sends a row."""

    level: int
    slots: NDArray[np.intp]
    weights: Floats
    bias: Floats
    is_exact: bool
    route: Floats = field(default_factory=lambda: np.zeros(0))
    threshold: float = 0.0
    left: int = -1
    right: int = -1

    def value(self, inputs: Floats) -> Floats:
        """What is compared with the threshold, to the bits of the frozen model."""
        return weighted_sums(inputs, self.route[:, np.newaxis], np.zeros(1))[:, 0]


@dataclass(eq=False)
class GrownTree:
    """Nodes, each after its parent, and the answers to the training rows level by level."""

    nodes: list[Node] = field(default_factory=list)
    levels: list[Floats] = field(default_factory=list)

    @property
    def purchases(self) -> list[bytes]:
        """What each node weighs, in a form that can be compared."""
        return [node.slots.tobytes() for node in self.nodes]

    def add(self, node: Node, parent: int, side: str) -> None:
        """Enter a node; the root has no parent."""
        if parent >= 0:
            setattr(self.nodes[parent], side, len(self.nodes))
        self.nodes.append(node)

    def answer(self, level: int, rows: NDArray[np.intp], answers: Floats) -> None:
        """Enter the answers of a node; on the levels below they hold until there are better."""
        for outputs in self.levels[level:]:
            outputs[rows] = answers


@dataclass(frozen=True, eq=False)
class _Part:
    """What a node learns from."""

    here: NDArray[np.intp]
    """Rows that come to the node."""
    weight: Floats | None
    """Say of each row in the node: of the rows that come, or, where routing is soft, of all."""
    gram: Gram
    paid: NDArray[np.uint8]
    """Columns that the nodes above have bought."""
    level: int = 0
    parent: int = -1
    side: str = ""


class TreeGrower:
    """Grows trees of the same rows for any prices and node budget.

    The sums over all rows are taken once; every tree starts from them.

    Parameters
    ----------
    rows : Rows
    max_depth : int
        Nodes on the longest path.
    min_mass : float
        Smallest number of rows, or sum of their weights, at a node.
    soft : bool
        Whether every row has a say in every node, by how near it is to going there.
    """

    def __init__(self, rows: Rows, max_depth: int, min_mass: float, soft: bool) -> None:
        self.rows, self.max_depth, self.min_mass, self.soft = rows, max_depth, min_mass, soft
        self.gram = Gram.of(rows.Z, rows.Y, rows.weight)

    def order(self, prices: BoundPrices) -> Buyer:
        """What the root would buy, one after the other, without a budget."""
        return self._buy(self.gram, Bought(prices, 0, "model"), np.inf)

    def grow(self, prices: BoundPrices, budget: float) -> GrownTree:
        """Grow a tree each of whose nodes spends at most `budget`."""
        n, outputs = self.rows.Y.shape
        tree = GrownTree(levels=[np.empty((n, outputs)) for _ in range(self.max_depth)])
        paid = np.zeros(len(prices.own), dtype=np.uint8)
        waiting = [_Part(np.arange(n), self.rows.weight, self.gram, paid)]
        while waiting:
            part = waiting.pop()
            bought = Bought(prices, 0, "model")
            bought.features[:] = part.paid
            node, inputs = self._learn(part, bought, budget)
            tree.add(node, part.parent, part.side)
            inputs = inputs[part.here] if self.soft else inputs
            tree.answer(part.level, part.here, inputs @ node.weights + node.bias)
            if part.level + 1 < self.max_depth:
                children = self._split(part, node, inputs, bought.features, len(tree.nodes) - 1)
                waiting += children[::-1]  # the left one comes first
        return tree

    def _buy(self, gram: Gram, bought: Bought, budget: float) -> Buyer:
        buyer = Buyer(Explainer.of(gram, self.rows.layout), bought, gram.mass)
        buyer.spend(budget)
        return buyer

    def _learn(self, part: _Part, bought: Bought, budget: float) -> tuple[Node, Floats]:
        """The node, and the rows that it learns from as the inputs that it weighs."""
        buyer = self._buy(part.gram, bought, budget)
        slots = np.sort(np.array(buyer.explainer.chosen, dtype=np.intp))
        inputs, targets = self._inputs(part, slots)
        products = part.gram.products(slots)
        weights, bias = least_squares(inputs, targets, part.weight, products)
        return Node(part.level, slots, weights, bias, buyer.explainer.is_done), inputs

    def _inputs(self, part: _Part, slots: NDArray[np.intp]) -> tuple[Floats, Floats]:
        if self.soft or len(part.here) == len(self.rows.Z):
            return self.rows.Z.take(slots, axis=1), self.rows.Y
        return self.rows.Z[part.here[:, np.newaxis], slots], self.rows.Y[part.here]

    def _split(
        self, part: _Part, node: Node, inputs: Floats, paid: NDArray[np.uint8], number: int
    ) -> list[_Part]:
        """Children of the node, if rows can be told apart and both get enough of them."""
        if node.is_exact:
            return []
        node.route = node.weights @ _direction(node, part.gram)
        values = node.value(inputs)
        mass = self.rows.mass[part.here]
        node.threshold = middle(values, mass)
        right = values > node.threshold
        if min(mass[right].sum(), mass[~right].sum()) < max(self.min_mass, np.finfo(float).tiny):
            return []
        divide = self._divide_softly if self.soft else self._divide
        weights, grams = divide(part, node, right)
        sides = (part.here[~right], part.here[right])
        return [
            _Part(here, weight, gram, paid, part.level + 1, number, side)
            for here, weight, gram, side in zip(sides, weights, grams, SIDES, strict=True)
        ]

    def _divide(
        self, part: _Part, node: Node, right: NDArray[np.bool_]
    ) -> tuple[list[Floats | None], list[Gram]]:
        """Weights and sums of the rows of each child; the larger one's are what is left."""
        side = int(right.mean() < 0.5)
        fewer = right == bool(side)
        weights: list[Floats | None] = [None, None]
        if part.weight is not None:
            weights = [part.weight[~right], part.weight[right]]
        sums = Gram.of(self.rows.Z, self.rows.Y, weights[side], part.here[fewer])
        rest = part.gram - sums
        return weights, [rest, sums] if side else [sums, rest]

    def _divide_softly(
        self, part: _Part, node: Node, right: NDArray[np.bool_]
    ) -> tuple[list[Floats | None], list[Gram]]:
        """Every row has a say in both children, by its distance from the threshold."""
        weight = self.rows.mass if part.weight is None else part.weight
        values = node.value(self.rows.Z.take(node.slots, axis=1))
        center = np.average(values, weights=weight)
        width = SOFTNESS * np.sqrt(np.average(np.square(values - center), weights=weight))
        upper = weight * expit((values - node.threshold) / width)
        sums = Gram.of(self.rows.Z, self.rows.Y, upper)
        return [weight - upper, upper], [part.gram - sums, sums]


def middle(values: Floats, weight: Floats) -> float:
    """The threshold between two values that divides the weights most evenly.

    Infinite if all values are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.submodular_tree.grower import middle
    >>> middle(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4))
    2.5
    >>> middle(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4))
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


def _direction(node: Node, gram: Gram) -> Floats:
    """Which mixture of the outputs routes: the one along which the answers vary most, (t,)."""
    outputs = node.weights.shape[1]
    if outputs == 1:
        return np.ones(1)
    spread = gram.center().inputs[np.ix_(node.slots, node.slots)]
    vectors = np.linalg.eigh(node.weights.T @ spread @ node.weights)[1]
    first: Floats = vectors[:, -1]
    return np.asarray(first * np.sign(first[np.argmax(np.abs(first))]))


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
