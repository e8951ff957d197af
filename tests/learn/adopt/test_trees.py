"""Trees in any order of nodes become forests; what is not a tree is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.learn.adopt.trees import HUGE, SourceTree, at_most, below, freeze, leaf_means


def make(left, right, **changes):
    m = len(left)
    parts = {
        "left": np.array(left), "right": np.array(right), "feature": np.zeros(m, np.int64),
        "threshold": np.arange(m, dtype=float), "missing_left": np.zeros(m, bool),
        "values": np.arange(m, dtype=float)[:, np.newaxis],
    }  # fmt: skip
    return SourceTree(**{**parts, **changes})


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_nodes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    left, right = [1, 3, -1, -1, 5, -1, -1], [2, 4, -1, -1, 6, -1, -1]
    tree = make(left, right, feature=rng.integers(0, 3, 7), threshold=rng.normal(size=7),
                missing_left=rng.random(7) < 0.5)  # fmt: skip
    new = np.concatenate([[0], 1 + rng.permutation(6)])  # the root stays
    old = np.argsort(new)
    shuffled = SourceTree(
        *(np.where(side[old] < 0, -1, new[side[old]]) for side in (tree.left, tree.right)),
        tree.feature[old], tree.threshold[old], tree.missing_left[old], tree.values[old],
    )  # fmt: skip
    X = rng.normal(size=(50, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    one, other = (freeze([t], [0.0], "sum", 3) for t in (tree, shuffled))
    np.testing.assert_array_equal(one.score(X), other.score(X))


def test_inner_nodes_are_worth_the_mean_of_their_leaves():
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    values = np.array([[99.0], [1.0], [99.0], [4.0], [8.0]])
    cover = np.array([10.0, 5.0, 5.0, 4.0, 1.0])
    means = leaf_means(left, right, values, cover)
    np.testing.assert_allclose(means[:, 0], [(5 * 1 + 5 * 4.8) / 10, 1, 4.8, 4, 8])


def test_leaves_without_cover_count_alike():
    means = leaf_means(np.array([1, -1, -1]), np.array([2, -1, -1]),
                       np.array([[0.0], [2.0], [4.0]]), np.zeros(3))  # fmt: skip
    assert means[0, 0] == 3.0


@pytest.mark.parametrize(
    ("left", "right"),
    [([0, -1, -1], [1, -1, -1]), ([1, 2, 1], [2, 1, 2]), ([1, -1, -1], [9, -1, -1]),
     ([1, -1, -1], [-1, -1, -1]), ([1, -1], [1, -1])],
)  # fmt: skip
def test_nodes_that_are_no_tree_are_refused(left, right):
    with pytest.raises(DataError, match="not trees|one parent"):
        freeze([make(left, right)], [0.0], "sum", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"values": np.array([[0.0], [np.nan], [1.0]])}, "finite"),
     ({"threshold": np.array([np.inf, 0.0, 0.0])}, "thresholds must be finite"),
     ({"feature": np.array([7, 0, 0])}, "beyond the 1")],
)  # fmt: skip
def test_what_no_forest_may_hold_is_refused(changes, message):
    with pytest.raises(DataError, match=message):
        freeze([make([1, -1, -1], [2, -1, -1], **changes)], [0.0], "sum", 1)


def test_a_forest_may_have_no_trees():
    assert freeze([], [1.5], "sum", 2).score(np.zeros((3, 2))).tolist() == [1.5, 1.5, 1.5]


# --- thresholds: a comparison in single precision and one of doubles agree

# Doubles whose rounding to single precision stays finite, with many that lie on its grid.
MOST = 2.0**127
WIDE = st.floats(-MOST, MOST)
SINGLE = st.floats(-MOST, MOST, width=32)
TIES = st.builds(lambda x: (x + np.nextafter(np.float32(x), np.float32(np.inf), dtype=np.float32)
                            .astype(np.float64)) / 2, SINGLE)  # fmt: skip
NUMBERS = st.one_of(WIDE, SINGLE, TIES, st.floats(-1e-37, 1e-37), st.just(0.0), st.just(-0.0))


def neighbors(x):
    """Doubles around x, and around the singles next to it."""
    single = np.float32(x)
    near = [np.nextafter(single, np.float32(end)).astype(np.float64) for end in (-np.inf, np.inf)]
    spots = [x, float(single), *near, *((float(single) + other) / 2 for other in near)]
    return [y for s in spots for y in (s, np.nextafter(s, -np.inf), np.nextafter(s, np.inf))]


@given(NUMBERS)
def test_a_single_at_most_a_threshold_is_a_double_at_most_its_edge(threshold):
    edge = at_most(np.array([threshold]))[0]
    for x in neighbors(threshold) + neighbors(edge):
        assert (float(np.float32(x)) <= threshold) == (x <= edge), (x, threshold)


@given(NUMBERS.map(np.float32))
def test_a_single_below_a_threshold_is_a_double_at_most_its_edge(threshold):
    edge = below(np.array([threshold]))[0]
    for x in neighbors(float(threshold)) + neighbors(edge):
        assert (np.float32(x) < threshold) == (x <= edge), (x, threshold)


@given(NUMBERS, NUMBERS)
def test_it_holds_far_from_the_threshold_too(x, threshold):
    assert (float(np.float32(x)) <= threshold) == (x <= at_most(np.array([threshold]))[0])
    single = np.float32(threshold)
    assert (np.float32(x) < single) == (x <= below(np.array([single]))[0])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_largest_singles_have_edges_too(sign):
    last = sign * float(np.finfo(np.float32).max)
    overflow = float.fromhex("0x1.ffffffp+127")  # from here on a double rounds to infinity
    with np.errstate(over="ignore"):
        for x in (last, np.nextafter(last, -np.inf), sign * overflow, -sign * overflow,
                  np.nextafter(overflow, 0.0), -np.nextafter(overflow, 0.0)):  # fmt: skip
            assert (float(np.float32(x)) <= last) == (x <= at_most(np.array([last]))[0])
            assert (float(np.float32(x)) < last) == (x <= below(np.array([last]))[0])


def test_an_infinite_threshold_lets_every_number_left():
    assert at_most(np.array([np.inf])).tolist() == [HUGE]
    assert np.isfinite(below(np.array([np.inf], dtype=np.float32))).all()
