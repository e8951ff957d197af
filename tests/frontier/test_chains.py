"""Answers of many models at once are those of each alone, to the bit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty.frontier.chains import answers_of
from thrifty.model import ShortCircuit

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


def test_no_models_have_no_answers() -> None:
    assert list(answers_of([], np.zeros((2, 3)))) == []
