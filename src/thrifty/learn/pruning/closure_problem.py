"""Pruning as a closure problem: what each split is worth, and what it makes rows pay.

A pruning keeps splits, each together with its parent. Keeping split h saves g_h = e_h - e_left -
e_right errors. A row pays for a feature (or for entering a group) once, if it meets a kept split
that reads it; in one tree the topmost such split on the path of the row decides, so only that one
has an arc to the pay node of (row, feature). The best pruning at penalty lambda is the solution of
(Nan 2018, ch. 4, program IP)::

    min  error / (T W)  +  lambda * (sum of what rows pay) / N

with T trees, W the weight of the rows on which errors are counted, N the rows that pay. Multiplied
by T W it is a maximum closure at the rate mu = lambda T W / N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.kernels.closure import problem as arcs
from thrifty.kernels.closure.path import all_closures, best_closure
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, MISSING_LEFT, is_leaf

__all__ = ["ClosureProblem", "as_mean", "node_gains", "prune"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Sums of worth, and sums of costs, stay below 2 to this power.
BITS = 60
MAX_ARCS = 2**31 - 1
# Errors of a row add up along its path: room for paths of this length.
MAX_DEPTH = 64


@dataclass(frozen=True, eq=False)
class ClosureProblem:
    """A closure problem; `solve` and `solve_path` say which nodes of the forest to keep.

    Attributes
    ----------
    number : array (nodes,)
        Split of the problem that a node belongs to; -1 for leaves and for splits that never pay.
    parent, first, head
        The problem: parent of each split, and its pay nodes head[first[h]:first[h + 1]].
    worth, cost : arrays of int64
        Of the splits, then of the pay nodes.
    steps : array of int64
        The part of the cost of the splits that is on no bill: passing them.
    worth_unit, cost_unit : float
        Error per row and tree, and mean bill, of one unit of worth and cost.
    """

    number: NDArray[np.int32]
    parent: NDArray[np.int32]
    first: Ints
    head: NDArray[np.int32]
    worth: Ints
    cost: Ints
    steps: Ints
    worth_unit: float
    cost_unit: float

    @classmethod
    def of(
        cls,
        forest: Forest,
        gain: Ints,
        worth_unit: float,
        X: NDArray[np.floating],
        prices: BoundPrices,
        step_price: float = 0.0,
    ) -> Self:
        """Set up the pruning of `forest`, whose splits save `gain` errors, for rows X that pay.

        A tree of which any split is kept costs one evaluation, and every kept split that a row
        passes costs `step_price`.
        """
        parent = arcs.find_parents(forest.nodes["child"])
        number, above, worth = arcs.chains(parent, arcs.worthy(parent, gain).view(np.uint8), gain)
        order = arcs.depth_first(parent, forest.nodes["child"])
        last, times = _distinct(arcs.ends(forest.leaves(X), parent, number), order)
        columns, price = _columns(forest, parent, number, prices)
        kept = number >= 0
        standing = forest.roots[kept[forest.roots]]
        most = float(price.sum()) + prices.evaluation * len(standing) + step_price * kept.sum()
        unit = _unit(len(X) * most)
        whole, evaluation, step = (_whole(p, unit) for p in (price, prices.evaluation, step_price))
        degree, slope, passed = arcs.count_arcs(
            last, parent, number, columns, times, whole, len(above)
        )
        n_arcs = int(degree.sum(dtype=np.int64))
        if n_arcs >= MAX_ARCS:  # arcs are numbered by int32
            raise DataError(
                f"validation: {n_arcs} uses of features by rows in trees are too many to prune "
                f"for, the limit is {MAX_ARCS}; give fewer rows or fewer trees"
            )
        cost, first, head = arcs.fill_arcs(
            last, parent, number, columns, times, whole, degree, len(above)
        )
        steps = step * passed
        slope[number[standing]] += evaluation * len(X)
        return cls(
            number, above, first, head, np.concatenate([worth, np.zeros_like(cost)]),
            np.concatenate([slope + steps, cost]), steps, worth_unit, unit / len(X),
        )  # fmt: skip

    def solve(self, penalty: float) -> Mask:
        """Return the nodes that split in the smallest best pruning for one penalty, exactly."""
        # As fine as integers can be, so that the rounding of the costs does not matter.
        total = int(np.maximum(self.worth, 0).sum())
        fine = 1 << max(0, BITS - total.bit_length())
        # Beyond 2^BITS nothing that costs pays, and infinity times 0 is not a number.
        rate = min(penalty * (self.cost_unit / self.worth_unit) * fine, 2.0**BITS)
        cost = np.rint(np.minimum(rate * self.cost, 2.0**BITS)).astype(np.int64)
        weight = self.worth * fine - cost
        return self.spread(best_closure(self.parent, self.first, self.head, weight))

    def solve_path(self) -> tuple[Floats, Floats, Floats]:
        """Solve for every penalty at once.

        Returns
        -------
        penalties : array of shape (nodes,)
            Penalty from which on each node of the forest is pruned; 0 for leaves.
        breakpoints : array of shape (k,)
            Penalties at which the best pruning changes, decreasing.
        bills : array of shape (k,)
            Mean bill just below each breakpoint.
        """
        rates = all_closures(self.parent, self.first, self.head, self.worth, self.cost)
        rates = np.asarray(rates * (self.worth_unit / self.cost_unit))
        penalties = np.append(rates[: len(self.parent)], 0.0)[self.number]
        return penalties, *self._bills_by_rate(rates)

    def bills_of(self, keep_until: Floats) -> tuple[Floats, Floats]:
        """Return the bills of any nested prunings, which keep a node below a number of its own.

        Parameters
        ----------
        keep_until : array of shape (nodes,)
            That number for each node of the forest; it does not exceed that of the parent.

        Returns
        -------
        breakpoints, bills : arrays of shape (k,)
            As in `solve_path`.
        """
        rates = np.zeros(len(self.cost))
        kept = self.number >= 0
        splits, pays = rates[: len(self.parent)], rates[len(self.parent) :]
        splits[self.number[kept]] = keep_until[kept]
        # A row pays as long as any of the splits stands at which it would.
        np.maximum.at(pays, self.head, np.repeat(splits, np.diff(self.first)))
        return self._bills_by_rate(rates)

    def _bills_by_rate(self, rates: Floats) -> tuple[Floats, Floats]:
        """Return the distinct rates, decreasing, and the mean bill of all that have at least each.

        The price of passing a split is on no bill.
        """
        order = np.argsort(-rates, kind="stable")
        rates = rates[order]
        last = np.flatnonzero(np.append(rates[1:] != rates[:-1], True)) if len(rates) else order
        billed = self.cost.copy()
        billed[: len(self.steps)] -= self.steps
        bills = np.cumsum(billed[order])[last].astype(np.float64) * self.cost_unit
        return rates[last], bills

    def value(self, keep: Mask, penalty: float) -> float:
        """Return the error that a pruning saves, minus penalty times its cost."""
        kept = np.zeros(len(self.parent), dtype=bool)
        kept[self.number[keep & (self.number >= 0)]] = True
        paid = np.zeros(len(self.worth), dtype=bool)
        paid[: len(kept)] = kept
        paid[len(kept) + self.head[np.repeat(kept, np.diff(self.first))]] = True
        saved = float(self.worth[: len(kept)][kept].sum()) * self.worth_unit
        return saved - penalty * float(self.cost[paid].sum()) * self.cost_unit

    def spread(self, kept: Mask) -> Mask:
        """Map splits of the problem to nodes of the forest."""
        return np.append(kept, False)[self.number]


def node_gains(
    forest: Forest,
    X: NDArray[np.floating],
    codes: Ints,
    weight: NDArray[np.float64] | None = None,
    counted: Mask | None = None,
) -> tuple[Ints, float]:
    """Return the errors that each split saves, as integers, and what one unit of them is worth.

    A node predicts the class of its largest value. Leaves, and nodes that no row passes, save
    nothing. `counted` (trees, n) says which rows count in which trees, for example those that a
    tree was not grown on; by default all rows count in all trees.
    """
    weight = np.ones(len(X)) if weight is None else weight
    total = float(weight.sum()) * max(len(forest.roots), 1)
    unit = _unit(MAX_DEPTH * total)
    whole = _whole(weight, unit)
    parent = arcs.find_parents(forest.nodes["child"])
    predicted, leaves = forest.values.argmax(axis=1), forest.leaves(X)
    if counted is None:
        errors = arcs.error_sums(leaves, parent, predicted, codes, whole)
    else:
        total = float((counted @ weight).sum()) or 1.0
        errors = np.zeros(len(parent), dtype=np.int64)
        for tree, rows in zip(leaves, counted, strict=True):
            own = np.ascontiguousarray(tree[rows])[np.newaxis]
            errors += arcs.error_sums(own, parent, predicted, codes[rows], whole[rows])
    gain = np.zeros(len(parent), dtype=np.int64)
    split = np.flatnonzero(~is_leaf(forest.nodes))
    child = forest.nodes["child"][split]
    gain[split] = errors[split] - errors[child] - errors[child + 1]
    return gain, unit / total


def _whole(price: Any, unit: float) -> Any:
    """Round amounts to whole numbers of units."""
    return np.rint(price / unit).astype(np.int64)


def _unit(total: float) -> float:
    """Return the power of two of which `total` holds fewer than 2^BITS."""
    # Its inverse must be a number, too: prices of less than 1e-271 count as nothing.
    return math.ldexp(1.0, max(math.frexp(total)[1] - BITS, -900)) if total > 0 else 1.0


def _distinct(last: NDArray[np.int32], order: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Return the distinct paths of rows, and how many rows take each.

    Rows of one subtree of the first tree are adjacent, so that the needs of a split lie close.
    """
    if not last.shape[1]:
        return last[:0], np.zeros(0, dtype=np.int64)
    # Big-endian bytes compare as the numbers do; where no split is kept, -1 comes first.
    rank = np.where(last >= 0, order[last] + 1, 0).astype(">i4")
    keys = rank.view(np.dtype((np.void, rank.itemsize * rank.shape[1])))[:, 0]
    _, index, times = np.unique(keys, return_index=True, return_counts=True)
    return last[index], times.astype(np.int64)


