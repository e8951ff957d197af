"""A short-circuited forest: the same classes, never more features, and three faces that agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from face_laws import assert_batch, state_is_the_values_told, values_arrive_in_any_order
from forests import LINKS, Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

import thrifty.model
from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.short_circuit import short_circuit
from thrifty.model.short_circuit.bounds import is_settled
from thrifty.model.short_circuit.short_circuit import ShortCircuit

CLASSES = ("sigmoid", "binary hinge", "hinge", "softmax", "mean", "vote")
SEEDS = st.integers(0, 2**32 - 1)
# Coarse values tie often; tenths tie but for the rounding of their sums.
GRAINS = st.sampled_from([None, 1.0, 10.0])


def draw(seed, link, grain=None, rows=24, **changes):
    rng = np.random.default_rng(seed)
    small = {"trees": int(rng.integers(0, 14)), "depth": int(rng.integers(1, 5)), **changes}
    shape = (
        Shape.of("hinge", outputs=1, **small) if link == "binary hinge" else Shape.of(link, **small)
    )
    forest = draw_forest(rng, shape)
    if grain is not None:
        coarse = {
            name: np.round(getattr(forest, name) * grain) / grain for name in ("values", "base")
        }
        forest = replace(forest, **coarse)
    return rng, forest, draw_table(rng, shape, rows=rows, missing=0.2)


def stumps(values, link, outputs=None, base=None, features=None):
    """A forest of one split per tree, each on its own feature: x <= 0 goes left."""
    trees = len(values)
    nodes = empty_nodes(3 * trees)
    for tree in range(trees):
        nodes[3 * tree] = (0.0, 3 * tree + 1, tree)
    values = np.array([[np.mean(pair, axis=0), *pair] for pair in values], dtype=float)
    width = 1 if values.ndim == 2 else values.shape[2]
    k = max(outputs) + 1 if outputs else width
    return Forest(
        nodes, values.reshape(3 * trees, width), 3 * np.arange(trees),
        np.array(outputs or np.zeros(trees), dtype=np.int64),
        np.zeros(k) if base is None else np.array(base), link, features or trees,
    )  # fmt: skip


def every_row(d):
    return np.array(list(product([-1.0, 1.0], repeat=d)))


# --- the laws ----------------------------------------------------------------


@given(SEEDS, st.sampled_from(CLASSES), GRAINS)
def test_every_class_is_that_of_the_forest(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)))
    np.testing.assert_array_equal(quick.score(X).argmax(axis=1), forest.score(X).argmax(axis=1))


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_nothing_is_used_that_the_forest_would_not_use(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    tolerance = float(rng.random()) if link == "sum" else 0.0
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    assert not (quick.used(X) & ~forest.used(X)).any()
    assert (quick.evaluations(X) <= forest.evaluations(X)).all()


@given(SEEDS, st.floats(0.0, 6.0), GRAINS)
def test_every_value_is_within_the_tolerance(seed, tolerance, grain):
    rng, forest, X = draw(seed, "sum", grain)
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    assert (np.abs(quick.score(X) - forest.score(X)) <= tolerance).all()


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]))
def test_a_row_that_finishes_every_tree_has_the_scores_of_the_forest(seed, link):
    rng, forest, X = draw(seed, link)
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)))
    whole = quick.evaluations(X) == len(forest.roots)
    np.testing.assert_array_equal(quick.score(X)[whole], forest.score(X)[whole])


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_the_plain_twin_says_what_the_kernel_says(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    tolerance = 2.0 * float(rng.random()) if link == "sum" else 0.0
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    by_kernel = quick._run(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_circuit, "find_spec", lambda name: None)
        plainly = quick._run(X)
    for one, other in zip(by_kernel, plainly, strict=True):
        np.testing.assert_array_equal(one, other)


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_a_value_that_is_not_used_can_be_anything(seed, link, grain):
    _, forest, X = draw(seed, link, grain)
    quick = ShortCircuit.of(forest, tolerance=1.0 if link == "sum" else 0.0)
    scores, used = quick.score_and_used(X)
    for filler in (np.nan, 0.0, 199.0):
        again = quick.score_and_used(np.where(used, X, filler))
        np.testing.assert_array_equal(again[0], scores)
        np.testing.assert_array_equal(again[1], used)


# --- walks -------------------------------------------------------------------


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_a_walk_ends_like_the_batch(seed, link, grain):
    rng, forest, X = draw(seed, link, grain, rows=1)
    tolerance = 2.0 * float(rng.random()) if link == "sum" else 0.0
    quick = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    walk = quick.walk()
    while walk.asks:
        (feature,) = walk.asks
        walk.tell({feature: float(X[0, feature])})
        assert walk.touched[-1] == feature
    assert_batch(walk, quick, X)


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_values_may_arrive_in_any_order_and_unasked(seed, link, grain):
    rng, forest, X = draw(seed, link, grain, rows=1)
    quick = ShortCircuit.of(
        forest, rng.permutation(len(forest.roots)), 1.0 if link == "sum" else 0.0
    )
    values_arrive_in_any_order(rng, quick, X)


@given(SEEDS, st.sampled_from(CLASSES))
def test_the_state_of_a_walk_is_the_set_of_values_told(seed, link):
    rng, forest, X = draw(seed, link, rows=1)
    state_is_the_values_told(rng, ShortCircuit.of(forest), X)


def test_a_walk_asks_for_what_the_first_unfinished_tree_needs():
    forest = stumps([([1, 0], [0, 1])] * 3, "vote")
    walk = ShortCircuit.of(forest, [2, 0, 1]).walk()
    asked = []
    while walk.asks:
        asked.append(walk.asks)
        walk.tell({walk.asks[0]: 1.0})
    assert asked == [(2,), (0,)]
    assert walk.scores.argmax() == 1


# --- when it stops -----------------------------------------------------------


@pytest.mark.parametrize("trees", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("link", ["vote", "mean"])
def test_a_majority_settles_and_a_tie_goes_to_the_first_class(link, trees):
    forest = stumps([([1, 0], [0, 1])] * trees, link)
    X = every_row(trees)
    quick = ShortCircuit.of(forest)
    np.testing.assert_array_equal(quick.score(X).argmax(axis=1), forest.score(X).argmax(axis=1))
    for x, used in zip(X, quick.used(X), strict=True):
        votes = np.cumsum(x > 0), np.cumsum(x < 0)
        left = trees - 1 - np.arange(trees)
        settled = (votes[0] > votes[1] + left) | (votes[1] >= votes[0] + left)
        if link == "vote":  # a mean within rounding of a tie is evaluated to the end
            assert used.sum() == settled.argmax() + 1


def test_unanimous_rows_need_half_of_the_trees():
    forest = stumps([([1, 0], [0, 1])] * 21, "mean")
    X = np.stack([np.full(21, 1.0), np.full(21, -1.0)])
    assert ShortCircuit.of(forest).used(X).sum(axis=1).tolist() == [11, 11]


def test_a_tree_that_cannot_matter_is_not_asked():
    forest = stumps([([-5.0], [5.0]), ([-1.0], [1.0]), ([-3.0], [3.0])], "sigmoid")
    X = every_row(3)
    assert ShortCircuit.of(forest).used(X).sum(axis=0).tolist() == [8, 0, 0]
    assert ShortCircuit.of(forest, [1, 2, 0]).used(X).all()


def test_bounds_tighten_inside_a_tree():
    # The first tree is worth at least 2 once its first answer is known: its second is not asked.
    nodes = empty_nodes(8)
    nodes[0], nodes[2], nodes[5] = (0.0, 1, 0), (0.0, 3, 1), (0.0, 6, 2)
    values = np.array([[0.0], [-9.0], [2.5], [2.0], [3.0], [0.0], [-1.0], [1.0]])
    forest = Forest(
        nodes, values, np.array([0, 5]), np.zeros(2, np.int64), np.zeros(1), "sigmoid", 3
    )
    assert ShortCircuit.of(forest).used(np.ones((1, 3))).tolist() == [[True, False, False]]


def test_a_feature_that_is_bought_moves_every_tree_that_waits_for_it():
    nodes = empty_nodes(9)
    nodes[0], nodes[3], nodes[6] = (0.0, 1, 0), (0.0, 4, 0), (0.0, 7, 1)
    values = np.array([[0.0], [-1.0], [1.0]] * 3)
    forest = Forest(
        nodes, values, np.array([0, 3, 6]), np.zeros(3, np.int64), np.zeros(1), "sigmoid", 2
    )
    quick = ShortCircuit.of(forest)
    X = np.array([[1.0, -1.0]])
    assert quick.used(X).tolist() == [[True, False]]
    assert quick.evaluations(X).tolist() == [2]


def test_sums_that_rounding_decides_are_evaluated_to_the_end():
    # All orders of these terms have the same exact sum; their floating sums differ.
    terms = [0.1, 0.2, 0.3, -0.6, 1e16, -1e16]
    for chosen in combinations(range(6), 4):
        pairs = [([terms[j], 0.0], [0.0, terms[j]]) for j in chosen]
        forest = stumps(pairs, "mean")
        X = every_row(4)
        for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
            quick = ShortCircuit.of(forest, order)
            np.testing.assert_array_equal(
                quick.score(X).argmax(axis=1), forest.score(X).argmax(axis=1)
            )


@pytest.mark.parametrize("size", [1e-300, 1e-20, 1e-9, 1.0, 1e9, 1e200, 1e307])
@pytest.mark.parametrize("link", ["sigmoid", "softmax", "hinge", "mean"])
def test_values_of_any_size_keep_the_class(link, size):
    rng = np.random.default_rng(1)
    wide = link == "mean"
    shape = (7, 2, 3) if wide else (7, 2)
    values = rng.normal(size=shape) * size / 8
    outputs = None if wide or link == "sigmoid" else [0, 1, 2, 0, 1, 2, 0]
    forest = stumps(values, link, outputs)
    X = every_row(7)
    expected = forest.score(X).argmax(axis=1)
    np.testing.assert_array_equal(ShortCircuit.of(forest).score(X).argmax(axis=1), expected)


def test_sums_that_overflow_are_evaluated_to_the_end():
    forest = stumps([([-1.7e308], [1.7e308])] * 3, "sigmoid")
    X, quick = every_row(3), ShortCircuit.of(forest)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(quick.score(X), forest.score(X))
        assert quick.used(X).all()


def test_outputs_beyond_the_flat_ends_of_a_hinge_tie():
    # Both outputs are above 1 for sure, so both are clipped to 1, and the first class wins.
    forest = stumps([([2.0], [3.0]), ([5.0], [9.0])], "hinge", outputs=[0, 1])
    X = every_row(2)
    assert forest.score(X).argmax(axis=1).tolist() == [0] * 4
    assert not ShortCircuit.of(forest).used(X).any()


def test_at_tolerance_zero_every_tree_is_asked():
    forest = stumps([([-1.0], [1.0])] * 4, "sum")
    quick = ShortCircuit.of(forest)
    assert quick.used(every_row(4)).all()
    np.testing.assert_array_equal(quick.score(every_row(4)), forest.score(every_row(4)))


def test_a_tolerance_leaves_out_what_is_within_it():
    forest = stumps([([-8.0], [8.0]), ([-1.0], [1.0]), ([-0.25], [0.25])], "sum")
    quick = ShortCircuit.of(forest, tolerance=0.5)
    assert quick.used(every_row(3)).sum(axis=0).tolist() == [8, 8, 0]


def test_a_constant_answer_buys_nothing():
    forest = stumps([([1, 0], [0.75, 0.25])] * 5, "mean")
    quick = ShortCircuit.of(forest)
    assert not quick.used(every_row(5)).any()
    assert quick.walk().asks == ()


def test_inner_nodes_count_as_something_their_leaves_can_say():
    # The root says class 2, which no leaf says; the scores of a stopped row must not.
    forest = stumps([([1, 0, 0], [0, 1, 0])] * 3, "vote")
    values = forest.values.copy()
    values[::3] = [0.0, 0.0, 1.0]
    quick = ShortCircuit.of(replace(forest, values=values))
    X = np.full((1, 3), -1.0)
    assert quick.used(X).sum() == 2
    scores = quick.score(X)[0]
    assert scores[2] == 0.0 and scores.sum() == 1.0 and scores.argmax() == 0


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 6)), min_size=2, max_size=4),
    st.integers(0, 3),
    st.sampled_from([3, 2**62]),
)
def test_a_class_is_settled_when_no_outcome_within_the_bounds_has_another(boxes, margin, flat):
    least, most = [low for low, _ in boxes], [low + size for low, size in boxes]
    if not is_settled(least, most, [2, margin, margin, flat]):
        return
    winners = set()
    for corner in product(*zip(least, most, strict=True)):
        winners.add(int(np.clip(corner, -flat, flat).argmax()))
    assert len(winners) == 1


# --- files and mistakes ------------------------------------------------------


@pytest.fixture
def known_kind(monkeypatch):
    monkeypatch.setitem(thrifty.model.KINDS, ShortCircuit.kind, ShortCircuit)


@pytest.mark.parametrize("link", LINKS)
def test_a_file_gives_back_the_same_model(link, tmp_path, known_kind):
    rng, forest, X = draw(5, link, trees=9)
    quick = ShortCircuit.of(forest, rng.permutation(9), 0.5 if link == "sum" else 0.0)
    classes = None if link == "sum" else np.arange(quick.n_scores)
    predictor = Predictor(quick, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "quick.thrifty")
    again = load(tmp_path / "quick.thrifty").model
    assert isinstance(again, ShortCircuit) and again.tolerance == quick.tolerance
    for one, other in zip(again._run(X), quick._run(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order", np.array([0, 1, 1]), "each of the 3 trees once"),
        ("order", np.array([0, 1]), "each of the 3 trees once"),
        ("order", np.array([0, 1, 7]), "each of the 3 trees once"),
        ("order", np.array([[0, 1, 2]]), "each of the 3 trees once"),
        ("order", np.array([0.0, 1.0, 2.0]), "each of the 3 trees once"),
        ("order", None, "is absent"),
        ("tolerance", -1.0, "tolerance must be a number"),
        ("tolerance", "1", "tolerance must be a number"),
        ("tolerance", 0.5, "a tolerance is for models of values"),
        ("tolerance", None, "is absent"),
        ("roots", np.array([0, 3, 9]), "forest"),
        ("link", "sqrt", "unknown link"),
        ("extra", 1, "expected the entries"),
    ],
)
def test_a_damaged_file_is_refused(name, value, message):
    plain, arrays = ShortCircuit.of(stumps([([1, 0], [0, 1])] * 3, "vote")).state()
    part = arrays if name in arrays else plain
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        ShortCircuit.build(plain, arrays)


def test_a_wrong_order_or_tolerance_is_refused():
    forest = stumps([([1, 0], [0, 1])] * 3, "vote")
    with pytest.raises(DataError, match="2 problems"):
        ShortCircuit.of(forest, [0, 0, 1], tolerance=float("nan"))


def test_a_table_of_other_width_is_refused():
    quick = ShortCircuit.of(stumps([([1, 0], [0, 1])] * 3, "vote"))
    with pytest.raises(ValueError, match="reads 3 columns"):
        quick.score(np.zeros((2, 4)))


@pytest.mark.parametrize("shape", [Shape(trees=0), Shape(depth=0)], ids=["no trees", "leaves"])
def test_a_forest_that_reads_nothing_is_done_at_once(shape):
    forest = draw_forest(np.random.default_rng(0), shape)
    quick, X = ShortCircuit.of(forest), np.zeros((1, shape.features))
    assert_batch(quick.walk(), quick, X)
    np.testing.assert_array_equal(quick.score(X), forest.score(X))
