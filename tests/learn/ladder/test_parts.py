"""The parts of a rung: each scores the evidence by models that have not seen it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty.learn import crossfit
from thrifty.learn.ladder import parts as parts_module
from thrifty.learn.ladder import rows as rows_module
from thrifty.learn.ladder.parts import (
    BoostedTrees,
    ForestSettings,
    extra_trees,
    fit_boosted,
    fit_forest,
    fit_linear_part,
    loss_on,
)
from thrifty.learn.linear import fit_linear
from thrifty.learn.losses import LambdaLoss, LogLoss, SquaredLoss
from thrifty.model import Forest
from thrifty.model.forest.nodes import is_leaf

FEW = BoostedTrees(rounds=8, learning_rate=0.3, max_leaves=7, min_samples_leaf=3, max_depth=3)
ALL = np.arange(4)


def random():
    return np.random.RandomState(5)


def make_sum(n=120, seed=0):
    """A number that is the sum of three columns of decreasing weight; a fourth is noise."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, X @ [3.0, 2.0, 1.0, 0.0]


def make_classes(n=120, seed=0):
    X, y = make_sum(n, seed)
    return X, np.digitize(y, [-2.0, 2.0])


# --- boosted trees -----------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "classes", "expected"),
    [
        (300, 2, (60, 0.2, 15, 5, 8)),
        (300, 5, (80, 0.1, 15, 5, 8)),
        (300, 0, (80, 0.1, 15, 5, 8)),
        (2000, 3, (60, 0.2, 31, 20, 8)),
        (6000, 3, (60, 0.2, 31, 20, 8)),
        (20_000, 2, (60, 0.15, 63, 20, 12)),
        (20_000, 0, (60, 0.15, 63, 20, 12)),
        (300, 30, (80, 0.1, 15, 5, 8)),
        (300, 40, (30, 0.2, 15, 5, 8)),
        (20_000, 600, (5, 0.2, 15, 20, 8)),
    ],
)
def test_settings_suit_the_size_of_the_table(n, classes, expected, read_rows):
    rows = read_rows("regression", *make_sum(30))
    bins = np.broadcast_to(rows.binned.bins[:, :1], (4, n))
    found = BoostedTrees.suited_to(
        replace(rows, n_classes=classes, binned=replace(rows.binned, bins=bins))
    )
    settings = (found.rounds, found.learning_rate, found.max_leaves, found.min_samples_leaf)
    assert (*settings, found.max_depth) == expected


def test_below_the_top_rungs_trees_are_smaller(read_rows):
    rows = read_rows("regression", *make_sum(1000))
    assert BoostedTrees.suited_to(rows, is_top=False).max_leaves == 15
    assert BoostedTrees.suited_to(rows, is_top=True).max_leaves == 31


def test_on_a_side_of_a_split_there_are_fewer_and_larger_steps(read_rows):
    X, y = make_classes()
    rows = read_rows("classification", X, y)
    whole = BoostedTrees.suited_to(rows)
    for side in rows.split(X[:, 0] <= 0, feature=0):
        settings = BoostedTrees.suited_to(side)
        assert settings.rounds == 0.75 * whole.rounds
        assert settings.rounds * settings.learning_rate == whole.rounds * whole.learning_rate


def test_a_ranking_of_few_rows_gets_small_trees(read_rows):
    X, y, qid = make_ranking()
    found = BoostedTrees.suited_to(read_rows("ranking", X, y, qid=qid))
    assert (found.rounds, found.max_leaves, found.min_samples_leaf) == (50, 8, 5)


@pytest.mark.parametrize(
    ("task", "make"), [("regression", make_sum), ("classification", make_classes)]
)
def test_boosted_scores_are_those_of_models_without_the_row(task, make, read_rows):
    rows = read_rows(task, *make())
    part = fit_boosted(rows, ALL, FEW, random())
    forests = []
    for division, binned in zip(rows.crossfit.divisions, rows.bins_to_fit, strict=True):
        # The same seed gives the same model; what is drawn per tree matters on wide tables only.
        forest, _ = FEW.fit(binned, loss_on(rows, division.fit), rows.prices, ALL, seed=0)
        unseen = forest.score(rows.X[division.unseen])
        np.testing.assert_allclose(part.scores[division.unseen], unseen, rtol=1e-12)
        forests.append(forest)
    average = Forest.average(forests)
    np.testing.assert_array_equal(part.model.score(rows.X), average.score(rows.X))


def test_on_many_rows_the_boosted_model_is_fitted_on_all_of_them(read_rows, monkeypatch):
    few = fit_boosted(read_rows("regression", *make_sum(200)), ALL, FEW, random())
    monkeypatch.setattr(rows_module, "REFIT_FROM", 200)
    rows = read_rows("regression", *make_sum(200))
    part = fit_boosted(rows, ALL, FEW, random())
    every = np.arange(200)
    forest, _ = FEW.fit(rows.binned, loss_on(rows, every), rows.prices, ALL, seed=0)
    np.testing.assert_array_equal(part.model.score(rows.X), forest.score(rows.X))
    np.testing.assert_array_equal(part.scores, few.scores)


