"""CPU time of growing a tree in blocks of rows, relative to one block with two planes.

Without blocks, tables from 2^22 rows on would need histograms of two planes, see
`kernels.histogram`. The trees must be the same in any number of blocks, in memory and in a map.
With weights, histograms have two planes in any case. Shorter tables are one block: their whole fits
are compared with those of LightGBM, as in `boosting.py`.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
from functools import partial

import numpy as np
from _harness import report, take_turns
from boosting import compare

from thrifty import Prices, threads
from thrifty.learn.binned import Binned, BinnedParts
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.budget_forest.grower import Rules, TreeGrower
from thrifty.learn.budget_forest.impurities import ThresholdPairs
from thrifty.learn.purchases import Purchases

PART = 250_000
ROWS, COLUMNS = 5_000_000, 50
FOREST_ROWS, FOREST_PART = 200_000, 20_000


def grower(binned, most, weight=None):
    """Return a grower of trees of depth 4; tables of at most `most` rows are one block."""
    grower_module.MAX_PACKED_ROWS = most
    d = binned.n_features
    purchases = Purchases(Prices([1.0] * d).bind(d), binned.n_rows, "model")
    return Grower(binned, purchases, weight=weight)


def map_parts(binned, file, size=PART):
    """Write a table to a memory map, part by part."""
    d, n = binned.bins.shape
    stored = np.memmap(file, np.uint8, "w+", shape=(-(-n // size), d, size))
    for k in range(len(stored)):
        part = binned.bins[:, k * size : (k + 1) * size]
        stored[k, :, : part.shape[1]] = part
    return BinnedParts(stored, binned.edges, binned.categorical, n)


def compare_trees(binned, mapped, target, weight):
    """Return CPU times of the same tree in one block, in blocks in memory and from a file."""
    usual = grower_module.MAX_PACKED_ROWS
    planes = np.ones(len(target)) if weight is None else weight
    growers = {
        "one block": grower(binned, ROWS, planes),
        "blocks in memory": grower(binned, usual, weight),
        "blocks in a memory map": grower(mapped, usual, weight),
    }
    grown = [(each.grow(target), each.values(target, None, 0.0)) for each in growers.values()]
    kept = [(tree.left.tolist(), values.tolist()) for tree, values in grown]
    assert kept[0] == kept[1] == kept[2]
    return take_turns({name: partial(each.grow, target) for name, each in growers.items()})


def compare_forests(binned, mapped, y):
    """Return CPU times of the same tree of a budget forest in memory and from a file."""
    d = binned.n_features
    rules = Rules("minimax", max_features=d // 2, max_depth=1 << 30, bootstrap=True)
    growers = {
        name: TreeGrower(table, Prices([1.0] * d).bind(d), y, 2, None, rules)
        for name, table in (("memory", binned), ("map", mapped))
    }
    grow = {name: partial(each.grow, ThresholdPairs(), [0]) for name, each in growers.items()}
    first, second = (run()[0] for run in grow.values())
    assert all(np.array_equal(*both) for both in zip(first, second, strict=True))
    return take_turns(grow, 3)


def main():
    """Grow the same trees in one block and in several, in memory and from a file."""
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 255, size=(COLUMNS, ROWS), dtype=np.uint8)
    binned = Binned(bins, [np.arange(254.0)] * COLUMNS, np.zeros(COLUMNS, dtype=bool))
    target = rng.normal(size=ROWS) + bins[0] / 255 + bins[1] / 255 * (bins[2] > 128)
    rows = []
    with threads(1), tempfile.TemporaryFile() as file:
        mapped = map_parts(binned, file)
        for what, weight, limit in (
            ("", None, "<= 0.6"),
            (", with weights", rng.uniform(0.5, 2.0, ROWS), ""),
        ):
            times = compare_trees(binned, mapped, target, weight)
            first, *others = times
            rows += [
                (f"a tree, {ROWS} x {COLUMNS}{what}: {name} / {first}",
                 f"{times[name] / times[first]:.2f}", limit)
                for name in others
            ]  # fmt: skip
    some = Binned(np.ascontiguousarray(bins[:, :FOREST_ROWS]), binned.edges, binned.categorical)
    with threads(1), tempfile.TemporaryFile() as file:
        y = (target[:FOREST_ROWS] > 1).astype(np.int64)
        times = compare_forests(some, map_parts(some, file, FOREST_PART), y)
    label = f"a tree of a budget forest, {FOREST_ROWS} x {COLUMNS}: memory map / memory"
    rows.append((label, f"{times['map'] / times['memory']:.2f}", ""))
    # Sizes at which there is one block; figures before there were blocks: 0.48 and 0.22.
    for n, d, trees, limit in ((45_000, 50, 100, "<= 0.48"), (141_000, 519, 20, "<= 0.22")):
        label = f"a fit of {trees} trees, {n} x {d}: one block / LightGBM"
        _, _, ratio, _ = compare("", n, d, trees, "model", "coupled", "", 3)
        rows.append((label, ratio, limit))
    report("blocks", ("what", "CPU time", "limit"), rows)


if __name__ == "__main__":
    main()
