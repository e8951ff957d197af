"""Find the tree of a depth up to three whose rows cost least: their bills and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.shallow_tree.splits import Splits
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes

__all__ = ["Tree", "TreeSearch", "freeze_tree"]

Floats = NDArray[np.float64]


class Tree(NamedTuple):
    """A split with a tree on each side; None in place of a tree is a leaf."""

    split: int
    yes: Tree | None
    no: Tree | None


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Rows, the questions that they answer, and what their answers and features cost.

    Parameters
    ----------
    yes : bool array of shape (n, m)
        Whether rows answer yes to each question.
    feature : int array of shape (m,)
        Feature that each question reads.
    costs : array of shape (n, K)
        What it costs to predict each class for a row, times the weight of the row.
    weight : array of shape (n,)
        Sample weights.
    prices : BoundPrices
    leaf_costs : tuple of float
        What each leaf costs: the larger, the smaller the tree. There is a tree for each.
    fewest : float
        Least weight of a leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.shallow_tree import TreeSearch
    >>> yes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=bool)
    >>> label = yes[:, 0] & yes[:, 1]
    >>> costs = np.where(label[:, np.newaxis] == [False, True], 0.0, 10.0)
    >>> def search(price):
    ...     prices = Prices([1.0, price]).bind(2)
    ...     return TreeSearch(yes, np.arange(2), costs, np.ones(20), prices, (0.0,), 1.0).best(2)
    >>> search(2.0)  # only rows that answer yes to the first question pay for the second
    [Tree(split=0, yes=Tree(split=1, yes=None, no=None), no=None)]
    >>> search(20.0)
    [None]
    """

    yes: NDArray[np.bool_]
    feature: NDArray[np.int64]
    costs: Floats
    weight: Floats
    prices: BoundPrices
    leaf_costs: tuple[float, ...]
    fewest: float

    def best(self, depth: int) -> list[Tree | None]:
        """Return the tree of the least cost for each of the costs of a leaf; None for a leaf."""
        rows = np.ones(len(self.yes), dtype=bool)
        if not self.yes.shape[1]:
            return [None] * len(self.leaf_costs)
        return [tree for _, tree in self._solve(rows, frozenset(), depth)]

    def _solve(
        self, rows: NDArray[np.bool_], bought: frozenset[int], depth: int
    ) -> list[tuple[float, Tree | None]]:
        """Return the least cost of some rows, with its tree, for each cost of a leaf."""
        if depth <= 2:
            return self._solve_pairs(rows, bought, depth)
        leaf = float(self.costs[rows].sum(axis=0).min())
        weight = float(self.weight[rows].sum())
        found: list[tuple[float, Tree | None]] = [(leaf + each, None) for each in self.leaf_costs]
        for split in range(self.yes.shape[1]):
            left, right = rows & self.yes[:, split], rows & ~self.yes[:, split]
            if min(self.weight[left].sum(), self.weight[right].sum()) < self.fewest:
                continue
            own = frozenset({int(self.feature[split])})
            price = weight * self.prices.marginal(int(self.feature[split]), bought)
            sides = [self._solve(side, bought | own, depth - 1) for side in (left, right)]
            for k, (yes, no) in enumerate(zip(*sides, strict=True)):
                cost = price + yes[0] + no[0]
                if cost < found[k][0]:
                    found[k] = cost, Tree(split, yes[1], no[1])
        return found

    def _solve_pairs(
        self, rows: NDArray[np.bool_], bought: frozenset[int], depth: int
    ) -> list[tuple[float, Tree | None]]:
        """Find the best tree of depth one or two from the sums over all pairs of questions."""
        yes = self.yes[rows].astype(np.float64)
        costs, weight = self.costs[rows], self.weight[rows]
        measures = np.column_stack([costs, weight])
        total = measures.sum(axis=0)
        single = measures.T @ yes  # (K + 1, m): sums over the rows that answer yes
        pair = np.stack([(yes * each[:, np.newaxis]).T @ yes for each in measures.T])
        # What is left of the rows on each side of the first question, by the answer to the second.
        with_second = {True: pair, False: single[:, np.newaxis, :] - pair}
        of_first = {True: single, False: total[:, np.newaxis] - single}
        first_price, second_price = self._marginal(bought)
        results: list[tuple[float, Tree | None]] = []
        for leaf_cost in self.leaf_costs:
            cost = first_price[self.feature] * total[-1]
            seconds = {}
            for side in (True, False):
                here = of_first[side]
                best = here[:-1].min(axis=0) + leaf_cost
                best[here[-1] < self.fewest] = np.inf
                seconds[side] = np.full(len(best), -1)
                if depth == 2:
                    inside = with_second[side]
                    outside = here[:, :, np.newaxis] - inside
                    split = (
                        second_price[np.ix_(self.feature, self.feature)] * here[-1][:, np.newaxis]
                        + inside[:-1].min(axis=0) + outside[:-1].min(axis=0) + 2 * leaf_cost
                    )  # fmt: skip
                    split[(inside[-1] < self.fewest) | (outside[-1] < self.fewest)] = np.inf
                    second = split.argmin(axis=1)
                    least = split[np.arange(len(second)), second]
                    better = least < best
                    best = np.where(better, least, best)
                    seconds[side] = np.where(better, second, -1)
                cost = cost + best
            first = int(cost.argmin())
            leaf = float(total[:-1].min()) + leaf_cost
            if not cost[first] < leaf:
                results.append((leaf, None))
                continue
            sides = [
                None if seconds[side][first] < 0 else Tree(int(seconds[side][first]), None, None)
                for side in (True, False)
            ]
            results.append((float(cost[first]), Tree(first, *sides)))
        return results

    def _marginal(self, bought: frozenset[int]) -> tuple[Floats, Floats]:
        """Return what each feature costs now, (d,), and after each other one, (d, d)."""
        if bought not in self._known_prices:
            d = len(self.prices.own)
            now = np.array([self.prices.marginal(j, bought) for j in range(d)])
            later = np.array(
                [[self.prices.marginal(j, bought | {i}) for j in range(d)] for i in range(d)]
            )
            self._known_prices[bought] = now, later
        return self._known_prices[bought]

    @cached_property
    def _known_prices(self) -> dict[frozenset[int], tuple[Floats, Floats]]:
        return {}


