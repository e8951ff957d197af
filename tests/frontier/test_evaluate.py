"""Measuring points: models scored together equal each alone, to the bit; thinning; intervals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty import Point
from thrifty.frontier.evaluate import MAX_POINTS, mean_interval, score_together, thin
from thrifty.model import Branch, Forest, ShortCircuit, Stages

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
from forests import LINKS, Shape, draw_forest, draw_table


@pytest.mark.parametrize("link", LINKS)
def test_scores_are_those_of_each_model_alone(link) -> None:
    rng = np.random.default_rng(0)
    shape = Shape.of(link, trees=12)
    one, other = draw_forest(rng, shape), draw_forest(rng, shape)
    models = [
        one.prefix(0), other, one.prefix(7), one, ShortCircuit.of(one), one.prefix(7),
        other.prefix(3), other.prefix(0), one.prefix(1),
    ]  # fmt: skip
    X = draw_table(rng, shape)
    found = {k: (scores, used) for k, scores, used in score_together(models, X)}
    assert sorted(found) == list(range(len(models)))
    for k, model in enumerate(models):
        np.testing.assert_array_equal(found[k][0], model.score(X))
        np.testing.assert_array_equal(found[k][1], model.used(X))


def test_prefixes_are_descended_once(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    forest = draw_forest(rng, Shape(trees=9))
    calls = []
    leaves = type(forest).leaves
    monkeypatch.setattr(
        type(forest), "leaves", lambda self, X, *a: calls.append(len(self.roots)) or leaves(self, X)
    )
    models = [forest.prefix(k) for k in (2, 5, 9, 8)]
    assert len(list(score_together(models, draw_table(rng, Shape())))) == 4
    assert calls == [9]


def ladders(rng, link, uncertain):
    """Three ladders on the same rungs and one of the rungs by itself."""
    shape = Shape.of(link, trees=4)
    rungs = [draw_forest(rng, shape) for _ in range(3)]
    uncertainty = draw_forest(rng, Shape(trees=2)) if uncertain else None
    thresholds = ([0.2, 0.3, np.inf], [-np.inf, 0.4, np.inf], [np.inf, 0.1, 0.1])
    made = [
        Stages.of(rungs, [uncertainty, uncertainty, None], np.array(each)) for each in thresholds
    ]
    return [*made, rungs[1]], shape


@pytest.mark.parametrize(
    ("link", "uncertain"), [("sigmoid", False), ("softmax", True), ("sum", True)]
)
def test_ladders_that_share_rungs_score_like_each_alone(link, uncertain) -> None:
    rng = np.random.default_rng(1)
    models, shape = ladders(rng, link, uncertain)
    X = draw_table(rng, shape)
    for k, scores, used in score_together(models, X):
        np.testing.assert_array_equal(scores, models[k].score(X))
        np.testing.assert_array_equal(used, models[k].used(X))
    stops = [len(np.unique(model.rung(X))) for model in models[:3]]
    assert max(stops) > 1  # rows do not all stop on one rung


def test_a_shared_rung_is_scored_once(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    models, shape = ladders(rng, "sigmoid", uncertain=False)
    scored = []
    both = type(models[-1]).score_and_used
    monkeypatch.setattr(
        type(models[-1]), "score_and_used", lambda self, X: scored.append(id(self)) or both(self, X)
    )
    list(score_together(models, draw_table(rng, shape)))
    assert len(scored) == len(set(scored)) == 3


def branches(rng, link):
    """Ladders on either side of a common split, some within another, and a branch of its own."""
    left, shape = ladders(rng, link, uncertain=link == "sum")
    right, _ = ladders(rng, link, uncertain=link == "sum")
    prior = np.full(left[0].n_scores, 1 / left[0].n_scores)

    def split(one, other, feature=3, threshold=2.5):
        return Branch.of(one, other, feature, prior, threshold=threshold)

    inner = [split(one, other, feature=4) for one, other in zip(left, right, strict=True)]
    models = [split(one, other) for one, other in zip(inner, right, strict=True)]
    # Behind this split, all rows are on one side.
    far = [split(one, other, threshold=-9.0) for one, other in zip(left, right, strict=True)]
    return [*models, split(left[0], right[1], feature=5), *far], shape


@pytest.mark.parametrize("link", ["sigmoid", "softmax", "sum"])
def test_branches_that_share_a_split_score_like_each_alone(link) -> None:
    rng = np.random.default_rng(2)
    models, shape = branches(rng, link)
    X = draw_table(rng, shape)
    found = {k: (scores, used) for k, scores, used in score_together(models, X)}
    assert sorted(found) == list(range(len(models)))
    for k, model in enumerate(models):
        np.testing.assert_array_equal(found[k][0], model.score(X))
        np.testing.assert_array_equal(found[k][1], model.used(X))


def test_a_rung_behind_a_common_split_is_scored_once(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    models, shape = branches(rng, "sigmoid")
    scored = []
    both = Forest.score_and_used
    monkeypatch.setattr(
        Forest, "score_and_used", lambda self, X: scored.append(id(self)) or both(self, X)
    )
    list(score_together(models[:4], draw_table(rng, shape)))
    # Three rungs on each side of the inner split, and those on its right once more.
    assert len(scored) == 9 and len(set(scored)) == 6


def test_no_models_have_no_scores() -> None:
    assert list(score_together([], np.zeros((2, 3)))) == []


# --- thinning and intervals --------------------------------------------------


def draw_points(n, seed):
    rng = np.random.default_rng(seed)
    bills = np.sort(rng.random(n))
    return [Point({"k": k}, None, float(b), float(rng.random())) for k, b in enumerate(bills)]


@pytest.mark.parametrize("n", [5, 40, 41, 500])
def test_thinning_keeps_the_frontier_and_spreads_the_rest(n) -> None:
    points = draw_points(n, seed=n)
    kept = thin(points)
    assert len(kept) == min(n, MAX_POINTS)
    assert [p.bill for p in kept] == sorted(p.bill for p in kept)
    best = -1.0
    for p in points:
        if p.quality > best:
            best = p.quality
            assert p in kept
    gaps = np.diff([points.index(p) for p in kept])
    assert gaps.max() <= 2 * max(1, n // 30)


def test_a_long_frontier_is_thinned_too() -> None:
    points = [Point({}, None, float(k), float(k)) for k in range(1000)]
    kept = thin(points)
    assert len(kept) == MAX_POINTS
    assert (kept[0].bill, kept[-1].bill) == (0, 999)


def test_rows_of_one_cluster_count_as_one_observation() -> None:
    bills = np.repeat(np.arange(10.0), 5)
    low, high = mean_interval(bills, 0.95, 9.0, np.repeat(np.arange(10), 5))
    assert (low, high) == pytest.approx(mean_interval(np.arange(10.0), 0.95, 9.0))
    narrow = mean_interval(bills, 0.95, 9.0)
    assert narrow[0] > low and narrow[1] < high


def test_an_interval_covers_the_mean_bill_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        bills = rng.choice([1.0, 2.0, 9.0], p=[0.5, 0.3, 0.2], size=80)
        low, high = mean_interval(bills, 0.9, 9.0)
        hits += low <= 2.9 <= high
    assert 0.86 <= hits / 400 <= 0.94
