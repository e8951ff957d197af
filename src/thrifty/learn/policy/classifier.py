"""Policies for classification."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval
from thrifty.learn.base import PRICE_LISTS, PricedClassifier, share_rounds
from thrifty.learn.binned import Binned
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.folds import assign_folds
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.learn.policy.evidence import Trace
from thrifty.learn.policy.fitted import FittedPolicy
from thrifty.learn.policy.table import PolicyTable
from thrifty.learn.policy.training import PolicySettings, fit_policy

__all__ = ["PolicyClassifier"]

# Cost weights of a path, the last one being 0.
N_COST_WEIGHTS = 12
# More classes, for each of which every leaf has a value, share the boosting rounds of so many.
MANY_CLASSES = 150


class PolicyClassifier(PricedClassifier):
    """Choose the next feature of every row from the values that it has seen so far.

    Where the first values say which others matter, rows read different features, and each pays for
    its own ones only. Boosted trees predict the class from whatever is bought; others predict by
    how much each feature would lower the log-loss. A row buys the feature of the largest reduction
    per price while that, times its uncertainty, is above the cost weight.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the reduction of the log-loss, times the uncertainty of the row, that one
        unit of price must bring.
    cap : float, optional
        Largest bill of any row, prices per evaluation apart.
    n_estimators : int
        Boosting rounds. More than 150 classes share the rounds of 150; a warning says how many are
        made.
    min_samples_leaf : float
        Smallest number of training states, or sum of their weights, in a leaf; a row gives several
        states, with different features bought.
    folds : int
        Number of folds. The model is the average of one policy for each fold, trained without it.
    random_state : int, RandomState or None
        Draws the folds, the training states and the projections that trees are grown on.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Policy
        The frozen model.

    Examples
    --------
    Four classes: the first column says which two are left, and where to look next.

    >>> import numpy as np
    >>> from thrifty import PolicyClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 3))
    >>> y = np.where(X[:, 0] > 0, 2 + (X[:, 1] > 0), X[:, 2] > 0)
    >>> model = PolicyClassifier(penalty=0.01, n_estimators=40, random_state=0).fit(X, y)
    >>> model.used(X).mean(axis=0).round(1)
    array([1. , 0.5, 0.5])

    Every row reads the first column, and half of the rows each of the two others.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "cap": [Interval(Real, 0, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        cap: float | None = None,
        n_estimators: int = 150,
        min_samples_leaf: float = 20,
        folds: int = 3,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.cap = cap
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the policies of all folds and average them, at the cost weight `penalty`.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Class labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        train = self._read_training(X, y, sample_weight)
        model = self._train(train).model(self.penalty)
        self._predictor = self._predictor_of(model, train, {"penalty": float(self.penalty)})
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first: the constant, and up to 12 cost weights.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv), optional
            The rows on which bill and quality are measured. Without it they are measured on the
            training rows, each under the policy that has not seen it.
        """
        train = self._read_training(X, y, sample_weight)
        fitted = self._train(train)
        if validation is None:
            rows, trace = train.hold_out(np.arange(len(train)), train.schema), fitted.trace
        else:
            rows = self._read_validation(validation, train)
            trace = Trace.of(fitted.average, rows.X)
        points = [Point.measure(self._predictor_of(train.constant, train, {"penalty": None}), rows)]
        for cost_weight in fitted.cost_weights(N_COST_WEIGHTS):
            model = fitted.model(cost_weight)
            predictor = self._predictor_of(model, train, {"penalty": cost_weight})
            scores, used, evaluations = trace.at(model.cost_weight)
            outputs = ValidationOutputs(scores, train.prices.bill(used, evaluations))
            points.append(Point.measure(predictor, rows, outputs))
        return iter(sorted(points, key=lambda point: point.bill))

    def _train(self, train: TrainingSet) -> FittedPolicy:
        """Draw folds, and train a policy on all rows."""
        if len(train) < self.folds:
            raise DataError(
                f"folds: {self.folds} folds need at least as many training rows, there are "
                f"{len(train)}; give more rows or fewer folds"
            )
        random = check_random_state(self.random_state)
        fold = assign_folds(train.y, self.folds, random)
        binned = Binned.of(train.X, train.categorical, random)
        table = PolicyTable(
            train.X, train.y, train.n_classes, fold, binned, train.prices, train.weight
        )
        rounds = share_rounds(
            self.n_estimators, train.n_classes, MANY_CLASSES, "n_estimators", "boosting rounds"
        )
        settings = replace(
            PolicySettings(),
            n_estimators=rounds,
            value_estimators=rounds,
            min_samples_leaf=self.min_samples_leaf,
        )
        seed = np.random.default_rng(random.randint(2**31 - 1))
        return fit_policy(table, settings, seed, cap=math.inf if self.cap is None else self.cap)
