"""Boosted trees with a vector in each leaf: one tree a round, however many outputs there are.

The splits of a tree are those of a random projection of the gradients onto one number (Joly et al.
2014, for forests; Iosipoi and Vakhrushev 2022, for boosting); its leaves have a value for every
output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.boosting.ensemble import ForestBuilder
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.losses import Derivatives
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, is_leaf

__all__ = ["average_forests", "boost_vectors"]

Floats = NDArray[np.float64]


def boost_vectors(
    grower: Grower,
    derivatives: Callable[[Floats], Derivatives],
    start: Floats,
    link: str,
    n_rounds: int,
    learning_rate: float,
    damping: float,
    random: np.random.Generator,
) -> tuple[Forest, Floats]:
    """Boost `n_rounds` trees with a value for each output in every leaf.

    Parameters
    ----------
    grower : Grower
    derivatives : callable
        Negative gradient (k, n), and Hessian (k, n) or None if it is 1, of outputs (k, n).
    start : array of shape (k,)
        Where the outputs start.
    link : str
        Link of the forest.
    n_rounds : int
    learning_rate : float
    damping : float
        Added to the sum of Hessians of a leaf.
    random : numpy Generator
        Draws the projections.

    Returns
    -------
    forest : Forest
    gain : array of shape (d,)
        Sum of the gains of each feature.
    """
    d, n = grower.binned.bins.shape
    raw = np.repeat(start[:, np.newaxis], n, axis=1)
    builder, gain = ForestBuilder(grower.binned), np.zeros(d)
    for _ in range(n_rounds):
        gradient, hessian = derivatives(raw)
        tree = grower.grow(random.normal(size=len(start)) @ gradient)
        gain += _gains(tree)
        values = np.empty((len(tree.left), len(start)))
        for k, slope in enumerate(gradient):
            curvature = None if hessian is None else hessian[k]
            step = learning_rate * grower.values(slope, curvature, damping)
            values[:, k] = step
            if len(step) == 1:
                raw[k] += step[0]
            else:
                grower.add(step, raw[k])
        builder.add(tree, values, 0)
    return builder.freeze(start, link), gain


def _gains(tree: GrownTree) -> Floats:
    """Return the sum of the gains of each feature in a tree, (d,)."""
    split = np.flatnonzero(tree.left >= 0)
    feature = tree.feature[split]
    return np.bincount(feature, tree.gain[split, feature], tree.gain.shape[1]).astype(np.float64)


def average_forests(forests: Sequence[Forest]) -> Forest:
    """Return the forest whose outputs before the link are the mean of those of some forests.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.policy.vector_trees import average_forests
    >>> from thrifty.model import Forest
    >>> forests = [Forest.constant([value], "sum", n_features=3) for value in (1.0, 2.0)]
    >>> average_forests(forests).score(np.zeros((1, 3)))
    array([1.5])
    """
    share = 1.0 / len(forests)
    nodes, starts, size, subsets = [], [], 0, 0
    for forest in forests:
        records = forest.nodes.copy()
        records["child"] += size
        by_subset = ~is_leaf(forest.nodes) & (forest.nodes["feature"] & CATEGORICAL > 0)
        records["threshold"][by_subset] += subsets
        nodes.append(records)
        starts.append(forest.roots + size)
        size += len(records)
        subsets += len(forest.subsets)
    return Forest(
        nodes=np.concatenate(nodes),
        values=share * np.concatenate([forest.values for forest in forests]),
        roots=np.concatenate(starts),
        outputs=np.concatenate([forest.outputs for forest in forests]),
        base=np.mean([forest.base for forest in forests], axis=0),
        link=forests[0].link,
        n_features=forests[0].n_features,
        subsets=np.concatenate([forest.subsets for forest in forests]),
    )
