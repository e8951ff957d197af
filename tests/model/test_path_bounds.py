"""What single rows may read at most: bounds that no row exceeds, and that are not too loose."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from face_laws import rows_stay_within_bounds
from forests import Shape, draw_forest, draw_table
from hypothesis import given
from hypothesis import strategies as st

from thrifty.learn.linear import fit_linear
from thrifty.model import (
    Average,
    Blend,
    Branch,
    Forest,
    Gate,
    LeafGate,
    OneVsRest,
    ShortCircuit,
    Stages,
)
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.path_bounds import MAX_PATHS, PathBounds, all_of

SEEDS = st.integers(0, 2**32 - 1)
D = 7
NUMBERS = np.zeros(D, dtype=bool)


def draw_model(rng, depth=3):
    """Draw a model of two classes: a forest, a linear model, or a composite of such models."""
    kinds = ["forest", "tree", "short circuit", "linear"]
    kinds += ["average", "branch", "stages", "blend", "gate", "leaf gate"] if depth else []
    kind = rng.choice(kinds)
    shape = Shape.of("sigmoid", trees=1 if kind == "tree" else 4, depth=3, categorical=0)
    forest = draw_forest(rng, shape)
    if kind in ("forest", "tree"):
        return forest
    if kind == "short circuit":
        return ShortCircuit.of(forest)
    if kind == "linear":
        X, features = draw_table(rng, shape, rows=20), np.flatnonzero(rng.random(D) < 0.4)
        return fit_linear(X, rng.integers(2, size=20), 2, NUMBERS, features)
    first, second = (draw_model(rng, depth - 1) for _ in range(2))
    feature, half = int(rng.integers(D)), [0.5, 0.5]
    threshold = float(rng.choice([0.3, -np.inf, np.inf]))
    if kind == "average":
        return Average.of([first, second], half)
    if kind == "branch":
        return Branch.of(first, second, feature, half, threshold=2.0)
    if kind == "stages":
        return Stages.of([first, second], thresholds=[threshold, 0.0])
    if kind == "blend":
        return Blend.of(first, second, [feature], float(rng.choice([0.0, 0.5, 1.0])))
    if kind == "gate":
        values = draw_forest(rng, Shape.of("sum", trees=2, depth=2, categorical=0))
        return Gate.of(values, first, second, threshold - 0.3)
    gate = LeafGate.on(forest, rng.normal(size=len(forest.nodes)), 0.0, -1.0)
    return Gate.of(gate, forest, first, 0.0)


@given(SEEDS)
def test_no_row_exceeds_all_bounds_of_its_model(seed):
    rng = np.random.default_rng(seed)
    model = draw_model(rng)
    X = draw_table(rng, Shape(categorical=0), rows=60, missing=0.2)
    rows_stay_within_bounds(model, X)


@given(SEEDS)
def test_one_model_per_class_reads_a_path_of_each(seed):
    rng = np.random.default_rng(seed)
    model = OneVsRest.of([draw_model(rng, depth=1) for _ in range(3)])
    rows_stay_within_bounds(model, draw_table(rng, Shape(categorical=0), rows=60, missing=0.2))


def reading(*features, evaluations=0, d=D):
    """Return a constant that every row buys some features for, with so many trees."""
    trees = draw_forest(np.random.default_rng(0), Shape(trees=evaluations, depth=0, features=d))
    return Average.of([trees], [0.0], reads=np.isin(np.arange(d), features))


def paths(model):
    """Return the bounds as a set of (features, evaluations)."""
    bounds = model.path_bounds()
    sets = [tuple(np.flatnonzero(row).tolist()) for row in bounds.used]
    return set(zip(sets, bounds.evaluations.tolist(), strict=True))


# --- each kind of model ------------------------------------------------------


def test_an_average_has_one_path():
    assert paths(reading(1, 4, evaluations=3)) == {((1, 4), 3)}


def test_a_branch_has_the_paths_of_both_sides():
    branch = Branch.of(reading(1, evaluations=2), reading(2, 3), 0, [0.0], threshold=0.0)
    assert paths(branch) == {((0, 1), 2), ((0, 2, 3), 0)}


def test_a_side_within_the_other_is_no_path_of_its_own():
    branch = Branch.of(reading(1), reading(0, 1, 2), 0, [0.0], threshold=0.0)
    assert paths(branch) == {((0, 1, 2), 0)}


def test_a_ladder_reads_a_path_of_every_rung():
    low, high = reading(1, evaluations=1), reading(2, evaluations=1)
    split = Branch.of(reading(3), reading(4), 0, [0.0], threshold=0.0)
    assert paths(Stages.of([low, split, high])) == {((0, 1, 2, 3), 2), ((0, 1, 2, 4), 2)}


def test_rungs_out_of_reach_are_not_read():
    ladder = Stages.of([reading(1), reading(2)], thresholds=[np.inf, 0.0])
    assert paths(ladder) == {((1,), 0)}


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, {((1, 5), 0), ((2, 5), 0)}), (0.0, {((1, 5), 0)}), (1.0, {((2, 5), 0)})],
)
def test_a_blend_reads_its_keys_and_one_model_within_reach(share, expected):
    assert paths(Blend.of(reading(1), reading(2), [5], share)) == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.5, {((0, 1), 0), ((0, 2), 0)}), (np.inf, {((1,), 0)}), (-np.inf, {((2,), 0)})],
)
def test_a_gate_reads_the_gate_and_one_of_two_models(threshold, expected):
    assert paths(Gate.of(reading(0), reading(1), reading(2), threshold)) == expected


def test_a_single_tree_has_a_path_for_each_leaf():
    nodes, none = empty_nodes(7), np.zeros(1, dtype=np.int64)
    nodes[0], nodes[1], nodes[2] = (0.0, 1, 0), (0.0, 3, 2), (0.0, 5, 1)
    tree = Forest(nodes, np.zeros((7, 1)), none, none, np.zeros(1), "sum", D)
    assert paths(tree) == {((0, 1), 1), ((0, 2), 1)}


def test_several_trees_are_bounded_by_all_that_they_read():
    forest = draw_forest(np.random.default_rng(1), Shape(trees=3))
    assert paths(forest) == {(tuple(forest.features.tolist()), 3)}


# --- many paths --------------------------------------------------------------


def chain(n, first=0):
    """Return n paths, each of which reads one feature of its own."""
    used = np.zeros((n, 400), dtype=bool)
    used[np.arange(n), first + np.arange(n)] = True
    return PathBounds.of(used, np.arange(n))


def test_too_many_sides_are_merged_each_by_itself():
    bounds = chain(MAX_PATHS).either(chain(2, first=100))
    assert bounds.used.sum(axis=1).tolist() in ([MAX_PATHS, 2], [2, MAX_PATHS])
    assert sorted(bounds.evaluations.tolist()) == [1, MAX_PATHS - 1]


def test_too_many_combinations_keep_the_paths_of_one_model():
    bounds = chain(40).both(chain(3, first=100))
    assert len(bounds.used) == 40
    assert set(bounds.used.sum(axis=1).tolist()) == {4}
    assert bounds.evaluations.max() == 39 + 2


def test_far_too_many_paths_are_one():
    used = np.eye(900, dtype=bool)
    bounds = PathBounds.of(used, np.ones(900, dtype=np.int64))
    assert bounds.used.shape == (1, 900) and bounds.used.all()
    assert bounds.evaluations.tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 3)), min_size=1, max_size=80))
def test_every_path_lies_within_one_that_is_kept(given_paths):
    sets, evaluations = (np.array(column) for column in zip(*given_paths, strict=True))
    used = (sets[:, np.newaxis] >> np.arange(8)) & 1 == 1
    bounds = PathBounds.of(used, evaluations)
    assert len(bounds.used) <= MAX_PATHS
    within = ~(used[:, np.newaxis] & ~bounds.used).any(axis=2)
    assert (within & (evaluations[:, np.newaxis] <= bounds.evaluations)).any(axis=1).all()


def test_the_order_of_the_models_decides_nothing():
    bounds = [chain(n, first=50 * n).merged() if n > 2 else chain(n) for n in (1, 2, 3)]
    one, other = all_of(bounds), all_of(reversed(bounds))
    assert reduce(np.logical_or, one.used).tolist() == reduce(np.logical_or, other.used).tolist()
    assert sorted(one.evaluations.tolist()) == sorted(other.evaluations.tolist())