def test_the_more_a_feature_matters_the_more_it_gains(read_rows):
    rows = read_rows("regression", *make_sum(300))
    importance = fit_boosted(rows, ALL, FEW, random()).importance
    assert importance.sum() == pytest.approx(1.0)
    assert importance[0] > importance[1] > importance[2] > importance[3]


@pytest.mark.parametrize("features", [[0], [1, 3]])
def test_a_part_reads_only_the_features_of_its_rung(features, read_rows):
    rows = read_rows("classification", *make_classes())
    some = np.array(features)
    found = [
        fit_boosted(rows, some, FEW, random()),
        fit_forest(rows, extra_trees(rows), some, ForestSettings(10), random()),
        fit_linear_part(rows, some),
    ]
    for part in found:
        assert set(np.flatnonzero(part.model.support)) <= set(features)
        assert part.scores.shape == (120, 3)
        if part.importance is not None:
            assert set(np.flatnonzero(part.importance)) <= set(features)


def test_each_tree_of_a_wide_table_reads_features_drawn_by_the_seed(read_rows, monkeypatch):
    monkeypatch.setattr(parts_module, "FEATURES_PER_TREE", 2)
    rows = read_rows("regression", *make_sum())
    binned, loss = rows.bins_to_fit[0], loss_on(rows, rows.crossfit.divisions[0].fit)
    first, again, other = (FEW.fit(binned, loss, rows.prices, ALL, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.nodes, again.nodes)
    assert not np.array_equal(first.nodes, other.nodes)
    assert first.support.sum() > 2
    for seed in range(5):
        tree, gain = replace(FEW, rounds=1).fit(binned, loss, rows.prices, ALL, seed)
        assert 0 < tree.support.sum() <= 2
        np.testing.assert_array_equal(gain > 0, tree.support)


def test_features_without_any_gain_have_no_importance(read_rows):
    rows = read_rows("regression", np.zeros((60, 4)), np.arange(60.0))
    part = fit_boosted(rows, ALL, FEW, random())
    assert part.importance.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("task", "y", "kind"),
    [
        ("classification", [0, 1, 2], LogLoss),
        ("regression", [0.0, 1.5, 2.0], SquaredLoss),
        ("ranking", [0, 1, 2], LambdaLoss),
    ],
)
def test_the_loss_is_that_of_the_task(task, y, kind, read_rows):
    weight = np.arange(1.0, 31.0)
    X, target = make_sum(30)[0], np.resize(y, 30)
    more = {"qid": np.arange(30) // 10} if task == "ranking" else {}
    rows = read_rows(task, X, target, sample_weight=weight, **more)
    loss = loss_on(rows, np.array([3, 4, 25]))
    assert isinstance(loss, kind)
    assert loss.y.tolist() == target[[3, 4, 25]].tolist()
    assert loss.weight.tolist() == [4.0, 5.0, 26.0]


# --- ranking -----------------------------------------------------------------


def make_ranking(n=200):
    X, y = make_sum(n)
    return X, np.digitize(y, [-3.0, 0.0, 3.0]), np.arange(n) // 10


def test_scores_of_a_ranker_predict_grades(read_rows):
    X, y, qid = make_ranking()
    rows = read_rows("ranking", X, y, qid=qid)
    part = fit_boosted(rows, ALL, FEW, random())
    # The least squares line through the scores is the identity.
    slope, offset = np.polyfit(part.scores, y, 1)
    assert (slope, offset) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-9))
    assert np.corrcoef(part.model.score(X), y)[0, 1] > 0.8


def test_a_ranker_that_is_worse_than_chance_predicts_the_mean_grade(read_rows):
    rng = np.random.default_rng(0)
    qid = np.arange(60) // 10
    rows = read_rows("ranking", rng.normal(size=(60, 4)), rng.integers(0, 2, size=60), qid=qid)
    # Grades that are the opposite of what the models have learned, on the evidence alone.
    learned = fit_boosted(rows, ALL, FEW, random())
    assert learned.scores.std() == 0.0 or np.corrcoef(learned.scores, rows.y)[0, 1] > 0
    model, raw = parts_module._scale_to_grades(
        Forest.constant([2.0], "sum", 4), -rows.evidence_y[:, np.newaxis], rows
    )
    assert (raw == rows.y.mean()).all()
    assert model.base.tolist() == [rows.y.mean()]


# --- extra-trees -------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "make"), [("regression", make_sum), ("classification", make_classes)]
)
def test_forest_scores_are_out_of_bag(task, make, read_rows):
    rows = read_rows(task, *make())
    part = fit_forest(rows, extra_trees(rows), ALL, ForestSettings(40), random())
    grown = extra_trees(rows).fit(ALL, 40, random().randint(2**31))
    np.testing.assert_array_equal(part.scores, grown.out_of_bag)
    np.testing.assert_array_equal(part.model.score(rows.X), grown.forest.score(rows.X))
    np.testing.assert_array_equal(part.importance, grown.importance)


