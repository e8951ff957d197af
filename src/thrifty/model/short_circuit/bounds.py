"""When the answer of a forest is settled: no tree that has not finished can change it.

Each tree stands at a node, and can still give anything between the least and the largest value
of the leaves below. The sums of these bounds are kept as integers (fixed point, rounded
outwards): they are exact, so every face finds them equal, in whatever order trees move.

The forest itself adds floats, and its link may make two close outputs equal. So a class counts
as settled only if it leads by a margin that covers the rounding of both sums and the link. What
is closer is evaluated to the end, as the forest does it, ties included. Votes are whole numbers:
they need no margin, and a tie goes to the class that comes first.

Sending rows down a forest until they are settled, in plain NumPy.

The twin of `thrifty.kernels.short_circuit`: all rows of a block buy one feature at a time, each
its own, and all trees of all rows move on together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.descent import _step as step
from thrifty.model.forest.forest import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = ["LARGEST", "SIGN", "VALUE", "Settling", "is_settled", "settle"]

# Kinds of rules, as the kernel knows them.
VALUE, SIGN, LARGEST = 0, 1, 2
# Sums of bounds stay below 2 ** BITS, differences of sums below 2 ** 62.
BITS = 60
NEVER = 2**62
# A lead of this much stays a lead after a sigmoid, a softmax or a hinge.
LINK_MARGIN = 2.0**-46

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Settling:
    """The bounds of a forest and the rule that reads them.

    Attributes
    ----------
    low, high : int arrays (nodes, w)
        Least and largest value of the leaves below each node, in units of 2 ** -bits.
    fills : array (nodes, w)
        What a tree counts as at each node: its values, brought within the bounds. So what the
        bounds say of every outcome, they say of the scores of a row that stops early.
    start : int array (2, k)
        Least and largest outputs while all trees stand at their roots.
    rule : int array (4,)
        Kind; then for VALUE the range that is settled, for SIGN the margin, for LARGEST the
        margins over a class before and after the leading one, and where a hinge becomes flat.
    bits : int
    room : float
        How far a value may be from what the whole forest says.
    """

    low: Ints
    high: Ints
    fills: NDArray[np.float64]
    start: Ints
    rule: Ints
    bits: int
    room: float

    @classmethod
    def of(cls, forest: Forest, tolerance: float) -> Self:
        """Bounds and rule of `forest`; `tolerance` is for the link "sum"."""
        addends = forest._addends
        least, most = _extremes(forest, addends)
        size = _size(forest, np.maximum(np.abs(least), np.abs(most)))
        bits = _bits(size)
        low = np.floor(np.ldexp(least, bits)).astype(np.int64)
        high = np.ceil(np.ldexp(most, bits)).astype(np.int64)
        base = np.ldexp(forest.base, bits)
        slack = 4.0 * (len(forest.roots) + 4) * 2.0**-52 * size
        room = max(tolerance - slack, 0.0)
        bounds = np.stack([np.floor(base), np.ceil(base)]).astype(np.int64)
        return cls(
            low=low,
            high=high,
            fills=_fills(forest, addends, least, most),
            start=bounds + np.stack(_sums(forest, low[forest.roots], high[forest.roots])),
            rule=_rule(forest, bits, slack, room),
            bits=bits,
            room=room,
        )

    @cached_property
    def pairs(self) -> Ints:
        """`low` and `high` side by side, (nodes, 2, w): a walk reads both at once."""
        return np.stack([self.low, self.high], axis=1)

    def ends(self, forest: Forest, place: NDArray[np.integer]) -> tuple[Ints, Ints]:
        """Least and largest outputs (n, k) of rows whose trees stand at `place` (n, trees)."""
        base = self.start - np.stack(_sums(forest, self.low[forest.roots], self.high[forest.roots]))
        least, most = _sums(forest, self.low[place], self.high[place])
        return least + base[0], most + base[1]

    def bring_near(
        self, values: NDArray[np.float64], ends: Ints, stopped: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Values (n,) of rows that stopped early, moved to where they are sure to be close."""
        floor = np.ldexp(ends[:, 1].astype(np.float64), -self.bits) - self.room
        ceiling = np.ldexp(ends[:, 0].astype(np.float64), -self.bits) + self.room
        return np.where(stopped, np.minimum(np.maximum(values, floor), ceiling), values)


def is_settled(least: Sequence[int], most: Sequence[int], rule: Sequence[int]) -> bool:
    """Whether the bounds of one row settle its answer: the twin of the kernel's, on plain ints.

    Examples
    --------
    >>> from thrifty.model.short_circuit.bounds import LARGEST, NEVER, is_settled
    >>> votes = [LARGEST, 0, -1, NEVER]
    >>> is_settled([5, 1, 0], [7, 5, 4], votes), is_settled([1, 5, 0], [5, 7, 4], votes)
    (True, False)
    """
    kind, before, after, flat = rule
    if kind == VALUE:
        return most[0] - least[0] <= before
    if kind == SIGN:
        return least[0] > before or most[0] < -before
    lows = [min(max(low, -flat), flat) for low in least]
    top = max(lows)
    best = lows.index(top)
    for k, high in enumerate(most):
        margin = before if k < best else after
        if k == best or top - min(max(high, -flat), flat) > margin:
            continue
        # A hinge is flat beyond 1 and -1: there it is a tie, which the first class wins.
        if k < best or (least[best] - flat < margin and -high - flat < margin):
            return False
    return True