def freeze_tree(
    tree: Tree | None,
    splits: Splits,
    yes: NDArray[np.bool_],
    members: Floats,
    n_features: int,
    prior_rows: float,
) -> Forest:
    """Freeze a tree as a forest of one; its leaves predict their shares of the classes.

    Parameters
    ----------
    tree : Tree or None
    splits : Splits
    yes : bool array of shape (n, m)
        The answers of the rows that it was found on.
    members : array of shape (n, K)
        Weight of each row in the column of its class, 0 elsewhere.
    n_features : int
    prior_rows : float
        Number of pseudo-rows, with the class shares of all rows, that are added to each leaf.
    """
    prior = members.sum(axis=0) / members.sum()
    if tree is None:
        return Forest.constant(prior, "mean", n_features)
    thresholds: list[tuple[float, int, int] | None] = [None]
    shares: list[Floats] = [prior]
    subsets: list[Sequence[int]] = []
    queue: list[tuple[int, Tree, NDArray[np.bool_]]] = [(0, tree, np.ones(len(yes), dtype=bool))]
    for place, node, rows in queue:  # which grows while it is read
        threshold, feature = splits.node(node.split, len(subsets))
        if splits.is_category[node.split]:
            subsets.append(_subset(int(splits.threshold[node.split])))
        thresholds[place] = threshold, len(thresholds), feature
        goes_left = yes[:, node.split]
        for side, rest in ((node.yes, rows & goes_left), (node.no, rows & ~goes_left)):
            counts = members[rest].sum(axis=0)
            shares.append((counts + prior_rows * prior) / (counts.sum() + prior_rows))
            thresholds.append(None)
            if side is not None:
                queue.append((len(thresholds) - 1, side, rest))
    nodes = empty_nodes(len(thresholds))
    for place, entry in enumerate(thresholds):
        if entry is not None:
            nodes[place] = entry
    origin = np.zeros(1, dtype=np.int64)
    packed = np.array(subsets, dtype=np.uint64).reshape(-1, 4)
    return Forest(
        nodes, np.array(shares), origin, origin, np.zeros(len(prior)), "mean", n_features, packed
    )


def _subset(code: int) -> Sequence[int]:
    """Return the 256 bits of the set of one code, as four words."""
    return [1 << (code % 64) if word == code // 64 else 0 for word in range(4)]
