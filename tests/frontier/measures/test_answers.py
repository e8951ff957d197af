"""What metrics compare with the target depends on the decision, or on the costs of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.bundle import Decision
from thrifty.errors import DataError
from thrifty.frontier.measures import answers
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.error_costs import ErrorCosts

SCORES = np.array([[0.8, 0.2], [0.6, 0.4]])


def rows(error_costs=None) -> ValidationSet:
    return ValidationSet(
        "classification", None, None, np.zeros((2, 1)), np.array([0, 1]), np.array(["no", "yes"]),
        error_costs=error_costs,
    )  # fmt: skip


def test_a_decision_comes_before_the_costs_of_the_rows():
    costs = ErrorCosts(Decision.at_threshold(0.3))
    assert answers.predicted_classes(SCORES, rows()).tolist() == [0, 0]
    assert answers.predicted_classes(SCORES, rows(costs)).tolist() == [0, 1]
    low = Decision.at_threshold(0.1)
    assert answers.predicted_classes(SCORES, rows(costs), low).tolist() == [1, 1]


def test_answers_cost_what_the_rows_or_the_decision_say():
    matrix = np.array([[0.0, 1.0], [3.0, 0.0]])
    assert answers.answer_costs(SCORES, rows(ErrorCosts(Decision(matrix)))).tolist() == [0, 0]
    assert answers.answer_costs(SCORES, rows(), Decision(1 - np.eye(2))).tolist() == [0, 1]
    with pytest.raises(DataError, match="errors have no costs here"):
        answers.answer_costs(SCORES, rows())


def test_scorers_get_labels_as_the_user_knows_them():
    labels, said, proba, classes = answers.answers(SCORES, rows(), Decision.at_threshold(0.3))
    assert labels.tolist() == said.tolist() == classes.tolist() == ["no", "yes"]
    assert (proba == SCORES).all()
