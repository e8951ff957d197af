"""The ranker, and ranking criteria in place of the loss."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import CostCascadeClassifier, CostTreeClassifier, CostTreeRanker, Prices
from thrifty.errors import DataError


def ranked_rows(seed):
    """Return rows, grades and queries: the first column orders rows, the second few at the top."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + np.where(X[:, 0] > 0.5, X[:, 1], 0.0), [0.5, 1.5])
    return X, y, np.repeat(np.arange(15), 20)


def test_a_ranker_buys_what_the_order_needs() -> None:
    X, y, qid = ranked_rows(0)
    prices = Prices([1.0, 2.0, 2.0])
    model = CostTreeRanker(prices, max_depth=1, max_sweeps=2)
    points = list(model.path(X, y, qid=qid, validation=ranked_rows(1)))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0
    within = max((point for point in points if point.bill <= 3.0), key=lambda one: one.quality)
    assert within.quality > points[0].quality + 0.2
    assert not within.model.used(X)[:, 2].any()
    fitted = model.set_params(penalty=0.01).fit(X, y, qid=qid, validation=ranked_rows(1))
    assert fitted.score(*ranked_rows(2)) > 0.8


def test_a_criterion_decides_among_the_candidates() -> None:
    X, y, qid = ranked_rows(0)
    validation = (X, y == 2, qid)
    model = CostCascadeClassifier(n_stages=2, max_sweeps=1, criterion="precision@5")
    train = model._read_training(X, y == 2)
    (learner,) = model._learners(train, model._read_validation(validation, train))
    candidates = learner.candidates([0.01, 0.0])
    qualities = [one.quality for one in candidates]
    assert qualities == sorted(qualities) and 0.0 <= qualities[0] <= qualities[-1] <= 1.0
    assert np.ptp([one.loss for one in candidates]) > 0


def test_a_ranking_criterion_needs_two_classes() -> None:
    X, y, qid = ranked_rows(0)
    model = CostTreeClassifier(max_depth=0, criterion="ndcg@5")
    with pytest.raises(DataError, match="needs a target of two classes"):
        model.fit(X, y, validation=(X, y, qid))
