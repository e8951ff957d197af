"""Stopping: dynamic programming finds the thresholds that brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs import Prices
from thrifty.learn.ladder.stopping import FittedLadder, RungOutputs, StoppingEvidence
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Forest, Stages

SEEDS = st.integers(0, 2**32 - 1)
COST_WEIGHTS = st.sampled_from([0.0, 0.03, 0.1, 0.3, 2.0])


def draw(seed, rungs, n=12):
    """Few distinct uncertainties, so that many rows tie."""
    rng = np.random.default_rng(seed)
    uncertainty = rng.integers(0, 6, size=(rungs, n)) / 10
    loss = (rng.random((rungs, n)) < uncertainty).astype(float)
    bill = np.cumsum(rng.integers(0, 4, size=(rungs, n)), axis=0).astype(float)
    return StoppingEvidence(uncertainty, loss, bill, rng.integers(1, 4, size=n).astype(float))


def cost(evidence, thresholds, cost_weight, first=0):
    """Weighted cost of rows that start on rung `first`, row by row."""
    total = 0.0
    for i, weight in enumerate(evidence.weight):
        r = first
        while r < len(thresholds) - 1 and evidence.uncertainty[r, i] > thresholds[r]:
            r += 1
        total += weight * (evidence.loss[r, i] + cost_weight * evidence.bill[r, i])
    return total


def candidates(uncertainty):
    values = np.unique(uncertainty)
    return [-np.inf, *((values[1:] + values[:-1]) / 2), np.inf]


# --- thresholds --------------------------------------------------------------


@given(SEEDS, COST_WEIGHTS)
def test_one_threshold_is_the_best_of_all(seed, cost_weight):
    evidence = draw(seed, 2)
    found = evidence.thresholds(cost_weight)
    least = min(
        cost(evidence, [threshold, np.inf], cost_weight)
        for threshold in candidates(evidence.uncertainty[0])
    )
    assert cost(evidence, found, cost_weight) == pytest.approx(least)


@given(SEEDS, COST_WEIGHTS)
def test_each_threshold_is_the_best_given_the_later_ones(seed, cost_weight):
    evidence = draw(seed, 4)
    found = evidence.thresholds(cost_weight)
    for r in range(3):
        tried = [
            cost(evidence, [*found[:r], threshold, *found[r + 1 :]], cost_weight, first=r)
            for threshold in candidates(evidence.uncertainty[r])
        ]
        assert cost(evidence, found, cost_weight, first=r) == pytest.approx(min(tried))


@given(SEEDS)
def test_a_larger_cost_weight_stops_rows_sooner(seed):
    evidence = draw(seed, 2)
    thresholds = [evidence.thresholds(weight)[0] for weight in (0.0, 0.1, 0.5, 10.0)]
    assert thresholds == sorted(thresholds)


def test_rows_of_equal_uncertainty_stop_together():
    uncertainty = np.array([[0.3, 0.3, 0.3], [0.0, 0.0, 0.0]])
    loss = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    bill = np.array([[0.0] * 3, [1.0] * 3])
    evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(3))
    assert evidence.thresholds(0.5).tolist() == [-np.inf, np.inf]
    assert evidence.thresholds(0.8).tolist() == [np.inf, np.inf]


def test_the_last_threshold_stops_every_row():
    assert draw(3, 3).thresholds(0.1)[-1] == np.inf


def test_two_sets_of_rows_count_as_one():
    one, other = draw(1, 3), draw(2, 3)
    both = one + other
    assert both.uncertainty.shape == (3, 24) and both.weight.shape == (24,)
    np.testing.assert_array_equal(both.loss, np.hstack([one.loss, other.loss]))


# --- cost weights ------------------------------------------------------------


def test_cost_weights_decrease_from_one_that_buys_nothing_to_zero():
    bill = np.array([[0.0] * 4, [2.0] * 4, [5.0] * 4])
    loss = np.array([[1.0] * 4, [0.5] * 4, [0.25] * 4])
    evidence = StoppingEvidence(loss, loss, bill, np.ones(4))
    weights = evidence.cost_weights()
    assert len(weights) == 25
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(0.75 / 2.0) and weights[-1] == 0.0
    assert evidence.thresholds(weights[0])[0] == np.inf


def test_a_ladder_that_saves_nothing_has_only_the_cost_weight_zero():
    loss, bill = np.array([[0.5] * 3, [0.6] * 3]), np.array([[0.0] * 3, [1.0] * 3])
    assert StoppingEvidence(loss, loss, bill, np.ones(3)).cost_weights() == [0.0]


# --- outputs of rungs --------------------------------------------------------


def test_bills_add_up_rungs_and_evaluated_uncertainty_models():
    prices = Prices([1.0, 2.0], evaluation=0.5).bind(2)
    nothing = np.zeros((1, 2), dtype=bool)
    first, second = np.array([[True, False]]), np.array([[False, True]])
    outputs = RungOutputs(
        scores=[np.zeros(1)] * 3,
        used=[nothing, first, first],
        evaluations=[0, 2, 3],
        uncertainty=np.zeros((3, 1)),
        model_used=[None, second, None],
        model_evaluations=[0, 4, 0],
    )
    plain = outputs.bills(prices, np.zeros(3, dtype=bool))
    assert plain.ravel().tolist() == [0.0, 1.0 + 1.0, 1.0 + 2.5]
    evaluated = outputs.bills(prices, np.ones(3, dtype=bool))
    assert evaluated.ravel().tolist() == [0.0, 3.0 + 3.0, 3.0 + 4.5]


@pytest.mark.parametrize("penalty", [0.0, 0.003, 0.02, 0.05])
def test_validation_outputs_are_those_of_the_model(ladder_and_table, prices, small, penalty):
    estimator, make = ladder_and_table
    model = estimator(prices, **small)
    train = model._read_training(*make(300))
    held_out = model._read_validation(make(100, seed=1), train)
    ladder = model._fit_rungs(train, held_out)
    settings = [ladder.thresholds_of_rung(r) for r in range(len(ladder.rungs))]
    for thresholds in [*settings, ladder.thresholds(penalty)]:
        predictor = model._predictor_of(ladder.model(thresholds), train)
        outputs = ladder.validation_outputs(thresholds)
        scored = ValidationOutputs.of(predictor, held_out.X)
        np.testing.assert_array_equal(outputs.scores, scored.scores)
        np.testing.assert_array_equal(outputs.bills, scored.bills)


def test_nothing_lies_above_the_rung_where_all_rows_stop():
    forests = [Forest.constant([p], "sigmoid", 1) for p in (0.0, 1.0, 2.0)]
    uncertainty = np.array([[0.4, 0.5], [0.2, 0.3], [0.1, 0.1]])
    loss = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    bill = np.array([[0.0] * 2, [1.0] * 2, [2.0] * 2])
    evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(2))
    outputs = RungOutputs.of(forests, [None] * 3, np.zeros((2, 1)))
    ladder = FittedLadder(forests, [None] * 3, Prices().bind(1), outputs, evidence)
    thresholds = ladder.thresholds(0.1)
    assert thresholds.tolist() == [-np.inf, np.inf, np.inf]
    assert ladder.model(thresholds) is forests[1]
    assert isinstance(ladder.model(np.array([0.45, np.inf, np.inf])), Stages)
