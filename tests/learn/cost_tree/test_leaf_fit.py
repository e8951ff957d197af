"""Fitting outputs, and eliminating the inputs of a leaf that do not pay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from soft_tree_cases import COLUMNS, LOSSES, random_objective, random_tree

from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.leaf_fit import (
    LeafPrices,
    QuadraticModel,
    fit_nodes,
    inputs_worth_keeping,
    polish,
)
from thrifty.learn.cost_tree.leaf_step import LeafProblem, solve_leaf
from thrifty.learn.cost_tree.soft_tree import TreeShape


@given(st.integers(0, 2**31 - 1))
def test_the_first_input_to_go_is_that_of_refitting_without_each(seed) -> None:
    rng = np.random.default_rng(seed)
    on = replace(random_objective(rng, LOSSES["squared"], penalty=0.0), shrinkage=0.0)
    problem = LeafProblem(on, on.loss_weight, 1.0, np.zeros(len(on.weighted_prices)))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    losses = []
    for unit in np.unique(COLUMNS):
        rest = unit != COLUMNS
        part = replace(on, Z=on.Z[:, rest], terms=on.terms.without_prices(np.flatnonzero(rest)))
        less = LeafProblem(part, on.loss_weight, 1.0, np.empty(0))
        losses.append(less.value(*solve_leaf(less, np.zeros(rest.sum()), 0.0)))
    # A price between the smallest and the next increase of the loss: one unit alone must go.
    increase = np.array(losses) - problem.value(beta, bias)
    order = np.argsort(increase)
    price = increase[order[0]] + min(1e-4, 0.5 * (increase[order[1]] - increase[order[0]]))
    members = (np.unique(COLUMNS)[:, np.newaxis] == COLUMNS).astype(float)
    prices = LeafPrices(np.full(4, price), members, np.zeros(4), members.T > 0)
    kept = inputs_worth_keeping(QuadraticModel(problem, beta, bias), prices)
    assert not kept[np.unique(COLUMNS)[order[0]] == COLUMNS].any()
    # Dropping what the path pays for anyway saves nothing.
    paid = LeafPrices(np.full(4, price), members, np.ones(4), members.T > 0)
    assert inputs_worth_keeping(QuadraticModel(problem, beta, bias), paid).all()


def test_a_quadratic_model_without_an_input_is_least_squares_without_it() -> None:
    rng = np.random.default_rng(0)
    on = replace(random_objective(rng, LOSSES["squared"], penalty=0.0), shrinkage=0.0)
    problem = LeafProblem(on, on.loss_weight, 1.0, np.zeros(len(on.weighted_prices)))
    beta, bias = solve_leaf(problem, np.zeros(5), 0.0)
    model = QuadraticModel(problem, beta, bias)
    dropped = np.array([1, 3])
    increase = model.loss_increase(dropped)
    model.drop(dropped)
    scale = np.sqrt(on.loss_weight)
    kept = np.column_stack([on.Z[:, [0, 2, 4]], np.ones(len(on.Z))]) * scale[:, np.newaxis]
    expected = np.linalg.lstsq(kept, scale * on.y, rcond=None)[0]
    np.testing.assert_allclose(model.solution[[0, 2, 4, 5]], expected, atol=1e-6)
    assert model.solution[dropped].tolist() == [0.0, 0.0]
    new = problem.value(model.solution[:-1], model.solution[-1])
    np.testing.assert_allclose(increase, new - problem.value(beta, bias), rtol=1e-5)


def test_a_leaf_drops_all_inputs_if_they_cost_more_than_the_loss() -> None:
    rng = np.random.default_rng(1)
    on = random_objective(rng, LOSSES["logistic"], penalty=10.0)
    tree = HardTree.of(random_tree(rng, TreeShape.full(0)))
    fit_nodes(on, tree)
    assert not tree.uses.any()


def test_polishing_minimizes_the_loss_of_the_rows_of_each_leaf() -> None:
    rng = np.random.default_rng(2)
    on = replace(random_objective(rng, LOSSES["squared"], n=80), shrinkage=0.0)
    tree = HardTree.of(random_tree(rng, TreeShape.full(1)))
    polish(on, tree)
    for node, rows in enumerate(tree.rows_at_nodes(on.Z)):
        scale = np.sqrt(on.loss_weight[rows])
        A = np.column_stack([on.Z[rows], np.ones(len(rows))]) * scale[:, np.newaxis]
        expected = np.linalg.lstsq(A, scale * on.y[rows], rcond=None)[0]
        np.testing.assert_allclose(tree.weights[node], expected[:-1], atol=1e-5)
