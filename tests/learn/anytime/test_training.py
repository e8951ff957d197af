"""The penalties, and the checkpoints that training keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from anytime_cases import split_rows, start_trees

from thrifty.learn.anytime.representation import Representation
from thrifty.learn.anytime.training import penalty_schedule, train_representations


def test_penalties_are_halved_in_four_steps_and_end_at_zero():
    split = split_rows()
    penalties = penalty_schedule(start_trees(split).grower, split, [1], first=8.0)
    assert len(penalties) == 54
    assert penalties[::4][:3] == [8.0, 4.0, 2.0]
    assert penalties[-1] == 0.0
    assert penalty_schedule(start_trees(split).grower, split, [1], first=0.0) == [0.0]


def test_at_the_first_penalty_by_default_something_is_just_worth_its_price():
    split = split_rows()
    trees = start_trees(split)
    sign = np.where(split.rows.y[split.growing] == 1, 1.0, -1.0)
    first = penalty_schedule(trees.grower, split, [1], first=None)[0]
    assert not trees.purchases.features.any()
    bought = []
    for penalty in (2.0 * first, first):
        trees = start_trees(split, penalty)
        trees.grow(sign - sign.mean(), 0, np.zeros(len(split.rows)))
        # The fourth feature is free.
        bought.append(trees.purchases.features[[0, 1, 2, 4, 5]].any())
    assert bought == [False, True]


def test_each_checkpoint_has_bought_more_and_has_a_smaller_loss():
    split = split_rows()
    trees = start_trees(split)
    representation = Representation(split, 1, trees, first_column=0)
    penalties = penalty_schedule(trees.grower, split, [1], first=None)
    checkpoints = train_representations(trees, [representation], penalties, 2, 2)
    assert len(checkpoints) > 2
    assert checkpoints[0].trees == 0 and not checkpoints[0].bought.any()
    for before, after in pairwise(checkpoints):
        assert np.all(after.bought >= before.bought) and after.bought.sum() > before.bought.sum()
        assert after.loss < before.loss
        assert after.trees > before.trees
    last = checkpoints[-1]
    hinge = np.maximum(0.0, 1.0 - np.where(split.rows.y[split.stopping], 1, -1) * last.outputs[0])
    assert last.loss == pytest.approx(np.mean(hinge**2))
