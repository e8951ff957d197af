"""The constant, thinned checkpoints, frozen stages, and the stage that a budget reaches."""

from __future__ import annotations

import numpy as np
import pytest
from anytime_cases import split_rows, start_trees

from thrifty import Prices
from thrifty.learn.anytime.representation import Representation
from thrifty.learn.anytime.stages import (
    MAX_STAGES,
    affordable_stage,
    constant_stage,
    freeze_stage,
    thin_checkpoints,
)
from thrifty.learn.anytime.training import Checkpoint, train_representations
from thrifty.learn.dataset import TrainingSet


@pytest.mark.parametrize("labels", [[0, 0, 0, 1], [0, 1, 2, 2]])
def test_the_constant_stage_predicts_the_class_shares_and_reads_nothing(labels):
    train = TrainingSet.read("classification", np.arange(8.0).reshape(4, 2), labels)
    stage = constant_stage(train)
    np.testing.assert_allclose(stage.score(train.X)[0], np.bincount(labels) / 4)
    assert not stage.used(train.X).any()


def test_many_checkpoints_are_thinned_and_the_last_is_kept():
    prices = Prices(np.linspace(1, 3, 200).tolist()).bind(200)
    bought = np.tri(201, 200, -1, dtype=np.uint8)
    checkpoints = [Checkpoint(k, (), (), row, -float(k)) for k, row in enumerate(bought)]
    kept = thin_checkpoints(checkpoints, prices)
    assert len(kept) <= MAX_STAGES
    assert (kept[0].trees, kept[-1].trees) == (0, 200)


def test_few_checkpoints_are_all_kept():
    prices = Prices([1.0, 1.0]).bind(2)
    bought = np.tri(3, 2, -1, dtype=np.uint8)
    checkpoints = [Checkpoint(k, (), (), row, -float(k)) for k, row in enumerate(bought)]
    assert thin_checkpoints(checkpoints, prices) == checkpoints


def test_a_stage_orders_the_rows_as_its_svm_does():
    split = split_rows()
    trees = start_trees(split)
    representation = Representation(split, 1, trees, first_column=0)
    last = train_representations(trees, [representation], [0.0], 3, 2)[-1]
    codes, weight = split.rows.y[split.stopping], split.rows.weights[split.stopping]
    stage = freeze_stage(trees.freeze(4), last, codes, weight, n_classes=2)
    assert len(stage.roots) == last.trees
    score = stage.score(split.rows.X[split.stopping])[:, 1]
    np.testing.assert_array_equal(np.argsort(score), np.argsort(last.outputs[0]))


def test_a_row_stops_before_the_stage_that_may_exceed_its_budget():
    split = split_rows()
    trees = start_trees(split)
    representation = Representation(split, 1, trees, first_column=0)
    penalties = [0.05, 0.02, 0.01, 0.0]
    checkpoints = train_representations(trees, [representation], penalties, 2, 2)
    codes, weight = split.rows.y[split.stopping], split.rows.weights[split.stopping]
    forest = trees.freeze(1 + 2 * len(penalties))
    stages = [constant_stage(split.rows)] + [
        freeze_stage(forest, checkpoint, codes, weight, 2) for checkpoint in checkpoints[1:]
    ]
    X, prices = split.rows.X, split.rows.prices
    assert (affordable_stage(stages, prices, X, np.inf) == len(stages) - 1).all()
    assert (affordable_stage(stages, prices, X, 0.0) == 0).all()
    evaluations = np.cumsum([stage.most_evaluations for stage in stages])
    for budget in (1.5, 4.0, 9.0):
        for number in np.unique(reached := affordable_stage(stages, prices, X, budget)):
            used = stages[number].used(X[reached == number])
            assert prices.bill(used, evaluations[number]).max() <= budget
