"""The frozen tree of linear models: nodes with sparse weights, thresholds, children and exits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, pack, sealed, unpack
from thrifty.model.encoding import Encoding
from thrifty.model.file_checks import encoding_arrays, sealed_encoding
from thrifty.model.forest.forest import Forest
from thrifty.model.linear_tree.audit import FILE_ARRAYS, audit_linear_tree
from thrifty.model.linear_tree.node import ColumnInputs, LinearNode, NodeInputs, TreeInputs
from thrifty.model.linear_tree.walk import LinearTreeWalk
from thrifty.model.links import apply_link
from thrifty.model.path_bounds import PathBounds
from thrifty.untrusted import claim

__all__ = ["LinearTree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Visit(NamedTuple):
    """The rows of a batch that reach one node, and where they go from there."""

    node: int
    rows: NDArray[np.intp]
    """(r,): positions in the batch."""

    Z: Floats
    """(r, q): inputs of the node."""

    follows: Ints
    """(r,): the next node of each row; -1 where it exits."""


@dataclass(frozen=True, eq=False)
class LinearTree(Frozen):
    """A tree whose nodes are linear models of a few inputs.

    Node 0 is the root, and a child has a larger number than its parent. Node k reads the inputs
    ``inputs[starts[k]:starts[k + 1]]``, with weights in its route, in its outputs, or in both.

    Parameters
    ----------
    left, right : int arrays (N,)
        Children; -1 where a row exits.
    starts : int array (N + 1,)
        Where the inputs of each node start.
    inputs : int array (m,)
        Inputs that the nodes read: numbers of encoded columns, or of trees.
    route : float array (m,)
        A row goes right at a node if the sum of its inputs times these is above the threshold.
    threshold : float array (N,)
    weights : float array (m, S)
        The inputs times these, plus the bias, are the outputs of a node.
    bias : float array (N, S)
    link : {"sum", "sigmoid", "hinge", "softmax"}
        Maps outputs to scores: S = 1 for values ("sum") and for two classes ("sigmoid", "hinge"),
        else S is the number of classes.
    n_features : int
        Number of columns of the table.
    encoding : Encoding, optional
        The inputs are encoded columns of the table.
    base : Forest, optional
        The inputs are the values of these trees. Exactly one of `encoding` and `base` is given.

    Examples
    --------
    The root reads column 0. A row below 0 exits there and is predicted by its bias; a row above 0
    goes on to node 1 and pays for column 1.

    >>> import numpy as np
    >>> from thrifty.model import LinearTree
    >>> from thrifty.model.encoding import Encoding
    >>> columns = Encoding(np.arange(2), np.full(2, -1), np.zeros(2), np.ones(2), np.zeros(2))
    >>> tree = LinearTree(
    ...     left=np.array([-1, -1]), right=np.array([1, -1]), starts=np.array([0, 1, 2]),
    ...     inputs=np.array([0, 1]), route=np.array([1.0, 0.0]), threshold=np.zeros(2),
    ...     weights=np.array([[0.0], [2.0]]), bias=np.array([[-1.0], [0.5]]), link="sum",
    ...     n_features=2, encoding=columns)
    >>> X = np.array([[-3.0, 7.0], [3.0, 7.0]])
    >>> tree.score(X), tree.leaf(X), tree.used(X).sum(axis=1)
    (array([-1. , 14.5]), array([0, 1]), array([1, 2]))
    """

    kind: ClassVar[str] = "linear-tree"

    left: Ints
    right: Ints
    starts: Ints
    inputs: Ints
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
            raise ValueError("the inputs are either encoded columns or trees: give one of both")
        for name in FILE_ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))
        if self.encoding is not None:
            object.__setattr__(self, "encoding", sealed_encoding(encoding_arrays(self.encoding)))

    @property
    def n_scores(self) -> int:
        """Number of classes, also where one output makes two probabilities; 1 for values."""
        outputs = self.bias.shape[1]
        return 2 if outputs == 1 and self.link in ("sigmoid", "hinge") else outputs

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), or values (n,) for the link "sum"."""
        return apply_link(self.link, self.raw(X))

    def raw(self, X: NDArray[np.floating]) -> Floats:
        """Return the outputs (n, S) before the link."""
        raw = np.empty((len(X), self.bias.shape[1]))
        for visit in self._descend(X):
            exits = visit.follows < 0
            raw[visit.rows[exits]] = self.nodes[visit.node].outputs(visit.Z[exits])
        return raw

    def leaf(self, X: NDArray[np.floating]) -> Ints:
        """Return the node from which each row exits, (n,)."""
        leaf = np.zeros(len(X), dtype=np.int64)
        for visit in self._descend(X):
            leaf[visit.rows] = visit.node
        return leaf

    def visited(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which nodes each row visits, (n, N)."""
        visited = np.zeros((len(X), len(self.left)), dtype=bool)
        for visit in self._descend(X):
            visited[visit.rows, visit.node] = True
        return visited

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads, (n, n_features)."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        for visit in self._descend(X):
            used[visit.rows] |= self.nodes[visit.node].inputs.used(X, visit.rows)
        return used

    def evaluations(self, X: NDArray[np.floating]) -> Ints:
        """Return the evaluations of each row, (n,).

        They are the nodes on its path that read an input, or, if the inputs are trees, the distinct
        trees that these nodes read.
        """
        return np.asarray(self.exit_evaluations[self.leaf(X)])

    @property
    def most_evaluations(self) -> int:
        """The evaluations of the longest path."""
        return int(self.exit_evaluations.max())

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Features that some node may read, (n_features,)."""
        return reduce(np.logical_or, [node.inputs.support for node in self.nodes])

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: all that the nodes on the way to an exit read."""
        used = np.array([node.inputs.support for node in self.nodes])
        for node, parent in enumerate(self.parents[1:], start=1):
            used[node] |= used[parent]
        return PathBounds.of(used, self.exit_evaluations)

    def walk(self, price: Price | None = None) -> LinearTreeWalk:
        """Start one example; it asks for everything that a node lacks at once."""
        evaluations = self.exit_evaluations.tolist()
        return LinearTreeWalk(
            self.nodes, evaluations, self.link, self.n_features, price or (lambda feature: 0.0)
        )

    @cached_property
    def nodes(self) -> list[LinearNode]:
        """Each node by itself, with its part of the arrays."""
        nodes = []
        for k in range(len(self.left)):
            own = slice(int(self.starts[k]), int(self.starts[k + 1]))
            inputs: NodeInputs
            if self.base is not None:
                inputs = TreeInputs(self.base, self.inputs[own])
            else:
                assert self.encoding is not None
                arrays = encoding_arrays(self.encoding)
                encoding = Encoding(**{name: a[self.inputs[own]] for name, a in arrays.items()})
                inputs = ColumnInputs(encoding, self.n_features)
            nodes.append(
                LinearNode(
                    inputs, self.route[own], float(self.threshold[k]), self.weights[own],
                    self.bias[k], int(self.left[k]), int(self.right[k]),
                )
            )  # fmt: skip
        return nodes

    @cached_property
    def parents(self) -> Ints:
        """Parent of each node, (N,); -1 for the root."""
        parents = np.full(len(self.left), -1, dtype=np.int64)
        for child in (self.left, self.right):
            has_child = np.flatnonzero(child >= 0)
            parents[child[has_child]] = has_child
        return parents

    @cached_property
    def exit_evaluations(self) -> Ints:
        """Evaluations of a row that exits at each node, (N,)."""
        if self.base is None:
            # A node without inputs is a constant, which takes no evaluation.
            evaluations = (np.diff(self.starts) > 0).astype(np.int64)
            for node, parent in enumerate(self.parents[1:], start=1):
                evaluations[node] += evaluations[parent]
            return evaluations
        trees: list[set[int]] = []
        for node, parent in enumerate(self.parents):
            own = self.inputs[self.starts[node] : self.starts[node + 1]]
            before = trees[parent] if node else set()
            trees.append(before | set(own.tolist()))
        return np.array([len(distinct) for distinct in trees])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps; the file calls the inputs "slots"."""
        arrays = {key: getattr(self, name) for name, key in FILE_ARRAYS.items()}
        parts: list[dict[str, Any]] = []
        if self.base is not None:
            parts, forest_arrays = pack([self.base])
            arrays |= forest_arrays
        else:
            assert self.encoding is not None
            arrays |= encoding_arrays(self.encoding)
        return {"link": self.link, "n_features": self.n_features, "parts": parts}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        audit_linear_tree(plain, arrays)
        inputs: dict[str, Any] = {}
        if plain["parts"]:
            nested = {name: arrays[name] for name in arrays if "/" in name}
            (base,) = unpack(plain["parts"], nested, raw=[0])
            if not isinstance(base, Forest) or base.n_features != plain["n_features"]:
                raise BundleError("the inputs must be the trees of a forest of the same columns")
            if base.values.shape[1] != 1:
                raise BundleError("the trees that a node reads must have one value each")
            trees = arrays["slots"]
            if np.any((trees < 0) | (trees >= len(base.roots))):
                raise BundleError(f"a node reads a tree beyond the {len(base.roots)} of the forest")
            # Every node has a copy of the trees that it reads.
            sizes = np.diff(np.append(base.roots, len(base.nodes)))
            claim(64 * int(sizes[trees].sum()), "the trees that the nodes of a linear tree read")
            inputs["base"] = base
        else:
            inputs["encoding"] = sealed_encoding(arrays)
        own: dict[str, Any] = {name: arrays[key] for name, key in FILE_ARRAYS.items()}
        tree = cls(**own, link=plain["link"], n_features=plain["n_features"], **inputs)
        if tree.base is not None:
            # On the way to each node, the trees that were read are remembered.
            on_path = np.diff(tree.starts)
            for node, parent in enumerate(tree.parents[1:].tolist(), start=1):
                on_path[node] += on_path[parent]
            remembered = np.minimum(on_path, len(tree.base.roots)).sum()
            claim(64 * int(remembered), "the trees on the paths of a linear tree")
        return tree

    def _descend(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Yield node after node, each with the rows that reach it."""
        self.check_columns(X)
        waiting = {0: np.arange(len(X))}
        for k, node in enumerate(self.nodes):
            rows = waiting.pop(k, np.arange(0))
            if not len(rows):
                continue
            Z = node.inputs.read(X, rows)
            follows = np.full(len(rows), -1, dtype=np.int64)
            if not node.is_leaf:
                follows = np.where(node.goes_right(Z), node.right, node.left)
            for child in {node.left, node.right} - {-1}:
                waiting[child] = rows[follows == child]
            yield Visit(k, rows, Z, follows)
