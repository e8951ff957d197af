"""CPU time of growing a tree in blocks of rows, relative to one block with two planes.

Without blocks, tables from 2^22 rows on would need histograms of two planes, see
`kernels.histogram`. The trees must be the same in any number of blocks, in memory and in a map.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
from functools import partial

import numpy as np
from _harness import report, take_turns

from thrifty import Prices
from thrifty.learn.binned import Binned, BinnedParts
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.purchases import Purchases

PART = 250_000
ROWS, COLUMNS = 5_000_000, 50


def grower(binned, most, weight=None):
    """Return a grower of trees of depth 4; tables of at most `most` rows are one block."""
    grower_module.MAX_PACKED_ROWS = most
    d = binned.n_features
    purchases = Purchases(Prices([1.0] * d).bind(d), binned.n_rows, "model")
    return Grower(binned, purchases, weight=weight)


def map_parts(binned, file):
    """Write a table to a memory map, part by part."""
    d, n = binned.bins.shape
    stored = np.memmap(file, np.uint8, "w+", shape=(-(-n // PART), d, PART))
    for k in range(len(stored)):
        part = binned.bins[:, k * PART : (k + 1) * PART]
        stored[k, :, : part.shape[1]] = part
    return BinnedParts(stored, binned.edges, binned.categorical, n)


def main():
    """Grow the same trees in one block and in several, in memory and from a file."""
    usual = grower_module.MAX_PACKED_ROWS
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 255, size=(COLUMNS, ROWS), dtype=np.uint8)
    binned = Binned(bins, [np.arange(254.0)] * COLUMNS, np.zeros(COLUMNS, dtype=bool))
    target = rng.normal(size=ROWS) + bins[0] / 255 + bins[1] / 255 * (bins[2] > 128)
    with tempfile.TemporaryFile() as file:
        growers = {
            "one block, two planes": grower(binned, ROWS, np.ones(ROWS)),
            "blocks in memory": grower(binned, usual),
            "blocks in a memory map": grower(map_parts(binned, file), usual),
        }
        grown = [(each.grow(target), each.values(target, None, 0.0)) for each in growers.values()]
        kept = [(tree.left.tolist(), values.tolist()) for tree, values in grown]
        assert kept[0] == kept[1] == kept[2]
        runs = {name: partial(each.grow, target) for name, each in growers.items()}
        times = take_turns(runs)
    first, *others = times
    rows = [(name, f"{times[name] / times[first]:.2f}", "<= 0.6") for name in others]
    label = f"a tree of depth 4, {ROWS} x {COLUMNS}"
    report("blocks", (label, f"CPU time / {first}", "limit"), rows)


if __name__ == "__main__":
    main()
