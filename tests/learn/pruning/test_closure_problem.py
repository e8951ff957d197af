"""Pruning: the cut is the optimum of the paper's linear program, and the path is the cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from closure_cases import CLASSES, FEATURES, ROWS, Case, Program, draw_forest, objective, ways
from sklearn.ensemble import RandomForestClassifier

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.adopt import adopt_forest
from thrifty.learn.pruning.closure_problem import ClosureProblem, node_gains, prune
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes, is_leaf


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
        penalties = pruning.solve_path()[0]
        ends = np.append(np.unique(penalties[penalties < np.inf]), 0.0)
        ends = np.unique(ends)
        breakpoints += len(ends) - 1
        for penalty in [*((ends[1:] + ends[:-1]) / 2), ends[-1] + 1.0]:
            np.testing.assert_array_equal(
                penalties > penalty, pruning.solve(penalty), err_msg=f"{seed} {penalty}"
            )
    assert breakpoints > 200


def test_prunings_are_nested_and_keep_parents():
    for seed in range(100):
        case = Case(seed)
        penalties = case.pruning.solve_path()[0]
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
        penalties, rates, bills = case.pruning.solve_path()
        below = np.append(rates[1:], 0.0)[: len(rates)]
        assert np.all(np.diff(rates) < 0) and np.all(np.diff(bills) >= 0)
        for penalty, bill in zip(below, bills, strict=True):
            forest = prune(case.forest, penalties > penalty)
            due = case.prices.bill(forest.used(case.bill_X), forest.evaluations(case.bill_X))
            assert bill == pytest.approx(due.mean(), abs=1e-9)


def test_what_is_free_stays_at_the_largest_penalty():
    for seed in range(40):
        pruning = Case(seed).pruning
        np.testing.assert_array_equal(pruning.solve(1e308), pruning.solve_path()[0] == np.inf)


def test_a_problem_with_too_many_arcs_is_refused(monkeypatch):
    monkeypatch.setattr("thrifty.learn.pruning.closure_problem.MAX_ARCS", 2)
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
    pruning = ClosureProblem.of(forest, gain, unit, X, Prices([1.0]).bind(1))
    np.testing.assert_array_equal(pruning.solve_path()[0] > 0, ~is_leaf(forest.nodes))


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
    pruning = ClosureProblem.of(forest, gain, unit, X, Prices().bind(2))
    assert not (pruning.solve_path()[0][~reached] > 0).any()


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
