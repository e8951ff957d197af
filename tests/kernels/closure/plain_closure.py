"""Small random closure problems, and their best closure by trying every subset."""

from __future__ import annotations

import numpy as np


def draw(seed, worthless=True, most=9):
    """Parents, arcs, worth and cost of a random problem of up to `most` splits and pay nodes."""
    rng = np.random.default_rng(seed)
    splits, pays = int(rng.integers(1, most + 1)), int(rng.integers(0, most + 1))
    parent = np.array([rng.integers(-1, h) for h in range(splits)], dtype=np.int32)
    need = rng.random((splits, pays)) < 0.35
    first = np.concatenate([[0], np.cumsum(need.sum(axis=1))]).astype(np.int64)
    head = np.nonzero(need)[1].astype(np.int32)
    gain = rng.integers(-3 if worthless else 0, 8, splits).astype(np.int64)
    cost = np.concatenate([rng.integers(0, 3, splits), rng.integers(0, 6, pays)]).astype(np.int64)
    return parent, first, head, gain, cost


def every_closure(parent, first, head):
    """All closed sets of splits, and the pay nodes that each needs."""
    splits = len(parent)
    for chosen in range(1 << splits):
        inside = [h for h in range(splits) if chosen >> h & 1]
        if all(parent[h] < 0 or chosen >> parent[h] & 1 for h in inside):
            needed = {v for h in inside for v in head[first[h] : first[h + 1]].tolist()}
            yield frozenset(inside), needed


def least_best(parent, first, head, weight):
    """The intersection of all closures of largest weight, which is one itself."""
    splits = len(parent)
    values = {
        inside: sum(weight[h] for h in inside) + sum(weight[splits + v] for v in needed)
        for inside, needed in every_closure(parent, first, head)
    }
    best = max(values.values())
    return frozenset.intersection(*[inside for inside, value in values.items() if value == best])


def members(mask):
    return frozenset(np.flatnonzero(mask).tolist())
