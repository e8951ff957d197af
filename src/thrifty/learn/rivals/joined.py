"""Forests side by side in one forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.model import Forest
from thrifty.model.nodes import CATEGORICAL, empty_nodes

__all__ = ["joined"]


def joined(forests: Sequence[Forest], base: Sequence[float], link: str) -> Forest:
    """All trees of `forests`, which add to the outputs `base`; each tree keeps its output."""
    nodes, subsets, size = [empty_nodes(0)], [np.zeros((0, 4), dtype=np.uint64)], 0
    for forest in forests:
        shifted = forest.nodes.copy()
        shifted["child"] += size
        shifted["threshold"][(shifted["feature"] & CATEGORICAL) != 0] += sum(map(len, subsets))
        nodes.append(shifted)
        subsets.append(forest.subsets)
        size += len(shifted)
    sizes = np.cumsum([0, *(len(part) for part in nodes[1:])])[:-1]
    roots = [forest.roots + start for forest, start in zip(forests, sizes, strict=True)]
    return Forest(
        nodes=np.concatenate(nodes),
        values=np.concatenate([forest.values for forest in forests]),
        roots=np.concatenate(roots).astype(np.int64),
        outputs=np.concatenate([forest.outputs for forest in forests]).astype(np.int64),
        base=np.array(base, dtype=np.float64),
        link=link,
        n_features=forests[0].n_features,
        subsets=np.concatenate(subsets),
    )
