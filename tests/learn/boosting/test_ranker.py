"""Rankings: queries in any order, and scores that order the rows within each."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import Prices
from thrifty.learn import GreedyMiserRanker
from thrifty.learn.targets import queries


def draw(seed=0, queries=30, rows=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * rows, 5))
    # Good within its query: the level of a query says nothing.
    level = np.repeat(rng.normal(scale=5.0, size=queries), rows)
    worth = X[:, 0] + 0.5 * X[:, 1] + rng.normal(scale=0.2, size=len(X))
    X[:, 3] += level
    grades = np.digitize(worth, [0.0, 0.8, 1.6])
    return X, grades, np.repeat(np.arange(queries), rows)


def model_of(**parameters):
    return GreedyMiserRanker(n_estimators=20, min_samples_leaf=5, **parameters)


@pytest.mark.parametrize("loss", ["lambda", "squared"])
def test_a_ranker_learns_to_order(loss):
    X, grades, qid = draw()
    fresh, later, q = draw(seed=1)
    model = model_of(loss=loss).fit(X, grades, qid=qid)
    assert model.score(fresh, later, qid=q) > 0.85
    assert model.score(fresh, later, qid=q) > 0.2 + model.score(fresh, later[::-1], qid=q)


@pytest.mark.parametrize("loss", ["lambda", "squared"])
def test_rows_of_a_query_need_not_lie_together(loss):
    X, grades, qid = draw()
    # Any order that keeps the rows of each query in their order.
    shuffled = np.random.default_rng(0).permutation(qid)
    order = np.empty(len(qid), dtype=int)
    for q in np.unique(qid):
        order[shuffled == q] = np.flatnonzero(qid == q)
    one = model_of(loss=loss).fit(X, grades, qid=qid)
    other = model_of(loss=loss).fit(X[order], grades[order], qid=qid[order])
    np.testing.assert_array_equal(qid[order], shuffled)
    # Sums over a leaf run in the order of the rows, so the last bits may differ.
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)
    same = other.score(X[order], grades[order], qid=qid[order])
    assert one.score(X, grades, qid=qid) == pytest.approx(same)


@pytest.mark.parametrize("loss", ["lambda", "squared"])
def test_rows_in_any_order_at_all_make_the_same_model(loss):
    # Before the first tree all scores are equal, and the order of the rows must not break the tie.
    X, grades, qid = draw()
    order = np.random.default_rng(0).permutation(len(qid))
    one = model_of(loss=loss).fit(X, grades, qid=qid)
    other = model_of(loss=loss).fit(X[order], grades[order], qid=qid[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)


def test_the_names_of_queries_do_not_matter():
    X, grades, qid = draw()
    names = np.array([f"query {q:02}" for q in qid])
    one, other = model_of().fit(X, grades, qid=qid), model_of().fit(X, grades, qid=names)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_without_queries_all_rows_are_one_query():
    X, grades, _ = draw(queries=5)
    one, other = model_of().fit(X, grades), model_of().fit(X, grades, qid=np.zeros(len(X)))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, grades) == other.score(X, grades, qid=np.ones(len(X)))


def test_weights_follow_their_rows():
    X, grades, qid = draw()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], size=len(qid))
    order = np.argsort(-qid, kind="stable")
    one = model_of().fit(X, grades, weight, qid=qid)
    # The queries come in another order, and go back into the old one.
    other = model_of().fit(X[order], grades[order], weight[order], qid=qid[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)


def test_a_ranker_pays_for_its_features():
    X, grades, qid = draw()
    prices = Prices([5.0, 1.0, 1.0, 1.0, 1.0])
    bought = [
        len(model_of(prices=prices, penalty=penalty).fit(X, grades, qid=qid).model_.features)
        for penalty in (0.0, 1e-3, 1.0)
    ]
    assert bought[0] > bought[1] > bought[2] == 0


def test_validation_rows_have_queries_of_their_own():
    X, grades, qid = draw()
    fresh, later, q = draw(seed=1)
    order = np.random.default_rng(0).permutation(len(q))
    model = GreedyMiserRanker(learning_rate=0.5, min_samples_leaf=2)
    model.fit(X, grades, validation=(fresh, later, q), qid=qid)
    kept = len(model.model_.roots)
    assert 0 < kept < 100
    assert model.score(fresh, later, qid=q) > 0.8
    again = GreedyMiserRanker(learning_rate=0.5, min_samples_leaf=2)
    again.fit(X, grades, validation=(fresh[order], later[order], q[order]), qid=qid)
    assert again.score(fresh, later, qid=q) > 0.8


def test_queries_are_numbered_by_their_values():
    assert queries(np.array([7, 3, 7, 3, 9, 7]), 6).tolist() == [1, 0, 1, 0, 2, 1]
    assert queries(None, 3).tolist() == [0, 0, 0]


def test_a_path_is_not_fooled_by_rows_that_lie_in_the_order_of_their_grades():
    X, grades, qid = draw()
    order = np.lexsort((-grades, qid))
    X, grades, qid = X[order], grades[order], qid[order]
    points = list(model_of().path(X, grades, qid=qid, validation=(X, grades, qid)))
    assert points[0].quality < 0.9
    assert len(points) > 1
