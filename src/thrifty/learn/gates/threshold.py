"""The threshold of a gate: which rows it sends, what that costs, and how accurate it is.

Rows are sent in the order of their gate values, the highest first, and rows with equal values
together. So the number of different thresholds is at most the number of distinct values plus one,
and all of them are evaluated at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from thrifty.costs import BoundPrices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Frozen, Gate

__all__ = ["GateEvaluation", "ThresholdTarget", "Thresholds", "read_threshold_target"]

Floats = NDArray[np.float64]
TARGETS = ("share", "bill", "quality")
# Slack of shares, mean bills and accuracies that are equal up to rounding.
ROUNDING_TOL = 1e-9


class ThresholdTarget(NamedTuple):
    """What a threshold must meet."""

    kind: str
    """"share", "bill" or "quality"."""
    number: float
    confidence: float | None = None
    """For a quality: the confidence with which new rows reach it, too."""


def read_threshold_target(
    target: Mapping[str, float] | None, share: float, has_validation: bool
) -> ThresholdTarget:
    """Read what the threshold must meet.

    Raises
    ------
    DataError
        If the target is not one of the three with a number, or is a quality without validation
        rows to measure it on.

    Examples
    --------
    >>> from thrifty.learn.gates.threshold import read_threshold_target
    >>> read_threshold_target({"bill": 3}, share=0.5, has_validation=False)
    ThresholdTarget(kind='bill', number=3.0, confidence=None)
    >>> read_threshold_target(None, share=0.5, has_validation=False)
    ThresholdTarget(kind='share', number=0.5, confidence=None)
    """
    if target is None:
        return ThresholdTarget("share", float(share))
    given = dict(target) if isinstance(target, Mapping) else {}
    confidence = given.pop("confidence", None) if "quality" in given else None
    if len(given) != 1 or not set(given) <= set(TARGETS):
        raise DataError(
            f"target: give one of {', '.join(TARGETS)} and its number, got {target!r}; a quality "
            "may have a confidence beside it"
        )
    ((kind, number),) = given.items()
    if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
        raise DataError(f"target: the {kind} {number!r} is not a number from 0 up")
    if confidence is not None and not (
        isinstance(confidence, int | float) and 0.0 < confidence < 1.0
    ):
        raise DataError(f"target: the confidence {confidence!r} is not a number between 0 and 1")
    if kind == "quality" and not has_validation:
        raise DataError("target: a quality cannot be measured on training rows; give validation")
    return ThresholdTarget(kind, float(number), confidence)


class Thresholds:
    """Every threshold that makes a difference on some rows, from sending none to sending all.

    Parameters
    ----------
    values : float64 array of shape (n,)
        Gate values of the rows.

    Attributes
    ----------
    order : int array of shape (n,)
        The rows, by decreasing gate value.
    counts : int array of shape (m,)
        Number of rows that each threshold sends, increasing from 0 to n.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.threshold import Thresholds
    >>> thresholds = Thresholds(np.array([0.0, 4.0, 4.0, 2.0]))
    >>> thresholds.counts
    array([0, 2, 3, 4])
    >>> thresholds.threshold(thresholds.at_share(0.6))
    3.0
    """

    def __init__(self, values: Floats) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.order = np.argsort(-self.values, kind="stable")
        ranked = self.values[self.order]
        ends = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True)) + 1
        self.counts = np.append(0, ends)

    def threshold(self, index: int) -> float:
        """Return the threshold that sends `counts[index]` rows: halfway to the next value."""
        count = int(self.counts[index])
        if count == 0:
            return math.inf
        if count == len(self.values):
            return -math.inf
        above, below = self.values[self.order[count - 1]], self.values[self.order[count]]
        middle = float(below + (above - below) / 2.0)
        # Adjacent floats have no middle; the lower one sends the same rows.
        return middle if below <= middle < above else float(below)

    def sent(self, index: int) -> NDArray[np.bool_]:
        """Return which rows a threshold sends, (n,)."""
        sent = np.zeros(len(self.values), dtype=bool)
        sent[self.order[: int(self.counts[index])]] = True
        return sent

    def means(self, local: Floats, expensive: Floats) -> Floats:
        """Return the mean at each threshold, (m,), of numbers for kept and for sent rows."""
        change = np.cumsum((expensive - local)[self.order])
        sums = local.sum() + np.append(0.0, change)[self.counts]
        return np.asarray(sums / len(self.values))

    def area(self, local: Floats, expensive: Floats) -> float:
        """Return the mean of `means` over all shares of rows sent, from none to all.

        Examples
        --------
        The second row needs the expensive model. This gate sends it first:

        >>> import numpy as np
        >>> from thrifty.learn.gates.threshold import Thresholds
        >>> Thresholds(np.array([-1.0, 1.0])).area(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
        0.875
        """
        shares = self.counts / len(self.values)
        return float(np.trapezoid(self.means(local, expensive), shares))

    def at_share(self, share: float) -> int:
        """Return the index of the threshold that sends the most rows within a share of them."""
        fits = self.counts <= share * len(self.values) + ROUNDING_TOL
        return int(np.flatnonzero(fits)[-1])


@dataclass(frozen=True, eq=False)
class GateEvaluation:
    """A gate, a local model and an expensive model on some rows, at every threshold at once.

    Scores and bills are computed on first use, as a target may need only some of them.

    Parameters
    ----------
    gate, local, expensive : Frozen
        Models of the same columns.
    prices : BoundPrices
    X : array of shape (n, d)
        Encoded rows, with the results of calls if the expensive model is called.
    y : int64 array of shape (n,)
        Class codes.
    """

    gate: Frozen
    local: Frozen
    expensive: Frozen
    prices: BoundPrices
    X: NDArray[np.floating]
    y: NDArray[np.int64]

    @cached_property
    def thresholds(self) -> Thresholds:
        """All thresholds that make a difference on these rows."""
        return Thresholds(self.gate.score(self.X))

    @cached_property
    def scores(self) -> tuple[Floats, Floats]:
        """Class probabilities (n, K) of the local and of the expensive model."""
        return self.local.score(self.X), self.expensive.score(self.X)

    @cached_property
    def bills(self) -> tuple[Floats, Floats]:
        """Bills (n,) of rows that the gate keeps, and of rows that it sends."""
        gated = Gate.of(self.gate, self.local, self.expensive, 0.0)
        used, evaluations = self.gate.used(self.X), self.gate.evaluations(self.X)
        local = 0 if gated.shares_trees else self.local.evaluations(self.X)
        expensive = self.expensive.evaluations(self.X)
        return (
            self.prices.bill(used | self.local.used(self.X), evaluations + local),
            self.prices.bill(used | self.expensive.used(self.X), evaluations + expensive),
        )

    @cached_property
    def ungated_bills(self) -> tuple[Floats, Floats]:
        """Bills (n,) of either model alone: if all rows go one way, the gate is not read."""
        local, expensive = (
            self.prices.bill(model.used(self.X), model.evaluations(self.X))
            for model in (self.local, self.expensive)
        )
        return local, expensive

    @cached_property
    def mean_bills(self) -> Floats:
        """Mean bill at each threshold, (m,)."""
        means = self.thresholds.means(*self.bills)
        means[0], means[-1] = (bills.mean() for bills in self.ungated_bills)
        return means

    @cached_property
    def accuracies(self) -> Floats:
        """Accuracy at each threshold, (m,)."""
        local, expensive = (
            np.asarray(scores.argmax(axis=1) == self.y, dtype=np.float64) for scores in self.scores
        )
        return self.thresholds.means(local, expensive)

    @cached_property
    def _n_correct(self) -> NDArray[np.int64]:
        """Number of rows that are predicted correctly at each threshold, (m,)."""
        return np.rint(self.accuracies * len(self.y)).astype(np.int64)

    def accuracy_bounds(self, confidence: float) -> Floats:
        """Return a lower bound on the accuracy at each threshold, (m,), each with the confidence.

        The bound is exact for a share of hits (Clopper and Pearson 1934).
        """
        hits, n = self._n_correct, len(self.y)
        bounds = betaincinv(np.maximum(hits, 1), n - hits + 1, 1.0 - confidence)
        return np.where(hits > 0, bounds, 0.0)

    def choose(self, kind: str, number: float, confidence: float | None = None) -> int:
        """Return the index of the threshold that meets a target of `read_threshold_target`.

        It sends the most rows within a share or a mean bill, or the fewest that reach a quality.
        With a confidence, thresholds are tested one after the other, from sending all rows on, up
        to the first whose lower bound is below the quality. The order does not depend on the
        labels, so all that pass reach the quality at once with this confidence (fixed-sequence
        testing).

        Raises
        ------
        BudgetError
            If no threshold meets the target.
        """
        if kind == "share":
            return self.thresholds.at_share(number)
        if kind == "bill":
            means = self.mean_bills
            fits = np.flatnonzero(means <= number * (1.0 + ROUNDING_TOL))
            if not len(fits):
                raise BudgetError(
                    f"target: no threshold keeps a mean bill of {number:g}; "
                    f"the lowest is {means.min():g}"
                )
            return int(fits[-1])
        if confidence is not None:
            bounds = self.accuracy_bounds(confidence)
            failed = np.flatnonzero(bounds < number)
            if len(failed) and failed[-1] == len(bounds) - 1:
                raise BudgetError(
                    f"target: even if all rows are sent, a quality of {number:g} is not certain "
                    f"with {100 * confidence:g}% confidence; {bounds[-1]:.4g} is. Ask for that, "
                    "give more validation rows, or do without a confidence"
                )
            return int(failed[-1]) + 1 if len(failed) else 0
        fits = np.flatnonzero(self.accuracies >= number - ROUNDING_TOL)
        if not len(fits):
            raise BudgetError(
                f"target: no threshold reaches a quality of {number:g}; "
                f"the best is {self.accuracies.max():g}"
            )
        return int(fits[0])

    def model(self, index: int) -> Gate:
        """Freeze the gate at a threshold."""
        threshold = self.thresholds.threshold(index)
        return Gate.of(self.gate, self.local, self.expensive, threshold)

    def outputs(self, index: int) -> ValidationOutputs:
        """Return the scores and bills of `model(index)` on these rows, to the bit."""
        sent = self.thresholds.sent(index)
        local, expensive = self.scores
        scores = np.where(sent[:, np.newaxis], expensive, local)
        bills = self.bills if sent.any() and not sent.all() else self.ungated_bills
        return ValidationOutputs(scores, np.where(sent, bills[1], bills[0]))
