"""Splits, pay nodes and arcs of a closure problem equal those of plain loops over rows."""

from __future__ import annotations

import numpy as np
from plain_closure import draw
from uncompiled import agree

from thrifty.kernels.closure.problem import (
    add_up,
    best_alone,
    chains,
    clash,
    count_arcs,
    depth_first,
    ends,
    error_sums,
    fill_arcs,
    find_parents,
    first_on_path,
    share_out,
    worthy,
)

# Two trees: nodes 0-4 with the splits 0 and 2, nodes 5-7 with the split 5.
CHILD = np.array([1, 1, 3, 3, 4, 6, 6, 7], dtype=np.int32)
PARENT = np.array([-1, 0, 0, 2, 2, -1, 5, 5], dtype=np.int32)
LEAVES = np.array([[1, 3, 4, 4], [6, 6, 7, 7]], dtype=np.int32)


def test_a_split_that_is_not_worth_it_alone_goes_with_its_only_kid():
    parent = np.array([-1, 0, 1, 1], dtype=np.int32)
    gain = np.array([0, -1, 3, 2])
    number, above, total = chains(parent, np.ones(4, dtype=np.uint8), gain)
    np.testing.assert_array_equal(number, [0, 0, 1, 2])
    np.testing.assert_array_equal(above, [-1, 0, 0])
    np.testing.assert_array_equal(total, [-1, 3, 2])


def test_a_split_is_worthy_with_its_best_offspring_only():
    parent = np.array([-1, 0, 0, 2], dtype=np.int32)
    np.testing.assert_array_equal(worthy(parent, np.array([-1, 2, -3, 2])), [1, 1, 0, 0])
    np.testing.assert_array_equal(worthy(parent, np.array([-3, 2, 0, 0])), [0, 0, 0, 0])


def test_the_parent_of_a_node_is_the_node_whose_child_it_is():
    np.testing.assert_array_equal(find_parents(CHILD), PARENT)


def test_errors_are_counted_at_every_node_that_a_row_passes():
    answer = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    codes, weight = np.array([0, 1, 0, 1]), np.array([1, 2, 4, 8])
    errors = error_sums(LEAVES, PARENT, answer, codes, weight)
    # Node 0 says 0 and is passed by all; node 2 says 1 and misses the third row; and so on.
    assert errors.tolist() == [10, 0, 4, 0, 8, 5, 2, 4]


def test_a_mark_counts_only_where_no_ancestor_bears_it():
    mark = np.array([7, 7, 7, -1, 3, 7, 4, 7])
    fresh = first_on_path(PARENT, mark)
    assert fresh.tolist() == [True, False, False, False, True, True, True, False]


def test_offspring_come_right_behind_their_parent():
    assert depth_first(PARENT, CHILD).tolist() == [0, 1, 2, 3, 4, 0, 1, 2]


def test_a_row_ends_at_the_last_split_that_is_kept():
    number = np.array([0, -1, 1, -1, -1, -1, -1, -1], dtype=np.int32)
    assert ends(LEAVES, PARENT, number).tolist() == [[0, -1], [2, -1], [2, -1], [2, -1]]


def test_what_several_splits_need_is_a_pay_node_and_what_one_needs_is_its_slope():
    number = np.array([0, -1, 1, -1, -1, 2, -1, -1], dtype=np.int32)
    # Split 0 and split 5 read column 0, split 2 reads columns 1 and 2.
    columns = np.full((8, 2), -1, dtype=np.int32)
    columns[0, 0] = columns[5, 0] = 0
    columns[2] = [1, 2]
    times, price = np.array([1, 1, 3, 1]), np.array([10, 100, 1000])
    last = ends(LEAVES, PARENT, number)
    degree, slope, passed = count_arcs(last, PARENT, number, columns, times, price, 3)
    assert degree.tolist() == [[2, 2, 2, 2], [0, 1, 1, 1], [0, 1, 1, 1]]
    assert slope.tolist() == [0, 1100 * 5, 0]
    assert passed.tolist() == [6, 5, 6]
    cost, first, head = fill_arcs(last, PARENT, number, columns, times, price, degree, 3)
    assert cost.tolist() == [10, 10, 30, 10]
    assert first.tolist() == [0, 4, 4, 8]
    assert sorted(head[:4].tolist()) == sorted(head[4:].tolist()) == [0, 1, 2, 3]


def test_amounts_add_up_from_the_offspring():
    amounts = np.arange(8.0).reshape(-1, 1)
    add_up(PARENT, amounts)
    assert amounts[:, 0].tolist() == [10, 1, 9, 3, 4, 18, 6, 7]