def _columns(
    forest: Forest, parent: NDArray[np.int32], number: NDArray[np.int32], prices: BoundPrices
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return what rows pay at each node: columns (nodes, 2) of feature and group, and prices."""
    price = np.concatenate([prices.own, prices.shared])
    feature = (forest.nodes["feature"] & INDEX).astype(np.int64)
    group = np.where(number >= 0, prices.group[np.where(number >= 0, feature, 0)], -1)
    marks = np.stack([feature, np.where(group >= 0, len(prices.own) + group, -1)], axis=1)
    for k in range(2):
        mark = np.where((number >= 0) & (marks[:, k] >= 0), marks[:, k], -1)
        mark = np.where(price[mark] > 0, mark, -1)
        marks[:, k] = np.where(arcs.first_on_path(parent, mark), mark, -1)
    used, columns = np.unique(np.append(marks, -1), return_inverse=True)
    return (columns[:-1] - 1).astype(np.int32).reshape(marks.shape), price[used[1:]]


def as_mean(forest: Forest) -> Forest:
    """Return the same forest with the link "mean": a vote is the mean of votes."""
    if forest.link != "vote":
        return forest
    votes = np.eye(forest.values.shape[1])[forest.values.argmax(axis=1)]
    return replace(forest, values=votes, link="mean")


def prune(forest: Forest, keep: NDArray[np.bool_]) -> Forest:
    """Return the forest that splits only at the nodes `keep`, which include their parents.

    `forest` averages (link "mean"). A tree without any split moves into the base: it predicts the
    same for all rows and costs no evaluation. Without any split the forest is a constant.
    """
    alive = np.zeros(len(forest.nodes), dtype=bool)
    alive[forest.roots[keep[forest.roots]]] = True
    child = forest.nodes["child"][keep]
    alive[child] = alive[child + 1] = True
    place = np.cumsum(alive) - 1
    nodes = forest.nodes[alive]
    split = keep[alive]
    nodes["child"] = np.where(split, place[nodes["child"]], np.arange(len(nodes)))
    nodes["threshold"][~split] = np.inf
    nodes["feature"][~split] = MISSING_LEFT
    standing = keep[forest.roots]
    # The mean is over the trees that remain, so they and the base stand in for the others.
    total, trees = len(forest.roots), int(standing.sum())
    share = 1.0 if trees == total else (trees or 1) / total
    base = (forest.base + forest.values[forest.roots[~standing]].sum(axis=0)) * share
    return replace(
        forest,
        nodes=nodes,
        values=forest.values[alive] * share,
        roots=place[forest.roots[standing]].astype(np.int64),
        outputs=forest.outputs[standing],
        base=base,
    )
