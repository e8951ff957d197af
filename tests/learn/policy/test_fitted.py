"""Trained policies: averages, caps, evidence out of fold, and the first item by trial."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.policy.fitted import mean_losses


def test_the_final_policy_averages_those_of_the_folds(fitted, quarters):
    X = quarters(20, seed=1)[0]
    value = np.mean([policy.value.raw(X) for policy in fitted.policies], axis=0)
    np.testing.assert_allclose(fitted.average.value.raw(X), value)
    assert fitted.model(0.1).cost_weight == 0.1 * fitted.unit


def test_evidence_is_that_of_the_policy_that_has_not_seen_the_row(fitted):
    table, outputs = fitted.table, fitted.trace.at(0.0)
    for k, policy in enumerate(fitted.policies):
        rows = np.flatnonzero(table.fold == k)
        # Beyond the common first step, the policy of the fold decides.
        used = policy.with_first(int(fitted.trace.item[0, 0])).at(0.0).used(table.X[rows])
        assert (used == outputs.used[rows]).all(axis=1).mean() > 0.95


def test_all_rows_start_with_the_same_item(fitted):
    assert len(set(fitted.trace.item[0].tolist())) == 1


def test_a_cap_needs_no_new_fit(fitted):
    capped = fitted.with_cap(2.0)
    assert capped.policies[0].predictor is fitted.policies[0].predictor
    assert capped.trace.at(0.0).used.sum(axis=1).max() == 2
    assert capped.model(0.0).used(fitted.table.X).sum(axis=1).max() == 2


def test_the_best_start_is_found_by_trial(fitted):
    # Column 0 tells where to look next; with a cap of 2 another start would be worse.
    capped = fitted.with_cap(2.0)
    worst = capped.with_first(2)
    assert worst.trace.item[0, 0] == 2
    chosen = worst.choose_first(3)
    assert chosen.trace.item[0, 0] == 0


def test_losses_are_compared_over_what_all_traces_spend(fitted):
    y = fitted.table.y
    traces = [fitted.with_first(item).follow(3) for item in (0, 2)]
    over_range = mean_losses(traces, y, at_end=False)
    assert over_range.shape == (2, len(y))
    assert over_range[0].mean() < over_range[1].mean()
    at_end = mean_losses(traces, y, at_end=True)
    np.testing.assert_array_equal(at_end[0], traces[0].losses(y)[-1])


def test_cost_weights_are_in_units_of_the_prices(fitted):
    weights = fitted.cost_weights(5)
    assert weights[-1] == 0.0
    used = [fitted.trace.at(weight * fitted.unit).used.sum(axis=1).mean() for weight in weights]
    assert used == sorted(used)
    assert used[0] == pytest.approx(1.0, abs=0.5)
