"""The rows of a ladder: training rows, then validation rows, each kind in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.ladder import rows as rows_module

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.arange(30) % 3
V = np.random.default_rng(1).normal(size=(6, 2))


def test_validation_rows_follow_and_no_division_fits_on_them(read_rows):
    rows = read_rows("classification", X, Y, validation=(V, Y[:6]))
    assert len(rows) == 36 and rows.n_train == 30
    np.testing.assert_array_equal(rows.X, np.concatenate([X, V]))
    np.testing.assert_array_equal(rows.y, [*Y, *Y[:6]])
    assert rows.evidence.tolist() == list(range(36))
    for fit, unseen in rows.crossfit.divisions:
        assert fit.max() < 30
        assert unseen[-6:].tolist() == list(range(30, 36))
    assert rows.binned.bins.shape == (2, 30)


def test_weights_of_the_evidence_have_a_mean_of_1(read_rows):
    assert read_rows("classification", X, Y).evidence_weight.tolist() == [1.0] * 30
    rows = read_rows("classification", X, Y, sample_weight=np.arange(1.0, 31.0))
    np.testing.assert_allclose(rows.evidence_weight, np.arange(1, 31) / 15.5)
    assert rows.weight_of(np.array([3, 5])).tolist() == [4.0, 6.0]
    # A validation row without a weight counts as a row of weight 1.
    rows = read_rows("classification", X, Y, sample_weight=np.full(30, 3.0), validation=(V, Y[:6]))
    np.testing.assert_allclose(rows.evidence_weight[0] / rows.evidence_weight[-1], 3.0)


def test_groups_and_queries_of_validation_rows_are_new_ones(read_rows):
    qid = np.arange(30) // 5
    rows = read_rows("ranking", X, Y, qid=qid, validation=(V, Y[:6], [4, 4, 4, 5, 5, 5]))
    assert rows.query.tolist() == [*qid, 6, 6, 6, 7, 7, 7]
    assert rows.groups.tolist() == rows.query.tolist()
    rows = read_rows("classification", X, Y, groups=qid, validation=(V, Y[:6]))
    assert rows.groups.tolist() == [*qid, *range(6, 12)]
    assert rows.query is None


def test_a_split_keeps_target_weights_bins_and_folds_on_each_side(read_rows):
    rows = read_rows(
        "regression", X, Y, sample_weight=np.arange(1.0, 31.0), groups=np.arange(30) // 2,
        validation=(V, Y[:6]),
    )  # fmt: skip
    kept = np.zeros(36, dtype=bool)
    kept[[0, 3, 4, 5, 17, 20, 29, 31, 35]] = True
    part, rest = rows.split(kept, feature=0)
    places = np.flatnonzero(kept)
    np.testing.assert_array_equal(part.X, rows.X[kept])
    np.testing.assert_array_equal(part.y, rows.y[kept])
    np.testing.assert_array_equal(part.weight, rows.weight[kept])
    np.testing.assert_array_equal(part.binned.bins, rows.binned.bins[:, places[places < 30]])
    assert (part.n_train, rest.n_train, len(rest)) == (7, 23, 27)
    assert part.groups.tolist() == [0, 1, 2, 2, 3, 4, 5, 6, 7]
    for whole, less in zip(rows.crossfit.divisions, part.crossfit.divisions, strict=True):
        assert places[less.fit].tolist() == [row for row in whole.fit if kept[row]]
        assert places[less.unseen].tolist() == [row for row in whole.unseen if kept[row]]


def test_the_feature_that_was_split_on_is_free_and_so_is_entry_to_its_group(read_rows):
    prices = Prices([3.0, 2.0], groups={"lab": [0, 1]}, shared={"lab": 7.0})
    part, rest = read_rows("regression", X, Y, prices=prices).split(X[:, 0] <= 0, feature=0)
    for side in (part, rest):
        assert side.prices.own.tolist() == [0.0, 2.0]
        assert side.prices.shared.tolist() == [0.0]


@pytest.mark.parametrize("repeats", [1, 2])
def test_folds_are_those_of_the_first_division(repeats, read_rows):
    rows = read_rows("regression", X, Y, repeats=repeats, validation=(V, Y[:6]))
    assert rows.fold.shape == (30,)
    for k, (_, unseen) in enumerate(rows.crossfit.divisions[:3]):
        assert np.flatnonzero(rows.fold == k).tolist() == unseen[:-6].tolist()


def test_boosting_a_small_table_uses_few_bins_and_a_large_one_all(read_rows, monkeypatch):
    many = np.random.default_rng(0).normal(size=(400, 1))
    rows = read_rows("regression", many, many[:, 0])
    division = rows.crossfit.divisions[1]
    few = rows.bins_to_fit[1]
    assert few.bins.shape == (1, len(division.fit))
    assert few.width[0] <= rows_module.FEW_BINS < rows.binned.width[0]
    monkeypatch.setattr(rows_module, "MANY_BINS_FROM", 400)
    all_bins = read_rows("regression", many, many[:, 0]).bins_to_fit[1]
    np.testing.assert_array_equal(all_bins.bins, rows.binned.bins[:, division.fit])


def test_boosted_models_are_refitted_on_many_rows_unless_there_is_one_division(
    read_rows, monkeypatch
):
    assert not read_rows("regression", X, Y).refits
    monkeypatch.setattr(rows_module, "REFIT_FROM", 30)
    rows = read_rows("regression", X, Y)
    assert rows.refits
    assert not replace(rows, crossfit=rows.crossfit.thin(1, 1.0, np.random.RandomState(0))).refits


def test_on_a_side_of_a_split_boosting_uses_few_bins_and_is_not_refitted(read_rows, monkeypatch):
    many = np.random.default_rng(0).normal(size=(400, 1))
    monkeypatch.setattr(rows_module, "MANY_BINS_FROM", 100)
    monkeypatch.setattr(rows_module, "REFIT_FROM", 100)
    rows = read_rows("regression", many, many[:, 0])
    assert rows.bins_to_fit[0].width[0] > rows_module.FEW_BINS and rows.refits
    for side in rows.split(many[:, 0] <= 0, feature=0):
        assert side.bins_to_fit[0].width[0] <= rows_module.FEW_BINS + 1
        assert not side.refits


def test_the_sides_of_a_large_table_get_as_much_work_as_others(read_rows):
    rows = replace(read_rows("regression", X, Y), is_large=True)
    assert not any(side.is_side for side in rows.split(X[:, 0] <= 0, feature=0))
