"""From the rows of a grown tree to its values, and back to the rows."""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["add_values", "node_sums"]


@jit
def node_sums(rows, first, last, left, count, gradient, hessian):
    """Sum of gradient and hessian over the rows of each node, inner nodes from their children.

    An empty `hessian` counts 1 a row.
    """
    sums = np.zeros((count, 2))
    for node in range(count - 1, -1, -1):
        if left[node] >= 0:
            sums[node] = sums[left[node]] + sums[left[node] + 1]
            continue
        for i in range(first[node], last[node]):
            sums[node, 0] += gradient[rows[i]]
        if len(hessian) == 0:
            sums[node, 1] = last[node] - first[node]
            continue
        for i in range(first[node], last[node]):
            sums[node, 1] += hessian[rows[i]]
    return sums


@jit
def add_values(rows, first, last, left, count, values, out):
    """Add the value of its leaf to every row."""
    for node in range(count):
        if left[node] < 0:
            for i in range(first[node], last[node]):
                out[rows[i]] += values[node]
