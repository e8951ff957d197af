"""Random pruning problems, and the linear program of the thesis as their oracle."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from thrifty.costs import Prices
from thrifty.learn.pruning.closure_problem import ClosureProblem, node_gains, prune
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, empty_nodes

FEATURES, ROWS, CLASSES = 5, 12, 3


def draw_tree(rng, start):
    """A random tree of up to 7 splits; children side by side and behind their parent."""
    split = {0} if rng.random() < 0.95 else set()
    child, size, line = {}, 1, [0]
    for node in line:
        if node in split or (node and len(child) < 7 and rng.random() < 0.55):
            child[node] = size
            line += [size, size + 1]
            size += 2
    nodes = empty_nodes(size)
    nodes["child"] += start
    for node, left in child.items():
        nodes[node] = (rng.normal(), left + start, rng.integers(FEATURES))
    return nodes


def draw_forest(rng):
    parts, roots = [], []
    for _ in range(rng.integers(1, 5)):
        roots.append(sum(map(len, parts)))
        parts.append(draw_tree(rng, roots[-1]))
    nodes = np.concatenate(parts)
    trees = len(roots)
    # The values are not those of the rows, so that a split may lose more than it saves.
    return Forest(
        nodes, rng.dirichlet(np.ones(CLASSES), len(nodes)), np.array(roots),
        np.zeros(trees, dtype=np.int64), np.zeros(CLASSES), "mean", FEATURES,
    )  # fmt: skip


def draw_prices(rng):
    own = rng.choice([0.0, 1.0, 0.37, 5.25], FEATURES).tolist()
    shared = {"pair": float(rng.choice([0.0, 2.1]))}
    evaluation = float(rng.choice([0.0, 0.3]))
    prices = Prices(own, groups={"pair": [0, 1]}, shared=shared, evaluation=evaluation)
    return prices.bind(FEATURES)


class Case:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.forest, self.prices = draw_forest(rng), draw_prices(rng)
        self.X, self.codes = rng.normal(size=(ROWS, FEATURES)), rng.integers(0, CLASSES, ROWS)
        self.weight = rng.choice([0.5, 1.0, 2.0], ROWS) if rng.random() < 0.5 else None
        self.bill_X = rng.normal(size=(int(rng.integers(1, ROWS)), FEATURES))
        self.step = float(rng.choice([0.0, 0.2]))
        gain, unit = node_gains(self.forest, self.X, self.codes, self.weight)
        self.pruning = ClosureProblem.of(
            self.forest, gain, unit, self.bill_X, self.prices, step_price=self.step
        )
        self.penalties = [0.0, *(10.0 ** rng.uniform(-3, 0, 3)).tolist()]


def ways(forest, X):
    """Nodes that each row passes in each tree, from root to leaf, by plain comparison."""
    for root in forest.roots:
        yield [way(forest.nodes, int(root), x) for x in X]


def way(nodes, node, x):
    passed = [node]
    while nodes["child"][node] != node:
        node = int(nodes["child"][node]) + int(
            x[nodes["feature"][node] & INDEX] > nodes["threshold"][node]
        )
        passed.append(node)
    return passed


def node_errors(case):
    weight = np.ones(ROWS) if case.weight is None else case.weight
    errors = np.zeros(len(case.forest.nodes))
    answer = case.forest.values.argmax(axis=1)
    for tree in ways(case.forest, case.X):
        for i, passed in enumerate(tree):
            errors[passed] += weight[i] * (answer[passed] != case.codes[i])
    return errors / (weight.sum() * len(case.forest.roots))


class Program:
    """The linear program of Nan 2018, ch. 4.

    Variables: z by node, w by (tree, row, column), w by (row, column).
    """

    def __init__(self, case):
        self.case, self.nodes = case, len(case.forest.nodes)
        self.rows, self.right, self.kinds = [], [], []
        self.names = {("z", h): h for h in range(self.nodes)}
        self.cost = dict(enumerate(node_errors(case)))
        self.bills = {}
        n = len(case.bill_X)
        for tree, (root, rows) in enumerate(
            zip(case.forest.roots, ways(case.forest, case.bill_X), strict=True)
        ):
            # An evaluation unless the root is a leaf; a step for each node passed before a leaf.
            self.constant = getattr(self, "constant", 0.0) + case.prices.evaluation
            self.bill(("z", int(root)), -case.prices.evaluation)
            for i, passed in enumerate(rows):
                for depth, node in enumerate(passed):
                    self.bill(("z", node), case.step * depth / n)
                self.use(tree, i, passed, n)
        self.leaves()

    def name(self, key):
        return self.names.setdefault(key, len(self.names))

    def bill(self, key, amount):
        self.bills[self.name(key)] = self.bills.get(self.name(key), 0.0) + amount

    def use(self, tree, i, passed, n):
        prices, seen = self.case.prices, set()
        for depth, node in enumerate(passed[:-1]):
            feature = int(self.case.forest.nodes["feature"][node])
            group = int(prices.group[feature])
            columns = [(feature, prices.own[feature])]
            columns += [(("group", group), prices.shared[group])] if group >= 0 else []
            for column, price in columns:
                if column in seen:
                    continue
                seen.add(column)
                mine, all_ = ("t", tree, i, column), ("w", i, column)
                self.row([(mine, 1), *((("z", h), 1) for h in passed[: depth + 1])], 1, "=")
                self.row([(mine, 1), (all_, -1)], 0, "<")
                self.bills[self.name(all_)] = price / n

    def leaves(self):
        forest = self.case.forest
        parent = {
            int(c) + k: h for h, c in enumerate(forest.nodes["child"]) if c != h for k in (0, 1)
        }
        for node in np.flatnonzero(forest.nodes["child"] == np.arange(self.nodes)).tolist():
            above = [node]
            while above[-1] in parent:
                above.append(parent[above[-1]])
            self.row([(("z", h), 1) for h in above], 1, "=")

    def row(self, terms, right, kind):
        self.rows.append([(self.name(key), factor) for key, factor in terms])
        self.right.append(right)
        self.kinds.append(kind)

    def optimum(self, penalty):
        size = len(self.names)
        matrix = np.zeros((len(self.rows), size))
        for r, terms in enumerate(self.rows):
            for column, factor in terms:
                matrix[r, column] += factor
        cost = np.zeros(size)
        for column, amount in self.cost.items():
            cost[column] += amount
        for column, amount in self.bills.items():
            cost[column] += penalty * amount
        equal, right = np.array(self.kinds) == "=", np.array(self.right, dtype=float)
        found = linprog(
            cost, matrix[~equal], right[~equal], matrix[equal], right[equal], bounds=(0, 1),
            method="highs",
        )  # fmt: skip
        assert found.status == 0
        return found.fun + penalty * self.constant


def objective(case, keep, penalty):
    """Error + penalty * (mean bill + steps) of a pruning, by what the frozen forest does."""
    forest = prune(case.forest, keep)
    errors, alive = node_errors(case), np.zeros(len(keep), dtype=bool)
    alive[case.forest.roots] = True
    child = case.forest.nodes["child"][keep]
    alive[child] = alive[child + 1] = True
    bills = case.prices.bill(forest.used(case.bill_X), forest.evaluations(case.bill_X))
    passed = [
        sum(keep[h] for h in nodes) for tree in ways(case.forest, case.bill_X) for nodes in tree
    ]
    steps = case.step * sum(passed) / len(case.bill_X)
    return errors[alive & ~keep].sum() + penalty * (bills.mean() + steps)
