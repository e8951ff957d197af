"""CSTC: objective, gradients and sweeps against plain references; known answers; bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from thrifty import CostTreeClassifier, CostTreeRegressor, Prices
from thrifty.data import quadrants
from thrifty.errors import DataError
from thrifty.learn.cost_tree.cost_terms import ROUND, CostTerms
from thrifty.learn.cost_tree.fit import initial_tree, sweeps
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.harden import harden
from thrifty.learn.cost_tree.leaf_fit import LeafTolls, Parabola, worth
from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.objective import HalfSquare, Logistic, SoftObjective
from thrifty.learn.cost_tree.simplify import best_threshold
from thrifty.learn.cost_tree.soft_tree import Shape, SoftTree
from thrifty.learn.cost_tree.split_step import SplitProblem
from thrifty.model import LinearTree, OneVsRest

SEEDS = st.integers(0, 2**31 - 1)
# Column 1 has two slots; columns 1 and 2 share the price of a group.
COLUMNS = np.array([0, 1, 1, 2, 3])
PRICES = Prices(
    [1.0, 2.0, 0.0, 4.0], groups={"g": [1, 2]}, shared={"g": 3.0}, evaluation=0.25
).bind(4)
SHAPES = {
    "tree": (Shape.full(2), False),
    "cascade": (Shape.chain(3), True),
    "tree at exit": (Shape.full(2), True),
}


def draw_objective(rng, loss, at_exit=False, n=30, penalty=0.05):
    """A random objective with weights of rows and classes."""
    Z = rng.normal(size=(n, len(COLUMNS)))
    y = np.where(Z[:, 0] * Z[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    weight = rng.random(n)
    weight /= weight.sum()
    terms = CostTerms.of_slots(COLUMNS, PRICES)
    return SoftObjective(
        Z, y, weight, weight * rng.uniform(0.5, 2.0, n), loss, terms, penalty, 0.01, at_exit
    )


def draw_tree(rng, shape):
    """Random parameters."""
    tree = SoftTree.blank(shape, len(COLUMNS))
    tree.weights = rng.normal(size=tree.weights.shape)
    tree.bias, tree.threshold = rng.normal(size=(2, len(shape)))
    tree.slope = np.exp(rng.normal(size=len(shape)))
    return tree


def root(x):
    return np.sqrt(x + ROUND**2) - ROUND


def plain_objective(on, tree):
    """Eq. 3.13 or 3.21, row by row and path by path."""
    shape, total = tree.shape, 0.0
    costs = {}
    for node in range(len(shape)):
        path = np.flatnonzero(shape.ancestry[node])
        squares = np.square(tree.weights[path]).sum(axis=0)
        # own prices of columns 0, 1, 3 (column 2 has none), then the group's
        roots = root(np.array([squares[0], squares[1:3].sum(), squares[4], squares[1:4].sum()]))
        costs[node] = on.penalty * (roots @ [1.0, 2.0, 4.0, 3.0] + 0.25 * len(path))
    for i in range(len(on.Z)):
        reach = {0: 1.0}
        for node in range(len(shape)):
            value = float(on.Z[i] @ tree.weights[node])
            right = 1.0 / (1.0 + np.exp(-tree.slope[node] * (value - tree.threshold[node])))
            sides = {"left": 1.0 - right, "right": right}
            leaving = 0.0
            for side, share in sides.items():
                child = int(getattr(shape, side)[node])
                if child < 0:
                    leaving += reach[node] * share
                else:
                    reach[child] = reach[node] * share
            f, y = value + tree.bias[node], on.y[i]
            squared = isinstance(on.loss, HalfSquare)
            loss = 0.5 * (f - y) ** 2 if squared else np.log1p(np.exp(-y * f))
            total += on.loss_weight[i] * (leaving if on.at_exit else reach[node]) * loss
            total += on.weight[i] * leaving * costs[node]
    norm = on.shrinkage * root(np.square(tree.weights)).sum()
    return total + norm + 0.5 * on.loss.hold * np.square(tree.bias).sum()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("loss", [HalfSquare("sum"), Logistic()], ids=["squared", "logistic"])
def test_the_objective_is_that_of_the_thesis(kind, loss) -> None:
    rng = np.random.default_rng(0)
    shape, at_exit = SHAPES[kind]
    on, tree = draw_objective(rng, loss, at_exit, n=12), draw_tree(rng, shape)
    np.testing.assert_allclose(on.value(tree), plain_objective(on, tree), rtol=1e-10)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("loss", [HalfSquare("sum"), Logistic()], ids=["squared", "logistic"])
def test_gradients_through_all_descendants_equal_finite_differences(kind, loss) -> None:
    rng = np.random.default_rng(1)
    shape, at_exit = SHAPES[kind]
    on, tree = draw_objective(rng, loss, at_exit), draw_tree(rng, shape)
    for node in range(len(shape)):
        if shape.is_leaf(node):
            continue

        def whole(x, node=node):
            moved = tree.copy()
            moved.weights[node], moved.bias[node], moved.threshold[node] = x[:-3], x[-3], x[-2]
            moved.slope[node] = np.exp(x[-1])
            return on.value(moved)

        problem = SplitProblem.of(on, on.linear(tree), tree, node)
        rest = [tree.bias[node], tree.threshold[node], np.log(tree.slope[node])]
        x = np.concatenate([tree.weights[node], rest])
        value, slope = problem.value_and_slope(x, *problem.roots(x))
        steps = 1e-6 * np.eye(len(x))
        due = [(whole(x + step) - whole(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(slope, due, atol=1e-8)
        # The parabolas touch the roots, so both forms have the same value, and lie above them.
        np.testing.assert_allclose(value, problem.exact(x))
        other = x + rng.normal(size=len(x))
        assert problem.value_and_slope(other, *problem.roots(x))[0] >= problem.exact(other)


@pytest.mark.parametrize("loss", [HalfSquare("sum"), Logistic()], ids=["squared", "logistic"])
def test_a_leaf_is_at_the_least_of_its_convex_problem(loss) -> None:
    rng = np.random.default_rng(2)
    on = draw_objective(rng, replace_steps(loss, 30))
    paid = np.array([0.5, 0.0, 0.0, 0.2])
    problem = LeafProblem(on, on.loss_weight, 0.7, paid)
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    found = minimize(
        lambda x: problem.value(x[:-1], x[-1]), np.append(beta, bias), method="Nelder-Mead",
        options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-10},
    )  # fmt: skip
    assert problem.value(beta, bias) <= found.fun + 1e-6


def replace_steps(loss, steps):
    loss.steps = steps
    return loss


def test_a_leaf_without_prices_is_least_squares() -> None:
    rng = np.random.default_rng(3)
    on = replace(draw_objective(rng, HalfSquare("sum"), penalty=0.0), shrinkage=1e-12)
    problem = LeafProblem(on, on.loss_weight, 1.0, np.zeros(len(on.tolls)))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    scale = np.sqrt(on.loss_weight)[:, np.newaxis]
    ones = np.column_stack([on.Z, np.ones(len(on.Z))])
    due = np.linalg.lstsq(scale * ones, scale[:, 0] * on.y, rcond=None)[0]
    np.testing.assert_allclose(np.append(beta, bias), due, atol=1e-6)


@settings(max_examples=6, deadline=None)
@given(SEEDS, st.sampled_from(sorted(SHAPES)), st.booleans(), st.sampled_from([0.0, 1e-3, 0.05]))
def test_the_objective_never_rises_between_sweeps(seed, kind, squared, penalty) -> None:
    rng = np.random.default_rng(seed)
    shape, at_exit = SHAPES[kind]
    loss = HalfSquare("sum") if squared else Logistic()
    on = draw_objective(rng, loss, at_exit, n=25, penalty=penalty)
    for tree in (initial_tree(on, shape), draw_tree(rng, shape)):
        values = np.array(sweeps(on, tree, 3))
        assert np.all(np.diff(values) <= 1e-9 * values[:-1])
        assert values[-1] < values[0]
        assert np.isfinite(tree.weights).all()


@given(SEEDS)
def test_the_best_threshold_is_that_of_a_search(seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    values, gap = rng.integers(0, 5, n).astype(float), rng.normal(size=n)
    threshold, least = best_threshold(values, gap)
    np.testing.assert_allclose(gap[values > threshold].sum(), least, atol=1e-12)
    trials = [values.min() - 1, *(np.unique(values))]
    assert least <= min(gap[values > trial].sum() for trial in trials) + 1e-12


@given(SEEDS)
def test_the_first_input_to_go_is_that_of_refitting_without_each(seed) -> None:
    rng = np.random.default_rng(seed)
    on = replace(draw_objective(rng, HalfSquare("sum"), penalty=0.0), shrinkage=0.0)
    problem = LeafProblem(on, on.loss_weight, 1.0, np.zeros(len(on.tolls)))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    losses = []
    for unit in np.unique(COLUMNS):
        rest = unit != COLUMNS
        part = replace(on, Z=on.Z[:, rest], terms=on.terms.free(np.flatnonzero(rest)))
        less = LeafProblem(part, on.loss_weight, 1.0, np.empty(0))
        losses.append(less.value(*solve_leaf(less, np.zeros(rest.sum()), 0.0)))
    # A toll between the cheapest and the next: one unit alone must go.
    rise = np.array(losses) - problem.value(beta, bias)
    order = np.argsort(rise)
    toll = rise[order[0]] + min(1e-4, 0.5 * (rise[order[1]] - rise[order[0]]))
    members = (np.unique(COLUMNS)[:, np.newaxis] == COLUMNS).astype(float)
    tolls = LeafTolls(np.full(4, toll), members, np.zeros(4), members.T > 0)
    kept = worth(Parabola(problem, beta, bias), tolls)
    assert not kept[np.unique(COLUMNS)[order[0]] == COLUMNS].any()
    paid = LeafTolls(np.full(4, toll), members, np.ones(4), members.T > 0)
    # What the way pays anyway saves nothing.
    assert worth(Parabola(problem, beta, bias), paid).all()


@pytest.mark.parametrize("kind", SHAPES)
def test_hardening_lowers_the_exact_objective(kind) -> None:
    rng = np.random.default_rng(5)
    shape, at_exit = SHAPES[kind]
    on = draw_objective(rng, Logistic(), at_exit, n=200, penalty=0.01)
    soft = initial_tree(on, shape)
    sweeps(on, soft, 3)
    hard = harden(on, soft)
    assert hard.value(on) < HardTree.of(soft).value(on)
    assert len(hard.shape) <= len(shape)


@pytest.mark.parametrize("seed", range(3))
def test_the_quadrants_are_solved_at_the_optimal_bill(seed) -> None:
    train, test = quadrants(800, random_state=seed), quadrants(800, random_state=50 + seed)
    model = CostTreeRegressor(train.prices, penalty=0.01, max_depth=2, random_state=seed)
    model.fit(train.X, train.y)
    assert np.mean((model.predict(test.X) - test.y) ** 2) < 1e-4
    assert np.all(model.bill(test.X) == 12.0)


def test_the_frozen_tree_has_the_exact_objective_that_was_learnt() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = 3.0 + 2.0 * np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + X[:, 0]
    model = CostTreeRegressor(Prices([1.0, 5.0, 5.0]), penalty=0.02, max_depth=1).fit(X, y)
    mean = CostTreeRegressor(Prices([1.0, 5.0, 5.0]), penalty=100.0).fit(X, y)

    def exact(fitted):
        loss = 0.5 * np.mean((fitted.predict(X) - y) ** 2)
        return loss + 0.02 * fitted.bill(X).mean()

    assert exact(model) < 0.5 * exact(mean)
    np.testing.assert_allclose(mean.predict(X), y.mean())
    assert mean.bill(X).max() == 0.0


@pytest.mark.parametrize("base", ["raw", "boosted"])
def test_several_classes_have_a_tree_each(base) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.1 * X[:, 1], [-0.5, 0.5])]
    model = CostTreeClassifier(base=base, max_depth=1, n_estimators=10, penalty=0.01).fit(X, y)
    assert isinstance(model.model_, OneVsRest)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_trees_as_inputs_are_evaluated_once_and_paid() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 3))
    y = np.abs(X[:, 0]) > 0.7  # no linear model of the columns sees it
    prices = Prices([1.0, 1.0, 1.0], evaluation=0.5)
    model = CostTreeClassifier(
        prices, penalty=0.001, max_depth=1, base="boosted", n_estimators=20
    ).fit(X, y)
    assert model.score(X, y) > 0.95
    assert isinstance(model.model_, LinearTree)
    trees = model.predictor_.evaluations(X)
    np.testing.assert_allclose(model.bill(X), model.used(X).sum(axis=1) + 0.5 * trees)
    assert 0 < trees.max() <= 20
    plain = CostTreeClassifier(prices, penalty=0.001, max_depth=0).fit(X, y)
    assert plain.score(X, y) < 0.7


def test_a_shared_price_keeps_a_whole_group_out() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * X[:, 2]
    members = {"panel": [1, 2]}

    def used(shared):
        prices = Prices([1.0, 0.1, 0.1], groups=members, shared={"panel": shared})
        model = CostTreeRegressor(prices, penalty=0.05, max_depth=0).fit(X, y)
        return model.used(X).any(axis=0).tolist()

    assert used(0.0) == [True, True, True]  # each member alone is not worth a dear group
    assert used(1.0) == [True, True, True]
    assert used(10.0) == [True, False, False]


def test_class_weights_count_in_the_answers() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600) > 1.5
    plain = CostTreeClassifier(max_depth=0).fit(X, y)
    balanced = CostTreeClassifier(max_depth=0, class_weight="balanced").fit(X, y)
    assert plain.predict(X).mean() < 0.7 * y.mean()
    assert balanced.predict(X)[y].mean() > 0.7


def test_a_row_of_weight_two_is_two_rows() -> None:
    rng = np.random.default_rng(11)
    X, weight = rng.normal(size=(120, 2)), rng.integers(1, 3, 120)
    y = X[:, 0] * (X[:, 1] > 0) + 0.1 * rng.normal(size=120)
    settings = {"penalty": 0.01, "max_depth": 1}
    one = CostTreeRegressor(**settings).fit(X, y, sample_weight=weight)
    two = CostTreeRegressor(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-4)


def test_validation_rows_cut_branches_that_are_noise() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 6))
    y = X[:, 0] + rng.normal(size=90)
    held = rng.normal(size=(400, 6))
    settings = {"max_depth": 2, "max_sweeps": 3}
    full = CostTreeRegressor(**settings).fit(X, y)
    cut = CostTreeRegressor(**settings).fit(X, y, validation=(held, held[:, 0]))
    assert len(cut.model_.left) < len(full.model_.left)
    assert cut.score(held, held[:, 0]) > full.score(held, held[:, 0])


def test_a_path_falls_in_penalty_and_starts_with_the_constant() -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(300, 4))
    y = X @ [2.0, 1.0, 0.5, 0.1] > 0
    train, held = slice(0, 200), slice(200, 300)
    model = CostTreeClassifier(max_depth=1, max_sweeps=2)
    points = list(model.path(X[train], y[train], validation=(X[held], y[held])))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0
    assert points[-1].bill > 2.0 and points[-1].quality > 0.85
    chosen = list(
        model.path(X[train], y[train], validation=(X[held], y[held]), penalties=[0.5, 0.0])
    )
    assert [point.knob.get("penalty") for point in chosen] == [None, 0.5, 0.0]
    assert chosen[1].bill == 0.0


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_constant_and_duplicate_columns_make_no_trouble(loss) -> None:
    rng = np.random.default_rng(14)
    x = rng.normal(size=(80, 1))
    X = np.hstack([x, x, x, np.ones((80, 1)), np.full((80, 1), 1e-300)])
    y = x[:, 0] > 0
    model = CostTreeClassifier(max_depth=2, loss=loss, shrinkage=0.0).fit(X, y)
    assert np.isfinite(model.model_.weights).all() and np.isfinite(model.model_.bias).all()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_few_rows_and_pure_nodes_keep_weights_finite(loss) -> None:
    rng = np.random.default_rng(15)
    X = rng.normal(size=(7, 20))  # more columns than rows, more leaves than rows
    y = np.arange(7) % 2 == 0
    model = CostTreeClassifier(max_depth=3, loss=loss, max_sweeps=2).fit(X, y)
    for part in (model.model_.route, model.model_.weights, model.model_.bias):
        assert np.isfinite(part).all()
    assert np.isfinite(model.predict_proba(rng.normal(size=(50, 20)) * 100)).all()


def test_a_target_that_never_varies_is_answered_for_nothing() -> None:
    X = np.random.default_rng(16).normal(size=(20, 2))
    model = CostTreeRegressor(max_depth=1).fit(X, np.full(20, 7.0))
    np.testing.assert_array_equal(model.predict(X), np.full(20, 7.0))
    assert model.bill(X).max() == 0.0


def test_bad_input_is_refused_clearly() -> None:
    X = np.random.default_rng(17).normal(size=(20, 2))
    y = X[:, 0]
    with pytest.raises(DataError, match="no column varies"):
        CostTreeRegressor().fit(np.ones((20, 2)), y)
    with pytest.raises(DataError, match="give the table and its target"):
        CostTreeRegressor().fit(X, y, validation=(X,))
    with pytest.raises(DataError, match="numbers from 0 up"):
        list(CostTreeRegressor().path(X, y, validation=(X, y), penalties=[-1.0]))
    with pytest.raises(ValueError, match="max_depth"):
        CostTreeRegressor(max_depth=9).fit(X, y)
    with pytest.raises(DataError, match="every class of the target has weight 0"):
        CostTreeClassifier(class_weight={False: 0.0, True: 0.0}).fit(X, y > 0)
