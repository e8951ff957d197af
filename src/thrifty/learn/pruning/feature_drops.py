"""Give up the features of a forest one after another (Nan 2018, ch. 4, GreedyPrune).

All splits that read a feature become leaves, and what is below them goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.closure import problem as arcs
from thrifty.kernels.unit_drops import drop_each_unit
from thrifty.learn.pruning.base import PruningData
from thrifty.learn.pruning.closure_problem import prune
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = ["drop_features", "keep_features"]

Features = NDArray[np.int64]


def drop_features(data: PruningData, min_saving: float = 0.0) -> Iterator[Features]:
    """Yield the features that are left, from all down to one, until no split is left.

    Each step gives up the feature or group that costs the fewest errors per unit of the bill that
    it saves, both on the training rows, and then the next ones until what each saves by itself
    adds up to `min_saving` of the mean bill.
    """
    whole, train = data.forest, data.train
    parent, leaves = arcs.find_parents(whole.nodes["child"]), whole.leaves(train.X)
    remaining = whole.features
    while len(remaining):
        kept = _splits_on(whole, remaining)
        if not kept.any():
            return
        yield remaining
        # Rows end at the first node of their path that no longer splits.
        end = np.arange(len(parent), dtype=np.int32)
        while (is_cut := ~np.append(kept, True)[parent[end]]).any():
            end = np.where(is_cut, parent[end], end)
        leaves = end[leaves]
        drop = _cheapest_drop(data, leaves, parent, remaining, min_saving)
        remaining = np.setdiff1d(remaining, drop)


def keep_features(forest: Forest, features: Features) -> Forest:
    """Return the forest without the splits that read other features, and what is below them."""
    return prune(forest, _splits_on(forest, features))


def _cheapest_drop(
    data: PruningData,
    leaves: NDArray[np.int32],
    parent: NDArray[np.int32],
    remaining: Features,
    min_saving: float,
) -> Features:
    """Return the features, or those of the groups, that cost the fewest errors per saving.

    The rows end at `leaves` (trees, n) of the whole forest. A feature that saves nothing is dropped
    last.
    """
    whole, train, prices = data.forest, data.train, data.train.prices
    d, groups = whole.n_features, len(prices.shared)
    group = np.where(prices.group < 0, groups, prices.group)
    shared = np.append(prices.shared, 0.0)
    is_alone = np.bincount(group[remaining], minlength=groups + 1)[group] == 1
    by_unit = np.bincount(group[remaining], prices.own[remaining], groups + 1) + shared
    # One by one: a feature saves its own price, and that of its group if it is the last member.
    single = np.arange(d), prices.own + np.where(is_alone, shared[group], 0.0)
    # Members of a group together, numbered after the features.
    grouped = np.where(group < groups, d + group, np.arange(d)), np.append(prices.own, by_unit[:-1])
    feature = np.where(is_leaf(whole.nodes), -1, whole.nodes["feature"] & INDEX)
    best, cheapest = np.inf, remaining[:1]
    for unit, price in (single, grouped) if groups else (single,):
        unit_of_node = np.append(unit, -1)[feature].astype(np.int32)
        errors, savings = drop_each_unit(
            leaves, parent, unit_of_node, whole.values, whole.base, train.y, train.weights, price
        )
        ratio = np.full(len(price), np.inf)
        np.divide(errors, savings, out=ratio, where=savings > 0)
        order = np.argsort(ratio, kind="stable")[: max(np.isfinite(ratio).sum(), 1)]
        if ratio[order[0]] < best:
            saved = np.cumsum(savings[order]) / (train.weights.sum() or 1.0)
            chosen = order[: int(np.searchsorted(saved, min_saving)) + 1]
            best, cheapest = float(ratio[order[0]]), remaining[np.isin(unit[remaining], chosen)]
    return cheapest


def _splits_on(forest: Forest, features: Features) -> NDArray[np.bool_]:
    """Return the splits that read, themselves and on the path to them, only these features."""
    keep = ~is_leaf(forest.nodes) & np.isin(forest.nodes["feature"] & INDEX, features)
    # `forest.paths` has one bit per feature of the forest, in words of 64.
    bit = np.searchsorted(forest.features, features)
    allowed = np.zeros(forest.paths.shape[1], dtype=np.uint64)
    np.bitwise_or.at(allowed, bit // 64, np.uint64(1) << (bit % 64).astype(np.uint64))
    return np.asarray(keep & ~(forest.paths & ~allowed).any(axis=1))
