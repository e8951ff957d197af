"""Forests score tables as a plain descent does."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from forests import LINKS, Shape, draw_forest, draw_table, leaves_and_used

from thrifty.errors import BundleError
from thrifty.kernels.threads import threads
from thrifty.model import KINDS, Forest
from thrifty.model.base import pack, unpack
from thrifty.model.forest import forest as forest_module
from thrifty.model.forest.forest import ARRAYS
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.links import apply_link

SHAPES = {
    **{link: Shape.of(link) for link in LINKS},
    "two-class hinge": Shape.of("hinge", outputs=1),
    "stumps": Shape.of("sum", depth=1),
    "only leaves": Shape.of("sigmoid", depth=0),
    "no trees": Shape.of("softmax", trees=0),
    "one feature": Shape.of("sum", features=1, categorical=0),
    "only categories": Shape.of("sum", features=4, categorical=4),
    "65 features": Shape.of("sum", features=65, trees=60, categorical=3),
    "200 features": Shape.of("softmax", features=200, trees=90, categorical=20),
}


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def shape(request):
    return SHAPES[request.param]


def results(forest, X):
    """Return what all methods of a forest that take a table return for X."""
    return {
        "score": forest.score(X),
        "raw": forest.raw(X),
        "used": forest.used(X),
        "leaves": forest.leaves(X),
        "later leaves": forest.leaves(X, first=min(3, len(forest.roots))),
        "evaluations": forest.evaluations(X),
        "score again": forest.score_and_used(X)[0],
        "used again": forest.score_and_used(X)[1],
    }


def assert_same(a, b):
    """Assert that two dicts of `results` are equal to the bit."""
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leaves_and_used_features_equal_a_plain_descent(shape, dtype, missing):
    rng = np.random.default_rng(1)
    forest = draw_forest(rng, shape)
    X = draw_table(rng, shape, dtype=dtype, missing=missing)
    leaves, used = leaves_and_used(forest, X)
    np.testing.assert_array_equal(forest.leaves(X), leaves)
    np.testing.assert_array_equal(forest.leaves(X, first=5), leaves[5:])
    np.testing.assert_array_equal(forest.used(X), used)


def test_scores_are_the_linked_sums_of_the_leaves(shape):
    rng = np.random.default_rng(2)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape)
    leaves, _ = leaves_and_used(forest, X)
    raw = np.tile(forest.base, (len(X), 1))
    for tree, leaf in enumerate(leaves):
        values = forest.values[leaf]
        if shape.link == "vote":
            raw[np.arange(len(X)), values.argmax(axis=1)] += 1
        elif shape.link == "mean":
            raw += values
        else:
            raw[:, forest.outputs[tree]] += values[:, 0]
    if shape.link in ("mean", "vote"):
        raw /= shape.trees
    np.testing.assert_allclose(forest.raw(X), raw, rtol=1e-12)
    np.testing.assert_allclose(forest.score(X), apply_link(shape.link, raw), rtol=1e-12)


def test_enough_features_are_used_to_need_several_words():
    for name, least in (("65 features", 65), ("200 features", 129)):
        forest = draw_forest(np.random.default_rng(1), SHAPES[name])
        assert len(forest.features) >= least
        assert forest.paths.shape[1] == -(-len(forest.features) // 64)


@pytest.mark.parametrize("rows", range(10))
def test_any_number_of_rows_is_scored(rows):
    rng = np.random.default_rng(3)
    forest, X = draw_forest(rng, Shape()), draw_table(rng, Shape(), rows=9)
    everything, some = results(forest, X), results(forest, X[:rows])
    for name, values in some.items():
        along = values.T if "leaves" in name else values
        whole = everything[name].T if "leaves" in name else everything[name]
        np.testing.assert_array_equal(along, whole[:rows], err_msg=name)


def test_a_row_alone_has_the_scores_that_it_has_in_a_batch(shape):
    rng = np.random.default_rng(4)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape)
    one_by_one = np.concatenate([forest.score(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_array_equal(one_by_one, forest.score(X))


def test_results_do_not_depend_on_threads_or_memory_order(monkeypatch):
    shape = Shape.of("softmax", features=70, trees=40)
    rng = np.random.default_rng(5)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape, rows=101)
    plain = results(forest, X)
    assert_same(plain, results(forest, np.asfortranarray(X)))
    assert_same(plain, results(forest, np.hstack([X, X])[:, : X.shape[1]]))
    monkeypatch.setattr(forest_module, "MAX_ROWS", 10)
    with threads(3):
        assert_same(plain, results(forest, X))


def test_the_table_is_not_written_to():
    rng = np.random.default_rng(6)
    forest, X = draw_forest(rng, Shape()), draw_table(rng, Shape())
    before = X.copy()
    results(forest, X)
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable
    X.setflags(write=False)
    forest.score(X)


@pytest.mark.parametrize("trees", [0, 1, 5, 12, 99])
def test_a_prefix_is_the_forest_of_the_first_trees(trees, shape):
    rng = np.random.default_rng(7)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape)
    prefix = forest.prefix(trees)
    kept = min(trees, shape.trees)
    assert prefix.evaluations(X).tolist() == [kept] * len(X)
    np.testing.assert_array_equal(prefix.leaves(X), forest.leaves(X)[:kept])
    np.testing.assert_array_equal(prefix.used(X), leaves_and_used(prefix, X)[1])
    rebuilt = Forest.build(*prefix.state())
    assert_same(results(prefix, X), results(rebuilt, X))


@pytest.mark.parametrize("count", [1, 3])
def test_an_average_outputs_the_mean_and_reads_what_any_of_them_reads(count, shape):
    rng = np.random.default_rng(7)
    forests, X = [draw_forest(rng, shape) for _ in range(count)], draw_table(rng, shape)
    average = Forest.average(forests)
    raw = np.mean([forest.raw(X) for forest in forests], axis=0)
    np.testing.assert_allclose(average.raw(X), raw, atol=1e-12)
    if shape.link not in ("vote", "hinge"):
        np.testing.assert_allclose(average.score(X), apply_link(shape.link, raw), atol=1e-12)
    np.testing.assert_array_equal(
        average.used(X), np.any([forest.used(X) for forest in forests], axis=0)
    )
    assert average.link == shape.link and average.n_features == shape.features
    assert_same(results(average, X), results(Forest.build(*average.state()), X))


def test_an_average_of_forests_of_different_sizes_is_the_mean():
    rng = np.random.default_rng(3)
    shapes = [Shape.of("softmax", trees=trees) for trees in (0, 3, 9)]
    forests, X = [draw_forest(rng, each) for each in shapes], draw_table(rng, shapes[0])
    mean = np.mean([forest.raw(X) for forest in forests], axis=0)
    np.testing.assert_allclose(Forest.average(forests).raw(X), mean, atol=1e-12)


def test_a_constant_forest_predicts_its_base_and_reads_nothing():
    forest = Forest.constant([2.5], "sum", n_features=3)
    X = np.full((4, 3), np.nan)
    assert forest.score(X).tolist() == [2.5] * 4
    assert not forest.used(X).any()
    assert forest.evaluations(X).tolist() == [0] * 4
    assert len(forest.features) == 0


@pytest.mark.parametrize("link", LINKS)
def test_a_constant_forest_of_any_link_can_be_built_again_from_its_state(link):
    forest = Forest.constant(np.full(Shape.of(link).outputs, 0.25), link, n_features=2)
    X = np.zeros((3, 2))
    np.testing.assert_array_equal(Forest.build(*forest.state()).score(X), forest.score(X))


def test_features_are_those_that_a_split_reads():
    nodes = empty_nodes(3)
    nodes[0] = (1.0, 1, 4)
    forest = Forest(nodes, np.zeros((3, 1)), np.zeros(1, np.int64), np.zeros(1, np.int64),
                    np.zeros(1), "sum", 9)  # fmt: skip
    assert forest.features.tolist() == [4]


@pytest.mark.parametrize("X", [np.zeros((3, 6)), np.zeros((3, 8)), np.zeros(7)], ids=str)
def test_a_table_of_the_wrong_width_is_refused(X):
    forest = draw_forest(np.random.default_rng(0), Shape())
    for method in (forest.score, forest.used, forest.raw, forest.score_and_used):
        with pytest.raises(ValueError, match="the model reads 7 columns, got shape"):
            method(X)


def test_the_arrays_are_read_only(shape):
    forest = draw_forest(np.random.default_rng(0), shape)
    for name in ARRAYS:
        array = getattr(forest, name)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        forest.link = "mean"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_the_arrays_of_a_copy_are_read_only(again):
    forest = again(draw_forest(np.random.default_rng(0), Shape()))
    assert not any(getattr(forest, name).flags.writeable for name in ARRAYS)


def test_a_copy_predicts_what_the_original_does(shape):
    rng = np.random.default_rng(8)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape)
    expected = results(forest, X)
    for again in (copy.deepcopy(forest), pickle.loads(pickle.dumps(forest))):
        assert_same(expected, results(Forest.build(*again.state()), X))


def test_state_and_build_are_inverse(shape):
    rng = np.random.default_rng(9)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape)
    plain, arrays = forest.state()
    again = KINDS["forest"].build(copy.deepcopy(plain), {k: v.copy() for k, v in arrays.items()})
    assert_same(results(forest, X), results(again, X))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(forest, name))


@pytest.mark.parametrize("link", [link for link in LINKS if link != "sum"])
def test_probabilities_are_between_0_and_1_and_sum_to_1(link):
    rng = np.random.default_rng(10)
    shape = Shape.of(link)
    forest = draw_forest(rng, shape)
    if link == "mean":
        shares = np.abs(forest.values)
        forest = replace(forest, values=shares / shares.sum(axis=1, keepdims=True))
    scores = forest.score(draw_table(rng, shape))
    assert scores.shape == (37, max(2, shape.outputs))
    assert np.all((scores >= 0) & (scores <= 1))
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)


def test_unpacked_paths_are_the_features_read_on_the_way_to_a_leaf(shape):
    rng = np.random.default_rng(11)
    forest, X = draw_forest(rng, shape), draw_table(rng, shape, rows=1)
    used = np.zeros((1, shape.features), dtype=bool)
    for leaf in forest.leaves(X)[:, 0]:
        used |= forest.unpack_paths(forest.paths[[leaf]])
    np.testing.assert_array_equal(used, forest.used(X))


def test_the_support_is_what_any_row_can_touch(shape):
    rng = np.random.default_rng(3)
    forest = draw_forest(rng, shape)
    used = forest.used(draw_table(rng, shape, rows=300))
    assert not (used & ~forest.support).any()
    assert forest.support.sum() == len(forest.features)
    assert (forest.evaluations(np.zeros((1, forest.n_features))) == forest.most_evaluations).all()


@pytest.mark.parametrize(
    ("values", "base", "is_sound"),
    [
        ([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], True),
        ([[0.25, 0.25], [0.5, 0.0], [0.0, 0.5]], [0.25, 0.25], True),
        ([[0.5, 0.5], [1.0, 0.0], [0.0, 0.9]], [0.0, 0.0], False),
        ([[0.5, 0.5], [2.0, -1.0], [0.0, 1.0]], [0.0, 0.0], False),
        ([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], False),
    ],
)
def test_averages_are_class_probabilities(values, base, is_sound):
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, 0)
    zero = np.array([0])
    forest = Forest(nodes, np.array(values), zero, zero, np.array(base), "mean", n_features=1)
    assert (not list(forest.probability_problems())) == is_sound
    plains, arrays = pack([forest])
    assert unpack(plains, arrays, raw=[0])
    if not is_sound:
        with pytest.raises(BundleError, match="class shares"):
            unpack(plains, arrays)
