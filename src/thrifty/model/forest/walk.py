"""One example walking down a forest, requesting values as the trees need them.

Every tree stands at a node and waits for the feature of that node. A value moves all trees that
wait for it, and on through all further values already known. Each feature that a tree waits for
will be read whatever the other values are, so all of them are requested at once, in the order of
trees moved per price.

This is plain Python on lists on purpose: a value moves a handful of trees, and one NumPy call
costs as much as ten steps here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import cached_property
from thrifty.model.base import Price, Walk
from thrifty.model.links import apply_link
from thrifty.model.motive import Motive

__all__ = ["ForestLists", "ForestWalk", "Split"]


# What the outputs of a forest are, in the words of a user.
OUTPUTS = {
    "sum": "the answer",
    "sigmoid": "the log-odds",
    "softmax": "the log-odds",
    "hinge": "the margin",
    "mean": "the probability",
    "vote": "the probability",
}


class Split(NamedTuple):
    """One split of a tree; see `thrifty.model.forest.nodes` for what it does."""

    feature: int
    threshold: float
    child: int
    missing_left: bool
    codes: frozenset[int] | None
    """Categories that go left; None if the feature is a number."""


@dataclass(frozen=True, eq=False)
class ForestLists:
    """A forest as Python lists, made once and shared by all walks.

    Attributes
    ----------
    splits : list of Split or None
        All nodes; a leaf is None.
    roots : list of int
        Root of each tree.
    outputs : int array (trees,)
        Output that each tree adds to, where `contributions` has one column.
    contributions : array (nodes, 1) or (nodes, k)
        What a tree adds to the outputs while it stands at a node.
    base : array (k,)
        Where the sums start.
    link : str
        How outputs become scores.
    """

    splits: list[Split | None]
    roots: list[int]
    outputs: NDArray[np.int64]
    contributions: NDArray[np.float64]
    base: NDArray[np.float64]
    link: str

    @cached_property
    def waiting(self) -> dict[int, list[int]]:
        """Trees that wait for each feature at their roots."""
        waiting: dict[int, list[int]] = {}
        for tree, root in enumerate(self.roots):
            split = self.splits[root]
            if split is not None:
                waiting.setdefault(split.feature, []).append(tree)
        return waiting

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """How far apart the leaves below each node are, (nodes, 1) or (nodes, k)."""
        child = np.array([-1 if split is None else split.child for split in self.splits])
        levels = [np.array(self.roots, dtype=np.int64)]
        while len(levels[-1]):
            first = child[levels[-1]]
            first = first[first >= 0]
            levels.append(np.concatenate([first, first + 1]))
        low, high = self.contributions.copy(), self.contributions.copy()
        for level in reversed(levels):
            split = level[child[level] >= 0]
            low[split] = np.minimum(low[child[split]], low[child[split] + 1])
            high[split] = np.maximum(high[child[split]], high[child[split] + 1])
        return np.asarray(high - low)

    def part(self, trees: slice, base: NDArray[np.float64]) -> ForestLists:
        """Return some of the trees, with sums that start from `base` (k,)."""
        roots, outputs = self.roots[trees], self.outputs[trees]
        return ForestLists(self.splits, roots, outputs, self.contributions, base, self.link)


class ForestWalk(Walk):
    """The walk of a `Forest`.

    Attributes
    ----------
    _position : list of int
        Node where each tree stands.
    _waiting : dict
        Trees that wait for each feature; those of no feature have reached a leaf.
    _read, _unread : dict
        Values that some tree has read, and values that none has asked for yet.
    """

    def __init__(self, lists: ForestLists, price: Price) -> None:
        self._lists = lists
        self._price = price
        self._position = lists.roots.copy()
        self._waiting = {feature: trees.copy() for feature, trees in lists.waiting.items()}
        self._read: dict[int, float] = {}
        self._unread: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """All features that trees wait for, most trees moved per price first."""
        price = self._price
        # Price per tree, so that free features come first; ties go by position.
        ranked = sorted([(price(j) / len(trees), j) for j, trees in self._waiting.items()])
        return tuple([feature for _, feature in ranked])

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move every tree as far as they allow."""
        self._unread.update(values)
        for feature in values:
            trees = self._waiting.pop(feature, None)
            if trees is not None:
                self._move(trees)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores from the nodes where the trees stand."""
        return np.atleast_1d(apply_link(self._lists.link, self.raw)[0])

    @property
    def raw(self) -> NDArray[np.float64]:
        """Outputs (1, k) before the link."""
        lists, trees = self._lists, len(self._position)
        # Summed tree by tree, as the batch adds, so that the last score has the same bits.
        if lists.contributions.shape[1] == 1:
            raw = lists.base[np.newaxis].copy()
            np.add.at(raw[0], lists.outputs, lists.contributions[self._position, 0])
        else:
            terms = np.empty((trees + 1, len(lists.base)))
            terms[0] = lists.base
            terms[1:] = lists.contributions[self._position]
            raw = terms.cumsum(axis=0)[-1:]
        if lists.link in ("mean", "vote"):
            raw /= max(trees, 1)
        return raw

    @property
    def evaluations(self) -> int:
        """Number of trees that have reached a leaf."""
        return len(self._position) - sum(len(trees) for trees in self._waiting.values())

    @property
    def motive(self) -> Motive:
        """How far the trees that wait for each feature can move their output."""
        wanted = self.asks[:1]
        gains = {feature: self._range(trees) for feature, trees in self._waiting.items()}
        others = tuple(((j,), gain) for j, gain in gains.items() if j not in wanted)
        what = OUTPUTS[self._lists.link]
        return Motive(wanted, "range", gains[wanted[0]], others, what) if wanted else Motive(())

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the trees that reach a leaf if all those finish that wait for these features."""
        known = {*features, *self._unread}
        waiting = self._waiting.items()
        return self.evaluations + sum(len(trees) for j, trees in waiting if j in known)

    def _range(self, trees: list[int]) -> float:
        """Return the most by which some trees can move one of the outputs."""
        lists = self._lists
        spread = lists.spread[[self._position[tree] for tree in trees]]
        moved = np.zeros(len(lists.base))
        if spread.shape[1] == 1:
            np.add.at(moved, lists.outputs[trees], spread[:, 0])
        else:
            moved = spread.sum(axis=0)
        shares = len(self._position) if lists.link in ("mean", "vote") else 1
        return float(moved.max()) / shares

    def _move(self, trees: list[int]) -> None:
        """Move some trees as far as known values lead them, and let them wait there."""
        splits, position, waiting = self._lists.splits, self._position, self._waiting
        read, unread = self._read, self._unread
        for tree in trees:
            node = position[tree]
            split = splits[node]
            while split is not None:
                feature, threshold, child, left, codes = split
                x = read.get(feature)
                if x is None:
                    if feature not in unread:
                        waiting.setdefault(feature, []).append(tree)
                        break
                    x = read[feature] = unread.pop(feature)
                if x == x:  # not missing
                    left = x <= threshold if codes is None else x in codes
                node = child if left else child + 1
                split = splits[node]
            position[tree] = node
