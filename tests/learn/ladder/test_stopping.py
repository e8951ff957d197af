"""Stopping: dynamic programming finds the thresholds that brute force finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs import Prices
from thrifty.learn.ladder.branching import Split
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.ladder.stopping import (
    FittedBranches,
    FittedLadder,
    StoppingEvidence,
    rung_bills,
)
from thrifty.model import Average, Forest, Stages
from thrifty.model.forest.nodes import empty_nodes

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


def test_what_saves_nothing_is_not_bought():
    loss, bill = np.array([[0.25] * 3, [0.25] * 3]), np.array([[0.0] * 3, [1.0] * 3])
    uncertainty = np.array([[0.1, 0.2, 0.3], [0.0] * 3])
    evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(3))
    assert evidence.thresholds(0.0).tolist() == [np.inf, np.inf]


# --- cost weights ------------------------------------------------------------


def test_cost_weights_decrease_from_one_that_buys_nothing_to_zero():
    bill = np.array([[0.0] * 4, [2.0] * 4, [5.0] * 4])
    loss = np.array([[1.0] * 4, [0.5] * 4, [0.25] * 4])
    evidence = StoppingEvidence(loss, loss, bill, np.ones(4))
    weights = evidence.cost_weights()
    assert len(weights) == 100
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(0.75 / 2.0) and weights[-1] == 0.0
    assert evidence.thresholds(weights[0])[0] == np.inf


def test_a_ladder_that_saves_nothing_has_only_the_cost_weight_zero():
    loss, bill = np.array([[0.5] * 3, [0.6] * 3]), np.array([[0.0] * 3, [1.0] * 3])
    assert StoppingEvidence(loss, loss, bill, np.ones(3)).cost_weights() == [0.0]


# --- the fitted ladder -------------------------------------------------------


def stump(feature, n_features=2):
    """A tree with one split."""
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    values = np.array([[0.0], [-1.0], [1.0]])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sum", n_features)


def make_rung(features, scores, n_trees=1):
    """A rung that reads some of two features."""
    if not features:
        model = Forest.constant([0.0], "sum", 2)
    else:
        reads = np.isin(np.arange(2), features)
        model = Average.of([stump(features[0])] * n_trees, [0.0], reads=reads)
    return Rung(np.array(features, dtype=np.int64), model, np.asarray(scores, dtype=float))


def test_a_row_pays_for_all_rungs_that_it_has_been_through():
    prices = Prices([1.0, 2.0], evaluation=0.5).bind(2)
    rungs = [make_rung([], [0.0]), make_rung([0], [0.0], 2), make_rung([1], [0.0], 3)]
    bills = rung_bills(rungs, [None, None, None], prices)
    one = rungs[1].model.most_evaluations
    two = rungs[2].model.most_evaluations
    assert 0 < one < two
    assert bills.tolist() == [0.0, 1.0 + 0.5 * one, 3.0 + 0.5 * (one + two)]


def test_uncertainty_models_are_paid_but_for_that_of_the_last_rung():
    prices = Prices([1.0, 2.0], evaluation=0.5).bind(2)
    rungs, extra = [make_rung([], [0.0]), make_rung([0], [0.0]), make_rung([0, 1], [0.0])], stump(0)
    plain = rung_bills(rungs, [None, None, None], prices)
    with_models = rung_bills(rungs, [None, extra, extra], prices)
    paid = 0.5 * extra.most_evaluations
    np.testing.assert_allclose(with_models - plain, [0.0, paid, paid])


def make_ladder():
    """Two rows: the second one is uncertain up to the last rung."""
    uncertainty = np.array([[0.4, 0.5], [0.2, 0.3], [0.1, 0.1]])
    loss = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    bill = np.array([[0.0] * 2, [1.0] * 2, [3.0] * 2])
    rungs = [make_rung([], [0.0, 0.0]), make_rung([0], [1.0, 2.0]), make_rung([0, 1], [3.0, 4.0])]
    evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(2))
    return FittedLadder(rungs, [None, stump(0), None], Prices([1.0, 2.0]).bind(2), evidence)


def test_nothing_lies_above_the_rung_where_all_rows_stop():
    ladder = make_ladder()
    assert ladder.thresholds(0.1).tolist() == [-np.inf, np.inf, np.inf]
    plan = ladder.plan(0.1)
    assert plan.model is ladder.rungs[1].model
    assert plan.key == ladder.plan_of_rung(1).key


def test_no_row_stops_below_the_rung_that_it_starts_on():
    ladder = make_ladder()
    assert ladder.thresholds(100.0).tolist() == [np.inf] * 3
    assert ladder.thresholds(100.0, start=1).tolist() == [-np.inf, np.inf, np.inf]
    assert ladder.thresholds(100.0, start=2).tolist() == [-np.inf, -np.inf, np.inf]
    # The top rung is as far as it goes.
    assert ladder.thresholds(100.0, start=3).tolist() == [-np.inf, -np.inf, np.inf]


def make_split_ladder():
    """Two rows: the first one is right on the second rung, the other one needs the third."""
    ladder = make_ladder()
    loss = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    return replace(ladder, evidence=replace(ladder.evidence, loss=loss))


def test_outputs_are_those_of_the_rung_where_a_row_stops():
    ladder = make_split_ladder()
    scores, bills = ladder.plan(0.1).outputs()
    assert scores.tolist() == [1.0, 4.0] and bills.tolist() == [1.0, 3.0]
    scores, bills = ladder.plan_of_rung(1).outputs()
    assert scores.tolist() == [1.0, 2.0] and bills.tolist() == [1.0, 1.0]


def test_the_model_has_the_rungs_where_rows_stop():
    ladder = make_split_ladder()
    model = ladder.plan(0.1).model
    assert isinstance(model, Stages)
    assert list(model.rungs) == [rung.model for rung in ladder.rungs[1:]]
    assert model.uncertainties[0] is ladder.uncertainty_models[1]
    assert model.thresholds.tolist() == [0.25, np.inf]


def test_a_rung_that_no_row_stops_on_is_not_paid():
    prices = Prices([1.0, 2.0], evaluation=1.0).bind(2)
    ladder = replace(make_ladder(), prices=prices)
    assert (
        ladder.plan_of_rung(2).outputs().bills.tolist()
        == [3.0 + ladder.rungs[2].model.most_evaluations] * 2
    )


def test_features_that_were_bought_before_the_ladder_are_paid_on_every_rung():
    ladder = replace(make_ladder(), bought=frozenset({1}))
    bills = [ladder.plan_of_rung(r).outputs().bills[0] for r in range(3)]
    assert bills == [2.0, 3.0, 3.0]


# --- where rows were before they stopped --------------------------------------


def test_rows_that_went_on_passed_the_rungs_below():
    _, state = make_split_ladder().plan(0.1).interim()
    assert state.rows.tolist() == [1]
    assert state.scores.tolist() == [2.0] and state.bills.tolist() == [1.0]
    assert make_split_ladder().plan_of_rung(0).interim() == []  # the constant, and nothing else


def test_before_an_average_is_bought_rows_have_its_prior():
    ladder = replace(make_ladder(), bought=frozenset({1}))
    average = Average.of([stump(0)], prior=[0.25])
    rungs = [ladder.rungs[0], replace(ladder.rungs[1], model=average), ladder.rungs[2]]
    (state,) = replace(ladder, rungs=rungs).plan_of_rung(1).interim()
    assert state.scores.tolist() == [0.25, 0.25] and state.bills.tolist() == [2.0, 2.0]


def test_rows_of_branches_pass_the_split_and_then_the_rungs_of_their_side():
    side = replace(make_split_ladder(), bought=frozenset({0}))
    goes_left = np.array([False, True, True, False])
    branches = FittedBranches(Split(0, 0.0, -1), side, side, goes_left, np.array([7.0]))
    split, _, left, _, right = branches.plan(0.1).interim()
    assert (branches.bought, branches.prices) == (frozenset(), side.prices)
    assert split.rows.tolist() == [0, 1, 2, 3] and split.scores.tolist() == [7.0] * 4
    assert split.bills.tolist() == [0.0] * 4
    assert (left.rows.tolist(), right.rows.tolist()) == ([2], [3])
    assert left.scores.tolist() == right.scores.tolist() == [2.0]
