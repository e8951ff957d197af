"""The threshold of a gate: which rows it sends, what that costs, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.gates.quality import QUALITIES, Quality
from thrifty.learn.gates.thresholds import ROUNDING_TOL, Thresholds
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Frozen, Gate

__all__ = ["GateEvaluation", "ThresholdTarget", "read_threshold_target"]

Floats = NDArray[np.float64]
TARGETS = ("share", "bill", "quality")


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
    >>> from thrifty.learn.gates.evaluation import read_threshold_target
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


@dataclass(frozen=True, eq=False)
class GateEvaluation:
    """A gate, a local model and an expensive model on some rows, at every threshold at once.

    Scores and bills are computed on first use, as a target may need only some of them.

    Parameters
    ----------
    gate, local, expensive : Frozen
        Models of the same columns.
    prices : BoundPrices
    rows : ValidationSet
        Rows, with the results of calls if the expensive model is called.
    """

    gate: Frozen
    local: Frozen
    expensive: Frozen
    prices: BoundPrices
    rows: ValidationSet

    @cached_property
    def thresholds(self) -> Thresholds:
        """All thresholds that make a difference on these rows, or as many as can be compared."""
        return Thresholds(self.gate.score(self.rows.X), QUALITIES[self.rows.task].most_thresholds)

    @cached_property
    def scores(self) -> tuple[Floats, Floats]:
        """Scores (n, K) or (n,) of the local and of the expensive model."""
        return self.local.score(self.rows.X), self.expensive.score(self.rows.X)

    @cached_property
    def bills(self) -> tuple[Floats, Floats]:
        """Bills (n,) of rows that the gate keeps, and of rows that it sends."""
        gated = Gate.of(self.gate, self.local, self.expensive, 0.0)
        used, evaluations = self.gate.used(self.rows.X), self.gate.evaluations(self.rows.X)
        local = 0 if gated.shares_trees else self.local.evaluations(self.rows.X)
        expensive = self.expensive.evaluations(self.rows.X)
        return (
            self.prices.bill(used | self.local.used(self.rows.X), evaluations + local),
            self.prices.bill(used | self.expensive.used(self.rows.X), evaluations + expensive),
        )

    @cached_property
    def ungated_bills(self) -> tuple[Floats, Floats]:
        """Bills (n,) of either model alone: if all rows go one way, the gate is not read."""
        local, expensive = (
            self.prices.bill(model.used(self.rows.X), model.evaluations(self.rows.X))
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
    def quality(self) -> Quality:
        """Quality at each threshold."""
        return QUALITIES[self.rows.task](self.rows, self.thresholds, *self.scores)

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
            bounds = self.quality.bounds(confidence)
            failed = np.flatnonzero(bounds < number)
            if len(failed) and failed[-1] == len(bounds) - 1:
                raise BudgetError(
                    f"target: even if all rows are sent, a quality of {number:g} is not certain "
                    f"with {100 * confidence:g}% confidence; {bounds[-1]:.4g} is. Ask for that, "
                    "give more validation rows, or do without a confidence"
                )
            return int(failed[-1]) + 1 if len(failed) else 0
        fits = np.flatnonzero(self.quality.values >= number - ROUNDING_TOL)
        if not len(fits):
            raise BudgetError(
                f"target: no threshold reaches a quality of {number:g}; "
                f"the best is {self.quality.values.max():g}"
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
        chosen = sent if local.ndim == 1 else sent[:, np.newaxis]
        scores = np.where(chosen, expensive, local)
        bills = self.bills if sent.any() and not sent.all() else self.ungated_bills
        return ValidationOutputs(scores, np.where(sent, bills[1], bills[0]))