def test_a_step_of_the_primal_dual_prunes_each_tree_alone():
    # Split 1 is the kid of split 0; both need pay node 0, split 1 needs pay node 1 too.
    parent = np.array([-1, 0], dtype=np.int32)
    first, head = np.array([0, 1, 3]), np.array([0, 0, 1], dtype=np.int32)
    cost, degree = np.array([6.0, 1.0]), np.array([2, 1])
    beta = share_out(head, cost, degree)
    assert beta.tolist() == [3, 3, 1]
    value, keep = np.array([1.0, 7.0]), np.zeros(2, dtype=np.uint8)
    best_alone(parent, first, beta, 0, 2, value, keep)
    assert value.tolist() == [1.0, 3.0]
    assert keep.tolist() == [1, 1]
    # Kept splits that pay no more than the cost leave a slope of 1 on each of their arcs.
    rise = np.empty(3)
    left, size = clash(first, head, cost, beta, keep, rise)
    assert (left, size, rise.tolist()) == (0.0, 3.0, [1.0, 1.0, 1.0])
    left, size = clash(first, head, cost, beta + 1.0, keep, rise)
    assert (left, size, rise.tolist()) == (3.0, 0.0, [0.0, 0.0, 0.0])


def draw_forest(seed):
    """Return children, parents and leaves of rows (trees, n) of a small random forest."""
    rng = np.random.default_rng(seed)
    child, roots = [], []
    for _ in range(int(rng.integers(1, 5))):
        roots.append(len(child))
        child.append(len(child))
        for _ in range(int(rng.integers(0, 6))):
            leaf = rng.choice([v for v in range(roots[-1], len(child)) if child[v] == v])
            child[leaf] = len(child)
            child += [len(child), len(child) + 1]
    child = np.array(child, dtype=np.int32)
    leaves = np.array(roots, dtype=np.int32)[:, None].repeat(12, axis=1)
    while (child[leaves] != leaves).any():
        below = child[leaves]
        leaves = np.where(below == leaves, leaves, below + rng.integers(0, 2, leaves.shape))
        leaves = leaves.astype(np.int32)
    return rng, child, find_parents(child), leaves


def test_compiled_and_uncompiled_they_build_the_same_problem():
    def run(kernels):
        found = []
        for seed in range(40):
            rng, child, parent, leaves = draw_forest(seed)
            nodes, rows = len(child), leaves.shape[1]
            gain = np.where(child == np.arange(nodes), 0, rng.integers(-3, 6, nodes))
            keep = kernels.worthy(parent, gain)
            number, above, worth = kernels.chains(parent, keep.view(np.uint8), gain)
            last = kernels.ends(leaves, parent, number)
            columns = rng.integers(-1, 3, (nodes, 2)).astype(np.int32)
            columns[number < 0] = -1
            times, price = rng.integers(1, 4, rows), rng.integers(1, 9, 3)
            splits = len(above)
            degree, slope, passed = kernels.count_arcs(
                last, parent, number, columns, times, price, splits
            )
            found += [keep, number, above, worth, last, degree.copy(), slope, passed]
            found += kernels.fill_arcs(last, parent, number, columns, times, price, degree, splits)
            answer, codes = rng.integers(0, 2, nodes), rng.integers(0, 2, rows)
            amounts = rng.normal(size=(nodes, 2))
            kernels.add_up(parent, amounts)
            found += [degree, amounts, kernels.find_parents(child)]
            found += [kernels.depth_first(parent, child)]
            found += [kernels.error_sums(leaves, parent, answer, codes, times)]
            found += [kernels.first_on_path(parent, rng.integers(-1, 3, nodes))]
        return found

    agree("closure.problem", run)


def test_compiled_and_uncompiled_they_take_the_same_step():
    def run(kernels):
        found = []
        for seed in range(40):
            parent, first, head, gain, amounts = draw(seed)
            splits = len(parent)
            cost = amounts[splits:].astype(np.float64)
            beta = kernels.share_out(head, cost, np.bincount(head, minlength=len(cost)))
            beta[::3] += 1.0
            value, keep = gain.astype(np.float64), np.zeros(splits, dtype=np.uint8)
            kernels.best_alone(parent, first, beta, 0, splits, value, keep)
            rise = np.empty(len(head))
            sums = kernels.clash(first, head, cost, beta, keep, rise)
            found += [beta, value, keep, rise, sums]
        return found

    agree("closure.problem", run)
