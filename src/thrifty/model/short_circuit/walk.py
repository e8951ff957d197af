"""One example walking down a forest until its answer is settled.

It asks for one feature at a time: that of the first unfinished tree in the order. A value that
was told unasked waits until that tree comes to it, so that what is read, and the bill, depend on
the example alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Walk
from thrifty.model.forest.walk import Outline
from thrifty.model.links import apply_link
from thrifty.model.short_circuit.bounds import Settling, is_settled

__all__ = ["ShortCircuitWalk"]


class ShortCircuitWalk(Walk):
    """The walk of a `ShortCircuit`."""

    def __init__(self, outline: Outline, settling: Settling, order: Sequence[int]) -> None:
        self._outline = outline
        self._settling = settling
        self._order = order
        self._rule = settling.rule.tolist()
        self._ends = settling.start.copy()
        self._place = outline.roots.copy()
        self._waiting = {feature: trees.copy() for feature, trees in outline.waiting.items()}
        self._read: dict[int, float] = {}
        self._idle: dict[int, float] = {}
        self._current = 0
        self._wants: int | None = None
        self._go()

    @property
    def asks(self) -> tuple[int, ...]:
        """The feature that the first unfinished tree waits for; nothing once settled."""
        return () if self._wants is None else (self._wants,)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and move on as far as they allow."""
        self._idle.update(values)
        if self._wants in values:
            self._go()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the nodes where the trees stand."""
        outline, fills = self._outline, self._settling.fills
        terms = np.zeros((len(self._place) + 1, len(outline.base)))
        terms[0] = outline.base
        if fills.shape[1] == 1:
            terms[outline.terms, outline.outputs] = fills[self._place, 0]
        else:
            terms[1:] = fills[self._place]
        # Summed tree by tree, as the batch adds, so that the last score has the same bits.
        raw = terms.cumsum(axis=0)[-1:]
        if outline.link in ("mean", "vote"):
            raw /= max(len(self._place), 1)
        scores = apply_link(outline.link, raw)
        if outline.link == "sum":
            stopped = np.array([self._wants is None and bool(self._waiting)])
            scores = self._settling.bring_near(scores, self._ends[:, :1].T, stopped)
        return np.atleast_1d(scores[0])

    @property
    def evaluations(self) -> int:
        """Trees that have come to a leaf."""
        return len(self._place) - sum(len(trees) for trees in self._waiting.values())

    def _go(self) -> None:
        """Read what is wanted as long as it is at hand."""
        idle, read = self._idle, self._read
        while True:
            self._wants = wanted = self._next()
            if wanted is None or wanted not in idle:
                return
            read[wanted] = idle.pop(wanted)
            self._move(self._waiting.pop(wanted))

    def _next(self) -> int | None:
        """The feature to buy now; None when the answer is settled."""
        if not self._waiting:
            return None
        least, most = self._ends.tolist()
        if is_settled(least, most, self._rule):
            return None
        splits, place, order = self._outline.splits, self._place, self._order
        while (split := splits[place[order[self._current]]]) is None:
            self._current += 1
        return split[0]

    def _move(self, trees: list[int]) -> None:
        splits, place, read = self._outline.splits, self._place, self._read
        before = [place[tree] for tree in trees]
        for tree, node in zip(trees, before, strict=True):
            split = splits[node]
            while split is not None:
                feature, threshold, child, left, subset = split
                x = read.get(feature)
                if x is None:
                    self._waiting.setdefault(feature, []).append(tree)
                    break
                if x == x:
                    left = x <= threshold if subset is None else x in subset
                node = child if left else child + 1
                split = splits[node]
            place[tree] = node
        self._tighten(trees, before, [place[tree] for tree in trees])

    def _tighten(self, trees: list[int], before: list[int], after: list[int]) -> None:
        """Replace the bounds of the nodes that trees have left by those of where they stand."""
        pairs = self._settling.pairs
        moved = pairs[np.array(after)] - pairs[np.array(before)]
        if moved.shape[2] == self._ends.shape[1]:
            self._ends += moved.sum(axis=0)
        else:
            np.add.at(self._ends.T, self._outline.outputs[trees], moved[:, :, 0])
