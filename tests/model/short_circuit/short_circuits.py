"""Forests to short-circuit: random ones, and stumps whose sums are easy to follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from forests import Shape, draw_forest, draw_table, next_node
from hypothesis import strategies as st

from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, empty_nodes
from thrifty.model.short_circuit.bounds import is_settled

CLASSES = ("sigmoid", "binary hinge", "hinge", "softmax", "mean", "vote")
SEEDS = st.integers(0, 2**32 - 1)
# Coarse values tie often; tenths tie but for the rounding of their sums.
GRAINS = st.sampled_from([None, 1.0, 10.0])


def draw(seed, link, grain=None, rows=24, **changes):
    """Draw a generator, a forest and a table; `grain` rounds the values of the forest."""
    rng = np.random.default_rng(seed)
    small = {"trees": int(rng.integers(0, 14)), "depth": int(rng.integers(1, 5)), **changes}
    shape = (
        Shape.of("hinge", outputs=1, **small) if link == "binary hinge" else Shape.of(link, **small)
    )
    forest = draw_forest(rng, shape)
    if grain is not None:
        coarse = {
            name: np.round(getattr(forest, name) * grain) / grain for name in ("values", "base")
        }
        forest = replace(forest, **coarse)
    return rng, forest, draw_table(rng, shape, rows=rows, missing=0.2)


def stumps(values, link, outputs=None, base=None, features=None):
    """Return a forest of one split per tree, each on its own feature: x <= 0 goes left."""
    trees = len(values)
    nodes = empty_nodes(3 * trees)
    for tree in range(trees):
        nodes[3 * tree] = (0.0, 3 * tree + 1, tree)
    values = np.array([[np.mean(pair, axis=0), *pair] for pair in values], dtype=float)
    width = 1 if values.ndim == 2 else values.shape[2]
    k = max(outputs) + 1 if outputs else width
    return Forest(
        nodes, values.reshape(3 * trees, width), 3 * np.arange(trees),
        np.array(outputs or np.zeros(trees), dtype=np.int64),
        np.zeros(k) if base is None else np.array(base), link, features or trees,
    )  # fmt: skip


def every_row(d):
    """Return all rows of d signs, (2 ** d, d)."""
    return np.array(list(product([-1.0, 1.0], repeat=d)))


def output_range(model, places):
    """Return the smallest and largest outputs (k,) while the trees stand at nodes `places`."""
    forest, bounds = model.forest, model.bounds
    least, most = bounds.start.copy()
    wide = forest.values.shape[1] > 1
    for root, place, output in zip(forest.roots, places, forest.outputs, strict=True):
        to = slice(None) if wide else slice(output, output + 1)
        least[to] += bounds.low[place] - bounds.low[root]
        most[to] += bounds.high[place] - bounds.high[root]
    return least, most


def stop_plainly(model, x):
    """Send one row down until it is settled: nodes of its trees, features, bounds of output 0."""
    nodes, bought = model.forest.nodes, set()
    places = model.forest.roots.tolist()
    while True:
        least, most = output_range(model, places)
        waiting = [tree for tree in model.order if nodes["child"][places[tree]] != places[tree]]
        if not waiting or is_settled(least.tolist(), most.tolist(), model.bounds.rule.tolist()):
            return places, bought, (int(least[0]), int(most[0]))
        bought.add(int(nodes["feature"][places[waiting[0]]]) & INDEX)
        for tree in waiting:
            place = places[tree]
            while nodes["child"][place] != place and int(nodes["feature"][place]) & INDEX in bought:
                place = next_node(model.forest, place, x)
            places[tree] = place
