"""Class counts and Gini impurity of the nodes of a forest, on the rows that it learns from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.closure_arcs import add_up, find_parents
from thrifty.learn.forest_pruner import Task

__all__ = ["class_counts", "gini_sums"]

Floats = NDArray[np.float64]


def class_counts(task: Task) -> Floats:
    """Weight of each class among the rows that pass each node, (nodes, K)."""
    nodes, k = task.forest.values.shape
    weight = np.ones(len(task.X)) if task.weight is None else task.weight
    counts = np.zeros(nodes * k)
    for leaf in task.forest.leaves(task.X):
        counts += np.bincount(leaf * k + task.codes, weights=weight, minlength=nodes * k)
    counts = counts.reshape(nodes, k)
    add_up(find_parents(task.forest.nodes["child"]), counts)
    return counts


def gini_sums(counts: Floats) -> Floats:
    """Gini impurity of each node times the weight of its rows."""
    total = counts.sum(axis=1)
    return np.asarray(total - (counts**2).sum(axis=1) / np.maximum(total, np.finfo(float).tiny))
