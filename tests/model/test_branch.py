"""A branch: every row buys the split, then what the model on its side needs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from face_laws import (
    float32_is_its_float64,
    rows_stay_within_bounds,
    state_is_the_values_told,
    unused_values_do_not_matter,
    values_arrive_in_any_order,
    walk_ends_like_the_batch,
)
from forests import CODES, Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.learn.linear import fit_linear
from thrifty.model import KINDS, Average, Blend, Branch, CallResult, Forest, Gate, Stages

SEEDS = st.integers(0, 2**32 - 1)
LINKS = st.sampled_from(["sum", "sigmoid", "softmax", "vote"])


def draw_side(rng, shape, depth):
    """Draw a forest, an average or a ladder of them, or another branch."""
    forests = [draw_forest(rng, shape) for _ in range(2)]
    kind = rng.integers(4 if depth else 3)
    prior = np.full(forests[0].n_scores, 1 / forests[0].n_scores)
    if kind == 0:
        return forests[0]
    if kind == 1:
        return Average.of(forests, prior)
    if kind == 2:
        return Stages.of([Average.of(forests[:1], prior), Average.of(forests[1:], prior)])
    return draw_branch(rng, shape, depth - 1)


def draw_branch(rng, shape, depth):
    left, right = (draw_side(rng, shape, depth) for _ in range(2))
    feature, missing = int(rng.integers(shape.features)), bool(rng.random() < 0.5)
    prior = rng.dirichlet(np.ones(left.n_scores))
    if feature < shape.categorical:
        codes = rng.choice(CODES, size=CODES // 2, replace=False)
        return Branch.of(left, right, feature, prior, codes=codes, missing_left=missing)
    threshold = float(rng.integers(0, 12)) / 2
    return Branch.of(left, right, feature, prior, threshold=threshold, missing_left=missing)


def draw(seed, link="softmax", rows=24):
    """Draw a branch whose sides may be branches again, and a table."""
    rng = np.random.default_rng(seed)
    shape = Shape.of(link, trees=3, depth=2)
    return rng, draw_branch(rng, shape, 1), draw_table(rng, shape, rows=rows, missing=0.2)


def reading(*features, value=0.0, d=4):
    """Return a constant that every row buys some features for."""
    constant = Forest.constant([value], "sum", d)
    return Average.of([constant], [value], reads=np.isin(np.arange(d), features))


# --- the laws ----------------------------------------------------------------


@given(SEEDS, LINKS)
def test_each_row_is_a_row_of_its_side(seed, link):
    _, branch, X = draw(seed, link)
    left = branch.goes_left(X)
    for side, rows in ((branch.left, left), (branch.right, ~left)):
        np.testing.assert_array_equal(branch.score(X)[rows], side.score(X)[rows])
        np.testing.assert_array_equal(branch.evaluations(X)[rows], side.evaluations(X)[rows])
        used = side.used(X)
        used[:, branch.feature] = True
        np.testing.assert_array_equal(branch.used(X)[rows], used[rows])
    sides = [branch.side(float(x)) is branch.left for x in X[:, branch.feature]]
    assert sides == left.tolist()


@given(SEEDS, LINKS)
def test_a_walk_ends_like_the_batch(seed, link):
    walk_ends_like_the_batch(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_values_may_arrive_in_any_order_and_unrequested(seed, link):
    values_arrive_in_any_order(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_the_state_of_a_walk_is_the_set_of_values_told(seed, link):
    state_is_the_values_told(*draw(seed, link, rows=1))


@given(SEEDS, LINKS)
def test_a_value_that_is_not_used_can_be_anything(seed, link):
    unused_values_do_not_matter(*draw(seed, link)[1:])


@given(SEEDS, LINKS)
def test_no_row_exceeds_the_support_and_the_most_evaluations(seed, link):
    rows_stay_within_bounds(*draw(seed, link)[1:])


@given(SEEDS, LINKS)
def test_a_float32_table_is_scored_like_its_float64_values(seed, link):
    _, branch, X = draw(seed, link)
    float32_is_its_float64(branch, X, branch.goes_left)


# --- the split ---------------------------------------------------------------


def test_a_value_up_to_the_threshold_goes_left_also_in_float32():
    branch = Branch.of(reading(), reading(), 0, [0.0], threshold=0.1)
    X = np.zeros((3, 4))
    X[:, 0] = [0.1, np.nextafter(0.1, 1), np.inf]
    assert branch.goes_left(X).tolist() == [True, False, False]
    assert branch.goes_left(X.astype(np.float32)).tolist() == [False] * 3  # 0.1 is rounded up


def test_codes_go_left_and_all_others_right_even_unknown_ones():
    branch = Branch.of(reading(), reading(), 1, [0.0], codes=[7, 2])
    X = np.zeros((5, 4))
    X[:, 1] = [2.0, 7.0, 3.0, 999.0, -1.0]
    assert branch.goes_left(X).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("split", [{"threshold": 1.0}, {"codes": [1]}])
def test_a_missing_value_goes_to_the_side_that_was_learned(missing_left, split):
    branch = Branch.of(reading(1), reading(2), 0, [0.0], missing_left=missing_left, **split)
    X = np.full((1, 4), np.nan)
    assert branch.goes_left(X).tolist() == [missing_left]
    walk = branch.walk()
    walk.tell({0: np.nan})
    assert walk.asks == ((1,) if missing_left else (2,))


def test_a_walk_knows_the_prior_then_asks_for_what_its_side_needs():
    branch = Branch.of(reading(1, value=1.0), reading(0, 3, value=2.0), 0, [0.5], threshold=0.0)
    walk = branch.walk()
    assert (walk.asks, walk.touched, walk.scores.tolist()) == ((0,), (), [0.5])
    walk.tell({3: 9.0})
    assert (walk.asks, walk.touched) == ((0,), ())
    walk.tell({0: 1.0})
    assert (walk.asks, set(walk.touched), walk.scores.tolist()) == ((), {0, 3}, [2.0])


def test_a_side_that_can_fail_makes_the_branch_fail_and_a_gate_steps_in():
    call = CallResult.of([2, 3], needs=[1], n_features=4)
    sure = Forest.constant([0.5, 0.5], "mean", 4)
    branch = Branch.of(call, sure, 0, [0.5, 0.5], threshold=0.0)
    assert branch.may_fail and not Branch.of(sure, sure, 0, [0.5, 0.5], threshold=0.0).may_fail
    gate = Gate.of(Forest.constant([0.0], "sum", 4), sure, branch, threshold=-np.inf)
    X = np.array([[-1.0, 0.0, np.nan, np.nan], [-1.0, 0.0, 0.25, 0.75]])
    assert gate.score(X).tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_a_table_without_rows_has_no_scores():
    branch = Branch.of(reading(1), reading(2), 0, [0.0], threshold=0.0)
    empty = np.zeros((0, 4))
    assert branch.score(empty).shape == (0,) and branch.used(empty).shape == (0, 4)


def test_rows_that_all_go_to_one_side_are_those_of_its_model():
    left, right = (Average.of([Forest.constant([v], "sum", 4)], [v]) for v in (1.0, 2.0))
    branch = Branch.of(left, right, 0, [0.0], threshold=0.0)
    X = np.ones((3, 4))
    assert branch.score(X).tolist() == [2.0] * 3 and branch.score(-X).tolist() == [1.0] * 3
    assert branch.used(X).tolist() == [[True, False, False, False]] * 3


# --- files, copies and mistakes ----------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("link", ["sum", "softmax"])
def test_a_file_gives_back_the_same_model(seed, link, tmp_path):
    _, branch, X = draw(seed, link)
    classes = None if link == "sum" else np.arange(branch.n_scores)
    predictor = Predictor(branch, Schema.of(np.zeros((2, 7))), Prices().bind(7), classes)
    predictor.save(tmp_path / "branch.thrifty")
    again = load(tmp_path / "branch.thrifty").model
    assert isinstance(again, Branch) and KINDS["branch"] is Branch
    for face in ("score", "used", "evaluations", "goes_left"):
        np.testing.assert_array_equal(getattr(again, face)(X), getattr(branch, face)(X))
    np.testing.assert_array_equal(again.walk().scores, branch.walk().scores)


def test_a_blend_of_four_splits_above_ladders_of_averages_fits_into_a_file():
    X = np.random.default_rng(0).normal(size=(30, 4))
    linear = fit_linear(X, X[:, 0], 0, np.zeros(4, dtype=bool), np.arange(4))
    model = Stages.of([Average.of([linear, reading(1)], [0.0])])
    for feature in range(4):
        model = Branch.of(model, reading(2), feature, [0.0], threshold=0.0)
    blend = Blend.of(model, reading(), [0], 0.5)
    again = Blend.build(*blend.state())
    np.testing.assert_array_equal(again.score(X), blend.score(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_frozen_too(copied):
    branch = copied(Branch.of(reading(1), reading(2), 0, [0.0], codes=[3]))
    assert not branch.codes.flags.writeable and not branch.prior.flags.writeable
    assert branch.used(np.full((1, 4), 3.0)).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("feature", 4, "feature is 4, expected a whole number from 0 to 3"),
        ("feature", -1, "feature is -1"),
        ("feature", 1.0, "feature is 1.0"),
        ("feature", True, "feature is True"),
        ("feature", None, "expected the entries"),
        ("threshold", "high", "threshold is 'high', expected a finite number"),
        ("threshold", float("nan"), "expected a finite number"),
        ("threshold", float("inf"), "expected a finite number"),
        ("missing_left", 1, "missing_left is 1, expected true or false"),
        ("codes", np.array([1]), "either a threshold or codes"),
        ("codes", np.array([2, 1]), "codes must be increasing"),
        ("codes", np.array([-1, 1]), "codes must be increasing, from 0 up"),
        ("codes", np.array([0.5]), "codes must be 1-d of int64"),
        ("codes", None, "expected the arrays"),
        ("prior", np.array([np.inf]), "prior must be 1 finite numbers"),
        ("prior", np.array([0.5, 0.5]), "prior must be 1 finite numbers"),
        ("parts", [], "belong to no part"),
        ("parts", {}, "parts of the model are not described"),
        ("extra", 1, "expected the entries"),
        ("2/nodes", np.zeros(1), "belong to no part"),
        ("extra", np.zeros(1), "expected the entries"),
    ],
)
def test_a_damaged_state_is_refused(name, value, message):
    plain, arrays = Branch.of(reading(1), reading(2), 0, [0.0], threshold=1.0).state()
    part = arrays if name in arrays or "/" in name else plain
    if value is None:
        del part[name]
    else:
        part[name] = value
    with pytest.raises(BundleError, match=message):
        Branch.build(plain, arrays)


def test_a_file_with_one_side_is_refused():
    plain, arrays = Branch.of(reading(1), reading(2), 0, [0.0], threshold=1.0).state()
    plain["parts"] = plain["parts"][:1]
    with pytest.raises(BundleError, match="two models are needed, the file has 1"):
        Branch.build(plain, {name: a for name, a in arrays.items() if not name.startswith("1/")})


def test_sides_and_splits_that_do_not_fit_together_are_refused():
    with pytest.raises(DataError, match="sides differ in columns or scores"):
        Branch.of(reading(1), reading(1, d=3), 0, [0.0], threshold=1.0)
    with pytest.raises(DataError, match="either a threshold or codes"):
        Branch.of(reading(1), reading(2), 0, [0.0])
    with pytest.raises(DataError, match="either a threshold or codes"):
        Branch.of(reading(1), reading(2), 0, [0.0], threshold=1.0, codes=[1])
    with pytest.raises(DataError, match="codes must be 1-d of int64"):
        Branch.of(reading(1), reading(2), 0, [0.0], codes=[0.5])
    with pytest.raises(DataError, match="prior must be 1 finite numbers"):
        Branch.of(reading(1), reading(2), 0, [0.5, 0.5], threshold=1.0)
