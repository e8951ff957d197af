"""Traces: at every cost weight, they give what the policy gives."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.policy.evidence import Trace


def test_a_trace_gives_what_the_policy_gives_at_any_cost_weight(fitted, quarters):
    policy, X = fitted.average, quarters(200, seed=1)[0]
    trace = Trace.of(policy, X)
    for cost_weight in (0.0, 0.02, 0.1, 0.3, 5.0):
        model = policy.at(cost_weight)
        outputs = trace.at(cost_weight)
        np.testing.assert_array_equal(outputs.scores, model.score(X))
        np.testing.assert_array_equal(outputs.used, model.used(X))
        np.testing.assert_array_equal(outputs.evaluations, model.evaluations(X))


def test_cost_weights_run_from_the_first_purchase_to_all(fitted, quarters):
    trace = Trace.of(fitted.average, quarters(200, seed=1)[0])
    weights = trace.cost_weights(8)
    assert weights == sorted(weights, reverse=True)
    bills = [trace.at(weight).used.sum(axis=1).mean() for weight in weights]
    assert bills == sorted(bills)
    assert bills[0] >= 1.0
    assert bills[-1] == trace.at(0.0).used.sum(axis=1).mean()


def test_spending_adds_up(fitted, quarters):
    X = quarters(100, seed=1)[0]
    trace = Trace.of(fitted.average, X)
    used = trace.at(0.0).used
    np.testing.assert_allclose(trace.spent[-1] * fitted.unit, used.sum(axis=1))


def test_a_trace_can_be_cut_short(fitted, quarters):
    trace = Trace.of(fitted.average, quarters(50, seed=1)[0], max_steps=1)
    assert trace.item.shape == (2, 50)


def test_joined_traces_keep_their_rows(fitted, quarters):
    X = quarters(60, seed=1)[0]
    whole = Trace.of(fitted.average, X)
    places = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    parts = [Trace.of(fitted.average, X[place]) for place in places]
    joined = Trace.join(fitted.average, parts, places)
    for cost_weight in (0.0, 0.1):
        np.testing.assert_array_equal(joined.at(cost_weight).scores, whole.at(cost_weight).scores)


def test_the_loss_is_half_error_half_uncertainty(fitted, quarters):
    X, y = quarters(50, seed=1)
    trace = Trace.of(fitted.average, X)
    scores = fitted.average.at(0.0).score(X)
    due = np.mean((scores.argmax(axis=1) != y) + 1.0 - scores.max(axis=1)) / 2
    assert trace.losses(y)[-1].mean() == pytest.approx(due)
