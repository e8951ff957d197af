"""Trees of a budgeted forest on the workers of a cluster: each worker grows some of them.

A deep tree has thousands of nodes, and each would take a round of messages if workers shared its
rows. So they share the trees: each worker gets the bins of all rows, a byte for each value. The
trees are tasks of Dask, which does those of a worker that is lost again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thrifty.costs import BoundPrices
from thrifty.kernels.growing_tree import Tree
from thrifty.kernels.threads import threads
from thrifty.learn.binned import Binned
from thrifty.learn.budget_forest.grower import Rules, TreeGrower
from thrifty.learn.budget_forest.impurities import Impurity
from thrifty.learn.cluster import ClusterTrainingSet
from thrifty.learn.cluster.parts import wait_for
from thrifty.learn.cluster.training_set import join_rows

__all__ = ["ClusterTreeGrower"]


class ClusterTreeGrower:
    """Grow trees on rows that are on a cluster; see `TreeGrower`.

    Parameters
    ----------
    train : ClusterTrainingSet
    rules : Rules
        How to split.
    """

    def __init__(self, train: ClusterTrainingSet, rules: Rules) -> None:
        self.client, self.rows = train.client, train.rows
        about = (
            train.binned.edges, train.categorical, train.class_weight, train.prices,
            train.n_classes, rules,
        )  # fmt: skip
        self._about = self.client.scatter(about, broadcast=True, hash=False)

    def grow(self, impurity: Impurity, seeds: Sequence[int]) -> list[Tree]:
        """Grow one tree for each seed; the result does not depend on the number of workers."""
        n_threads = self.client.nthreads()
        # Seeds are dealt to the threads of all workers in turn.
        slots = [worker for worker in sorted(n_threads) for _ in range(n_threads[worker])]
        shares: dict[str, list[int]] = {}
        for k in range(len(seeds)):
            shares.setdefault(slots[k % len(slots)], []).append(k)
        futures = [
            self.client.submit(
                grow_trees, self.rows, self._about, impurity, [seeds[k] for k in own],
                n_threads[worker], workers=[worker], allow_other_workers=True, pure=False,
            )
            for worker, own in shares.items()
        ]  # fmt: skip
        wait_for(self.client, futures)
        trees: list[Any] = [None] * len(seeds)
        for own, grown in zip(shares.values(), self.client.gather(futures), strict=True):
            for k, tree in zip(own, grown, strict=True):
                trees[k] = tree
        return trees


def grow_trees(
    partitions: Sequence[Any],
    about: tuple[Any, Any, Any, BoundPrices, int, Rules],
    impurity: Impurity,
    seeds: Sequence[int],
    n_threads: int,
) -> list[Tree]:
    """Grow some trees on all rows, on the worker that runs this."""
    edges, categorical, class_weight, prices, n_classes, rules = about
    bins, codes, weight = join_rows(partitions, class_weight)
    binned = Binned(bins, edges, categorical)
    with threads(n_threads):
        return TreeGrower(binned, prices, codes, n_classes, weight, rules).grow(impurity, seeds)
