"""Inputs of linear stages, and the cascades that are made of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from thrifty import Prices
from thrifty.learn.baselines import AndOrClassifier, CronusClassifier
from thrifty.learn.baselines.boosted import BoostingSettings
from thrifty.learn.baselines.stage_inputs import column_inputs, subset_inputs, tree_inputs
from thrifty.learn.dataset import TrainingSet
from thrifty.model import LinearTree

SETTINGS = BoostingSettings(12, 0.1, 2, 5, 0)


def test_column_inputs_are_the_standardized_table(train, prices):
    inputs = column_inputs(TrainingSet.read("classification", *train, prices))
    np.testing.assert_allclose(inputs.Z, StandardScaler().fit_transform(train[0]))
    assert inputs.costs.prices.tolist() == [1, 2, 1, 0.5, 3, 1, 2]
    assert inputs.costs.members[-1].tolist() == [0, 0, 0, 0, 1, 1]


def test_tree_inputs_have_unit_deviation_and_cost_an_evaluation_each(train, prices):
    read = TrainingSet.read("classification", *train, prices)
    forest = SETTINGS.boost(read, SETTINGS.bin(read))
    inputs = tree_inputs(read, forest)
    np.testing.assert_allclose(inputs.Z.std(axis=0), 1.0)
    values = forest.values[forest.leaves(read.X).T, 0]
    np.testing.assert_allclose(inputs.Z * inputs.scales, values)
    assert (inputs.costs.prices == 0.01).sum() == len(forest.roots) == 12


def test_trees_of_subsets_read_only_their_subset(train, prices):
    read = TrainingSet.read("classification", *train, prices)
    subsets = [np.array([0]), np.array([0, 1])]
    inputs, subset_of_tree = subset_inputs(read, SETTINGS, subsets)
    assert subset_of_tree.tolist() == [0] * 6 + [1] * 6
    # The second price is that of column 1.
    assert not inputs.costs.members[1, :6].any() and inputs.costs.members[1, 6:].any()


# --- cascades


def draw_gated(seed, n=800):
    """Draw rows of which only those high in the cheap column need the expensive one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, 0] > 0.5) & (X[:, 1] > 0)).astype(int)


PRICES = (1, 20, 5)
CASCADES = [
    CronusClassifier(Prices(PRICES), penalty=0.05, max_depth=1, keep=0.6),
    AndOrClassifier(Prices(PRICES), penalty=0.001, class_weight="balanced"),
]


@pytest.mark.parametrize("cascade", CASCADES)
def test_a_cascade_buys_the_expensive_column_only_for_rows_that_pass(cascade):
    model = cascade.fit(*draw_gated(0))
    X, y = draw_gated(1)
    expensive = model.used(X)[:, 1]
    assert model.used(X)[:, 0].all() and 0.15 < expensive.mean() < 0.6
    assert expensive[y == 1].mean() > 0.95
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("cascade", CASCADES)
def test_bills_of_six_rows_by_hand(cascade):
    model, X = cascade.fit(*draw_gated(0)), draw_gated(1)[0][:6]
    tree = model.model_
    assert isinstance(tree, LinearTree) and tree.left.tolist() == [-1] * len(tree.left)
    bills = []
    for x in X:
        paid, node = set(), 0
        while node >= 0:
            span, value = slice(tree.starts[node], tree.starts[node + 1]), 0.0
            for number, weight in zip(tree.inputs[span], tree.route[span], strict=True):
                column, z = input_by_hand(tree, number, x)
                paid.add(column)
                value += weight * z
            node = tree.right[node] if value > tree.threshold[node] else -1
        bills.append(sum(PRICES[column] for column in paid))
    assert len(set(bills)) > 1
    np.testing.assert_allclose(model.bill(X), bills)


def input_by_hand(tree, number, x):
    """Column and value of an input: a stump, or an encoded column."""
    if tree.base is None:
        column = tree.encoding.columns[number]
        return column, (x[column] - tree.encoding.centers[number]) / tree.encoding.scales[number]
    root = tree.base.roots[number]
    column = int(tree.base.nodes["feature"][root]) & 0xFFFF
    right = x[column] > tree.base.nodes["threshold"][root]
    return column, tree.base.values[tree.base.nodes["child"][root] + right, 0]
