"""CSCC: a cascade of linear classifiers for rare classes (002 sec. 3.5, eq. 3.20 to 3.25)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.cost_linear_classifier import CostLinearClassifier
from thrifty.learn.soft_tree import Shape

__all__ = ["CostCascadeClassifier"]


class CostCascadeClassifier(CostLinearClassifier):
    """Linear classifiers in a row, each of which lets likely negatives go.

    A row that is not above the threshold of a stage exits there, with the answer of that
    stage; the others go on, and buy more. The loss of a stage counts for the rows that exit
    there, and all stages are learnt together with the price of every exit. The second of two
    classes is the one that goes on; with more than two, each has a cascade of its own.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    n_stages : int
        Classifiers in a row, at most.
    loss : {"log_loss", "squared"}
        Log-loss, or half the squared error of targets -1 and 1.
    base : {"raw", "boosted"}
        What the stages weigh: columns of the table, or boosted trees.
    n_estimators : int
        Boosted trees, for ``base="boosted"``.
    shrinkage : float
        Weight of the l1 norm (rho).
    max_sweeps : int
        Sweeps over the stages, at most.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss (mu); bills are not weighted.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows, for
        ``base="boosted"``.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree or OneVsRest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CostCascadeClassifier, Prices
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 1)  # few; without the first there is no need to ask on
    >>> model = CostCascadeClassifier(
    ...     Prices([1.0, 10.0]), penalty=0.003, n_stages=2, class_weight="balanced").fit(X, y)
    >>> bool(model.predict(X)[y].mean() > 0.9), bool(model.bill(X).mean() < 6)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinearClassifier._parameter_constraints,
        "n_stages": [Interval(Integral, 1, 32, closed="both")],
    }
    at_exit: ClassVar[bool] = True

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        n_stages: int = 4,
        loss: str = "log_loss",
        base: str = "raw",
        n_estimators: int = 100,
        shrinkage: float = 1e-4,
        max_sweeps: int = 10,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.n_stages = n_stages
        self.loss = loss
        self.base = base
        self.n_estimators = n_estimators
        self.shrinkage = shrinkage
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.random_state = random_state

    def _shape(self) -> Shape:
        return Shape.chain(self.n_stages)
