"""Cost-complexity pruning of every tree (Breiman et al. 1984), blind to prices.

Impurity + alpha * leaves, least for each tree alone. A leaf more is a split more, so all alphas
at once are the same nested problem as in BudgetPrune, with one unit of cost a split and
nothing shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.kernels import closure_arcs as arcs
from thrifty.kernels.closure_path import all_closures
from thrifty.learn.forest_pruner import ForestPruner, Task
from thrifty.learn.pruned import prune
from thrifty.learn.rivals.impurity import class_counts, gini_sums
from thrifty.model import Forest
from thrifty.model.nodes import is_leaf

__all__ = ["CostComplexityClassifier"]

POINTS = 60
# Impurities are sums of squares: whole numbers of this fine a share of them.
FINE = 2.0**56


class CostComplexityClassifier(ForestPruner):
    """A forest whose trees are pruned to few leaves, each on its own.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; prices only tell the bill.
    alpha : float
        Gini impurity that a leaf more must save, scikit-learn's `ccp_alpha`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        alpha: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.alpha = alpha

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        return {"alpha": float(self.alpha)}, _pruned(task, _alphas(task), self.alpha)

    def _forests(self, task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
        alphas = _alphas(task)
        found = np.unique(alphas[alphas > 0])[::-1]
        picked = np.unique(np.linspace(0, len(found) - 1, min(POINTS, len(found))).astype(int))
        for alpha in np.append(found, 0.0)[picked + 1]:
            yield {"alpha": float(alpha)}, _pruned(task, alphas, alpha)


def _pruned(task: Task, alphas: NDArray[np.float64], alpha: float) -> Forest:
    # As in scikit-learn, 0 prunes nothing, not even splits that save no impurity.
    return prune(task.forest, alphas > alpha) if alpha > 0 else task.forest


def _alphas(task: Task) -> NDArray[np.float64]:
    """Alpha from which on each node splits no more."""
    forest = task.forest
    counts = class_counts(task)
    impurity = gini_sums(counts)
    split = np.flatnonzero(~is_leaf(forest.nodes))
    child = forest.nodes["child"][split]
    gain = np.zeros(len(impurity))
    gain[split] = impurity[split] - impurity[child] - impurity[child + 1]
    unit = max(float(gain.sum()), 1.0) / FINE
    parent = arcs.find_parents(forest.nodes["child"])
    whole = np.rint(gain / unit).astype(np.int64)
    number, above, worth = arcs.chains(parent, arcs.worthy(parent, whole), whole)
    # A chain that stays or goes as one has as many splits as nodes.
    cost = np.bincount(number[number >= 0], minlength=len(above)).astype(np.int64)
    nothing = np.zeros(len(above) + 1, dtype=np.int64)
    rates = all_closures(above, nothing, np.zeros(0, dtype=np.int32), worth, cost)
    weight = counts[forest.roots[:1]].sum() or 1.0
    return np.asarray(np.append(rates * (unit / weight), 0.0)[number])
