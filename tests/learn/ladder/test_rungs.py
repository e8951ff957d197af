"""Rungs: from all features down to the free ones, each with its parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.ladder import rungs as rungs_module
from thrifty.learn.ladder.effort import RungSettings
from thrifty.learn.ladder.feature_order import price_of
from thrifty.learn.ladder.pace import Pace
from thrifty.learn.ladder.parts import BoostedTrees
from thrifty.learn.ladder.rungs import fit_rungs, prior_scores
from thrifty.model import Average, Forest

FEW = RungSettings(n_rungs=4, n_trees=6, n_top_trees=9, repeats=1)


def make_sum(n=200, seed=0):
    """A number that is the sum of three columns of decreasing weight; a fourth is noise."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, X @ [3.0, 2.0, 1.0, 0.0]


def fit(rows, settings=FEW):
    return fit_rungs(rows, settings, np.random.RandomState(0))


@pytest.fixture
def rungs(read_rows):
    return fit(read_rows("regression", *make_sum(), prices=Prices([1.0, 1.0, 1.0, 1.0])))


def test_rungs_lead_from_the_constant_over_nested_features_to_all(rungs):
    assert rungs[0].features.tolist() == [] and rungs[1].features.tolist() == [0]
    assert rungs[-1].features.tolist() == [0, 1, 2, 3]
    for less, more in pairwise(rungs):
        assert set(less.features.tolist()) < set(more.features.tolist())


def test_a_rung_buys_all_of_its_features_at_once(rungs):
    assert isinstance(rungs[0].model, Forest)
    for rung in rungs[1:]:
        assert isinstance(rung.model, Average)
        assert np.flatnonzero(rung.model.support).tolist() == rung.features.tolist()
        assert set(rung.model.walk().asks) == set(rung.features.tolist())


def test_the_two_top_rungs_have_more_trees(rungs):
    n_trees = [len(rung.model.parts[1].roots) for rung in rungs[1:]]
    assert len(n_trees) > 2
    assert n_trees == [6] * (len(n_trees) - 2) + [9, 9]


def test_unseen_rows_are_predicted_better_rung_by_rung(rungs):
    _, y = make_sum()
    errors = [np.mean((rung.scores - y) ** 2) for rung in rungs]
    assert errors[0] == pytest.approx(np.var(y))
    assert errors[0] > errors[1] > errors[2]
    assert errors[-1] < 0.1 * errors[0]


def test_more_settings_lead_to_more_rungs(read_rows):
    X = np.random.default_rng(0).normal(size=(120, 20))
    rows = read_rows("regression", X, X @ np.arange(1.0, 21.0))
    counts = [
        len(fit(rows, RungSettings(n_rungs, n_trees=3, n_top_trees=3, repeats=1)))
        for n_rungs in (2, 6)
    ]
    assert counts[0] + 2 <= counts[1]
    assert counts[1] == pytest.approx(7, abs=2)


def test_nothing_is_fitted_below_the_free_features(read_rows):
    prices = Prices([5.0, 0.0, 5.0, 0.0])
    rungs = fit(read_rows("regression", *make_sum(), prices=prices))
    bound = prices.bind(4)
    paid = [price_of(rung.features, bound) for rung in rungs]
    assert paid[:2] == [0.0, 0.0] and paid[2] > 0.0
    assert 1 in rungs[1].features and len(rungs[0].features) == 0


@pytest.mark.parametrize("cap", [3.0, 7.0, 12.0])
def test_one_rung_is_as_near_to_the_cap_as_can_be(cap, read_rows):
    X = np.random.default_rng(0).normal(size=(120, 20))
    rows = read_rows("regression", X, X @ np.arange(1.0, 21.0))
    few = RungSettings(2, n_trees=3, n_top_trees=3, repeats=1, boosted=False)
    sizes = [len(rung.features) for rung in fit_rungs(rows, few, np.random.RandomState(0), cap)]
    assert cap in sizes
    assert cap not in [len(rung.features) for rung in fit(rows, few)]


def test_an_effort_without_boosted_trees_has_two_parts(read_rows):
    rows = read_rows("regression", *make_sum())
    found = fit(rows, RungSettings(4, n_trees=6, n_top_trees=9, repeats=1, boosted=False))
    assert {len(rung.model.parts) for rung in found[1:]} == {2}


def test_groups_are_bought_by_what_they_save_per_price(read_rows):
    groups = {"most": [0], "useless": [3], "some": [1, 2]}
    prices = Prices([0.0] * 4, groups=groups, shared=dict.fromkeys(groups, 1.0))
    rungs = fit(read_rows("regression", *make_sum(), prices=prices))
    assert [rung.features.tolist() for rung in rungs] == [[], [0], [0, 1, 2], [0, 1, 2, 3]]


