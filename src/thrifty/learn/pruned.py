"""A forest with some splits taken back: what pruning leaves, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thrifty.model import Forest
from thrifty.model.nodes import MISSING_LEFT

__all__ = ["as_mean", "prune"]


def as_mean(forest: Forest) -> Forest:
    """The same forest with the link "mean": a vote is the mean of votes."""
    if forest.link != "vote":
        return forest
    votes = np.eye(forest.values.shape[1])[forest.values.argmax(axis=1)]
    return replace(forest, values=votes, link="mean")


def prune(forest: Forest, keep: NDArray[np.bool_]) -> Forest:
    """The forest that splits only at the nodes `keep`, each of which has its parent kept.

    `forest` averages (link "mean"). A tree that splits no more goes to the base: it answers
    all rows alike and costs no evaluation. Without any split the forest is a constant.
    """
    alive = np.zeros(len(forest.nodes), dtype=bool)
    alive[forest.roots[keep[forest.roots]]] = True
    child = forest.nodes["child"][keep]
    alive[child] = alive[child + 1] = True
    place = np.cumsum(alive) - 1
    nodes = forest.nodes[alive]
    split = keep[alive]
    nodes["child"] = np.where(split, place[nodes["child"]], np.arange(len(nodes)))
    nodes["threshold"][~split] = np.inf
    nodes["feature"][~split] = MISSING_LEFT
    standing = keep[forest.roots]
    # The mean goes over the trees that stand, so they and the base stand for the others too.
    total, trees = len(forest.roots), int(standing.sum())
    share = 1.0 if trees == total else (trees or 1) / total
    base = (forest.base + forest.values[forest.roots[~standing]].sum(axis=0)) * share
    return replace(
        forest,
        nodes=nodes,
        values=forest.values[alive] * share,
        roots=place[forest.roots[standing]].astype(np.int64),
        outputs=forest.outputs[standing],
        base=base,
    )
