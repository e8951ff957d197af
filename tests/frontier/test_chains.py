"""Answers of many models at once are those of each alone, to the bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty.frontier.evaluate import answers_of
from thrifty.model import ShortCircuit, Stages

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
from forests import LINKS, Shape, draw_forest, draw_table


@pytest.mark.parametrize("link", LINKS)
def test_answers_are_those_of_each_model_alone(link) -> None:
    rng = np.random.default_rng(0)
    shape = Shape.of(link, trees=12)
    one, other = draw_forest(rng, shape), draw_forest(rng, shape)
    models = [
        one.prefix(0), other, one.prefix(7), one, ShortCircuit.of(one), one.prefix(7),
        other.prefix(3), other.prefix(0), one.prefix(1),
    ]  # fmt: skip
    X = draw_table(rng, shape)
    found = {k: (scores, used) for k, scores, used in answers_of(models, X)}
    assert sorted(found) == list(range(len(models)))
    for k, model in enumerate(models):
        np.testing.assert_array_equal(found[k][0], model.score(X))
        np.testing.assert_array_equal(found[k][1], model.used(X))


def test_a_chain_is_descended_once(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    forest = draw_forest(rng, Shape(trees=9))
    calls = []
    leaves = type(forest).leaves
    monkeypatch.setattr(
        type(forest), "leaves", lambda self, X, *a: calls.append(len(self.roots)) or leaves(self, X)
    )
    models = [forest.prefix(k) for k in (2, 5, 9, 8)]
    assert len(list(answers_of(models, draw_table(rng, Shape())))) == 4
    assert calls == [9]


def ladders(rng, link, doubts):
    """Three ladders on the same rungs and one of the rungs by itself."""
    shape = Shape.of(link, trees=4)
    rungs = [draw_forest(rng, shape) for _ in range(3)]
    doubt = draw_forest(rng, Shape(trees=2)) if doubts else None
    limits = ([0.2, 0.3, np.inf], [-np.inf, 0.4, np.inf], [np.inf, 0.1, 0.1])
    made = [Stages.of(rungs, [doubt, doubt, None], np.array(each)) for each in limits]
    return [*made, rungs[1]], shape


@pytest.mark.parametrize(("link", "doubts"), [("sigmoid", False), ("softmax", True), ("sum", True)])
def test_ladders_that_share_rungs_answer_like_each_alone(link, doubts) -> None:
    rng = np.random.default_rng(1)
    models, shape = ladders(rng, link, doubts)
    X = draw_table(rng, shape)
    for k, scores, used in answers_of(models, X):
        np.testing.assert_array_equal(scores, models[k].score(X))
        np.testing.assert_array_equal(used, models[k].used(X))
    stops = [len(np.unique(model.rung(X))) for model in models[:3]]
    assert max(stops) > 1  # rows do not all stop on one rung


def test_a_shared_rung_is_asked_once(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    models, shape = ladders(rng, "sigmoid", doubts=False)
    asked = []
    both = type(models[-1]).score_and_used
    monkeypatch.setattr(
        type(models[-1]), "score_and_used", lambda self, X: asked.append(id(self)) or both(self, X)
    )
    list(answers_of(models, draw_table(rng, shape)))
    assert len(asked) == len(set(asked)) == 3


def test_no_models_have_no_answers() -> None:
    assert list(answers_of([], np.zeros((2, 3)))) == []
