"""A forest with exits: after each block of trees a row may leave with the answer it has so far.

A row goes through the trees in order. Where its running score is low or high enough, it takes no
further tree and pays for no further feature. Without limits it is the forest, bit by bit.

One example in a cascade: the walk of the block where it stands, then, if it stays, the next.

The trees of a block start from the output of the blocks before, so the last score has the bits of
the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, pack, sealed, unpack
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.walk import ForestWalk, Outline
from thrifty.model.links import apply_link
from thrifty.model.relay import RelayWalk

__all__ = ["Cascade", "CascadeWalk", "measure"]


def measure(link: str, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is compared with the limits: the output (n, 1), or the largest of several shares.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.cascade import measure
    >>> measure("sigmoid", np.array([[-3.0]])), measure("softmax", np.zeros((1, 4)))
    (array([-3.]), array([0.25]))
    """
    return raw[:, 0].copy() if raw.shape[1] == 1 else apply_link(link, raw).max(axis=1)


class CascadeWalk(RelayWalk[ForestWalk]):
    """The walk of a `Cascade`."""

    def __init__(
        self,
        outline: Outline,
        ends: Sequence[int],
        low: Sequence[float],
        high: Sequence[float],
        price: Price | None,
    ) -> None:
        self._outline, self._ends, self._low, self._high = outline, ends, low, high
        self._price: Price = price or (lambda feature: 0.0)
        super().__init__(self._block(0, outline.base))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the blocks so far; the trees of the last speak from where they stand."""
        return self._walks[-1].scores

    def _next(self) -> ForestWalk | None:
        block, raw = len(self._walks) - 1, self._walks[-1].raw
        score = float(measure(self._outline.link, raw)[0])
        leaves = score < self._low[block] or score > self._high[block]
        if leaves or block == len(self._ends) - 1:
            return None
        return self._block(block + 1, raw[0])

    def _block(self, block: int, base: NDArray[np.float64]) -> ForestWalk:
        """The walk of the trees of one block, which start from `base`."""
        first = self._ends[block - 1] if block else 0
        trees = slice(first, self._ends[block])
        return ForestWalk(self._outline.part(trees, base), self._price)


ARRAYS = ("ends", "low", "high")
LINKS = ("sum", "sigmoid", "hinge", "softmax")


class Visit(NamedTuple):
    """Rows that come through one block: their outputs, and the leaves (trees, rows) in it."""

    block: int
    rows: NDArray[np.intp]
    raw: NDArray[np.float64]
    leaves: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cascade(Frozen):
    """Summed trees in blocks, with an exit after each block.

    The score that is compared is the running output where there is one, and the largest class
    probability where there are several.

    Parameters
    ----------
    forest : Forest
        Trees whose outputs are summed: the link is "sum", "sigmoid", "hinge" or "softmax".
    ends : array (blocks,) of int64
        How many trees a row has been through after each block; increasing, the last is all.
    low, high : arrays (blocks,)
        A row leaves after a block if its score is below `low` or above `high`. All leave after the
        last.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Cascade, Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(6)
    >>> nodes[0], nodes[3] = (0.0, 1, 0), (0.0, 4, 1)  # a tree on each of two columns
    >>> values = np.array([[0.0], [-2.0], [2.0], [0.0], [-1.0], [1.0]])
    >>> forest = Forest(nodes, values, np.array([0, 3]), np.zeros(2, int), np.zeros(1), "sum", 2)
    >>> cascade = Cascade.of(forest, ends=[1, 2], low=-1.5)
    >>> X = np.array([[-1.0, 1.0], [1.0, 1.0]])
    >>> cascade.block(X), cascade.score(X)  # the first row leaves after the first tree
    (array([0, 1]), array([-2.,  3.]))
    """

    kind: ClassVar[str] = "cascade"

    forest: Forest
    ends: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(np.array(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, name.name) for name in fields(self))

    @classmethod
    def of(
        cls, forest: Forest, ends: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> Self:
        """A cascade with limits for each block, or one for all of them.

        Raises
        ------
        DataError
            If the blocks are not those of the forest, or a limit is unfit.
        """
        blocks = np.asarray(ends, dtype=np.int64)
        limits = [np.broadcast_to(np.asarray(x, dtype=float), blocks.shape) for x in (low, high)]
        raise_all(DataError, "cascade", list(_problems(forest, blocks, *limits)))
        return cls(forest, blocks, *limits)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model of values."""
        return self.forest.n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,), of the trees that each row went through."""
        raw = np.tile(self.forest.base, (len(X), 1))
        for visit in self._pass(X):
            raw[visit.rows] = visit.raw
        return apply_link(self.forest.link, raw)

    def running(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Score after each block of rows that never leave, (blocks, n)."""
        through = type(self).of(self.forest, self.ends)
        return np.array([measure(self.forest.link, visit.raw) for visit in through._pass(X)])

    def block(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """After which block each row leaves, (n,)."""
        block = np.zeros(len(X), dtype=np.int64)
        for visit in self._pass(X):
            block[visit.rows] = visit.block
        return block

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        paths = self.forest.paths
        words = np.zeros((len(X), paths.shape[1]), dtype=np.uint64)
        for visit in self._pass(X):
            read = words[visit.rows]
            for leaf in visit.leaves:
                read |= paths[leaf]
            words[visit.rows] = read
        return self.forest.spread(words)

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Trees of the blocks that each row went through."""
        return np.asarray(self.ends[self.block(X)])

    @property
    def support(self) -> NDArray[np.bool_]:
        """What the trees within reach may read."""
        return self._within_reach.support

    @property
    def most_evaluations(self) -> int:
        """The number of trees within reach."""
        return len(self._within_reach.roots)

    def walk(self, price: Price | None = None) -> CascadeWalk:
        """Start one example; it asks for what the trees of the block where it stands ask for."""
        return CascadeWalk(
            self.forest._outline, self.ends.tolist(), self.low.tolist(), self.high.tolist(), price
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        parts, arrays = pack([self.forest])
        return {"parts": parts}, {**arrays, **{name: getattr(self, name) for name in ARRAYS}}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        raise_all(BundleError, "cascade", list(_misplaced(plain, arrays)))
        own = {name: arrays[name] for name in arrays if name not in ARRAYS}
        parts = unpack(plain["parts"], own)
        if len(parts) != 1 or not isinstance(parts[0], Forest):
            raise BundleError("cascade: it must hold one forest")
        limits = [arrays[name] for name in ARRAYS]
        raise_all(BundleError, "cascade", list(_problems(parts[0], *limits)))
        return cls(parts[0], *limits)

    def _pass(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Block after block, with the rows that come through it."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        rows, first = np.arange(len(X)), 0
        raw = np.tile(self.forest.base, (len(X), 1))
        for b, last in enumerate(self.ends.tolist()):
            trees = self.forest.prefix(last)
            leaves = trees.leaves(X if len(rows) == len(X) else X[rows], first)
            for tree, leaf in enumerate(leaves, start=first):
                if self.forest.values.shape[1] == 1:
                    raw[:, self.forest.outputs[tree]] += self.forest.values[leaf, 0]
                else:
                    raw += self.forest.values[leaf]
            yield Visit(b, rows, raw, leaves)
            score = measure(self.forest.link, raw)
            stays = ~((score < self.low[b]) | (score > self.high[b]))
            rows, raw, first = rows[stays], raw[stays], last
            if not len(rows):
                return

    @cached_property
    def _within_reach(self) -> Forest:
        """The trees that some row may come to: all leave at a limit of +inf below, -inf above."""
        closed = (self.low == np.inf) | (self.high == -np.inf)
        last = int(np.argmax(closed)) if closed.any() else len(closed) - 1
        return self.forest.prefix(int(self.ends[last]))


def _problems(
    forest: Forest, ends: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> Iterator[str]:
    """What keeps these from being a cascade."""
    if forest.link not in LINKS:
        yield f"trees of the link {forest.link!r} are averaged; a cascade needs trees that add up"
    if ends.dtype != np.int64 or ends.ndim != 1 or not len(ends):
        yield "ends must be whole numbers, at least one"
        return
    if ends[0] < 1 or np.any(np.diff(ends) < 1) or ends[-1] != len(forest.roots):
        yield f"ends must increase from at least 1 to the {len(forest.roots)} trees of the forest"
    for name, limit in (("low", low), ("high", high)):
        if limit.dtype != np.float64 or limit.shape != ends.shape or np.isnan(limit).any():
            yield f"{name} must be a number for each of the {len(ends)} blocks"
            return
    if np.any(low > high):
        yield "a low limit is above the high one of its block"


def _misplaced(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """What is not where `state` puts it."""
    if plain.keys() != {"parts"}:
        yield f"expected the entry parts, got {sorted(map(str, plain))}"
    absent = [name for name in ARRAYS if name not in arrays]
    if absent:
        yield f"absent: {', '.join(absent)}"
