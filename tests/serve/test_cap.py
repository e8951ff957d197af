"""A cap is a cap: no receipt exceeds it, whatever the model, the prices and the values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.model import (
    Average,
    Blend,
    Branch,
    Cascade,
    Forest,
    Gate,
    Policy,
    ShortCircuit,
    Stages,
)
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import RowSource, answer

D = 5


def forest(rng, link="sigmoid", n_outputs=1):
    """A few trees of depth up to two on random features."""
    n_trees = int(rng.integers(1, 5))
    nodes, values = empty_nodes(7 * n_trees), rng.normal(size=(7 * n_trees, 1))
    for tree in range(n_trees):
        root = 7 * tree
        nodes[root] = (rng.normal(), root + 1, rng.integers(D))
        for k, child in enumerate((root + 1, root + 2)):
            if rng.random() < 0.6:
                nodes[child] = (rng.normal(), root + 3 + 2 * k, rng.integers(D))
    outputs = np.arange(n_trees) % n_outputs
    return Forest(nodes, values, 7 * np.arange(n_trees), outputs, np.zeros(n_outputs), link, D)


def average(rng):
    return Average.of([forest(rng), forest(rng)], [0.5, 0.5])


def ladder(rng):
    rungs = [(average if rng.random() < 0.5 else forest)(rng) for _ in range(3)]
    uncertainties = [forest(rng, "sum") if rng.random() < 0.5 else None for _ in rungs]
    return Stages.of(rungs, uncertainties, thresholds=[rng.normal() * 0.3, 0.2, np.inf])


def policy(rng, prices):
    value = Forest.constant(rng.normal(size=D) + 0.5, "softmax", D)
    return Policy.of(forest(rng), value, prices=prices, cost_weight=float(rng.random() * 0.1))


MAKERS = {
    "forest": forest,
    "average": average,
    "ladder": ladder,
    "short circuit": lambda rng: ShortCircuit.of(forest(rng)),
    "branch": lambda rng: Branch.of(
        ladder(rng), average(rng), feature=0, prior=[0.5, 0.5], threshold=0.0
    ),
    "cascade": lambda rng: (
        lambda trees: Cascade.of(
            trees,
            np.arange(1, len(trees.roots) + 1),
            low=np.full(len(trees.roots), -0.2),
            high=np.full(len(trees.roots), 0.2),
        )
    )(forest(rng)),
    "gate": lambda rng: Gate.of(forest(rng, "sum"), average(rng), ladder(rng), threshold=0.0),
    "blend": lambda rng: Blend.of(average(rng), ladder(rng), keys=[1], share=0.5),
    "policy": None,
}


@settings(max_examples=150)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 1.1),
    evaluation=st.sampled_from([0.0, 0.1, 1.0, 7.0]),
)
def test_no_receipt_exceeds_the_cap(kind, seed, share, evaluation):
    rng = np.random.default_rng(seed)
    own = rng.integers(1, 9, size=D).astype(float)
    maker = MAKERS[kind]
    model = policy(rng, own) if maker is None else maker(rng)
    prices = Prices(own.tolist(), groups={"g": [1, 2]}, shared={"g": 3.0}, evaluation=evaluation)
    X = rng.normal(size=(1, D))
    predictor = Predictor(model, Schema.of(X), prices.bind(D), [0, 1])
    known = {int(rng.integers(D)): 0.5} if rng.random() < 0.3 else None
    cap = share * predictor.ceiling
    try:
        _, receipt = answer(predictor, RowSource(dict(enumerate(X[0]))), known, cap=cap)
    except DataError as error:
        assert "raise it to" in str(error) and predictor.walk(known).receipt.total > cap
        return
    assert receipt.total <= cap
    if receipt.stopped == "cap":
        assert receipt.reason.startswith("cap of ")
    elif known is None:
        assert receipt.total == predictor.bill(X)[0]


def test_features_that_are_bought_together_are_bought_together_or_not_at_all():
    rng = np.random.default_rng(0)
    constant = Forest.constant([0.4, 0.6], "mean", D)
    model = Average.of([constant], [0.5, 0.5], reads=np.array([1, 1, 1, 0, 0], dtype=bool))
    predictor = Predictor(model, Schema.of(np.zeros((1, D))), Prices([2.0] * D).bind(D), [0, 1])
    row = RowSource(dict(enumerate(rng.normal(size=D))))
    assert answer(predictor, row, cap=5.0)[1].total == 0.0
    assert answer(predictor, row, cap=6.0)[1].total == 6.0


def test_a_cap_counts_evaluations_before_they_are_made():
    """Found by an attack: a cap of 5 gave a receipt of 43."""
    model = Average.of([forest(np.random.default_rng(1))], [0.5, 0.5])
    predictor = Predictor(
        model, Schema.of(np.zeros((1, D))), Prices([1.0] * D, evaluation=40.0).bind(D), [0, 1]
    )
    _, receipt = answer(predictor, RowSource(dict.fromkeys(range(D), 0.0)), cap=5.0)
    assert (receipt.total, receipt.stopped) == (0.0, "cap")


def test_a_cap_below_the_evaluations_of_the_start_is_refused():
    rng = np.random.default_rng(0)
    predictor = Predictor(
        policy(rng, [1.0] * D),
        Schema.of(np.zeros((1, D))),
        Prices([1.0] * D, evaluation=1.0).bind(D),
        [0, 1],
    )
    least = predictor.walk().receipt.total
    with pytest.raises(DataError, match=f"raise it to {least:.2f}"):
        answer(predictor, RowSource({}), cap=least / 2)
