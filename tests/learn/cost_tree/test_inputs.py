"""Inputs of the nodes: columns and boosted trees, and the frozen trees on them."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import random_tree

from thrifty import Prices
from thrifty.learn.cost_tree.hard_tree import HardTree
from thrifty.learn.cost_tree.inputs import (
    ColumnInputs,
    OutputScale,
    TreeInputs,
    features_read,
    grow_base_trees,
)
from thrifty.learn.cost_tree.soft_tree import TreeShape
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.losses import SquaredLoss


@pytest.fixture
def train():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    prices = Prices([1.0, 100.0, 1.0, 1.0, 1.0])
    return TrainingSet.read("regression", X, np.abs(X[:, 0]) + 2.0 * X[:, 1], prices)


@pytest.fixture
def base_trees(train):
    return grow_base_trees(train, SquaredLoss(train.y, None), 20, random_state=0)


def test_columns_are_standardized(train) -> None:
    Z = ColumnInputs(train).transform(train.X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1.0)


def test_base_trees_read_cheap_features_first(base_trees) -> None:
    reads = features_read(base_trees)
    assert reads.shape == (5, len(base_trees.roots))
    first_use = [np.argmax(row) if row.any() else np.inf for row in reads]
    assert first_use[0] < first_use[1] < np.inf


def test_base_trees_buy_a_few_features_at_a_time() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    train = TrainingSet.read("regression", X, X @ np.arange(1.0, 9.0), Prices([1.0] * 8))
    trees = grow_base_trees(train, SquaredLoss(train.y, None), 40, random_state=0)
    bought = np.maximum.accumulate(features_read(trees), axis=1).sum(axis=0)
    assert bought[-1] == 8
    assert len(set(bought.tolist())) >= 6


@pytest.mark.parametrize("trees", [1, 3, 25])
def test_there_are_as_many_base_trees_as_asked_for(train, trees) -> None:
    grown = grow_base_trees(train, SquaredLoss(train.y, None), trees, random_state=0)
    assert len(grown.roots) == trees


@pytest.mark.parametrize("base", ["raw", "boosted"])
def test_a_frozen_tree_predicts_what_the_hard_tree_does(train, base_trees, base) -> None:
    inputs = ColumnInputs(train) if base == "raw" else TreeInputs(base_trees, train)
    Z = inputs.transform(train.X)
    soft = random_tree(np.random.default_rng(1), TreeShape.full(2))
    soft.weights = np.random.default_rng(2).normal(size=(7, Z.shape[1]))
    tree = HardTree.of(soft)
    frozen = inputs.freeze(tree, "sum", OutputScale(2.0, 5.0))
    nodes = tree.exit_nodes(Z, np.arange(len(Z)), 0)
    outputs = np.einsum("ij,ij->i", Z, tree.weights[nodes]) + tree.bias[nodes]
    np.testing.assert_allclose(frozen.score(train.X), 2.0 * outputs + 5.0)
