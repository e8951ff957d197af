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
from thrifty.learn import GatedClassifier, GatedRanker, GatedRegressor
from thrifty.learn._sklearn import take_rows
from thrifty.learn.base import task_of
from thrifty.learn.gates.adapt import AdaptGate
from thrifty.learn.gates.base import BaseGate
from thrifty.learn.ndcg import ndcg_by_query
from thrifty.learn.targets import queries

__all__ = ["GATES", "Estimate", "GateFit", "GateResult", "fit_gate"]

GATES: dict[str, type[AdaptGate]] = {
    "classification": GatedClassifier,
    "regression": GatedRegressor,
    "ranking": GatedRanker,
}
METRICS = {"classification": "accuracy", "regression": "r2", "ranking": "ndcg@5"}

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
    """Bills and qualities of one way to predict the test rows.

    Parameters
    ----------
    bills : float64 array of shape (n,)
    qualities : bool array of shape (n,), or float64 array
        What the quality is the mean of: which rows are predicted correctly; one minus the squared
        error of each row over the variance of the target; or the NDCG@5 of each query.
    """

    bills: NDArray[np.float64]
    qualities: NDArray[Any]

    @property
    def bill(self) -> Estimate:
        """Mean bill."""
        return _mean(self.bills)

    @property
    def quality(self) -> Estimate:
        """Accuracy, with Wilson's interval, or R2 or NDCG@5, with Student's."""
        if self.qualities.dtype != np.bool_:
            return _mean(self.qualities)
        hits = self.qualities
        interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(LEVEL, "wilson")
        return Estimate(float(hits.mean()), float(interval.low), float(interval.high))


@dataclass(frozen=True, eq=False)
class GateFit:
    """A gate, and how it does on the test set.

    Parameters
    ----------
    model : BaseGate
        The fitted estimator.
    metric : str
        The quality: accuracy, r2 or ndcg@5.
    rows : dict
        Number of rows in the parts "train", "validation" and "test".
    sent : float
        Share of the test rows that are sent to the expensive model.
    gated, all_sent, none_sent : GateResult
        The gated model, the expensive model alone, and the cheap model alone.
    """

    model: BaseGate
    metric: str
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
        """Quality of the expensive model alone, less that of the gated model."""
        return _mean(self.all_sent.qualities.astype(float) - self.gated.qualities)

    @property
    def gain(self) -> Estimate:
        """Quality of the gated model, less that of the cheap model alone."""
        return _mean(self.gated.qualities.astype(float) - self.none_sent.qualities)

    @property
    def verdict(self) -> str:
        """Whether the gate pays on the test rows.

        ``"sends nothing"``: the cheap model predicts all rows. ``"saves nothing"``: sending all
        rows costs as much, within noise or up to 5%. ``"cheap model suffices"``: sending none costs
        less and is as good within noise. Otherwise ``"pays"``.
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
    model: BaseGate | None = None,
    qid: Any = None,
    random_state: int = 0,
) -> GateFit:
    """Split a table 60/20/20, fit a gate on it, and measure the gate.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
    y : array of shape (n,)
        Labels, values, or relevance grades.
    model : BaseGate, optional
        The estimator, with its expensive model, prices and target; it is fitted in place. By
        default, ``GatedClassifier()``.
    qid : array of shape (n,), optional
        Query of each row, for ranking; queries are not split.
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
    >>> [round(way.quality.mean, 3) for way in (result.none_sent, result.gated, result.all_sent)]
    [0.95, 0.967, 0.967]
    """
    gate: Any = GatedClassifier(random_state=random_state) if model is None else model
    task = task_of(gate)
    query = queries(qid, len(y)) if task == "ranking" else None
    parts = split_three(task, y, query, HELD_OUT_SHARE, random_state)
    columns = [y] if query is None else [y, query]
    train, validation, test = (
        (take_rows(X, rows), *(column[rows] for column in columns)) for rows in parts.values()
    )
    more = {} if query is None else {"qid": train[2]}
    gate.fit(*train[:2], validation=validation, **more)
    table = test[0]
    predicted = gate.predict_proba(table) if task == "classification" else gate.predict(table)
    ways = [
        GateResult(bills, _qualities(gate, scores, *test[1:]))
        for scores, bills in (
            (predicted, gate.bill(table)),
            gate.expensive_outputs(table),
            gate.local_outputs(table),
        )
    ]
    rows = {name: len(rows) for name, rows in parts.items()}
    return GateFit(gate, METRICS[task], rows, float(gate.sent(table).mean()), *ways)


def _qualities(
    gate: Any,
    scores: NDArray[np.float64],
    y: NDArray[Any],
    query: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Return what the quality is the mean of; see `GateResult`."""
    if query is not None:
        return ndcg_by_query(y.astype(np.float64), scores, np.unique(query, return_inverse=True)[1])
    if task_of(gate) == "classification":
        return np.asarray(gate.classes_[scores.argmax(axis=1)] == y)
    return np.asarray(1.0 - np.square(scores - y) / (float(np.var(y)) or 1.0))


def _mean(values: NDArray[np.float64]) -> Estimate:
    """Return a mean with Student's interval."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Estimate(mean, -np.inf, np.inf)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - half, mean + half)
