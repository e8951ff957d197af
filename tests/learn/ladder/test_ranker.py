"""LadderRanker: rows of a query are ordered, whole queries are divided, scores are grades."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import LadderRanker, Prices, load
from thrifty.learn.dataset import TrainingSet

PRICES = Prices([1.0, 8.0])


def make_grades(n=300, seed=0, query_size=10):
    """The first column tells grades 0 and above apart, the second one the higher of them."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    grade = np.where(X[:, 0] > 0, np.digitize(X[:, 1], [-0.5, 0.5]) + 1, 0)
    return X, grade, np.arange(n) // query_size


@pytest.fixture
def points(small):
    X, y, qid = make_grades()
    return list(LadderRanker(PRICES, **small).path(X, y, qid=qid))


def test_the_first_column_ranks_some_and_both_rank_all(points):
    by_bill = {point.bill: point for point in points if "rung" in point.knob}
    assert sorted(by_bill) == [0.0, 1.0, 9.0]
    assert by_bill[0.0].quality + 0.1 < by_bill[1.0].quality < by_bill[9.0].quality - 0.05
    assert by_bill[9.0].quality > 0.95


def test_rows_that_cannot_be_relevant_do_not_pay_for_the_second_column(small):
    X, y, qid = make_grades(600)
    model = LadderRanker(PRICES, penalty=0.04, **small).fit(X, y, qid=qid)
    X, y, qid = make_grades(seed=1)
    assert (model.bill(X)[X[:, 0] < -0.2] == 1.0).mean() > 0.9
    assert (model.bill(X)[X[:, 0] > 0.2] == 9.0).mean() > 0.9
    assert model.score(X, y, qid) > 0.95


def test_scores_are_near_the_grades_so_that_rungs_can_be_compared(small):
    X, y, qid = make_grades()
    model = LadderRanker(PRICES, **small).fit(X, y, qid=qid)
    assert model.predict(X).mean() == pytest.approx(y.mean(), abs=0.1)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.95


def test_a_query_is_scored_by_models_that_saw_nothing_of_it(small):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 8)
    X = rng.normal(size=(320, 2))
    y = np.digitize(X[:, 0] + rng.normal(scale=2.0, size=320), [0.0, 2.0])  # mostly noise
    model = LadderRanker(**small)
    train = TrainingSet.read("ranking", X, y, qid=qid)
    for fit, unseen in model._divide(train).divisions:
        assert not set(qid[fit]) & set(qid[unseen])
    top = list(model.path(train, None))[-1]
    memorized = model.evidence(train).quality(top.model.predict(X))
    truth = model.evidence(train).quality(X[:, 0])
    assert memorized > truth + 0.03
    assert top.quality < truth + 0.02


def test_points_on_validation_queries_are_what_their_models_reach_there(small):
    X, y, qid = make_grades(200)
    held_out = make_grades(100, seed=1, query_size=5)
    model = LadderRanker(PRICES, **small)
    for point in model.path(X, y, qid=qid, validation=held_out):
        assert point.bill == point.model.bill(held_out[0]).mean()
        model._predictor = point.model
        assert point.quality == model.score(*held_out)


def test_without_queries_all_rows_are_one_query(small, tmp_path):
    X, y, _ = make_grades(150)
    model = LadderRanker(PRICES, **small).fit(X, y)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "rank.thrifty")
    np.testing.assert_array_equal(load(tmp_path / "rank.thrifty").predict(X), model.predict(X))


def test_grades_that_nothing_explains_are_ranked_by_the_constant(small):
    X = np.zeros((60, 2))
    model = LadderRanker(penalty=1e-9, **small).fit(X, np.arange(60) % 3, qid=np.arange(60) // 6)
    assert not model.used(X).any()
    np.testing.assert_allclose(model.predict(X), 1.0)
