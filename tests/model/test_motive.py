"""Motives, ends and bounds on evaluations, for every kind of model that there is a file of."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from thrifty import load
from thrifty.model import Blend, Cascade, Forest, Gate, OneVsRest, Stages
from thrifty.model.forest.nodes import empty_nodes
from thrifty.model.forest.walk import ForestWalk
from thrifty.model.motive import End, Motive, MotiveKind

FILES = sorted((Path(__file__).parents[1] / "corpus").glob("*.thrifty"))
N_ROWS = 8


def rows_of(predictor, n=N_ROWS):
    """Random encoded rows that the schema of a predictor allows."""
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=n) * 3 if c.categories is None else rng.integers(len(c.categories), size=n)
        for c in predictor.schema.columns
    ]
    return np.array(columns, dtype=float).T


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_motives_are_about_requests_and_bounds_hold(path) -> None:
    model = load(path).model
    X = rows_of(load(path))
    for row in X:
        walk = model.walk()
        while walk.asks:
            motive = walk.motive
            assert motive.features and motive.features == walk.asks[: len(motive.features)]
            assert motive.kind in get_args(MotiveKind)
            assert (motive.gain is None) == (motive.kind == "plan")
            bound = walk.evaluations_after(walk.asks[:1])
            walk.tell({walk.asks[0]: float(row[walk.asks[0]])})
            assert bound is None or walk.evaluations <= bound
        assert walk.end in get_args(End)
        assert walk.evaluations == model.evaluations(row[np.newaxis])[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bounds_hold_for_values_that_come_at_once(path) -> None:
    model = load(path).model
    for row in rows_of(load(path)):
        walk = model.walk()
        bound = walk.evaluations_after(range(len(row)))
        walk.tell(dict(enumerate(row.tolist())))
        assert bound is None or walk.evaluations <= bound <= 10 * model.most_evaluations


def stump(feature, size, link="sigmoid"):
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, feature)
    values = np.array([[0.0], [-size], [size]])
    return Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), link, 3)


def ended(model, **values):
    walk = model.walk()
    walk.tell({j: values.get(f"x{j}", 1.0) for j in range(3)})
    return walk.end


def test_a_gate_is_sure_where_the_local_model_is_good_enough() -> None:
    gate = Gate.of(stump(0, 1.0, "sum"), stump(1, 1.0), stump(2, 9.0), threshold=0.0)
    walk = gate.walk()
    assert walk.motive == Motive((0,), note="it decides whether the expensive model is asked")
    assert ended(gate, x0=-1.0) == "sure"
    assert ended(gate, x0=1.0) == "complete"


def test_a_gate_that_is_not_read_decides_nothing() -> None:
    gate = Gate.of(stump(0, 1.0, "sum"), stump(1, 1.0), stump(2, 9.0), threshold=np.inf)
    assert gate.walk().motive.kind == "range"
    assert ended(gate) == "complete"


def test_a_cascade_is_sure_where_a_row_leaves_early() -> None:
    nodes = empty_nodes(6)
    nodes[0], nodes[3] = (0.0, 1, 0), (0.0, 4, 1)
    values = np.array([[0.0], [-3.0], [0.1], [0.0], [-1.0], [1.0]])
    forest = Forest(nodes, values, np.array([0, 3]), np.zeros(2, int), np.zeros(1), "sigmoid", 3)
    cascade = Cascade.of(forest, [1, 2], low=[-1.0, 0.0], high=[1.0, 0.0])
    assert ended(cascade, x0=-1.0) == "sure"
    assert ended(cascade, x0=1.0) == "complete"


def test_a_blend_reads_its_keys_to_decide() -> None:
    walk = Blend.of(stump(0, 1.0), stump(1, 1.0), keys=[2], share=0.5).walk()
    assert walk.motive == Motive((2,), note="it decides which of two models is used")
    assert walk.evaluations_after([0]) == 0 and walk.evaluations_after([2]) is None
    walk.tell({2: 1.0})
    assert walk.motive.kind == "range" and walk.evaluations_after(walk.asks) == 1
    walk.tell({0: 1.0, 1: 1.0})
    assert walk.end == "complete" and walk.evaluations == 1


class Unbounded(ForestWalk):
    """A walk that knows no bound on its evaluations."""

    def evaluations_after(self, features):
        return None


def test_where_a_part_knows_no_bound_the_whole_knows_none(monkeypatch) -> None:
    parts = [stump(0, 1.0), stump(1, 1.0), stump(2, 1.0)]
    ladder, several = Stages.of(parts), OneVsRest(tuple(parts))
    assert ladder.walk().evaluations_after([0]) == 1
    assert ladder.walk().evaluations_after([0, 1]) == 2
    assert several.walk().evaluations_after([0, 1]) == 2
    monkeypatch.setattr("thrifty.model.forest.forest.ForestWalk", Unbounded)
    assert ladder.walk().evaluations_after([0]) is None
    assert several.walk().evaluations_after([0]) is None
