"""One example walking down a forest, asking for values as trees need them.

Every tree stands at a node and waits for its feature. A value moves all trees that wait for it,
on through every further value already told. All features that trees wait for will be read
whatever the answers, so all of them are asked at once, in the order of trees freed per price.

This is plain Python on lists on purpose: a value moves a handful of trees, and one NumPy call
costs as much as ten steps here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Price, Walk
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT
from thrifty.model.links import apply_link

__all__ = ["ForestWalk", "Outline"]


# Feature, threshold, left child, whether a missing value goes left, codes that go left.
Split = tuple[int, float, int, bool, frozenset[int] | None]


@dataclass(frozen=True, eq=False)
class Outline:
    """A forest as lists, made once and shared by all its walks; a leaf is None."""

    splits: list[Split | None]
    roots: list[int]
    waiting: dict[int, list[int]]
    addends: NDArray[np.float64]
    terms: NDArray[np.int64]
    outputs: NDArray[np.int64]
    base: NDArray[np.float64]
    link: str

    @classmethod
    def of(
        cls,
        nodes: NDArray[np.void],
        subsets: NDArray[np.uint64],
        roots: NDArray[np.int64],
        outputs: NDArray[np.int64],
        addends: NDArray[np.float64],
        base: NDArray[np.float64],
        link: str,
    ) -> Self:
        """Outline of the arrays of a forest."""
        codes = [_members(row) for row in subsets]
        records = [node.item() for node in nodes]
        splits = [_split(node, codes, *record) for node, record in enumerate(records)]
        waiting = _waiting(splits, roots.tolist())
        terms = np.arange(1, len(roots) + 1)
        return cls(splits, roots.tolist(), waiting, addends, terms, outputs, base, link)

    def part(self, trees: slice, base: NDArray[np.float64]) -> Outline:
        """Some of the trees, whose sums start from `base`."""
        roots, outputs = self.roots[trees], self.outputs[trees]
        waiting = _waiting(self.splits, roots)
        terms = self.terms[: len(roots)]
        return Outline(self.splits, roots, waiting, self.addends, terms, outputs, base, self.link)


def _waiting(splits: list[Split | None], roots: list[int]) -> dict[int, list[int]]:
    """Trees that wait for each feature at their roots."""
    waiting: dict[int, list[int]] = {}
    for tree, root in enumerate(roots):
        split = splits[root]
        if split is not None:
            waiting.setdefault(split[0], []).append(tree)
    return waiting


def _split(
    node: int, codes: list[frozenset[int]], threshold: float, child: int, field: int
) -> Split | None:
    if child == node:
        return None
    subset = codes[int(threshold)] if field & CATEGORICAL else None
    return field & INDEX, threshold, child, bool(field & MISSING_LEFT), subset


def _members(words: NDArray[np.uint64]) -> frozenset[int]:
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist())


class ForestWalk(Walk):
    """The walk of a `Forest`."""

    def __init__(self, outline: Outline, price: Price) -> None:
        self._outline = outline
        self._price = price
        self._place = outline.roots.copy()
        self._waiting = {feature: trees.copy() for feature, trees in outline.waiting.items()}
        self._read: dict[int, float] = {}
        self._idle: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """All features that trees wait for, most trees freed per price first."""
        price = self._price
        # Price per tree, so that what is free comes first; ties go by position.
        ranked = sorted([(price(j) / len(trees), j) for j, trees in self._waiting.items()])
        return tuple([feature for _, feature in ranked])

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values and move every tree as far as they allow."""
        self._idle.update(values)
        for feature in values:
            trees = self._waiting.pop(feature, None)
            if trees is not None:
                self._move(trees)

    def _move(self, trees: list[int]) -> None:
        splits, place, read, idle = self._outline.splits, self._place, self._read, self._idle
        waiting = self._waiting
        for tree in trees:
            node = place[tree]
            split = splits[node]
            while split is not None:
                feature, threshold, child, left, subset = split
                x = read.get(feature)
                if x is None:
                    if feature not in idle:
                        waiting.setdefault(feature, []).append(tree)
                        break
                    x = read[feature] = idle.pop(feature)
                if x == x:
                    left = x <= threshold if subset is None else x in subset
                node = child if left else child + 1
                split = splits[node]
            place[tree] = node

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the nodes where the trees stand."""
        return np.atleast_1d(apply_link(self._outline.link, self.raw)[0])

    @property
    def raw(self) -> NDArray[np.float64]:
        """Outputs (1, k) before the link."""
        outline = self._outline
        terms = np.zeros((len(self._place) + 1, len(outline.base)))
        terms[0] = outline.base
        if outline.addends.shape[1] == 1:
            terms[outline.terms, outline.outputs] = outline.addends[self._place, 0]
        else:
            terms[1:] = outline.addends[self._place]
        # Summed tree by tree, as the batch adds, so that the last score has the same bits.
        raw = terms.cumsum(axis=0)[-1:]
        if outline.link in ("mean", "vote"):
            raw /= max(len(self._place), 1)
        return raw

    @property
    def evaluations(self) -> int:
        """Trees that have reached a leaf."""
        return len(self._place) - sum(len(trees) for trees in self._waiting.values())