def test_where_evidence_is_held_out_no_tree_grows_on_it(read_rows, monkeypatch):
    monkeypatch.setattr(crossfit, "LARGE", 120)
    monkeypatch.setattr(rows_module, "LARGE", 120)
    X, y = make_classes()
    rows = read_rows("classification", X, y)
    held_out = rows.held_out
    assert len(held_out) == 24
    y = y.copy()
    y[held_out] = (y[held_out] + 1) % 3
    settings = ForestSettings.suited_to(rows, 4, n_trees=30)
    assert settings == ForestSettings(10, max_features=2, bag=480, min_samples_leaf=3)
    changed = replace(rows, y=y)
    one, two = (
        fit_forest(each, extra_trees(each), ALL, settings, random()) for each in (rows, changed)
    )
    np.testing.assert_array_equal(one.model.score(X), two.model.score(X))
    np.testing.assert_allclose(one.scores, one.model.score(X[held_out]))


def test_small_tables_grow_all_trees_on_plain_bags(read_rows):
    rows = read_rows("classification", *make_classes())
    assert len(rows.held_out) == 0
    assert ForestSettings.suited_to(rows, 4, n_trees=30) == ForestSettings(30)


def test_boosting_is_sparing_with_very_many_columns(read_rows, monkeypatch):
    X, y = make_classes()
    rows = read_rows("regression", X, y.astype(float))
    assert not rows.is_wide and BoostedTrees.suited_to(rows).rounds == 80
    monkeypatch.setattr(rows_module, "MANY_COLUMNS", 3)
    assert rows.is_wide and BoostedTrees.suited_to(rows).rounds == 40


def test_trees_for_values_try_a_part_of_very_many_features(read_rows):
    X, y = make_classes()
    rows = read_rows("regression", X, y.astype(float))
    assert ForestSettings.suited_to(rows, 1000, n_trees=30) == ForestSettings(30)
    assert ForestSettings.suited_to(rows, 1001, n_trees=30) == ForestSettings(30, 200)


def test_on_a_side_of_a_split_forests_have_half_of_the_trees(read_rows):
    X, y = make_classes()
    for side in read_rows("classification", X, y).split(X[:, 0] <= 0, feature=0):
        assert ForestSettings.suited_to(side, 4, n_trees=31) == ForestSettings(16)


@pytest.mark.parametrize(
    ("n_features", "is_top", "expected"),
    [
        (5, True, ForestSettings(30)),
        (5, False, ForestSettings(18)),
        (4, False, ForestSettings(18, min_samples_leaf=3)),
    ],
)
def test_from_thousands_of_rows_on_forests_below_the_top_are_kept_small(
    n_features, is_top, expected, read_rows, monkeypatch
):
    monkeypatch.setattr(parts_module, "MANY_ROWS", 120)
    rows = read_rows("classification", *make_classes())
    assert ForestSettings.suited_to(rows, n_features, 30, is_top) == expected


def test_a_forest_has_values_at_its_leaves_only(read_rows):
    rows = read_rows("classification", *make_classes())
    forest = fit_forest(rows, extra_trees(rows), ALL, ForestSettings(3), random()).model
    leaf = is_leaf(forest.nodes)
    assert not forest.values[~leaf].any()
    np.testing.assert_allclose(forest.values[leaf].sum(axis=1), 1.0)


def test_rows_that_are_in_every_bag_get_the_mean_of_the_others(read_rows):
    rows = read_rows("classification", *make_classes())
    part = fit_forest(rows, extra_trees(rows), ALL, ForestSettings(1), random())
    out_of_bag = extra_trees(rows).fit(ALL, 1, random().randint(2**31)).out_of_bag
    absent = np.isnan(out_of_bag[:, 0])
    assert 0 < absent.sum() < 120
    mean = np.nanmean(out_of_bag, axis=0)
    np.testing.assert_array_equal(part.scores[absent], np.tile(mean, (absent.sum(), 1)))
    np.testing.assert_array_equal(part.scores[~absent], out_of_bag[~absent])


# --- linear models -----------------------------------------------------------


def test_linear_scores_are_those_of_models_without_the_row(read_rows):
    rows = read_rows("regression", *make_sum())
    part = fit_linear_part(rows, ALL)
    assert part.importance is None
    for fit, unseen in rows.crossfit.divisions:
        model = fit_linear(rows.X[fit], rows.y[fit], 0, rows.binned.categorical, ALL, None)
        np.testing.assert_array_equal(part.scores[unseen], model.score(rows.X[unseen]))
    whole = fit_linear(rows.X, rows.y, 0, rows.binned.categorical, ALL, None)
    np.testing.assert_array_equal(part.model.score(rows.X), whole.score(rows.X))


# --- validation rows ---------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "make"), [("regression", make_sum), ("classification", make_classes)]
)
def test_validation_rows_are_scored_by_the_model_that_is_used(task, make, read_rows):
    X, y = make(30, seed=1)
    rows = read_rows(task, *make(), validation=(X, y))
    found = [
        fit_boosted(rows, ALL, FEW, random()),
        fit_forest(rows, extra_trees(rows), ALL, ForestSettings(10), random()),
        fit_linear_part(rows, ALL),
    ]
    for part in found:
        assert len(part.scores) == 150
        np.testing.assert_array_equal(part.scores[120:], part.model.score(X))
