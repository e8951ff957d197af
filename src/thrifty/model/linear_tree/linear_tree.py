"""A frozen tree of linear models: each node weighs a few features, sends rows on, and answers.

Trees, cascades and single linear models are one kind: a row exits where a child is missing, and
is answered by the node that it leaves from. What a row pays is what the nodes on its path weigh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError
from thrifty.model.base import Frozen, Price, pack, sealed, unpack
from thrifty.model.encoding import Encoding
from thrifty.model.forest.forest import Forest
from thrifty.model.kernel_machine import ENCODING
from thrifty.model.linear_tree.audit import OWN, audit_linear_tree
from thrifty.model.linear_tree.node import EncodedSlots, LinearNode, TreeSlots
from thrifty.model.linear_tree.walk import LinearTreeWalk
from thrifty.model.links import apply_link

__all__ = ["LinearTree"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# Rows at a node, the numbers that it weighs, and where the rows go.
Visit = tuple[int, NDArray[np.intp], Floats, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class LinearTree(Frozen):
    """Nodes with sparse weights, thresholds, and children or exits.

    Node 0 is the root; a child has a larger number than its parent. Node k weighs the inputs
    ``slots[starts[k]:starts[k + 1]]``, which its route, its weights, or both may use.

    Parameters
    ----------
    left, right : int arrays (N,)
        Children; -1 where a row exits.
    starts : int array (N + 1,)
        Where the slots of each node start.
    slots : int array (m,)
        Inputs that the nodes weigh.
    route : array (m,)
        A row goes right at a node if its inputs times these sum to more than the threshold.
    threshold : array (N,)
    weights : array (m, S)
        Inputs times these, plus the bias, are the answer of a node before the link.
    bias : array (N, S)
    link : {"sum", "sigmoid", "hinge", "softmax"}
        How answers become scores: S = 1 for values ("sum") and for two classes ("sigmoid",
        "hinge"), else one for each class.
    n_features : int
        Columns of the table.
    encoding : Encoding, optional
        The inputs are slots of the table.
    base : Forest, optional
        The inputs are the values of these trees; exactly one of the two is given.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import LinearTree
    >>> from thrifty.model.encoding import Encoding
    >>> table = Encoding(np.arange(2), np.full(2, -1), np.zeros(2), np.ones(2), np.zeros(2))
    >>> tree = LinearTree(  # the root looks at column 0; whoever is above 0 pays for column 1
    ...     left=np.array([-1, -1]), right=np.array([1, -1]), starts=np.array([0, 1, 2]),
    ...     slots=np.array([0, 1]), route=np.array([1.0, 0.0]), threshold=np.zeros(2),
    ...     weights=np.array([[0.0], [2.0]]), bias=np.array([[-1.0], [0.5]]), link="sum",
    ...     n_features=2, encoding=table)
    >>> X = np.array([[-3.0, 7.0], [3.0, 7.0]])
    >>> tree.score(X), tree.leaf(X), tree.used(X).sum(axis=1)
    (array([-1. , 14.5]), array([0, 1]), array([1, 2]))
    """

    kind: ClassVar[str] = "linear-tree"

    left: Whole
    right: Whole
    starts: Whole
    slots: Whole
    route: Floats
    threshold: Floats
    weights: Floats
    bias: Floats
    link: str
    n_features: int
    encoding: Encoding | None = None
    base: Forest | None = None

    def __post_init__(self) -> None:
        if (self.encoding is None) == (self.base is None):
            raise ValueError("a tree weighs either slots of the table or trees: give one of both")
        for name in OWN:
            object.__setattr__(self, name, sealed(getattr(self, name)))
        if self.encoding is not None:
            parts = [sealed(getattr(self.encoding, name)) for name in ENCODING]
            object.__setattr__(self, "encoding", Encoding(*parts))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_scores(self) -> int:
        """Two classes need one output where the link makes two probabilities of it."""
        outputs = self.bias.shape[1]
        return 2 if outputs == 1 and self.link in ("sigmoid", "hinge") else outputs

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Class probabilities (n, K), or values (n,) for the link "sum"."""
        return apply_link(self.link, self.raw(X))

    def raw(self, X: NDArray[np.floating]) -> Floats:
        """Answers (n, S) before the link."""
        raw = np.empty((len(X), self.bias.shape[1]))
        for node, rows, Z, follows in self._descend(X):
            exits = follows < 0
            raw[rows[exits]] = self.nodes[node].answer(Z[exits])
        return raw

    def leaf(self, X: NDArray[np.floating]) -> Whole:
        """Node from which each row exits, (n,)."""
        leaf = np.zeros(len(X), dtype=np.int64)
        for node, rows, _, _ in self._descend(X):
            leaf[rows] = node
        return leaf

    def visited(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which nodes each row visits, (n, N)."""
        visited = np.zeros((len(X), len(self.left)), dtype=bool)
        for node, rows, _, _ in self._descend(X):
            visited[rows, node] = True
        return visited

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        for node, rows, _, _ in self._descend(X):
            used[rows] |= self.nodes[node].slots.used(X, rows)
        return used

    def evaluations(self, X: NDArray[np.floating]) -> Whole:
        """Nodes that weigh something for each row; distinct trees where the inputs are trees."""
        return np.asarray(self.spent[self.leaf(X)])

    @property
    def most_evaluations(self) -> int:
        """Those of the longest path."""
        return int(self.spent.max())

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """What the nodes may read."""
        return reduce(np.logical_or, [node.slots.support for node in self.nodes])

    def walk(self, price: Price | None = None) -> LinearTreeWalk:
        """Start one example; it asks for all that a node misses at once."""
        return LinearTreeWalk(
            self.nodes, self.spent.tolist(), self.link, self.n_features, price or (lambda j: 0.0)
        )

    @cached_property
    def nodes(self) -> list[LinearNode]:
        """The nodes, one by one."""
        return [self._node(k) for k in range(len(self.left))]

    @cached_property
    def parents(self) -> Whole:
        """Parent of each node; -1 for the root."""
        parents = np.full(len(self.left), -1, dtype=np.int64)
        for child in (self.left, self.right):
            has = np.flatnonzero(child >= 0)
            parents[child[has]] = has
        return parents

    @cached_property
    def spent(self) -> Whole:
        """Evaluations of a row that exits at each node, (N,)."""
        if self.base is None:
            # A node that weighs nothing is a constant, which takes no evaluation.
            spent = (np.diff(self.starts) > 0).astype(np.int64)
            for node, parent in enumerate(self.parents[1:], start=1):
                spent[node] += spent[parent]
            return spent
        inputs: list[set[int]] = []
        for node, parent in enumerate(self.parents):
            before = inputs[parent] if node else set()
            inputs.append(before | set(self.slots[self._span(node)].tolist()))
        return np.array([len(trees) for trees in inputs])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        arrays = {name: getattr(self, name) for name in OWN}
        parts: list[dict[str, Any]] = []
        if self.base is not None:
            parts, own = pack([self.base])
            arrays |= own
        else:
            arrays |= {name: getattr(self.encoding, name) for name in ENCODING}
        return {"link": self.link, "n_features": self.n_features, "parts": parts}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        audit_linear_tree(plain, arrays)
        encoding = base = None
        if plain["parts"]:
            base = _trees(plain, arrays)
        else:
            encoding = Encoding(**{name: arrays[name] for name in ENCODING})
        own = {name: arrays[name] for name in OWN}
        return cls(
            **own, link=plain["link"], n_features=plain["n_features"], encoding=encoding, base=base
        )

    def _span(self, node: int) -> slice:
        return slice(int(self.starts[node]), int(self.starts[node + 1]))

    def _node(self, k: int) -> LinearNode:
        span = self._span(k)
        chosen = self.slots[span]
        return LinearNode(
            self._slots(chosen), self.route[span], float(self.threshold[k]), self.weights[span],
            self.bias[k], int(self.left[k]), int(self.right[k]),
        )  # fmt: skip

    def _slots(self, chosen: Whole) -> EncodedSlots | TreeSlots:
        if self.base is not None:
            return TreeSlots(self.base, chosen)
        assert self.encoding is not None
        parts = [getattr(self.encoding, name)[chosen] for name in ENCODING]
        return EncodedSlots(Encoding(*parts), self.n_features)

    def _descend(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Node after node, with the rows that come to it and where they go."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        waiting = {0: np.arange(len(X))}
        for k, node in enumerate(self.nodes):
            rows = waiting.pop(k, np.arange(0))
            if not len(rows):
                continue
            Z = node.slots.read(X, rows)
            follows = np.full(len(rows), -1, dtype=np.int64)
            if not node.is_leaf:
                follows = np.where(node.goes_right(Z), node.right, node.left)
            for child in {node.left, node.right} - {-1}:
                waiting[child] = rows[follows == child]
            yield k, rows, Z, follows


def _trees(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Forest:
    """The forest that a tree weighs."""
    (base,) = unpack(plain["parts"], {name: arrays[name] for name in arrays if "/" in name})
    if not isinstance(base, Forest) or base.n_features != plain["n_features"]:
        raise BundleError("the inputs must be the trees of a forest of the same columns")
    if base.values.shape[1] != 1:
        raise BundleError("the trees that a node weighs must have one value each")
    slots = arrays["slots"]
    if np.any((slots < 0) | (slots >= len(base.roots))):
        raise BundleError(f"a node weighs a tree beyond the {len(base.roots)} of the forest")
    return base
