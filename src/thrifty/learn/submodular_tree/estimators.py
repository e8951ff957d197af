"""The estimators: trees of linear models whose nodes buy greedily (ASTC, Kusner et al. 2014).

Each node selects the features that explain the most variance of the target per price, among the
rows that reach it and beyond what the nodes above have paid for, until its budget is spent. Then
it is fitted by least squares, and sends the half of its rows with the larger outputs to one child
and the other half to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedClassifier
from thrifty.learn.submodular_tree.base import SubmodularTree
from thrifty.model import LinearTree

__all__ = ["SubmodularTreeClassifier", "SubmodularTreeRegressor"]

Floats = NDArray[np.float64]


class SubmodularTreeClassifier(SubmodularTree, PricedClassifier):
    """A tree of linear classifiers whose nodes buy features greedily (ASTC).

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    node_budget : float or sequence of float, optional
        What each node may spend on features that the nodes above have not bought; a sequence has
        the budgets of all ``2**max_depth - 1`` nodes of a full tree, level by level from the left.
        By default a node buys every feature that explains more than chance would.
    max_depth : int
        Number of nodes on the longest path; 1 is a single linear model.
    routing : {"hard", "soft"}
        Whether a node is fitted to the rows that reach it, or to all rows, weighted by how close
        they are to reaching it. Predictions use hard thresholds in both cases.
    selection : {"significant", "greedy"}
        "significant" buys a feature only if it explains more than chance would, and spends what is
        left on cheaper ones when the best no longer fits into the budget. "greedy" is the rule of
        Kusner et al. (2014): the best feature per price, whatever it explains, until the first that
        does not fit.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, at a node.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree
        The frozen model.

    Notes
    -----
    The targets of least squares are -1 and 1: one output for two classes, one per class for more.
    All outputs share the features that are bought. With several outputs, a node routes by the
    linear combination of them that varies most. Platt scaling on the training rows turns outputs
    into probabilities.

    Examples
    --------
    The sign of the first feature, which costs 1, says which of the other two, at 5 each, matters.
    The tree reads all three, but no row buys more than two of them:

    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0
    >>> prices = Prices([1.0, 5.0, 5.0])
    >>> model = SubmodularTreeClassifier(prices, node_budget=5, max_depth=2).fit(X, y)
    >>> model.bill(X).max().item(), model.model_.support.sum().item(), round(model.score(X, y), 2)
    (6.0, 3, 0.95)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SubmodularTree._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        node_budget: float | Sequence[float] | None = None,
        max_depth: int = 4,
        routing: str = "hard",
        selection: str = "significant",
        min_samples_leaf: float = 50,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.prices = prices
        self.node_budget = node_budget
        self.max_depth = max_depth
        self.routing = routing
        self.selection = selection
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds (n,) of the second of two classes, or scores (n, K) for more."""
        model = self.model_
        assert isinstance(model, LinearTree)
        raw = model.raw(self.schema_.encode(self._checked(X)))
        return raw[:, 0] if raw.shape[1] == 1 else raw


class SubmodularTreeRegressor(RegressorMixin, SubmodularTree):  # type: ignore[misc]
    """A tree of linear regressions whose nodes buy features greedily (ASTC).

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    node_budget : float or sequence of float, optional
        What each node may spend on features that the nodes above have not bought; a sequence has
        the budgets of all ``2**max_depth - 1`` nodes of a full tree, level by level from the left.
        By default a node buys every feature that explains more than chance would.
    max_depth : int
        Number of nodes on the longest path; 1 is a single linear model.
    routing : {"hard", "soft"}
        Whether a node is fitted to the rows that reach it, or to all rows, weighted by how close
        they are to reaching it. Predictions use hard thresholds in both cases.
    selection : {"significant", "greedy"}
        "significant" buys a feature only if it explains more than chance would, and spends what is
        left on cheaper ones when the best no longer fits into the budget. "greedy" is the rule of
        Kusner et al. (2014): the best feature per price, whatever it explains, until the first that
        does not fit.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, at a node.

    Attributes
    ----------
    model_ : thrifty.model.LinearTree
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = 3.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> prices = Prices([1.0, 5.0, 5.0])
    >>> model = SubmodularTreeRegressor(prices, node_budget=5, max_depth=2).fit(X, y)
    >>> set(model.bill(X).tolist()), round(model.score(X, y), 2)  # all three would cost 11
    ({6.0}, 1.0)
    """

    def __init__(
        self,
        prices: PriceList | None = None,
        node_budget: float | Sequence[float] | None = None,
        max_depth: int = 4,
        routing: str = "hard",
        selection: str = "significant",
        min_samples_leaf: float = 50,
    ) -> None:
        self.prices = prices
        self.node_budget = node_budget
        self.max_depth = max_depth
        self.routing = routing
        self.selection = selection
        self.min_samples_leaf = min_samples_leaf
