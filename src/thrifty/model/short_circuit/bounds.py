"""Bounds on the outputs of a forest, and the rule for when they settle the prediction of a row.

A tree that stands at a node can still add anything between the smallest and the largest value of
the leaves below. The sums of these bounds are kept in fixed point, rounded outwards: they are exact
integers, so batch and walk find the same sums in whatever order trees move.

The forest itself adds floats, and its link may make two close outputs equal. So a class counts as
settled only if it leads by a margin that covers the rounding of both sums and of the link. What is
closer is evaluated to the end, as the forest does it, ties included. Votes are whole numbers: they
need no margin, and a tie goes to the first class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import cached_property
from thrifty.model.forest.forest import Forest, votes_of
from thrifty.model.forest.nodes import is_leaf

__all__ = ["LARGEST", "SIGN", "UNREACHABLE", "VALUE", "Bounds", "is_settled"]

# Kinds of rules, as the kernel knows them: a value is close enough, its sign is settled, or which
# output is the largest.
VALUE, SIGN, LARGEST = 0, 1, 2
# Sums of bounds stay below 2 ** SUM_BITS, so that differences of sums fit an int64.
SUM_BITS = 60
# A margin or a sum that no sum of bounds reaches.
UNREACHABLE = 2**62
# A lead of this much remains a lead after a sigmoid, a softmax or a hinge.
LINK_MARGIN = 2.0**-46

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of a forest and the rule that compares them.

    Attributes
    ----------
    low, high : int arrays (nodes, w)
        Smallest and largest contribution of the leaves below each node, in units of 2 ** -bits.
    fills : array (nodes, w)
        What a tree contributes to the scores while it stands at a node: the value of the node,
        clipped to its bounds. So the scores of a row that stops early obey the bounds, too.
    start : int array (2, k)
        Smallest and largest outputs while all trees stand at their roots.
    rule : int array (4,)
        First the kind. For VALUE, then the range of outputs that is close enough; for SIGN, the
        margin; for LARGEST, the margins over a class before and after the leading one, and the
        output where a hinge becomes flat. All in units of 2 ** -bits.
    bits : int
        Number of binary places of the fixed-point numbers.
    slack : float
        How far a value may be from the one that the whole forest predicts.
    """

    low: Ints
    high: Ints
    fills: NDArray[np.float64]
    start: Ints
    rule: Ints
    bits: int
    slack: float

    @classmethod
    def of(cls, forest: Forest, tolerance: float) -> Self:
        """Compute the bounds of `forest`; `tolerance` applies to the link "sum"."""
        least, most = _leaf_extremes(forest)
        # The largest absolute value of a sum sets the finest unit in which sums fit SUM_BITS.
        with np.errstate(over="ignore"):
            (sizes,) = _sum_trees(forest, np.maximum(np.abs(least), np.abs(most))[forest.roots])
            size = float((np.abs(forest.base) + sizes).max())
        if size == 0 or math.isinf(size):
            bits = 0 if size == 0 else -1000
        else:
            bits = min(SUM_BITS - math.frexp(size)[1], 1000)
        rounding = 4.0 * (len(forest.roots) + 4) * 2.0**-52 * size
        slack = max(tolerance - rounding, 0.0)
        low = np.floor(np.ldexp(least, bits)).astype(np.int64)
        high = np.ceil(np.ldexp(most, bits)).astype(np.int64)
        base = np.ldexp(forest.base, bits)
        base = np.stack([np.floor(base), np.ceil(base)]).astype(np.int64)
        fills = np.clip(forest.contributions, least, most)
        if forest.link == "vote":
            # An inner node votes for the best of the classes that a leaf below it votes for.
            possible = np.where(most > 0, forest.values, -np.inf)
            fills = votes_of(possible)
        return cls(
            low=low,
            high=high,
            fills=fills,
            start=base + np.stack(_sum_trees(forest, low[forest.roots], high[forest.roots])),
            rule=_rule(forest, bits, rounding, slack),
            bits=bits,
            slack=slack,
        )

    @cached_property
    def pairs(self) -> Ints:
        """`low` and `high` side by side, (nodes, 2, w): a walk reads both at once."""
        return np.stack([self.low, self.high], axis=1)

    def clip_values(
        self, values: NDArray[np.float64], ends: Ints, stopped: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return values (n,), clipped to within the tolerance where a row has stopped early.

        `ends` (n, 2) are the smallest and largest outputs of each row.
        """
        floor = np.ldexp(ends[:, 1].astype(np.float64), -self.bits) - self.slack
        ceiling = np.ldexp(ends[:, 0].astype(np.float64), -self.bits) + self.slack
        return np.where(stopped, np.minimum(np.maximum(values, floor), ceiling), values)


def is_settled(least: Sequence[int], most: Sequence[int], rule: Sequence[int]) -> bool:
    """Return whether no outputs between `least` and `most` (k,) can change the prediction.

    The version for walks, on Python integers; `thrifty.kernels.descent` has the one for a table.

    Examples
    --------
    Votes of three classes: the first has at least 5, and the others at most 5 and 4. A tie goes to
    the first class, but not to the second.

    >>> from thrifty.model.short_circuit.bounds import LARGEST, UNREACHABLE, is_settled
    >>> votes = [LARGEST, 0, -1, UNREACHABLE]
    >>> is_settled([5, 1, 0], [7, 5, 4], votes)
    True
    >>> is_settled([1, 5, 0], [5, 7, 4], votes)
    False
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


def _leaf_extremes(forest: Forest) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and largest contribution of the leaves below each node, (nodes, w)."""
    least, most = forest.contributions.copy(), forest.contributions.copy()
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


def _sum_trees(forest: Forest, *parts: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Return the outputs (..., k) of contributions (..., trees, w), for each array in `parts`."""
    if forest.values.shape[1] > 1 or len(forest.base) == 1:
        return [part.sum(axis=-2) for part in parts]
    sums = [np.zeros((*part.shape[:-2], len(forest.base)), dtype=part.dtype) for part in parts]
    for k in np.unique(forest.outputs).tolist():
        for total, part in zip(sums, parts, strict=True):
            total[..., k] = part[..., forest.outputs == k, 0].sum(axis=-1)
    return sums


def _rule(forest: Forest, bits: int, rounding: float, slack: float) -> Ints:
    """Return the rule of `Bounds` for the link of a forest whose sums are off by `rounding`."""

    def in_units(value: float) -> float:
        with np.errstate(over="ignore"):
            return min(float(np.ldexp(value, bits)), float(UNREACHABLE))

    if forest.link == "sum":
        return np.array([VALUE, math.floor(in_units(2.0 * slack)) if slack > 0 else -1, 0, 0])
    if forest.link == "vote" and not forest.base.any():
        return np.array([LARGEST, 0, -1, UNREACHABLE])
    link_margin = 0.0 if forest.link in ("mean", "vote") else LINK_MARGIN
    margin = math.ceil(in_units(rounding + link_margin)) + 1
    if len(forest.base) == 1:
        return np.array([SIGN, margin, 0, 0])
    flat = UNREACHABLE
    if forest.link == "hinge" and bits <= SUM_BITS:
        # Where sums are so large that 1 is no unit, no row is ever settled.
        flat, margin = (2**bits, margin) if bits >= 0 else (UNREACHABLE, UNREACHABLE)
    return np.array([LARGEST, margin, margin, flat])
