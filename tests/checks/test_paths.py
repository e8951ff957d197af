from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, Prices
from thrifty.checks import LawError, law_path, law_score, make_cases


def bent_path(change):
    """A `path` whose list of points is changed."""

    def path(self, X, y, *, validation):
        return iter(change(list(GreedyMiserClassifier.path(self, X, y, validation=validation))))

    return path


def another_bill(points):
    points[1] = replace(points[1], bill=points[1].bill * (1 + 2**-52))
    return points


def training_quality(points):
    return [replace(point, quality=point.quality + 0.01) for point in points]


def another_model(points):
    points[-1] = replace(points[-1], model=points[0].model)
    return points


def dearest_first(points):
    return points[::-1]


def without_the_constant(points):
    return points[1:]


def dearer_before_cheaper(points):
    return [points[0], *points[:0:-1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (another_bill, "bill of point 1: .* its model has"),
        (training_quality, "quality of point 0"),
        (another_model, r"(bill|quality) of point \d+"),
        (dearest_first, "of the first point of row 0"),
        (without_the_constant, "of the first point of row 0"),
        (dearer_before_cheaper, r"bill of point \d+: \S+ after"),
        (lambda points: [], "a path without points"),
    ],
)
def test_a_path_that_reports_something_else_is_caught(bend, numbers, change, message) -> None:
    with pytest.raises(LawError, match=message):
        law_path(bend(path=bent_path(change)), numbers)


def test_a_path_of_an_honest_estimator_has_several_points(honest, numbers) -> None:
    points = list(honest.path(*numbers.training, validation=numbers.validation))
    assert len({point.bill for point in points}) > 3


def test_a_score_that_flatters_is_caught(bend, frame) -> None:
    def score(self, X, y):
        return GreedyMiserClassifier.score(self, X, y) + 0.025

    with pytest.raises(LawError, match="score: .* instead of"):
        law_score(bend(score=score), frame)


def test_a_ranking_score_without_queries_is_caught() -> None:
    class Careless(GreedyMiserRanker):
        def score(self, X, y, qid=None):
            return super().score(X, y)

    ranker = Careless(n_estimators=3, min_samples_leaf=5)
    with pytest.raises(LawError, match="score: .* instead of"):
        law_score(ranker, next(make_cases(ranker)))


def test_the_bills_of_a_ranking_do_not_depend_on_how_its_queries_lie() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0, 1])
    qid = random.integers(20, size=200)
    ranker = GreedyMiserRanker(Prices(random.uniform(size=6)), n_estimators=5, min_samples_leaf=5)
    points = list(ranker.path(X, y, qid=qid, validation=(X, y, qid)))
    assert [point.bill for point in points] == [point.model.bill(X).mean() for point in points]
