"""A forest with exits: after each block of trees, a row may leave with its prediction so far.

A row goes through the trees in order. If its score after a block is below a low threshold or above
a high one, it takes no further tree and pays for no further feature. Without thresholds, the
cascade is the forest, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, pack, sealed, unpack
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.walk import ForestWalk
from thrifty.model.links import apply_link
from thrifty.model.motive import End
from thrifty.model.relay import RelayWalk

__all__ = ["Cascade", "CascadeWalk", "exit_score"]

ARRAYS = ("ends", "low", "high")
# Links of forests whose trees are summed: only then is there a score after some of the trees.
SUMMING_LINKS = ("sum", "sigmoid", "hinge", "softmax")


def exit_score(link: str, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what is compared with the thresholds, (n,), from the outputs `raw` (n, k).

    A single output is compared as it is; of several, the largest class probability.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.cascade import exit_score
    >>> exit_score("sigmoid", np.array([[-3.0]]))
    array([-3.])
    >>> exit_score("softmax", np.zeros((1, 4)))
    array([0.25])
    """
    return raw[:, 0].copy() if raw.shape[1] == 1 else apply_link(link, raw).max(axis=1)


class Visit(NamedTuple):
    """The rows that go through one block of trees.

    Attributes
    ----------
    block : int
    rows : int array (m,)
        Positions of the rows in the table.
    raw : array (m, k)
        Their outputs after the block.
    leaves : int array (trees, m)
        The leaves that they reach in the trees of the block.
    """

    block: int
    rows: NDArray[np.intp]
    raw: NDArray[np.float64]
    leaves: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cascade(Frozen):
    """A forest in blocks of trees, with an exit after each block.

    Parameters
    ----------
    forest : Forest
        Trees whose outputs are summed: the link is "sum", "sigmoid", "hinge" or "softmax".
    ends : array (blocks,) of int64
        Number of trees that a row has been through after each block; increasing, the last is the
        number of all trees.
    low, high : arrays (blocks,) of float64
        A row leaves after a block if its `exit_score` is below `low` or above `high`. All rows
        leave after the last block.

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
    >>> cascade.block(X)  # the first row leaves after the first tree
    array([0, 1])
    >>> cascade.score(X)
    array([-2.,  3.])
    """

    kind: ClassVar[str] = "cascade"

    forest: Forest
    ends: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(np.array(getattr(self, name))))

    @classmethod
    def of(
        cls, forest: Forest, ends: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> Self:
        """Build a cascade with a threshold for each block, or one for all of them.

        Raises
        ------
        DataError
            If the blocks are not those of the forest, or a threshold is unfit.
        """
        blocks = np.asarray(ends)
        blocks = blocks.astype(np.int64) if blocks.dtype.kind in "iu" else blocks
        bounds = [np.asarray(bound, dtype=float) for bound in (low, high)]
        bounds = [np.full(blocks.shape, bound) if bound.ndim == 0 else bound for bound in bounds]
        raise_all(DataError, "cascade", list(_problems(forest, blocks, *bounds)))
        return cls(forest, blocks, *bounds)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.forest.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.forest.n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return probabilities (n, K), or values (n,), from the trees that each row visits."""
        raw = np.tile(self.forest.base, (len(X), 1))
        for visit in self._pass(X):
            raw[visit.rows] = visit.raw
        return apply_link(self.forest.link, raw)

    def exit_scores(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the `exit_score` after each block of rows that never leave, (blocks, n)."""
        without_exits = type(self).of(self.forest, self.ends)
        return np.array(
            [exit_score(self.forest.link, visit.raw) for visit in without_exits._pass(X)]
        )

    def block(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the block after which each row leaves, (n,)."""
        block = np.zeros(len(X), dtype=np.int64)
        for visit in self._pass(X):
            block[visit.rows] = visit.block
        return block

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features)."""
        paths = self.forest.paths
        words = np.zeros((len(X), paths.shape[1]), dtype=np.uint64)
        for visit in self._pass(X):
            read = words[visit.rows]
            for leaf in visit.leaves:
                read |= paths[leaf]
            words[visit.rows] = read
        return self.forest.unpack_paths(words)

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the number of trees that each row goes through, (n,)."""
        return np.asarray(self.ends[self.block(X)])

    @property
    def support(self) -> NDArray[np.bool_]:
        """Features that the trees within reach read, (n_features,)."""
        return self._reachable.support

    @property
    def most_evaluations(self) -> int:
        """The number of trees within reach."""
        return len(self._reachable.roots)

    def walk(self, price: Price | None = None) -> CascadeWalk:
        """Start one example; it requests what the trees of its current block need."""
        return CascadeWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        parts, arrays = pack([self.forest])
        return {"parts": parts}, {**arrays, **{name: getattr(self, name) for name in ARRAYS}}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        problems = []
        if plain.keys() != {"parts"}:
            problems.append(f"expected the entry parts, got {sorted(map(str, plain))}")
        absent = [name for name in ARRAYS if name not in arrays]
        if absent:
            problems.append(f"absent: {', '.join(absent)}")
        raise_all(BundleError, "cascade", problems)
        own = {name: arrays[name] for name in arrays if name not in ARRAYS}
        parts = unpack(plain["parts"], own)
        if len(parts) != 1 or not isinstance(parts[0], Forest):
            raise BundleError("cascade: it must hold one forest")
        exits = [arrays[name] for name in ARRAYS]
        raise_all(BundleError, "cascade", list(_problems(parts[0], *exits)))
        return cls(parts[0], *exits)

    def _pass(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Send rows through block after block, and drop those that leave."""
        self.check_columns(X)
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
            score = exit_score(self.forest.link, raw)
            stays = ~((score < self.low[b]) | (score > self.high[b]))
            rows, raw, first = rows[stays], raw[stays], last
            if not len(rows):
                return

    @cached_property
    def _reachable(self) -> Forest:
        """The trees that some row could reach: all leave where low is +inf or high is -inf."""
        closed = (self.low == np.inf) | (self.high == -np.inf)
        last = int(np.argmax(closed)) if closed.any() else len(closed) - 1
        return self.forest.prefix(int(self.ends[last]))


class CascadeWalk(RelayWalk[ForestWalk]):
    """The walk of a `Cascade`: through the trees of one block, then those of the next.

    The outputs of a block start from those of the block before, so that the last score has the
    bits of the batch.
    """

    def __init__(self, cascade: Cascade, price: Price | None) -> None:
        self._cascade = cascade
        self._price: Price = price or (lambda feature: 0.0)
        super().__init__(self._walk_block(0, cascade.forest.base))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores so far; trees that are not finished count with the node that they have reached."""
        return self._walks[-1].scores

    @property
    def end(self) -> End:
        """ "sure" if there were more blocks."""
        return "sure" if len(self._walks) < len(self._cascade.ends) else "complete"

    def _next(self) -> ForestWalk | None:
        """Move on to the next stage and return its walk; None if the row exits here."""
        cascade, block, raw = self._cascade, len(self._walks) - 1, self._walks[-1].raw
        score = float(exit_score(cascade.forest.link, raw)[0])
        leaves = score < cascade.low[block] or score > cascade.high[block]
        if leaves or block == len(cascade.ends) - 1:
            return None
        return self._walk_block(block + 1, raw[0])

    def _walk_block(self, block: int, base: NDArray[np.float64]) -> ForestWalk:
        """Start the walk of one block of trees, whose outputs start from `base` (k,)."""
        ends = self._cascade.ends
        trees = slice(ends[block - 1] if block else 0, ends[block])
        return ForestWalk(self._cascade.forest.as_lists.part(trees, base), self._price)


def _problems(
    forest: Forest, ends: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> Iterator[str]:
    """Yield the problems: averaged trees, ends that do not increase, unfit thresholds."""
    if forest.link not in SUMMING_LINKS:
        yield f"trees of the link {forest.link!r} are averaged; a cascade needs trees that add up"
    if ends.dtype != np.int64 or ends.ndim != 1 or not len(ends):
        yield "ends must be whole numbers, at least one"
        return
    if ends[0] < 1 or np.any(np.diff(ends) < 1) or ends[-1] != len(forest.roots):
        yield f"ends must increase from at least 1 to the {len(forest.roots)} trees of the forest"
    for name, bound in (("low", low), ("high", high)):
        if bound.dtype != np.float64 or bound.shape != ends.shape or np.isnan(bound).any():
            yield f"{name} must be a number for each of the {len(ends)} blocks"
            return
    if np.any(low > high):
        yield "a low threshold is above the high one of its block"
