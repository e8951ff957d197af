"""A short-circuited forest predicts the same classes from no more features."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from forests import LINKS, with_shares
from hypothesis import given
from hypothesis import strategies as st
from short_circuits import CLASSES, GRAINS, SEEDS, draw, every_row, stop_plainly, stumps

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import KINDS, Forest, ShortCircuit
from thrifty.model.forest.nodes import empty_nodes

# --- the laws ----------------------------------------------------------------


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_rows_stop_where_one_row_at_a_time_stops(seed, link, grain):
    rng, forest, X = draw(seed, link, grain, rows=10)
    tolerance = 2.0 * float(rng.random()) if link == "sum" else 0.0
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    outcome = model._run(X)
    for i, x in enumerate(X):
        places, bought, ends = stop_plainly(model, x)
        assert set(np.flatnonzero(outcome.used[i])) == bought
        assert outcome.done[i] == (forest.nodes["child"][places] == places).sum()
        assert outcome.ends[i].tolist() == list(ends)
        raw = forest.base.copy()
        for place, output in zip(places, forest.outputs, strict=True):
            raw[output : output + forest.values.shape[1]] += model.bounds.fills[place]
        if link in ("mean", "vote"):
            raw /= max(len(places), 1)
        np.testing.assert_array_equal(outcome.raw[i], raw)


def test_settled_rows_leave_their_trees_where_they_stand():
    model = ShortCircuit.of(stumps([([1, 0], [0, 1])] * 3, "vote"))
    outcome = model._run(np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]))
    assert outcome.done.tolist() == [2, 3]
    assert outcome.used.tolist() == [[True, True, False], [True, True, True]]


@given(SEEDS, st.sampled_from(CLASSES), GRAINS)
def test_every_class_is_that_of_the_forest(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)))
    np.testing.assert_array_equal(model.score(X).argmax(axis=1), forest.score(X).argmax(axis=1))


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_nothing_is_used_that_the_forest_would_not_use(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    tolerance = float(rng.random()) if link == "sum" else 0.0
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    assert not (model.used(X) & ~forest.used(X)).any()
    assert (model.evaluations(X) <= forest.evaluations(X)).all()


@given(SEEDS, st.floats(0.0, 6.0), GRAINS)
def test_every_value_is_within_the_tolerance(seed, tolerance, grain):
    rng, forest, X = draw(seed, "sum", grain)
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    assert (np.abs(model.score(X) - forest.score(X)) <= tolerance).all()


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]))
def test_a_row_that_finishes_every_tree_has_the_scores_of_the_forest(seed, link):
    rng, forest, X = draw(seed, link)
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)))
    whole = model.evaluations(X) == len(forest.roots)
    np.testing.assert_array_equal(model.score(X)[whole], forest.score(X)[whole])


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_a_value_that_is_not_used_can_be_anything(seed, link, grain):
    _, forest, X = draw(seed, link, grain)
    model = ShortCircuit.of(forest, tolerance=1.0 if link == "sum" else 0.0)
    scores, used = model.score_and_used(X)
    for filler in (np.nan, 0.0, 199.0):
        again = model.score_and_used(np.where(used, X, filler))
        np.testing.assert_array_equal(again[0], scores)
        np.testing.assert_array_equal(again[1], used)


# --- when it stops -----------------------------------------------------------


@pytest.mark.parametrize("trees", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("link", ["vote", "mean"])
def test_a_majority_settles_and_a_tie_goes_to_the_first_class(link, trees):
    forest = stumps([([1, 0], [0, 1])] * trees, link)
    X = every_row(trees)
    model = ShortCircuit.of(forest)
    np.testing.assert_array_equal(model.score(X).argmax(axis=1), forest.score(X).argmax(axis=1))
    for x, used in zip(X, model.used(X), strict=True):
        votes = np.cumsum(x > 0), np.cumsum(x < 0)
        left = trees - 1 - np.arange(trees)
        settled = (votes[0] > votes[1] + left) | (votes[1] >= votes[0] + left)
        if link == "vote":  # a mean within rounding of a tie is evaluated to the end
            assert used.sum() == settled.argmax() + 1


def test_unanimous_rows_need_half_of_the_trees():
    forest = stumps([([1, 0], [0, 1])] * 21, "mean")
    X = np.stack([np.full(21, 1.0), np.full(21, -1.0)])
    assert ShortCircuit.of(forest).used(X).sum(axis=1).tolist() == [11, 11]


def test_the_feature_of_a_tree_that_cannot_matter_is_not_bought():
    forest = stumps([([-5.0], [5.0]), ([-1.0], [1.0]), ([-3.0], [3.0])], "sigmoid")
    X = every_row(3)
    assert ShortCircuit.of(forest).used(X).sum(axis=0).tolist() == [8, 0, 0]
    assert ShortCircuit.of(forest, [1, 2, 0]).used(X).all()


def test_bounds_tighten_inside_a_tree():
    # The first tree is worth at least 2 once its first feature is known: its second is not bought.
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
    model = ShortCircuit.of(forest)
    X = np.array([[1.0, -1.0]])
    assert model.used(X).tolist() == [[True, False]]
    assert model.evaluations(X).tolist() == [2]


def test_sums_that_rounding_decides_are_evaluated_to_the_end():
    # All orders of these terms have the same exact sum; their floating sums differ.
    terms = [0.1, 0.2, 0.3, -0.6, 1e16, -1e16]
    for chosen in combinations(range(6), 4):
        pairs = [([terms[j], 0.0], [0.0, terms[j]]) for j in chosen]
        forest = stumps(pairs, "mean")
        X = every_row(4)
        for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
            model = ShortCircuit.of(forest, order)
            np.testing.assert_array_equal(
                model.score(X).argmax(axis=1), forest.score(X).argmax(axis=1)
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
    X, model = every_row(3), ShortCircuit.of(forest)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(model.score(X), forest.score(X))
        assert model.used(X).all()


def test_outputs_beyond_the_flat_ends_of_a_hinge_tie():
    # Both outputs are above 1 for sure, so both are clipped to 1, and the first class wins.
    forest = stumps([([2.0], [3.0]), ([5.0], [9.0])], "hinge", outputs=[0, 1])
    X = every_row(2)
    assert forest.score(X).argmax(axis=1).tolist() == [0] * 4
    assert not ShortCircuit.of(forest).used(X).any()


def test_at_tolerance_zero_every_tree_is_finished():
    forest = stumps([([-1.0], [1.0])] * 4, "sum")
    model = ShortCircuit.of(forest)
    assert model.used(every_row(4)).all()
    np.testing.assert_array_equal(model.score(every_row(4)), forest.score(every_row(4)))


def test_a_tolerance_leaves_out_what_is_within_it():
    forest = stumps([([-8.0], [8.0]), ([-1.0], [1.0]), ([-0.25], [0.25])], "sum")
    model = ShortCircuit.of(forest, tolerance=0.5)
    assert model.used(every_row(3)).sum(axis=0).tolist() == [8, 8, 0]


def test_a_constant_prediction_buys_nothing():
    forest = stumps([([1, 0], [0.75, 0.25])] * 5, "mean")
    model = ShortCircuit.of(forest)
    assert not model.used(every_row(5)).any()
    assert model.walk().asks == ()


def test_inner_nodes_count_as_something_that_their_leaves_can_predict():
    # The root votes for class 2, for which no leaf votes; a row that stops early must not.
    forest = stumps([([1, 0, 0], [0, 1, 0])] * 3, "vote")
    values = forest.values.copy()
    values[::3] = [0.0, 0.0, 1.0]
    model = ShortCircuit.of(replace(forest, values=values))
    X = np.full((1, 3), -1.0)
    assert model.used(X).sum() == 2
    scores = model.score(X)[0]
    assert scores[2] == 0.0 and scores.sum() == 1.0 and scores.argmax() == 0


def test_another_order_shares_the_bounds():
    _, forest, X = draw(3, "softmax", trees=6)
    model = ShortCircuit.of(forest)
    turned = model.reordered([5, 4, 3, 2, 1, 0])
    assert turned.bounds is model.bounds and turned.order.tolist() == [5, 4, 3, 2, 1, 0]
    np.testing.assert_array_equal(turned.score(X).argmax(axis=1), model.score(X).argmax(axis=1))


# --- files and mistakes ------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_a_file_gives_back_the_same_model(link, tmp_path):
    assert KINDS["short-circuit"] is ShortCircuit
    rng, forest, X = draw(5, link, trees=9)
    forest = with_shares(forest) if link == "mean" else forest
    model = ShortCircuit.of(forest, rng.permutation(9), 0.5 if link == "sum" else 0.0)
    classes = None if link == "sum" else np.arange(model.n_scores)
    predictor = Predictor(model, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "model.thrifty")
    again = load(tmp_path / "model.thrifty").model
    assert isinstance(again, ShortCircuit) and again.tolerance == model.tolerance
    for one, other in zip(again._run(X), model._run(X), strict=True):
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
    model = ShortCircuit.of(stumps([([1, 0], [0, 1])] * 3, "vote"))
    with pytest.raises(ValueError, match="reads 3 columns"):
        model.score(np.zeros((2, 4)))


def test_shares_of_nodes_lie_between_those_of_their_leaves():
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, 0)
    values = np.array([[0.0, 0.0, 1.0], [0.6, 0.4, 0.0], [0.5, 0.5, 0.0]])
    zero = np.array([0])
    forest = Forest(nodes, values, zero, zero, np.zeros(3), "mean", n_features=1)
    assert list(forest.probability_problems()) == []
    assert "between those of its leaves" in next(ShortCircuit.of(forest).probability_problems())
