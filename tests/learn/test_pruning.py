"""Pruning: the cut is the optimum of the paper's linear program, and the path is the cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier

from thrifty import threads
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.adopt import adopt_forest
from thrifty.learn.pruning.closure_problem import Pruning, node_gains, prune
from thrifty.learn.pruning.primal_dual import solve_dual
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, empty_nodes, is_leaf

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
        self.pruning = Pruning.of(
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
    """The linear program of Nan 2018, ch. 4: z by node, w by (tree, row, column), w by (row, column)."""

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


@pytest.mark.parametrize("batch", range(10))
def test_the_cut_is_the_optimum_of_the_papers_linear_program(batch):
    for seed in range(batch * 16, batch * 16 + 16):
        case = Case(seed)
        program = Program(case)
        start = objective(case, np.zeros(len(case.forest.nodes), dtype=bool), 0.0)
        for penalty in case.penalties:
            keep = case.pruning.solve(penalty)
            least = program.optimum(penalty)
            assert objective(case, keep, penalty) == pytest.approx(least, abs=1e-9), (seed, penalty)
            assert start - case.pruning.value(keep, penalty) == pytest.approx(least, abs=1e-9)


def test_the_path_gives_the_cut_at_every_penalty_in_between():
    breakpoints = 0
    for seed in range(200):
        pruning = Case(seed).pruning
        ends = np.append(np.unique(pruning.penalties[pruning.penalties < np.inf]), 0.0)
        ends = np.unique(ends)
        breakpoints += len(ends) - 1
        for penalty in [*((ends[1:] + ends[:-1]) / 2), ends[-1] + 1.0]:
            np.testing.assert_array_equal(
                pruning.penalties > penalty, pruning.solve(penalty), err_msg=f"{seed} {penalty}"
            )
    assert breakpoints > 200


def test_prunings_are_nested_and_keep_parents():
    for seed in range(100):
        case = Case(seed)
        penalties = case.pruning.penalties
        for h, child in enumerate(case.forest.nodes["child"]):
            if child != h:
                assert penalties[child] <= penalties[h]
                assert penalties[child + 1] <= penalties[h]
        cuts = [case.pruning.solve(penalty) for penalty in sorted(case.penalties)]
        for more, fewer in pairwise(cuts):
            assert not (fewer & ~more).any()


def test_the_bill_below_each_breakpoint_is_that_of_the_pruning():
    for seed in range(60):
        case = Case(seed)
        rates, bills = case.pruning.breakpoints()
        below = np.append(rates[1:], 0.0)[: len(rates)]
        assert np.all(np.diff(rates) < 0) and np.all(np.diff(bills) >= 0)
        for penalty, bill in zip(below, bills, strict=True):
            forest = prune(case.forest, case.pruning.penalties > penalty)
            due = case.prices.bill(forest.used(case.bill_X), forest.evaluations(case.bill_X))
            assert bill == pytest.approx(due.mean(), abs=1e-9)


def test_the_primal_dual_encloses_the_optimum():
    gaps = []
    for seed in range(80):
        pruning = Case(seed).pruning
        for penalty in (0.003, 0.03, 0.2):
            best = pruning.value(pruning.solve(penalty), penalty)
            found = solve_dual(pruning, penalty, iterations=100)
            assert found.bound >= best - 1e-12
            assert found.value <= best + 1e-12
            assert pruning.value(found.keep, penalty) == pytest.approx(found.value, abs=1e-12)
            assert found.gap >= -1e-12 and found.iterations <= 100
            gaps.append(found.gap)
    assert np.mean(np.array(gaps) < 1e-3) > 0.9


def test_the_primal_dual_does_not_depend_on_the_number_of_threads():
    for seed in range(20):
        pruning = Case(seed).pruning
        alone = solve_dual(pruning, 0.02, iterations=30)
        with threads(3):
            together = solve_dual(pruning, 0.02, iterations=30)
        np.testing.assert_array_equal(alone.keep, together.keep)
        assert (alone.value, alone.bound) == (together.value, together.bound)


def test_what_is_free_stays_at_the_largest_penalty():
    for seed in range(40):
        pruning = Case(seed).pruning
        np.testing.assert_array_equal(pruning.solve(1e308), pruning.penalties == np.inf)


def test_a_problem_with_too_many_arcs_is_refused(monkeypatch):
    monkeypatch.setattr("thrifty.learn.pruning.closure_problem.MOST_ARCS", 2)
    with pytest.raises(DataError, match="are too many.*fewer rows or fewer trees"):
        Case(1)


def caterpillar(levels):
    """A tree whose spine answers 0 and 1 in turns; at each level two rows turn off."""
    nodes = empty_nodes(4 * levels + 1)
    answer = np.zeros(len(nodes), dtype=np.int64)
    spine = 0
    for k in range(levels):
        side = 4 * k + 1
        nodes[spine], nodes[side] = (k, side, 0), (k - 0.5, side + 2, 0)
        spine = side + 1
        answer[[spine, side + 3]] = (k + 1) % 2, 1
    return Forest(nodes, np.eye(2)[answer], [0], [0], np.zeros(2), "mean", 1)


def test_errors_that_swing_along_a_deep_path_do_not_overflow():
    levels = 40
    forest = caterpillar(levels)
    ways_off = np.arange(levels) - np.array([[0.7], [0.2]])
    X = np.append(ways_off, levels)[:, np.newaxis]
    codes = np.append(np.repeat([0, 1], levels), 0)
    weight = np.append(np.ones(2 * levels), 1e6)
    gain, unit = node_gains(forest, X, codes, weight)
    pruning = Pruning.of(forest, gain, unit, X, Prices([1.0]).bind(1))
    np.testing.assert_array_equal(pruning.penalties > 0, ~is_leaf(forest.nodes))


def test_a_split_that_no_row_reaches_saves_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    codes = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    forest = adopt_forest(RandomForestClassifier(5, random_state=0).fit(X, codes))
    some = X[:, 0] > 0
    gain, unit = node_gains(forest, X[some], codes[some].astype(np.int64))
    reached = np.zeros(len(forest.nodes), dtype=bool)
    for tree in ways(forest, X[some]):
        reached[[node for passed in tree for node in passed]] = True
    assert not reached.all() and not gain[~reached].any()
    # Rows that pay may pass splits that no row has judged.
    pruning = Pruning.of(forest, gain, unit, X, Prices().bind(2))
    assert not (pruning.penalties[~reached] > 0).any()


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    forest = draw_forest(rng)
    X, codes = rng.normal(size=(ROWS, FEATURES)), rng.integers(0, CLASSES, ROWS)
    times = rng.integers(1, 4, ROWS)
    weighted, unit = node_gains(forest, X, codes, times.astype(float))
    repeated, other = node_gains(forest, np.repeat(X, times, axis=0), np.repeat(codes, times))
    np.testing.assert_array_equal(weighted, repeated)
    assert unit == other


def test_pruning_at_no_split_is_a_constant_and_at_all_the_forest_itself():
    rng = np.random.default_rng(3)
    forest = draw_forest(rng)
    X = rng.normal(size=(20, FEATURES))
    splits = forest.nodes["child"] != np.arange(len(forest.nodes))
    np.testing.assert_array_equal(prune(forest, splits).score(X), forest.score(X))
    nothing = prune(forest, np.zeros(len(splits), dtype=bool))
    assert len(nothing.roots) == 0 and not nothing.used(X).any()
    np.testing.assert_allclose(nothing.score(X)[0], forest.values[forest.roots].mean(axis=0))


def test_a_pruned_forest_answers_with_the_values_of_its_new_leaves():
    for seed in range(40):
        case = Case(seed)
        keep = case.pruning.solve(0.01)
        expected = np.zeros((len(case.bill_X), CLASSES))
        for tree in ways(case.forest, case.bill_X):
            stops = [next(h for h in nodes if not keep[h]) for nodes in tree]
            expected += case.forest.values[stops] / len(case.forest.roots)
        np.testing.assert_allclose(prune(case.forest, keep).score(case.bill_X), expected)
