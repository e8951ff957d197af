"""LadderClassifier: known ladders, folds, rare classes, and bad labels."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import DataError, LadderClassifier
from thrifty.learn.ladder.rungs import RungTrainer


def test_half_of_the_rows_stop_at_the_cheap_feature(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small).fit(*make_labels())
    X, y = make_labels(seed=2)
    # Every row pays 1, and the half that is still uncertain pays 4 more.
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.25)
    assert model.score(X, y) > 0.97
    certain = np.abs(X[:, 0]) > 0.6
    assert (model.bill(X)[certain] == 1.0).mean() > 0.95


def test_a_large_cost_weight_buys_nothing(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=10.0, **small).fit(*make_labels())
    assert not model.used(make_labels(seed=2)[0]).any()


def test_columns_without_information_leave_the_constant(small):
    X = np.zeros((60, 3))
    model = LadderClassifier(**small).fit(X, np.arange(60) % 2)
    assert not model.used(X).any()


def test_sample_weights_count(small):
    X = np.arange(200.0)[:, np.newaxis] % 2
    y = np.arange(200) % 4 // 2  # independent of the column
    for heavy in (0, 1):
        weight = np.where(y == heavy, 3.0, 1.0)
        model = LadderClassifier(**small).fit(X, y, sample_weight=weight)
        assert (model.predict(X) == heavy).all()


def test_training_rows_join_out_of_fold_only_if_there_are_few_validation_rows(
    make_labels, small, monkeypatch
):
    n_folds = []
    score_out_of_fold = RungTrainer.score_out_of_fold

    def spy(self, train, rungs, fold):
        n_folds.append(len(np.unique(fold)))
        return score_out_of_fold(self, train, rungs, fold)

    monkeypatch.setattr(RungTrainer, "score_out_of_fold", spy)
    monkeypatch.setattr(LadderClassifier, "_enough_validation_rows", 50)
    LadderClassifier(**small).fit(*make_labels(200), validation=make_labels(49, seed=1))
    assert n_folds == [3]
    LadderClassifier(**small).fit(*make_labels(200), validation=make_labels(50, seed=1))
    assert n_folds == [3]


def test_out_of_fold_rows_lead_to_a_good_ladder(make_labels, prices, small):
    model = LadderClassifier(prices, penalty=0.02, **small)
    model.fit(*make_labels(), validation=make_labels(10, seed=1))
    X, y = make_labels(seed=2)
    assert model.bill(X).mean() == pytest.approx(3.0, abs=0.25)
    assert model.score(X, y) > 0.97


def test_a_class_may_be_missing_from_a_fold_or_from_validation(make_labels, small):
    X, y = make_labels(120)
    y = np.where(np.arange(120) == 7, "rare", y)
    model = LadderClassifier(**small).fit(X, y)
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    assert model.predict_proba(X).shape == (120, 3)
    points = list(LadderClassifier(**small).path(X, y, validation=make_labels(40, seed=1)))
    assert np.isfinite([point.quality for point in points]).all()


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        LadderClassifier().fit(np.zeros((9, 2)), ["a"] * 9)


def test_an_unknown_validation_label_is_refused(make_labels, small):
    X, y = make_labels(60)
    with pytest.raises(DataError, match="are not classes of the training target"):
        LadderClassifier(**small).fit(X, y, validation=(X[:3], ["yes", "no", "perhaps"]))
