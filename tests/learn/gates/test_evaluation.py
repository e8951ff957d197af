"""Evaluations of a gate: targets, and agreement with the frozen model."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Prices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.gates.evaluation import GateEvaluation, read_threshold_target
from thrifty.learn.gates.thresholds import Thresholds
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes


@pytest.mark.parametrize(
    "bad",
    [
        {"cost": 1.0},
        {"bill": 1.0, "share": 0.1},
        {"bill": "low"},
        {},
        {"bill": 1.0, "confidence": 0.9},
        {"quality": 0.5, "confidence": 1.0},
        {"quality": 0.5, "confidence": "high"},
    ],
)
def test_a_target_that_makes_no_sense_is_refused(bad) -> None:
    with pytest.raises(DataError, match="target"):
        read_threshold_target(bad, 0.3, has_validation=True)


def test_a_quality_needs_validation_rows() -> None:
    target = {"quality": 0.9}
    assert read_threshold_target(target, 0.3, has_validation=True) == ("quality", 0.9, None)
    with pytest.raises(DataError, match="give validation"):
        read_threshold_target(target, 0.3, has_validation=False)


def stump(feature, link="sigmoid"):
    """Return -1 or 1 by the sign of a feature."""
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    values = np.array([[0.0], [-1.0], [1.0]])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), link, n_features=3)


def rows_of(X, y):
    """Return rows of two classes as a validation set."""
    train = TrainingSet.read("classification", X, y)
    return ValidationSet.read((X, y), train)


@pytest.fixture
def evaluation():
    """The gate reads column 0, the local model column 1; the expensive one is always right."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    prices = Prices([1.0, 2.0, 10.0], evaluation=0.5).bind(3)
    y = (X[:, 2] > 0).astype(np.int64)
    return GateEvaluation(stump(0, "sum"), stump(1), stump(2), prices, rows_of(X, y))


def test_outputs_and_means_are_those_of_the_frozen_model(evaluation) -> None:
    for index in range(len(evaluation.thresholds.counts)):
        model, outputs = evaluation.model(index), evaluation.outputs(index)
        X, used = evaluation.rows.X, evaluation.model(index).used(evaluation.rows.X)
        assert isinstance(outputs, ValidationOutputs)
        np.testing.assert_array_equal(outputs.scores, model.score(X))
        np.testing.assert_array_equal(
            outputs.bills, evaluation.prices.bill(used, model.evaluations(X))
        )
        assert evaluation.mean_bills[index] == pytest.approx(outputs.bills.mean())
        accuracy = np.mean(outputs.scores.argmax(axis=1) == evaluation.rows.y)
        assert evaluation.quality.values[index] == pytest.approx(accuracy)


def test_a_choice_is_the_largest_or_smallest_that_meets_its_target(evaluation) -> None:
    assert len(evaluation.thresholds.counts) == 3  # none, those with a positive column 0, all
    assert evaluation.choose("share", 0.9) == 1 and evaluation.choose("share", 1.0) == 2
    cheap, dear = evaluation.mean_bills[[0, 1]]
    assert evaluation.choose("bill", cheap) == 0 and evaluation.choose("bill", dear) == 1
    low, high = evaluation.quality.values[[0, 1]]
    assert evaluation.choose("quality", low) == 0
    assert evaluation.choose("quality", high) == 1 and evaluation.choose("quality", 1.0) == 2


def test_a_target_out_of_reach_is_refused(evaluation) -> None:
    with pytest.raises(BudgetError, match=r"keeps a mean bill of 2; the lowest is 2\.5"):
        evaluation.choose("bill", 2.0)
    with pytest.raises(BudgetError, match=r"reaches a quality of 1\.1; the best is 1"):
        evaluation.choose("quality", 1.1)


def test_a_quality_with_confidence_is_reached_on_new_rows() -> None:
    """The gate is noise, and the accuracy falls by half of the rows kept: 200 validation rows."""
    short, kept = 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        y = (X[:, 2] > 0).astype(np.int64)
        values = Thresholds(rng.normal(size=200))
        evaluation = GateEvaluation(stump(0, "sum"), stump(1), stump(2), None, rows_of(X, y))
        evaluation.__dict__["thresholds"] = values
        index = evaluation.choose("quality", 0.8, confidence=0.9)
        assert index >= evaluation.choose("quality", 0.8)
        share_kept = 1.0 - values.counts[index] / 200
        kept.append(share_kept)
        short += 1.0 - 0.5 * share_kept < 0.8
    assert short / 60 <= 0.1 and np.mean(kept) > 0.15


def test_a_quality_that_not_even_all_rows_make_certain_is_refused(evaluation) -> None:
    assert evaluation.choose("quality", 0.98, confidence=0.9) == 2
    with pytest.raises(BudgetError, match=r"even if all rows are sent.*0\.9886 is"):
        evaluation.choose("quality", 0.99, confidence=0.9)