def test_groups_beside_a_free_column_start_with_it(read_rows):
    groups = {"most": [0], "some": [1, 2]}
    prices = Prices([0.0] * 4, groups=groups, shared={"most": 1.0, "some": 4.0})
    rungs = fit(read_rows("regression", *make_sum(), prices=prices))
    assert [rung.features.tolist() for rung in rungs] == [[], [3], [0, 3], [0, 1, 2, 3]]


def rounds_of_fits(monkeypatch):
    """Return a list that grows by the rounds of every boosted fit."""
    found = []

    def fit_trial(self, *arguments):
        found.append(self.rounds)
        return original(self, *arguments)

    original = BoostedTrees.fit
    monkeypatch.setattr(BoostedTrees, "fit", fit_trial)
    return found


@pytest.mark.parametrize(("seconds", "rounds"), [(1e9, 10), (1e-9, 2)])
def test_groups_are_ordered_by_fewer_rounds_where_time_is_short(
    seconds, rounds, read_rows, monkeypatch
):
    found = rounds_of_fits(monkeypatch)
    groups = {"most": [0], "some": [1, 2, 3]}
    prices = Prices([0.0] * 4, groups=groups, shared=dict.fromkeys(groups, 1.0))
    rows = read_rows("regression", *make_sum(), prices=prices)
    fit_rungs(rows, FEW, np.random.RandomState(0), pace=Pace(seconds), seconds=seconds)
    # One round is timed; both groups are tried.
    assert found[:3] == [1, rounds, rounds]


def make_context(n=600):
    """Rows of a query share column 1, which says whether column 0 or column 2 orders them."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(n, 3)), np.arange(n) // 10
    X[:, 1] = qid % 4 != 0
    order = np.where(X[:, 1] == 1, X[:, 0], X[:, 2])
    return X, np.digitize(order, [0.0, 1.0]), qid


def test_a_ranking_keeps_a_feature_that_ranks_by_itself(read_rows):
    X, y, qid = make_context()
    rungs = fit(read_rows("ranking", X, y, qid=qid))
    assert [rung.features.tolist() for rung in rungs[:2]] == [[], [0]]
    assert rungs[-1].features.tolist() == [0, 1, 2]
    for less, more in pairwise(rungs):
        assert set(less.features.tolist()) < set(more.features.tolist())


@pytest.mark.parametrize(("seconds", "rounds", "divisions"), [(1e9, 10, 3), (1e-9, 2, 1)])
def test_a_ranking_is_ordered_by_fewer_trials_where_time_is_short(
    seconds, rounds, divisions, read_rows, monkeypatch
):
    rows = read_rows("ranking", *make_context(200)[:2], qid=np.arange(200) // 10)
    found = rounds_of_fits(monkeypatch)
    pace = Pace(seconds)
    fit_rungs(rows, FEW, np.random.RandomState(0), pace=pace, seconds=seconds)
    timed = found.index(1)  # after the top rung
    assert found[timed : timed + 3] == [1, 1, 1]
    assert found[timed + 3 :].count(rounds) == 7 * divisions


def test_a_ranking_is_mixed_without_a_forest(read_rows):
    X, y, qid = make_context()
    rungs = fit(read_rows("ranking", X, y, qid=qid))
    assert {len(rung.model.parts) for rung in rungs[1:]} == {2}  # boosted and linear


def test_large_tables_have_no_linear_part(read_rows, monkeypatch):
    rows = read_rows("classification", make_sum()[0], make_sum()[1] > 0)
    assert [len(rung.model.parts) for rung in fit(rows)[1:]][-1] == 3
    monkeypatch.setattr(rungs_module, "MAX_LINEAR_ROWS", 200)
    assert {len(rung.model.parts) for rung in fit(rows)[1:]} == {2}


def test_before_anything_is_bought_the_weighted_shares_are_predicted(read_rows):
    X, y = np.zeros((6, 1)), np.array([0, 0, 0, 1, 1, 2])
    rows = read_rows("classification", X, y, sample_weight=[1.0, 1.0, 1.0, 2.0, 2.0, 3.0])
    np.testing.assert_allclose(prior_scores(rows), [0.3, 0.4, 0.3])
    rows = read_rows("regression", X, y, sample_weight=[1.0, 1.0, 1.0, 2.0, 2.0, 3.0])
    np.testing.assert_allclose(prior_scores(rows), [1.0])
    # Validation rows do not count.
    rows = read_rows("regression", X, y, validation=(X, y + 100.0))
    np.testing.assert_allclose(prior_scores(rows), [4 / 6])
