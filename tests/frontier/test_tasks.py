"""Tasks: guessed from the target, each with its learners."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, LadderRanker
from thrifty.errors import DataError
from thrifty.frontier.tasks import LEARNERS, guess_task, learners_named


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.linspace(0, 1, 40), "regression"),
        (np.arange(40), "regression"),
        (np.arange(40) % 5 / 2, "classification"),
        (np.arange(40) % 2 == 0, "classification"),
        (np.array(["a", "b"] * 20), "classification"),
        (np.array([f"c{i}" for i in range(40)]), "classification"),
    ],
)
def test_many_numbers_are_taken_for_values_and_the_rest_for_classes(y, task) -> None:
    assert guess_task(y, None) == task


def test_queries_make_a_ranking() -> None:
    assert guess_task(np.arange(6) % 2, np.zeros(6)) == "ranking"


def test_every_task_has_learners_of_its_own() -> None:
    assert {task: learners["greedy-miser"] for task, learners in LEARNERS.items()} == {
        "classification": GreedyMiserClassifier,
        "regression": GreedyMiserRegressor,
        "ranking": GreedyMiserRanker,
    }
    with pytest.raises(DataError, match=r"\['ladders'\] are not for ranking; there are ladder, g"):
        learners_named(["ladders"], "ranking")


def test_without_a_name_the_ladder_races_alone() -> None:
    found = {task: learners_named((), task) for task in LEARNERS}
    assert [list(learners) for learners in found.values()] == [["ladder"]] * 3
    assert isinstance(found["ranking"]["ladder"], LadderRanker)
