"""Train a gate on a whole table: split it, fit on the training set, place the threshold on the
validation set, and measure on the test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import binomtest

from thrifty.bundle import Predictor
from thrifty.frontier.splits import split_three
from thrifty.learn import GatedClassifier
from thrifty.learn._sklearn import take_rows
from thrifty.learn.gates.base import BaseGateClassifier

__all__ = ["Estimate", "GateFit", "GateResult", "fit_gate"]

# Share of the rows in the validation set, and again in the test set.
HELD_OUT_SHARE = 0.2
# Confidence level of the intervals.
LEVEL = 0.95
# A saving below this share of the bill is not worth a gate, however certain it is.
SMALL_SAVING = 0.05


class Estimate(NamedTuple):
    """A mean over the test rows, with its 95% confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GateResult:
    """Bills and hits of one way to predict the test rows.

    Parameters
    ----------
    bills : float64 array of shape (n,)
    hits : bool array of shape (n,)
        Which rows are predicted correctly.
    """

    bills: NDArray[np.float64]
    hits: NDArray[np.bool_]

    @property
    def bill(self) -> Estimate:
        """Mean bill."""
        return _mean(self.bills)

    @property
    def accuracy(self) -> Estimate:
        """Share of the rows that are predicted correctly, with Wilson's interval."""
        interval = binomtest(int(self.hits.sum()), len(self.hits)).proportion_ci(LEVEL, "wilson")
        return Estimate(float(self.hits.mean()), float(interval.low), float(interval.high))


@dataclass(frozen=True, eq=False)
class GateFit:
    """A gate, and how it does on the test set.

    Parameters
    ----------
    model : BaseGateClassifier
        The fitted estimator.
    rows : dict
        Number of rows in the parts "train", "validation" and "test".
    sent : float
        Share of the test rows that are sent to the expensive model.
    gated, all_sent, none_sent : GateResult
        The gated model, the expensive model alone, and the cheap model alone.
    """

    model: BaseGateClassifier
    rows: dict[str, int]
    sent: float
    gated: GateResult
    all_sent: GateResult
    none_sent: GateResult

    @property
    def predictor(self) -> Predictor:
        """The frozen model, with names and prices."""
        return self.model.predictor_

    @property
    def saving(self) -> Estimate:
        """How much less than the expensive model alone a row costs."""
        return _mean(self.all_sent.bills - self.gated.bills)

    @property
    def loss(self) -> Estimate:
        """Accuracy of the expensive model alone, less that of the gated model."""
        return _mean(self.all_sent.hits.astype(float) - self.gated.hits)

    @property
    def gain(self) -> Estimate:
        """Accuracy of the gated model, less that of the cheap model alone."""
        return _mean(self.gated.hits.astype(float) - self.none_sent.hits)

    @property
    def verdict(self) -> str:
        """Whether the gate pays on the test rows.

        ``"sends nothing"``: the cheap model predicts all rows. ``"saves nothing"``: sending all
        rows costs as much, within noise or up to 5%. ``"cheap model suffices"``: sending none costs
        less and is as accurate within noise. Otherwise ``"pays"``.
        """
        if self.sent == 0:
            return "sends nothing"
        if self.saving.low <= 0 or self.saving.mean < SMALL_SAVING * self.all_sent.bill.mean:
            return "saves nothing"
        if self.gain.low <= 0 and self.none_sent.bill.mean < self.gated.bill.mean:
            return "cheap model suffices"
        return "pays"


def fit_gate(
    X: Any,
    y: NDArray[Any],
    *,
    model: BaseGateClassifier | None = None,
    random_state: int = 0,
) -> GateFit:
    """Split a table 60/20/20, fit a gate on it, and measure the gate.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
    y : array of shape (n,)
        Labels.
    model : BaseGateClassifier, optional
        The estimator, with its expensive model, prices and target; it is fitted in place. By
        default, ``GatedClassifier()``.
    random_state : int
        Splits the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.fit_gate import fit_gate
    >>> from thrifty import GatedClassifier, LeavesFamily
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> result = fit_gate(X, y, model=GatedClassifier(family=LeavesFamily(), random_state=0))
    >>> result.rows["test"], round(result.sent, 2)
    (120, 0.33)
    >>> [round(way.accuracy.mean, 3) for way in (result.none_sent, result.gated, result.all_sent)]
    [0.95, 0.967, 0.967]
    """
    model = GatedClassifier(random_state=random_state) if model is None else model
    parts = split_three("classification", y, None, HELD_OUT_SHARE, random_state)
    train, validation, (table, labels) = ((take_rows(X, rows), y[rows]) for rows in parts.values())
    model.fit(*train, validation=validation)
    gated = GateResult(model.bill(table), model.predict(table) == labels)
    others = []
    for proba, bills in (model.expensive_outputs(table), model.local_outputs(table)):
        others.append(GateResult(bills, model.classes_[proba.argmax(axis=1)] == labels))
    rows = {name: len(rows) for name, rows in parts.items()}
    return GateFit(model, rows, float(model.sent(table).mean()), gated, *others)


def _mean(values: NDArray[np.float64]) -> Estimate:
    """Return a mean with Student's interval."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Estimate(mean, -np.inf, np.inf)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - half, mean + half)