def _extremes(
    forest: Forest, addends: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and largest addend of the leaves below each node."""
    least, most = addends.copy(), addends.copy()
    leaf, child = is_leaf(forest.nodes), forest.nodes["child"]
    levels = [forest.roots]
    while len(levels[-1]):
        split = levels[-1][~leaf[levels[-1]]]
        levels.append(np.concatenate([child[split], child[split] + 1]))
    for level in reversed(levels):
        split = level[~leaf[level]]
        one, other = child[split], child[split] + 1
        least[split] = np.minimum(least[one], least[other])
        most[split] = np.maximum(most[one], most[other])
    return least, most


def _size(forest: Forest, reach: NDArray[np.float64]) -> float:
    """The most that the sum of an output can come to, in absolute value."""
    with np.errstate(over="ignore"):
        (sizes,) = _sums(forest, reach[forest.roots])
        return float((np.abs(forest.base) + sizes).max())


def _bits(size: float) -> int:
    """The finest unit, 2 ** -bits, in which sums up to `size` stay below 2 ** BITS."""
    if size == 0 or math.isinf(size):
        return 0 if size == 0 else -1000
    return min(BITS - math.frexp(size)[1], 1000)


def _units(value: float, bits: int) -> float:
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(value, bits)), float(NEVER))


def _sums(forest: Forest, *parts: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Outputs (..., k) of what trees give, (..., trees, w)."""
    if forest.values.shape[1] > 1 or len(forest.base) == 1:
        return [part.sum(axis=-2) for part in parts]
    sums = [np.zeros((*part.shape[:-2], len(forest.base)), dtype=part.dtype) for part in parts]
    for k in range(len(forest.base)):
        for total, part in zip(sums, parts, strict=True):
            total[..., k] = part[..., forest.outputs == k, 0].sum(axis=-1)
    return sums


def _fills(
    forest: Forest,
    addends: NDArray[np.float64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> NDArray[np.float64]:
    if forest.link != "vote":
        return np.clip(addends, least, most)
    # An inner node votes for the best of the classes that a leaf below it votes for.
    possible = np.where(most > 0, forest.values, -np.inf)
    return np.asarray(np.eye(forest.values.shape[1])[possible.argmax(axis=1)])


def _rule(forest: Forest, bits: int, slack: float, room: float) -> Ints:
    if forest.link == "sum":
        return np.array([VALUE, math.floor(_units(2.0 * room, bits)) if room > 0 else -1, 0, 0])
    if forest.link == "vote" and not forest.base.any():
        return np.array([LARGEST, 0, -1, NEVER])
    link = 0.0 if forest.link in ("mean", "vote") else LINK_MARGIN
    margin = math.ceil(_units(slack + link, bits)) + 1
    if len(forest.base) == 1:
        return np.array([SIGN, margin, 0, 0])
    flat = NEVER
    if forest.link == "hinge" and bits <= BITS:
        # Sums so large that 1 is no unit: nothing settles.
        flat, margin = (2**bits, margin) if bits >= 0 else (NEVER, NEVER)
    return np.array([LARGEST, margin, margin, flat])


def settle(
    forest: Forest,
    settling: Settling,
    order: Ints,
    X: NDArray[np.floating],
    used: NDArray[np.bool_],
) -> tuple[Ints, Ints]:
    """Nodes (n, trees) where the trees of each row end up, and how many of them are leaves.

    What each row buys is written to `used`.
    """
    place = np.tile(forest.roots, (len(X), 1))
    leaf = is_leaf(forest.nodes)
    feature = forest.nodes["feature"] & INDEX
    open_rows = np.arange(len(X))
    while True:
        settled = _are_settled(*settling.ends(forest, place[open_rows]), settling.rule)
        waiting = ~leaf[place[open_rows]]
        going = ~settled & waiting.any(axis=1)
        open_rows, waiting = open_rows[going], waiting[going]
        if not len(open_rows):
            return place, leaf[place].sum(axis=1)
        current = order[waiting[:, order].argmax(axis=1)]
        used[open_rows, feature[place[open_rows, current]]] = True
        _move(forest, X, used, place, open_rows)


def _move(
    forest: Forest,
    X: NDArray[np.floating],
    used: NDArray[np.bool_],
    place: Ints,
    rows: Ints,
) -> None:
    """Move every tree of some rows as far as the features bought lead it."""
    leaf, feature = is_leaf(forest.nodes), forest.nodes["feature"] & INDEX
    while True:
        here = place[rows]
        ready = ~leaf[here] & used[rows[:, np.newaxis], feature[here]]
        which, trees = np.nonzero(ready)
        if not len(which):
            return
        place[rows[which], trees] = step(
            forest.nodes, forest.subsets, X, rows[which], here[which, trees].astype(np.int32)
        )


def _are_settled(least: Ints, most: Ints, rule: Ints) -> NDArray[np.bool_]:
    """`thrifty.model.short_circuit.bounds.is_settled` for each row."""
    kind, before, after, flat = rule
    if kind == VALUE:
        return np.asarray(most[:, 0] - least[:, 0] <= before)
    if kind == SIGN:
        return np.asarray((least[:, 0] > before) | (most[:, 0] < -before))
    assert kind == LARGEST
    lows, highs = least.clip(-flat, flat), most.clip(-flat, flat)
    best = lows.argmax(axis=1)[:, np.newaxis]
    k = np.arange(least.shape[1])
    margin = np.where(k < best, before, after)
    ahead = np.take_along_axis(lows, best, axis=1) - highs > margin
    level = (np.take_along_axis(least, best, axis=1) - flat >= margin) | (-most - flat >= margin)
    return np.asarray((ahead | (k == best) | ((k > best) & level)).all(axis=1))
