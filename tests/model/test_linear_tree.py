"""A tree of linear models: three faces that agree, on slots of the table and on frozen trees."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from forests import Shape, descend_plainly, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError
from thrifty.model import KINDS, LinearTree
from thrifty.model.encoding import Encoding
from thrifty.model.links import apply_link

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "hinge", "softmax"])
INPUTS = st.sampled_from(["table", "trees"])
OUTPUTS = {"sum": 1, "sigmoid": 1, "hinge": 3, "softmax": 3}
SHAPE = Shape(trees=8, depth=3)


def table_of(columns, codes=None, centers=0.0, scales=1.0, fills=0.0):
    columns = np.asarray(columns, dtype=np.int64)
    codes = np.full(len(columns), -1) if codes is None else np.asarray(codes)
    rest = [np.full(len(columns), value) for value in (centers, scales, fills)]
    return Encoding(columns, codes.astype(np.int64), *rest)


def draw_children(rng, count):
    """Random children: leaves, nodes with one exit and one child, nodes with two children."""
    left, right = np.full((2, count), -1, dtype=np.int64)
    free = [(0, 0), (0, 1)]
    for node in range(1, count):
        parent, side = free.pop(rng.integers(len(free)))
        (left, right)[side][parent] = node
        free += [(node, 0), (node, 1)]
    return left, right


def draw(seed, link="sum", inputs="table", rows=25):
    """A random tree and a table with missing values and codes."""
    rng = np.random.default_rng(seed)
    nodes, q = int(rng.integers(1, 8)), 9
    encoding = base = None
    if inputs == "trees":
        base, q = draw_forest(rng, SHAPE), SHAPE.trees
    else:
        columns = rng.integers(0, SHAPE.features, q)
        codes = np.where(columns < SHAPE.categorical, rng.integers(0, 5, q), -1)
        encoding = Encoding(columns, codes, rng.normal(size=q), rng.random(q) + 0.5,
                            rng.normal(size=q))  # fmt: skip
    picks = [rng.permutation(q)[: rng.integers(0, 4)] for _ in range(nodes)]
    slots = np.concatenate([np.zeros(0, dtype=np.int64), *picks])
    left, right = draw_children(rng, nodes)
    tree = LinearTree(
        left, right, np.cumsum([0, *map(len, picks)]), slots, rng.normal(size=len(slots)),
        rng.normal(size=nodes), rng.normal(size=(len(slots), OUTPUTS[link])),
        rng.normal(size=(nodes, OUTPUTS[link])), link, SHAPE.features, encoding, base,
    )  # fmt: skip
    X = draw_table(rng, SHAPE, rows=rows, missing=0.2)
    X[:, : SHAPE.categorical] %= 5
    return rng, tree, X


def input_of(tree, slot, x):
    """One input of one row, and what it reads."""
    if tree.base is not None:
        leaf, read = descend_plainly(tree.base, tree.base.roots[slot], x)
        return tree.base.values[leaf, 0], read
    slots = tree.encoding
    column, code = int(slots.columns[slot]), slots.codes[slot]
    if np.isnan(x[column]):
        return slots.fills[slot], {column}
    if code >= 0:
        return float(x[column] == code), {column}
    return (x[column] - slots.centers[slot]) / slots.scales[slot], {column}


def descend_node_by_node(tree, x):
    """Answer before the link, features read, inputs weighed and nodes visited, plainly."""
    node, read, weighed, visited = 0, set(), set(), []
    while True:
        visited.append(node)
        value, answer = 0.0, tree.bias[node].copy()
        for k in range(tree.starts[node], tree.starts[node + 1]):
            z, reads = input_of(tree, tree.slots[k], x)
            read |= reads
            weighed.add(int(tree.slots[k]))
            value += z * tree.route[k]
            answer += z * tree.weights[k]
        follows = tree.right[node] if value > tree.threshold[node] else tree.left[node]
        if follows < 0:
            return answer, read, weighed, visited
        node = follows


def walk_through(tree, x, price=None, order=None):
    walk = tree.walk(price)
    for feature in order if order is not None else []:
        walk.tell({int(feature): float(x[feature])})
    while walk.asks:
        walk.tell({feature: float(x[feature]) for feature in walk.asks})
    return walk


# --- the laws ----------------------------------------------------------------


@given(SEEDS, LINKS, INPUTS)
def test_a_batch_is_each_row_going_down_by_itself(seed, link, inputs):
    _, tree, X = draw(seed, link, inputs)
    plain = [descend_node_by_node(tree, x) for x in X]
    raw = np.array([answer for answer, *_ in plain])
    assert np.allclose(tree.raw(X), raw, rtol=1e-12, atol=1e-12)
    assert np.allclose(tree.score(X), apply_link(link, raw), rtol=1e-12, atol=1e-12)
    assert tree.leaf(X).tolist() == [visited[-1] for *_, visited in plain]
    for row, (_, read, weighed, visited) in enumerate(plain):
        assert set(np.flatnonzero(tree.used(X)[row])) == read
        assert set(np.flatnonzero(tree.visited(X)[row])) == set(visited)
        weighing = [node for node in visited if tree.starts[node] < tree.starts[node + 1]]
        assert tree.evaluations(X)[row] == len(weighed if inputs == "trees" else weighing)


@given(SEEDS, LINKS, INPUTS, st.booleans())
def test_a_walk_ends_where_the_batch_does_to_the_bit(seed, link, inputs, shuffled):
    rng, tree, X = draw(seed, link, inputs, rows=8)
    scores, used, evaluations = tree.score(X), tree.used(X), tree.evaluations(X)
    for row, x in enumerate(X):
        order = rng.permutation(tree.n_features) if shuffled else None
        walk = walk_through(tree, x, order=order)
        assert np.array_equal(walk.scores, np.atleast_1d(scores[row]))
        assert set(walk.touched) == set(np.flatnonzero(used[row]))
        assert len(set(walk.touched)) == len(walk.touched)
        assert walk.evaluations == evaluations[row]


@given(SEEDS, LINKS, INPUTS)
def test_a_row_alone_has_the_same_bits_as_in_a_batch(seed, link, inputs):
    _, tree, X = draw(seed, link, inputs)
    alone = np.concatenate([tree.score(x[np.newaxis]) for x in X])
    assert np.array_equal(tree.score(X), alone)


@given(SEEDS, LINKS, INPUTS)
def test_what_was_not_used_does_not_matter(seed, link, inputs):
    rng, tree, X = draw(seed, link, inputs)
    other = np.where(tree.used(X), X, rng.choice([np.nan, 1e9, -3.0], size=X.shape))
    assert np.array_equal(tree.score(X), tree.score(other))
    assert np.array_equal(tree.used(X), tree.used(other))


@given(SEEDS, LINKS, INPUTS)
def test_support_and_most_evaluations_bound_every_row(seed, link, inputs):
    _, tree, X = draw(seed, link, inputs)
    assert not (tree.used(X) & ~tree.support).any()
    assert tree.evaluations(X).max() <= tree.most_evaluations
    assert tree.n_scores == (2 if link == "sigmoid" else OUTPUTS[link])


@given(SEEDS, LINKS, INPUTS)
def test_a_state_is_built_to_the_same_bits(seed, link, inputs):
    _, tree, X = draw(seed, link, inputs)
    for again in (
        KINDS["linear-tree"].build(*tree.state()), copy.deepcopy(tree),
        pickle.loads(pickle.dumps(tree)),
    ):  # fmt: skip
        assert np.array_equal(again.score(X), tree.score(X))
        assert np.array_equal(again.used(X), tree.used(X))
        with pytest.raises(ValueError, match="read-only"):
            again.weights[:] = 0.0


# --- known answers -------------------------------------------------------------


def quadrants():
    """The root looks at column 0; the left leaf weighs column 1, the right one columns 0 and 2."""
    return LinearTree(
        left=np.array([1, -1, -1]), right=np.array([2, -1, -1]), starts=np.array([0, 1, 2, 4]),
        slots=np.array([0, 1, 0, 2]), route=np.array([1.0, 0, 0, 0]), threshold=np.zeros(3),
        weights=np.array([[0.5], [10.0], [1.0], [100.0]]), bias=np.array([[7.0], [1.0], [2.0]]),
        link="sum", n_features=3, encoding=table_of([0, 1, 2]),
    )  # fmt: skip


def test_a_row_pays_for_the_nodes_on_its_path():
    tree = quadrants()
    X = np.array([[-1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    assert tree.score(X).tolist() == [21.0, 303.0, 11.0]  # on the threshold a row goes left
    assert tree.used(X).tolist() == [[1, 1, 0], [1, 0, 1], [1, 1, 0]]
    assert tree.leaf(X).tolist() == [1, 2, 1]
    assert tree.evaluations(X).tolist() == [2, 2, 2]


def test_a_walk_asks_for_a_node_at_once_and_answers_with_the_last_complete_node():
    walk = quadrants().walk()
    assert walk.scores.tolist() == [7.0]  # the root's bias
    assert (walk.asks, walk.evaluations) == ((0,), 0)
    walk.tell({0: 4.0})
    assert walk.scores.tolist() == [9.0]  # the root's answer
    assert (walk.asks, walk.evaluations) == ((2,), 1)  # column 0 is paid
    walk.tell({2: 1.0})
    assert walk.scores.tolist() == [106.0]
    assert (walk.asks, walk.touched, walk.evaluations) == ((), (0, 2), 2)


def test_a_walk_asks_for_the_cheapest_first():
    tree = replace(quadrants(), left=np.full(1, -1), right=np.full(1, -1), starts=np.array([0, 4]),
                   threshold=np.zeros(1), bias=np.zeros((1, 1)))  # fmt: skip
    assert tree.walk({0: 3.0, 1: 1.0, 2: 1.0}.__getitem__).asks == (1, 2, 0)


def test_a_value_told_too_early_is_read_only_if_a_node_needs_it():
    walk = quadrants().walk()
    walk.tell({1: 5.0, 2: 1.0})
    assert (walk.touched, walk.asks) == ((), (0,))
    walk.tell({0: 4.0})
    assert (walk.touched, walk.asks) == ((0, 2), ())


def test_a_tree_weighed_twice_is_evaluated_once():
    base = draw_forest(np.random.default_rng(0), SHAPE)
    tree = LinearTree(
        np.array([-1, -1]), np.array([1, -1]), np.array([0, 2, 4]), np.array([0, 1, 1, 2]),
        np.zeros(4), np.array([-1.0, 0.0]), np.ones((4, 1)), np.zeros((2, 1)), "sum",
        SHAPE.features, base=base,
    )  # fmt: skip
    X = draw_table(np.random.default_rng(1), SHAPE, rows=5)
    assert tree.evaluations(X).tolist() == [3] * 5
    assert tree.most_evaluations == 3


def test_a_tree_without_slots_is_a_constant_that_asks_nothing():
    tree = LinearTree(
        np.array([-1]), np.array([-1]), np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64),
        np.zeros(0), np.zeros(1), np.zeros((0, 1)), np.array([[0.0]]), "sigmoid", 3,
        table_of([]),
    )  # fmt: skip
    assert tree.score(np.full((2, 3), np.nan)).tolist() == [[0.5, 0.5]] * 2
    walk = tree.walk()
    assert (walk.asks, walk.scores.tolist(), walk.evaluations) == ((), [0.5, 0.5], 0)


def test_a_tree_goes_through_a_model_file(tmp_path):
    _, tree, X = draw(3, "softmax", "trees")
    prices = Prices([1.0] * 7).bind(7)
    schema = Schema.of(np.zeros((2, 7)))
    Predictor(tree, schema, prices, np.array(["a", "b", "c"])).save(tmp_path / "tree.thrifty")
    again = load(tmp_path / "tree.thrifty")
    assert np.array_equal(again.predict_proba(X), tree.score(X))
    assert np.array_equal(again.bill(X), tree.used(X).sum(axis=1))


# --- bad input -------------------------------------------------------------------


def test_a_table_of_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="reads 3 columns"):
        quadrants().score(np.zeros((2, 4)))


def test_inputs_are_either_slots_or_trees():
    with pytest.raises(ValueError, match="either slots"):
        replace(quadrants(), encoding=None)


BROKEN = {
    "before its parent": {"right": [0, -1, -1]},
    "one parent": {"right": [1, -1, -1]},
    "outside the tree": {"left": [7, -1, -1]},
    "starts must go": {"starts": [0, 3, 2, 4]},
    "beyond the 3 of the encoding": {"slots": [0, 1, 0, 3]},
    "column beyond": {"columns": [0, 1, 3]},
    "category that does not exist": {"codes": [-1, -2, -1]},
    "scales must be positive": {"scales": [1.0, 0.0, 1.0]},
    "route must be finite": {"route": [1.0, np.nan, 0.0, 0.0]},
    "weights must be at most": {"weights": [[1.0], [1e300], [0.0], [0.0]]},
    "threshold has shape": {"threshold": [0.0]},
    "left must be 1-d of int64": {"left": [1.0, -1.0, -1.0]},
    "does not go with 2 outputs": {"weights": np.zeros((4, 2)), "bias": np.zeros((3, 2))},
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_damaged_tree_is_refused(message):
    plain, arrays = quadrants().state()
    damaged = {name: np.array(value) for name, value in BROKEN[message].items()}
    with pytest.raises(BundleError, match=message):
        LinearTree.build(plain, arrays | damaged)


@pytest.mark.parametrize(
    "change", [{"link": "mean"}, {"link": 3}, {"n_features": True}, {"parts": 5}, {"more": 1}]
)
def test_damaged_entries_are_refused(change):
    plain, arrays = quadrants().state()
    with pytest.raises(BundleError):
        LinearTree.build({**plain, **change}, arrays)


def test_arrays_that_do_not_belong_are_refused():
    plain, arrays = quadrants().state()
    with pytest.raises(BundleError, match="expected the arrays"):
        LinearTree.build(plain, {**arrays, "0/nodes": np.zeros(1)})
    with pytest.raises(BundleError, match="expected the arrays"):
        LinearTree.build(plain, {name: arrays[name] for name in arrays if name != "codes"})


def test_trees_beyond_the_forest_are_refused():
    _, tree, _ = draw(3, "sum", "trees")
    plain, arrays = tree.state()
    assert len(arrays["slots"])
    with pytest.raises(BundleError, match="tree beyond the 8"):
        LinearTree.build(plain, {**arrays, "slots": arrays["slots"] + 8})
    wide = draw_forest(np.random.default_rng(0), Shape.of("mean", trees=8))
    with pytest.raises(BundleError, match="one value each"):
        LinearTree.build(*replace(tree, base=wide).state())
    narrow = draw_forest(np.random.default_rng(0), Shape(trees=8, features=3))
    with pytest.raises(BundleError, match="same columns"):
        LinearTree.build(*replace(tree, base=narrow).state())
