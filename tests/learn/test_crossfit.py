"""Cross-fitting: every row of the evidence is scored by models that have not seen it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import DataError
from thrifty.learn import crossfit as crossfit_module
from thrifty.learn.crossfit import CrossFit


def draw(y, groups=None, folds=3, repeats=1, seed=0):
    return CrossFit.draw(np.asarray(y), groups, folds, repeats, np.random.RandomState(seed))


# --- divisions ---------------------------------------------------------------


@given(st.integers(3, 60), st.integers(2, 3), st.integers(1, 3), st.integers(0, 99))
def test_every_row_is_unseen_once_in_each_repeat(n, folds, repeats, seed):
    crossfit = draw(np.arange(n) % 2, folds=folds, repeats=repeats, seed=seed)
    assert len(crossfit.divisions) == folds * repeats
    for fit, unseen in crossfit.divisions:
        assert sorted([*fit, *unseen]) == list(range(n))
        assert np.all(np.diff(fit) > 0) and np.all(np.diff(unseen) > 0)
    counts = np.bincount(np.concatenate([d.unseen for d in crossfit.divisions]), minlength=n)
    assert counts.tolist() == [repeats] * n
    assert crossfit.rows.tolist() == list(range(n))


@given(st.integers(3, 12), st.integers(0, 99))
def test_groups_are_never_divided(n_groups, seed):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, size=40)])
    for fit, unseen in draw(rng.random(n_groups + 40), groups, repeats=2, seed=seed).divisions:
        assert len(fit) and len(unseen)
        assert not set(groups[fit]) & set(groups[unseen])


def test_classes_are_spread_evenly():
    y = np.repeat([0, 1], [90, 9])
    assert [y[unseen].sum() for _, unseen in draw(y).divisions] == [3, 3, 3]


def test_groups_of_high_and_low_targets_are_spread_evenly():
    groups = np.repeat(np.arange(12), 5)
    y = np.repeat([0.0, 1.0], 30)
    assert [y[unseen].mean() for _, unseen in draw(y, groups).divisions] == [0.5] * 3


def test_repeats_are_different_divisions():
    first, second = draw(np.zeros(60), folds=2, repeats=2).divisions[::2]
    assert first.unseen.tolist() != second.unseen.tolist()


@pytest.mark.parametrize("grouped", [False, True])
def test_a_large_table_is_divided_once_and_a_fifth_is_evidence(grouped, monkeypatch):
    monkeypatch.setattr(crossfit_module, "LARGE", 100)
    groups = np.arange(100) // 5 if grouped else None
    crossfit = draw(np.arange(100) % 2, groups, repeats=4)
    ((fit, unseen),) = crossfit.divisions
    assert len(fit) == 80 and unseen.tolist() == crossfit.rows.tolist()
    assert sorted([*fit, *unseen]) == list(range(100))
    if grouped:
        assert not set(groups[fit]) & set(groups[unseen])
    assert len(draw(np.zeros(99)).divisions) == 3


@pytest.mark.parametrize("folds", [2, 3])
def test_one_fold_of_a_small_table_may_be_evidence_enough(folds):
    y = np.arange(60) % 2
    crossfit = CrossFit.draw(y, None, folds, 4, np.random.RandomState(0), one_fold=True)
    ((fit, unseen),) = crossfit.divisions
    assert len(unseen) == 60 // folds and unseen.tolist() == crossfit.rows.tolist()
    assert sorted([*fit, *unseen]) == list(range(60))


def test_too_few_rows_or_groups_are_refused():
    with pytest.raises(DataError, match="4 folds need at least as many rows, there are 3"):
        draw(np.zeros(3), folds=4)
    with pytest.raises(DataError, match="3 folds need at least as many groups, there are 2"):
        draw(np.zeros(8), np.arange(8) % 2)


# --- scores ------------------------------------------------------------------


def test_a_score_is_the_mean_over_the_divisions_that_have_not_seen_the_row():
    crossfit = draw(np.zeros(10), folds=2, repeats=3)
    # Each division scores with its own number.
    number = iter(range(6))
    by_division = {}

    def score(fit, unseen):
        k = next(number)
        by_division[k] = unseen
        return np.full(len(unseen), float(k))

    found = crossfit.collect(score)
    for row in range(10):
        expected = [k for k, unseen in by_division.items() if row in unseen]
        assert found[row] == pytest.approx(np.mean(expected))


def test_scores_of_several_classes_keep_their_columns():
    crossfit = draw(np.zeros(9))
    found = crossfit.collect(lambda fit, unseen: np.column_stack([unseen, -unseen, unseen**2]))
    rows = np.arange(9)
    np.testing.assert_array_equal(found, np.column_stack([rows, -rows, rows**2]))


def test_a_model_that_learns_by_heart_knows_nothing_of_unseen_rows():
    y = np.arange(50.0)

    def score(fit, unseen):
        return np.where(np.isin(unseen, fit), y[unseen], -1.0)

    assert (draw(y, repeats=2).collect(score) == -1.0).all()


# --- other rows --------------------------------------------------------------


def test_validation_rows_are_unseen_by_every_division():
    crossfit = draw(np.zeros(6), repeats=2).with_validation(6, 2)
    assert crossfit.rows.tolist() == list(range(8))
    for fit, unseen in crossfit.divisions:
        assert fit.max() < 6 and unseen[-2:].tolist() == [6, 7]
    counted = []
    crossfit.collect(lambda fit, unseen: counted.append(len(fit)) or np.zeros(len(unseen)))
    assert len(counted) == 6


def test_kept_rows_stay_in_their_folds():
    whole = draw(np.zeros(12))
    kept = np.arange(12) % 4 != 0
    places = np.flatnonzero(kept)
    part = whole.take(kept)
    assert part.rows.tolist() == list(range(9))
    for before, after in zip(whole.divisions, part.divisions, strict=True):
        assert places[after.fit].tolist() == [row for row in before.fit if kept[row]]
        assert places[after.unseen].tolist() == [row for row in before.unseen if kept[row]]
