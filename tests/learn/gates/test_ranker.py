"""Gates in front of an expensive ranker."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty import GatedRanker, GreedyMiserRanker
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.expensive_model import out_of_fold_scores

TREES = GreedyMiserRanker(loss="squared", n_estimators=20, learning_rate=0.3, min_samples_leaf=3)
SMALL = Call("big", fn=TREES, folds=2)


@pytest.fixture
def half_graded():
    """A function that draws queries of ten rows: column 0 grades half of them, 1 and 2 the rest."""

    def draw(queries=40, seed=0):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(10 * queries, 3))
        hard = 2.0 * (X[:, 1] * X[:, 2] > 0.1)
        return X, np.where(X[:, 0] > 0, X[:, 0] > 0.5, hard), np.repeat(np.arange(queries), 10)

    return draw


@pytest.mark.parametrize("family", ["boosted", "linear", "leaves"])
def test_rows_that_the_local_model_cannot_grade_are_sent(family, half_graded, families) -> None:
    X, y, qid = half_graded()
    model = GatedRanker(
        SMALL, share=0.5, penalty=0.002, family=families[family], alternations=3, random_state=0
    ).fit(X, y, qid=qid)
    assert np.mean(X[model.sent(X), 0] < 0) > 0.7
    assert model.score(X, y, qid) > 0.9


def test_scores_of_both_models_can_be_compared(half_graded, families) -> None:
    """The expensive model is the truth in another unit: the local model is brought to it."""
    X, y, qid = half_graded()
    call = Call("truth", fn=lambda rows: 100.0 * y[:: len(y) // len(rows)] - 7.0)
    model = GatedRanker(call, share=0.5, family=families["boosted"], alternations=2, random_state=0)
    model.fit(X, y, qid=qid)
    local = model.local_outputs(X)[0]
    easy = X[:, 0] > 0
    assert np.corrcoef(local[easy], y[easy])[0, 1] > 0.8
    assert abs(np.mean(local[easy]) - np.mean(100.0 * y[easy] - 7.0)) < 15.0


def test_a_quality_target_and_a_path_are_in_ndcg(half_graded, families) -> None:
    X, y, qid = half_graded()
    validation = half_graded(20, seed=1)
    model = GatedRanker(
        SMALL, target={"quality": 0.85}, family=families["leaves"], alternations=2, random_state=0
    ).fit(X, y, qid=qid, validation=validation)
    assert model.score(*validation) >= 0.85
    points = list(model.path(X, y, qid=qid, validation=validation, shares=[0.3], penalties=[0.01]))
    assert [point.bill for point in points] == sorted(point.bill for point in points)
    Xv, yv, qv = validation
    frozen = points[-1].model
    assert points[-1].quality == thrifty.learn.ndcg.ndcg(yv, frozen.predict(Xv), qv)
    assert frozen.provenance["task"] == "ranking"


def test_folds_have_whole_queries(half_graded) -> None:
    X, y, qid = half_graded(6)
    train = TrainingSet.read("ranking", X, y, qid=qid)
    fitted_on = []

    class Recorder:
        def __init__(self):
            pass

        def get_params(self, deep=True):
            return {}

        def fit(self, X, y, qid):
            fitted_on.append(X)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    out_of_fold_scores(Call("x", folds=3), Recorder(), X, train, np.random.RandomState(0))
    for rows in fitted_on:
        inside = np.isin(X[:, 0], rows[:, 0])
        assert set(qid[inside]).isdisjoint(qid[~inside])
