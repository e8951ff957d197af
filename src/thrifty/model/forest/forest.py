"""A frozen forest: trees whose outputs are summed, averaged or counted as votes.

All trees lie in one array of node records, the nodes of each tree together, trees in the order of
`roots`, children after their parent. Inner nodes have values too: they are the best prediction for
a walk that has come no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.kernels.descent import descend, run_forest
from thrifty.kernels.threads import blocks, run
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, sealed
from thrifty.model.forest.nodes import (
    CATEGORICAL,
    INDEX,
    MISSING_LEFT,
    audit_forest,
    empty_nodes,
    is_leaf,
)
from thrifty.model.forest.walk import ForestLists, ForestWalk, Split
from thrifty.model.links import apply_link
from thrifty.model.path_bounds import PathBounds

__all__ = ["SHARES_TOL", "Forest", "votes_of"]

ARRAYS = ("nodes", "values", "roots", "outputs", "base", "subsets")
# A block of rows stays in the processor's cache while all trees pass over it. Each block brings all
# trees there anew, so blocks must not be too small; nor too large, as threads share them out.
BYTES_PER_BLOCK = 2**20
MIN_ROWS, MAX_ROWS = 512, 4096
# How far the class shares of all trees may be from a sum of 1.
SHARES_TOL = 1e-6
# Nodes times features of the largest tree whose ways are compared with each other.
MAX_PATH_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class Forest(Frozen):
    """Trees whose outputs are summed or averaged, then linked to scores.

    Parameters
    ----------
    nodes : array (nodes,) of `thrifty.model.forest.nodes.NODE`
        The nodes of all trees.
    values : array (nodes, 1) or (nodes, k) of float64
        What a tree adds when a row ends at a node: one number to the output of the tree, or a
        number to each of the k outputs.
    roots : array (trees,) of int64
        First node of each tree, increasing.
    outputs : array (trees,) of int64
        Output that each tree adds to, where `values` has one column.
    base : array (k,) of float64
        Where the sums start.
    link : {"sum", "sigmoid", "hinge", "softmax", "mean", "vote"}
        How outputs become scores; "mean" and "vote" average over the trees.
    n_features : int
        Number of columns of the table.
    subsets : array (s, 4) of uint64
        Sets of category codes, 256 bits each.

    Examples
    --------
    A tree that reads feature 0 and, unless it is positive, feature 2:

    >>> import numpy as np
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(5)
    >>> nodes[0], nodes[1] = (0.0, 1, 0), (0.0, 3, 2)
    >>> values = np.array([[0.0], [-1.0], [5.0], [-2.0], [0.5]])
    >>> forest = Forest(nodes, values, np.array([0]), np.array([0]), np.array([10.0]), "sum", 3)
    >>> X = np.array([[1.0, 7.0, -1.0], [-1.0, 7.0, -1.0]])
    >>> forest.score(X)
    array([15.,  8.])
    >>> forest.used(X)
    array([[ True, False, False],
           [ True, False,  True]])
    """

    kind: ClassVar[str] = "forest"

    nodes: NDArray[np.void]
    values: NDArray[np.float64]
    roots: NDArray[np.int64]
    outputs: NDArray[np.int64]
    base: NDArray[np.float64]
    link: str
    n_features: int
    subsets: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 4), dtype=np.uint64))

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @classmethod
    def constant(cls, outputs: ArrayLike, link: str, n_features: int) -> Self:
        """Build the forest without trees: every row gets the same outputs and reads nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.model import Forest
        >>> Forest.constant([0.25, 0.75], "mean", n_features=3).score(np.zeros((1, 3)))
        array([[0.25, 0.75]])
        """
        base = np.asarray(outputs, dtype=np.float64)
        # Averaged trees have a value for each output, summed trees one for the output they add to.
        width = len(base) if link in ("mean", "vote") else 1
        none = np.empty(0, dtype=np.int64)
        return cls(empty_nodes(0), np.empty((0, width)), none, none, base, link, n_features)

    @classmethod
    def average(cls, forests: Sequence[Forest]) -> Self:
        """Build the forest whose outputs are the mean of those of others with the same link.

        Examples
        --------
        >>> from thrifty.model import Forest
        >>> Forest.average([Forest.constant([v], "sum", n_features=3) for v in (1.0, 4.0)]).base
        array([2.5])
        """
        first, share = forests[0], 1.0 / len(forests)
        parts, n_nodes, n_subsets = [], 0, 0
        for forest in forests:
            nodes = forest.nodes.copy()
            nodes["child"] += n_nodes
            nodes["threshold"][(nodes["feature"] & CATEGORICAL) != 0] += n_subsets
            parts.append((nodes, forest.roots + n_nodes))
            n_nodes, n_subsets = n_nodes + len(nodes), n_subsets + len(forest.subsets)
        # "mean" and "vote" divide by the number of trees, which are as many for each forest.
        scale = 1.0 if first.link in ("mean", "vote") else share
        return cls(
            nodes=np.concatenate([nodes for nodes, _ in parts]),
            values=scale * np.concatenate([forest.values for forest in forests]),
            roots=np.concatenate([roots for _, roots in parts]),
            outputs=np.concatenate([forest.outputs for forest in forests]),
            base=share * np.sum([forest.base for forest in forests], axis=0),
            link=first.link,
            n_features=first.n_features,
            subsets=np.concatenate([forest.subsets for forest in forests]),
        )

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a forest that predicts values."""
        # Two classes need only one output where the link makes two probabilities of it.
        return 2 if len(self.base) == 1 and self.link in ("sigmoid", "hinge") else len(self.base)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return class probabilities (n, K), or values (n,) for the link "sum"."""
        return apply_link(self.link, self.raw(X))

    def raw(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the outputs (n, k) before the link."""
        return self._run(X, outputs=True, paths=False)[0]

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features)."""
        return self.unpack_paths(self._run(X, outputs=False, paths=True)[1])

    def score_and_used(
        self, X: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return `score` and `used` from one pass over the trees."""
        raw, words = self._run(X, outputs=True, paths=True)
        return apply_link(self.link, raw), self.unpack_paths(words)

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the number of trees for each row, (n,): every row goes down every tree."""
        return np.full(len(X), len(self.roots), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return len(self.roots)

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which features some split reads, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.features] = True
        return support

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: the way to a leaf if there is one tree."""
        if len(self.roots) != 1 or len(self.nodes) * self.n_features > MAX_PATH_CELLS:
            return super().path_bounds()
        ways = np.unique(self.paths[is_leaf(self.nodes)], axis=0)
        return PathBounds.of(self.unpack_paths(ways), np.ones(len(ways), dtype=np.int64))

    def walk(self, price: Price | None = None) -> ForestWalk:
        """Start one example; it requests what its trees wait for."""
        return ForestWalk(self.as_lists, price or (lambda feature: 0.0))

    def leaves(self, X: NDArray[np.floating], first: int = 0) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree from tree `first` on, (trees, n)."""
        roots = self.roots[first:]
        leaves = np.empty((len(roots), len(X)), dtype=np.int32)
        descend(self.nodes, self.subsets, roots, sealed(X), _rows_per_block(X), leaves)
        return leaves

    def prefix(self, trees: int) -> Forest:
        """Return the forest of the first `trees` trees, which shares the arrays of this one."""
        last = self.roots[trees] if trees < len(self.roots) else len(self.nodes)
        return Forest(
            self.nodes[:last],
            self.values[:last],
            self.roots[:trees],
            self.outputs[:trees],
            self.base,
            self.link,
            self.n_features,
            self.subsets,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        plain = {"link": self.link, "n_features": self.n_features}
        return plain, {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        audit_forest(plain, arrays)
        return cls(**arrays, link=plain["link"], n_features=plain["n_features"])

    def probability_problems(self, everywhere: bool = False) -> Iterator[str]:
        """Yield why averages over the trees would not be class probabilities.

        Only the leaves must have shares that add up to 1: forests that buy all their features at
        once, such as those of ladders, have none at the other nodes. With `everywhere`, all nodes
        must.
        """
        if self.link not in ("mean", "vote"):
            return
        if not (np.all(self.base >= 0) and np.all(self.contributions >= 0)):
            yield "class shares must not be negative"
        sums = self.contributions.sum(axis=1)
        if not everywhere:
            sums = np.where(is_leaf(self.nodes), sums, np.nan)
        trees = [0.0, 0.0]
        if len(self.roots):
            ends = (np.fmin.reduceat(sums, self.roots), np.fmax.reduceat(sums, self.roots))
            trees = [float(end.sum()) for end in ends]
        totals = (np.array(trees) + self.base.sum()) / max(len(self.roots), 1)
        if not np.all(np.abs(totals - 1.0) <= SHARES_TOL):
            yield "class shares must add up to 1"

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """Features that some split reads, increasing."""
        splits = self.nodes[~is_leaf(self.nodes)]
        return np.flatnonzero(np.bincount(splits["feature"] & INDEX)).astype(np.int64)

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """What a tree adds to the outputs at each node: its values, or its vote for the largest."""
        if self.link != "vote":
            return self.values
        return sealed(votes_of(self.values))

    @cached_property
    def paths(self) -> NDArray[np.uint64]:
        """Features read on the way to each node: a row of bits, in the order of `features`."""
        paths = np.zeros((len(self.nodes), -(-len(self.features) // 64)), dtype=np.uint64)
        bit = np.searchsorted(self.features, self.nodes["feature"] & INDEX)
        leaf = is_leaf(self.nodes)
        level = self.roots[~leaf[self.roots]]
        while len(level):
            child = self.nodes["child"][level]
            path = paths[level]
            path[np.arange(len(level)), bit[level] // 64] |= np.uint64(1) << (
                bit[level] % 64
            ).astype(np.uint64)
            paths[child] = paths[child + 1] = path
            level = np.concatenate([child, child + 1])
            level = level[~leaf[level]]
        return paths

    def unpack_paths(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return rows of bits, as in `paths`, as a table of features (n, n_features)."""
        used = np.zeros((len(words), self.n_features), dtype=bool)
        count = len(self.features)
        if count:
            bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
            used[:, self.features] = bits[:, :count]
        return used

    @cached_property
    def as_lists(self) -> ForestLists:
        """The forest as Python lists, for walks."""

        @cache
        def subset(number: int) -> frozenset[int]:
            words = self.subsets[number].astype("<u8").view(np.uint8)
            return frozenset(np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist())

        splits: list[Split | None] = []
        for node, (threshold, child, feature) in enumerate(self.nodes.tolist()):
            if child == node:
                splits.append(None)
                continue
            codes = subset(int(threshold)) if feature & CATEGORICAL else None
            missing_left = bool(feature & MISSING_LEFT)
            splits.append(Split(feature & INDEX, threshold, child, missing_left, codes))
        return ForestLists(
            splits, self.roots.tolist(), self.outputs, self.contributions, self.base, self.link
        )

    def _run(
        self, X: NDArray[np.floating], *, outputs: bool, paths: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        """Send rows down all trees; return outputs (n, k) and path bits (n, words), if wanted."""
        self.check_columns(X)
        raw = np.tile(self.base, (len(X), 1)) if outputs else np.empty((len(X), 0))
        # Where paths are not wanted, they are not worked out: that takes as long as scoring rows.
        path_bits = self.paths if paths else np.empty((0, 0), dtype=np.uint64)
        words = np.zeros((len(X), path_bits.shape[1]), dtype=np.uint64)
        table = sealed(X)

        def run_block(first: int, last: int) -> None:
            rows = slice(first, last)
            run_forest(
                self.nodes, self.subsets, self.roots, self.outputs, self.contributions, path_bits,
                table[rows], raw[rows], words[rows],
            )  # fmt: skip

        run(run_block, blocks(len(X), _rows_per_block(X)))
        if self.link in ("mean", "vote"):
            raw /= max(len(self.roots), 1)
        return raw, words


def votes_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return zeros of the shape of values (m, K), with a one at the largest of each row."""
    votes = np.zeros(values.shape)
    votes[np.arange(len(values)), values.argmax(axis=1)] = 1.0
    return votes


def _rows_per_block(X: NDArray[np.floating]) -> int:
    """Return how many rows of a table all trees should pass over at a time."""
    rows: int = BYTES_PER_BLOCK // max(X.itemsize * X.shape[1], 1)
    return min(max(rows, MIN_ROWS), MAX_ROWS)
