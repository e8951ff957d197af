"""A frozen forest: boosted sums, averaged distributions and votes are one kind of model.

All trees lie in one array of node records, each tree's nodes together and in the order of
`roots`; children come after their parent. Every node has values, inner nodes too: they are the
best answer of a walk that has come no further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.model.base import Frozen, Price
from thrifty.model.forest.descent import descend
from thrifty.model.forest.nodes import INDEX, audit_forest, empty_nodes, is_leaf
from thrifty.model.forest.walk import ForestWalk, Outline
from thrifty.model.links import apply_link

__all__ = ["Forest"]

ARRAYS = ("nodes", "values", "roots", "outputs", "base", "subsets")
# A block of rows stays in the processor's cache while all trees pass over it.
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Forest(Frozen):
    """Trees whose outputs are summed or averaged, then linked to scores.

    Parameters
    ----------
    nodes : array of `thrifty.model.forest.nodes.NODE`
        The nodes of all trees.
    values : array (nodes, 1) or (nodes, k)
        What a tree adds when a row ends at a node: one number to the output of its tree, or
        a number to each of the k outputs.
    roots : array (trees,)
        First node of each tree, increasing.
    outputs : array (trees,)
        Output that each tree adds to, where `values` has one column.
    base : array (k,)
        Where the sums start.
    link : {"sum", "sigmoid", "hinge", "softmax", "mean", "vote"}
        How outputs become scores; "mean" and "vote" average over the trees.
    n_features : int
        Columns of the table.
    subsets : array (s, 4) of uint64
        Sets of category codes, 256 bits each.
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
        # Frozen in earnest; and a kernel compiled for read-only arrays serves files and fits alike.
        for name in ARRAYS:
            object.__setattr__(self, name, _sealed(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, name.name) for name in fields(self))

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

    @property
    def n_scores(self) -> int:
        """Two classes need one output where the link makes two probabilities of it."""
        return 2 if len(self.base) == 1 and self.link in ("sigmoid", "hinge") else len(self.base)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,) for the link "sum"."""
        return apply_link(self.link, self.raw(X))

    def raw(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Outputs (n, k) before the link."""
        return self._run(X, outputs=True, paths=False)[0]

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        return self.spread(self._run(X, outputs=False, paths=True)[1])

    def score_and_used(
        self, X: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Both in one pass over the trees."""
        raw, words = self._run(X, outputs=True, paths=True)
        return apply_link(self.link, raw), self.spread(words)

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Every row is sent down every tree."""
        return np.full(len(X), len(self.roots), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of trees."""
        return len(self.roots)

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features of all splits."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.features] = True
        return support

    def walk(self, price: Price | None = None) -> ForestWalk:
        """Start one example."""
        return ForestWalk(self._outline, price or (lambda feature: 0.0))

    def leaves(self, X: NDArray[np.floating], first: int = 0) -> NDArray[np.int32]:
        """Leaf that each row reaches in each tree from tree `first` on, (trees, n)."""
        roots = self.roots[first:]
        if not find_spec("numba"):
            return descend(self.nodes, self.subsets, roots, X)
        from thrifty.kernels import descent

        leaves = np.empty((len(roots), len(X)), dtype=np.int32)
        descent.descend(self.nodes, self._categories, roots, _sealed(X), leaves)
        return leaves

    def prefix(self, trees: int) -> Forest:
        """The forest of the first `trees` trees; shares the arrays of this one."""
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
        """What a model file keeps."""
        plain = {"link": self.link, "n_features": self.n_features}
        return plain, {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        audit_forest(plain, arrays)
        return cls(**arrays, link=plain["link"], n_features=plain["n_features"])

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """Features that any split of the forest reads, increasing."""
        splits = self.nodes[~is_leaf(self.nodes)]
        return np.unique(splits["feature"] & INDEX).astype(np.int64)

    def _run(
        self, X: NDArray[np.floating], *, outputs: bool, paths: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        raw = np.tile(self.base, (len(X), 1)) if outputs else np.empty((len(X), 0))
        words = np.zeros((len(X), self.paths.shape[1] if paths else 0), dtype=np.uint64)
        run = _run_kernel if find_spec("numba") else _run_plain
        run(self, _sealed(X), raw, words)
        if self.link in ("mean", "vote"):
            raw /= max(len(self.roots), 1)
        return raw, words

    @property
    def _categories(self) -> NDArray[np.uint64] | None:
        """The subsets for the kernels, which are faster without any."""
        return self.subsets if len(self.subsets) else None

    @cached_property
    def _addends(self) -> NDArray[np.float64]:
        """What each node adds to the outputs: its values, or its vote for the largest."""
        if self.link != "vote":
            return self.values
        return _sealed(np.eye(self.values.shape[1])[self.values.argmax(axis=1)])

    @cached_property
    def paths(self) -> NDArray[np.uint64]:
        """Features read on the way to each node, as bits in the order of `features`."""
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

    def spread(self, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Bits in the order of `features` as a table (n, n_features)."""
        used = np.zeros((len(words), self.n_features), dtype=bool)
        count = len(self.features)
        if count:
            bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
            used[:, self.features] = bits[:, :count]
        return used

    @cached_property
    def _outline(self) -> Outline:
        return Outline.of(
            self.nodes, self.subsets, self.roots, self.outputs, self._addends, self.base, self.link
        )


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def _run_kernel(
    forest: Forest,
    X: NDArray[np.floating],
    raw: NDArray[np.float64],
    words: NDArray[np.uint64],
) -> None:
    # Imported here: a program that only walks never pays for loading Numba.
    from thrifty.kernels.descent import run_forest
    from thrifty.kernels.threads import blocks, run

    def task(first: int, last: int) -> None:
        rows = slice(first, last)
        run_forest(
            forest.nodes, forest._categories, forest.roots, forest.outputs, forest._addends,
            forest.paths, X[rows], raw[rows], words[rows],
        )  # fmt: skip

    run(task, blocks(len(X), ROWS_PER_BLOCK))


def _run_plain(
    forest: Forest,
    X: NDArray[np.floating],
    raw: NDArray[np.float64],
    words: NDArray[np.uint64],
) -> None:
    leaves = descend(forest.nodes, forest.subsets, forest.roots, X)
    for leaf, output in zip(leaves, forest.outputs, strict=True):
        if raw.shape[1] and forest.values.shape[1] == 1:
            raw[:, output] += forest._addends[leaf, 0]
        elif raw.shape[1]:
            raw += forest._addends[leaf]
        if words.shape[1]:
            words |= forest.paths[leaf]
