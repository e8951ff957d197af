"""Small random models of many kinds, to be served."""

from __future__ import annotations

import numpy as np

from thrifty.bundle import Column, Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import (
    Average,
    Blend,
    Branch,
    Cascade,
    Forest,
    Gate,
    Policy,
    PricedCall,
    ShortCircuit,
    Stages,
)
from thrifty.model.forest.nodes import empty_nodes

D = 5


def forest(rng, link="sigmoid", n_outputs=1, d=D):
    """A few trees of depth up to two on random features."""
    n_trees = int(rng.integers(1, 5))
    nodes, values = empty_nodes(7 * n_trees), rng.normal(size=(7 * n_trees, 1))
    for tree in range(n_trees):
        root = 7 * tree
        nodes[root] = (rng.normal(), root + 1, rng.integers(D))
        for k, child in enumerate((root + 1, root + 2)):
            if rng.random() < 0.6:
                nodes[child] = (rng.normal(), root + 3 + 2 * k, rng.integers(D))
            else:
                values[root + 3 + 2 * k : root + 5 + 2 * k] = 0.0  # nobody gets there
    outputs = np.arange(n_trees) % n_outputs
    return Forest(nodes, values, 7 * np.arange(n_trees), outputs, np.zeros(n_outputs), link, d)


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


def draw_predictor(kind, rng, evaluation=0.0, call_price=4.0, requires=None):
    """A predictor of five features, 1 and 2 in a group; "call" has a priced call in its file.

    `requires` says what must be bought before what; a "call" has no such rules.
    """
    own = rng.integers(1, 9, size=D).astype(float)
    groups = {"groups": {"g": [1, 2]}, "shared": {"g": 3.0}, "evaluation": evaluation}
    if kind == "call":
        called = PricedCall.of(forest(rng), np.arange(D), D, D + 1)
        model = Gate.of(forest(rng, "sum", d=D + 1), forest(rng, d=D + 1), called, threshold=0.0)
        names = [f"f{j}" for j in range(D)]
        schema = Schema([*map(Column, names), Column("remote", is_call=True)], named=True)
        listed = dict(zip(names, own.tolist(), strict=True)) | {"remote": call_price}
        groups["groups"] = {"g": ["f1", "f2"]}
        prices = Prices(listed, **groups).bind(schema.names)
        return Predictor(model, schema, prices, [0, 1])
    maker = MAKERS[kind]
    model = policy(rng, own) if maker is None else maker(rng)
    prices = Prices(own.tolist(), requires=requires or {}, **groups)
    return Predictor(model, Schema.of(np.zeros((1, D))), prices.bind(D), [0, 1])
