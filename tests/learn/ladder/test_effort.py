"""Efforts: more work for a better ladder, and settings that suit the size of the table."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.dataset import TrainingSet
from thrifty.learn.ladder import effort as effort_module
from thrifty.learn.ladder.effort import RungSettings, settings_for


def make_set(n, task="classification"):
    return TrainingSet.read(task, np.zeros((n, 2)), np.arange(n) % 2)


def test_more_effort_means_more_rungs_trees_and_divisions():
    fast, best = (settings_for(effort, make_set(200)) for effort in ("fast", "best"))
    assert fast.n_rungs < best.n_rungs and fast.n_trees < best.n_trees
    assert fast.repeats < best.repeats and fast.n_cost_weights < best.n_cost_weights
    assert best.challengers and not fast.challengers


@pytest.mark.parametrize(
    ("n", "task", "boosted", "one_fold"),
    [
        (999, "classification", False, False),
        (999, "regression", False, False),
        (999, "ranking", True, True),
        (1000, "classification", True, True),
    ],
)
def test_a_fast_ladder_on_few_rows_has_no_boosted_trees_but_all_rows_as_evidence(
    n, task, boosted, one_fold
):
    found = settings_for("fast", make_set(n, task))
    assert (found.boosted, found.one_fold) == (boosted, one_fold)


def test_tables_of_a_thousand_rows_are_divided_half_as_often():
    usual = settings_for("best", make_set(999)).repeats
    assert settings_for("best", make_set(1000)).repeats == usual // 2


def test_a_fast_ladder_on_a_large_table_boosts_fewer_rounds(monkeypatch):
    monkeypatch.setattr(effort_module, "LARGE", 1500)
    fast = settings_for("fast", make_set(1500))
    assert fast.rounds < 1.0
    assert settings_for("best", make_set(1500)).rounds == 1.0


def test_the_plain_settings_try_everything():
    plain = RungSettings(n_rungs=3, n_trees=5, n_top_trees=5, repeats=1)
    assert plain.boosted and plain.challengers and not plain.one_fold
