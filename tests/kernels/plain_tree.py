"""Grow a priced tree with lists, loops and fractions, without histograms.

The slow counterpart of `thrifty.kernels.hist_tree`, which must grow the same tree. Rows are lists
of row numbers; a bin is an integer, 255 where the value is missing. Of splits of equal worth the
lowest node wins, then the lowest feature, then the lowest bin, then missing values going right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations

MISSING = 255


@dataclass
class Payments:
    """Who has paid for what: pairs (feature, payer) and (group, payer).

    When the model is charged, the one payer is "model"; when examples are, the payers are the rows.
    """

    own: list[float]
    group: list[int]
    shared: list[float]
    charge: str
    features: set = field(default_factory=set)
    groups: set = field(default_factory=set)

    def payers(self, rows: list[int]) -> list:
        return ["model"] if self.charge == "model" else rows

    def price(self, feature: int, rows: list[int], weight: list[int]) -> Fraction:
        """Return what reading `feature` on `rows` would cost now; a model pays for every row."""
        group = self.group[feature]
        price = Fraction(0)
        for payer in self.payers(rows):
            share = sum(weight) if payer == "model" else weight[payer]
            if (feature, payer) not in self.features:
                price += Fraction(self.own[feature]) * share
            if group >= 0 and (group, payer) not in self.groups:
                price += Fraction(self.shared[group]) * share
        return price

    def pay(self, feature: int, rows: list[int]) -> None:
        for payer in self.payers(rows):
            self.features.add((feature, payer))
            if self.group[feature] >= 0:
                self.groups.add((self.group[feature], payer))


@dataclass
class Node:
    rows: list[int]
    depth: int
    left: int = -1  # the right child is the next one
    feature: int = -1
    goes_left: frozenset = frozenset()  # bins
    missing_left: bool = False


@dataclass
class Split:
    gain: Fraction
    goes_left: frozenset
    missing_left: bool


@dataclass
class Problem:
    """The data and limits of one tree."""

    bins: list[list[int]]  # by feature, then row
    categorical: list[bool]
    target: list[int]
    weight: list[int]
    max_depth: int
    lightest: int  # least weight of a leaf
    every_subset: bool = False  # try all subsets of the categories, not only ordered ones


def grow(problem: Problem, payments: Payments, penalty: float) -> list[Node]:
    """Split the leaf and feature of the largest gain minus price, until no split pays."""
    everything = list(range(len(problem.target)))
    nodes = [Node(everything, depth=0)]
    floor = Fraction(1e-12) * error(problem, everything)
    rate = 2 * Fraction(penalty)  # the gain has no 1/2
    # The gain of a split does not change while the tree grows; its price does.
    best_of = cache(lambda number, feature: best_split(problem, nodes[number].rows, feature))
    while True:
        best, worth = None, floor
        for number, node in enumerate(nodes):
            if node.feature >= 0 or node.depth == problem.max_depth:
                continue
            for feature in range(len(problem.bins)):
                split = best_of(number, feature)
                if split is None:
                    continue
                price = rate * payments.price(feature, node.rows, problem.weight)
                if split.gain - price > worth:
                    best, worth = (number, feature, split), split.gain - price
        if best is None:
            return nodes
        number, feature, split = best
        payments.pay(feature, nodes[number].rows)
        apply(problem, nodes, number, feature, split)


def apply(problem: Problem, nodes: list[Node], number: int, feature: int, split: Split) -> None:
    node = nodes[number]
    node.left, node.feature = len(nodes), feature
    node.goes_left, node.missing_left = split.goes_left, split.missing_left
    for side in (True, False):
        rows = [i for i in node.rows if goes_left(problem, i, feature, split) == side]
        nodes.append(Node(rows, node.depth + 1))


def goes_left(problem: Problem, row: int, feature: int, split: Split) -> bool:
    here = problem.bins[feature][row]
    return split.missing_left if here == MISSING else here in split.goes_left


def error(problem: Problem, rows: list[int]) -> Fraction:
    """Return the squared error of the best constant: sum w t^2 - (sum w t)^2 / sum w."""
    squares = sum(problem.weight[i] * problem.target[i] ** 2 for i in rows)
    return squares - Fraction(weighted(problem, rows) ** 2, weigh(problem, rows))


def weighted(problem: Problem, rows: list[int]) -> int:
    return sum(problem.weight[i] * problem.target[i] for i in rows)


def weigh(problem: Problem, rows: list[int]) -> int:
    return sum(problem.weight[i] for i in rows)


def best_split(problem: Problem, rows: list[int], feature: int) -> Split | None:
    """Return the first of the best splits of `rows` on `feature`; None if none gains."""
    present = {problem.bins[feature][i] for i in rows}
    candidates = subsets if problem.categorical[feature] else cuts
    before = error(problem, rows)
    best = None
    for bins, missing_left in candidates(problem, rows, feature, present):
        split = Split(Fraction(0), frozenset(bins), missing_left)
        left = [i for i in rows if goes_left(problem, i, feature, split)]
        right = [i for i in rows if not goes_left(problem, i, feature, split)]
        if min(weigh(problem, left), weigh(problem, right)) < problem.lightest:
            continue
        split.gain = before - error(problem, left) - error(problem, right)
        if split.gain > (best.gain if best else 0):
            best = split
    if best and MISSING not in present:
        left = [i for i in rows if problem.bins[feature][i] in best.goes_left]
        best.missing_left = 2 * weigh(problem, left) > weigh(problem, rows)
    return best


def cuts(
    problem: Problem, rows: list[int], feature: int, present: set[int]
) -> Iterator[tuple[set[int], bool]]:
    """Yield the bins that go left for each threshold, and whether missing values do."""
    for last in sorted(present - {MISSING}):
        bins = set(range(last + 1))
        yield bins, False
        if MISSING in present:
            yield bins, True


def subsets(
    problem: Problem, rows: list[int], feature: int, present: set[int]
) -> Iterator[tuple[set[int], bool]]:
    """Yield sets of categories, the missing value as one of them; the lower mean goes left."""
    by_bin = {b: [i for i in rows if problem.bins[feature][i] == b] for b in present}
    means = {b: mean(problem, members) for b, members in by_bin.items()}
    order = sorted(present, key=lambda b: (means[b], b))
    if not problem.every_subset:
        for size in range(1, len(order)):
            yield set(order[:size]) - {MISSING}, MISSING in order[:size]
        return
    for size in range(1, len(order)):
        for chosen in combinations(order, size):
            rest = [i for b in present - set(chosen) for i in by_bin[b]]
            if mean(problem, [i for b in chosen for i in by_bin[b]]) <= mean(problem, rest):
                yield set(chosen) - {MISSING}, MISSING in chosen


def mean(problem: Problem, rows: list[int]) -> Fraction:
    return Fraction(weighted(problem, rows), weigh(problem, rows))
