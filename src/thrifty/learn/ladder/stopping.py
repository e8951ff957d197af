"""Choose where rows stop on a ladder, by dynamic programming on rows the rungs have not seen.

A row that stops on rung r costs its loss there, plus the cost weight times the bill of everything
that it has read so far. From the top rung down, each threshold is the uncertainty at which two
kinds of rows cost least together: those up to it, which stop, and those above it, which go on
under the thresholds that have been found already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.ladder.rungs import OutOfFold
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Forest, Frozen, Stages
from thrifty.model.links import apply_link
from thrifty.model.stages import class_uncertainty

__all__ = ["FittedLadder", "RungOutputs", "StoppingEvidence"]

Floats = NDArray[np.float64]

# Cost weights of a path besides 0, and the smallest of them: the loss that the ladder saves per
# unit of its full bill, times this share.
N_COST_WEIGHTS = 24
SMALLEST_COST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class StoppingEvidence:
    """What rows would lose and pay if they stopped on each rung.

    Parameters
    ----------
    uncertainty : array of shape (rungs, n)
        Uncertainty of each row on each rung, which is compared with the threshold.
    loss : array of shape (rungs, n)
        Loss of the prediction there.
    bill : array of shape (rungs, n)
        What the row has paid when it gets there.
    weight : array of shape (n,)
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.ladder.stopping import StoppingEvidence
    >>> uncertainty = np.array([[0.1, 0.4], [0.0, 0.0]])
    >>> loss = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> bill = np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(2))
    >>> evidence.thresholds(0.1)  # the second row saves a loss of 1 for a bill of 3
    array([0.25,  inf])
    >>> evidence.thresholds(0.5)
    array([inf, inf])
    """

    uncertainty: Floats
    loss: Floats
    bill: Floats
    weight: Floats

    def thresholds(self, cost_weight: float) -> Floats:
        """Return the best threshold of each rung at a cost weight, (rungs,); the last is +inf.

        Rows of equal uncertainty stop together. Between two rows of different uncertainty, the
        threshold lies in the middle.
        """
        thresholds = np.full(len(self.loss), np.inf)
        go_on = self.loss[-1] + cost_weight * self.bill[-1]
        for r in range(len(self.loss) - 2, -1, -1):
            stop = self.loss[r] + cost_weight * self.bill[r]
            order, ranked, ends = self._ranking[r]
            # What it costs, compared with going on, if the first 0, 1, 2, ... runs of rows stop.
            costs = np.append(0.0, np.cumsum((self.weight * (stop - go_on))[order])[ends])
            n_runs = int(np.argmin(costs))
            if n_runs == 0:
                thresholds[r] = -np.inf
            elif n_runs < len(ends):
                last = ends[n_runs - 1]
                thresholds[r] = float((ranked[last] + ranked[last + 1]) / 2)
            go_on = np.where(self.uncertainty[r] > thresholds[r], go_on, stop)
        return thresholds

    def cost_weights(self) -> list[float]:
        """Return cost weights for a path: from one at which nothing is bought down to 0."""
        loss = np.average(self.loss, axis=1, weights=self.weight)
        bill = np.average(self.bill, axis=1, weights=self.weight)
        saved = loss[0] - loss.min()
        if saved <= 0 or bill[-1] <= 0:
            return [0.0]
        largest = saved / bill[bill > 0].min()
        smallest = SMALLEST_COST_WEIGHT * saved / bill.max()
        return [*np.geomspace(largest, smallest, N_COST_WEIGHTS).tolist(), 0.0]

    def __add__(self, other: StoppingEvidence) -> StoppingEvidence:
        """Join two sets of rows."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return StoppingEvidence(*(np.concatenate(pair, axis=-1) for pair in pairs))

    @cached_property
    def _ranking(self) -> list[tuple[NDArray[np.intp], Floats, NDArray[np.intp]]]:
        """Rows of each rung by uncertainty, these uncertainties, and where runs of equal ones end.

        They are sorted once for all cost weights.
        """
        ranking = []
        for uncertainty in self.uncertainty:
            order = np.argsort(uncertainty, kind="stable")
            ranked = uncertainty[order]
            ranking.append((order, ranked, np.flatnonzero(np.append(np.diff(ranked) > 0, True))))
        return ranking


@dataclass(frozen=True, eq=False)
class RungOutputs:
    """What every rung outputs for the same rows; one entry per rung, the constant first.

    Parameters
    ----------
    scores : list of arrays
        Class probabilities (n, K), or values (n,).
    used : list of bool arrays of shape (n, d)
        Features that the rung alone touches.
    evaluations : list of int
        Trees of the rung.
    uncertainty : array of shape (rungs, n)
        Uncertainty of each row: from the class probabilities, or from an uncertainty model; 0 for
        values without such a model.
    model_used : list of (bool array of shape (n, d) or None)
        Features that the uncertainty model touches; None if the rung has none.
    model_evaluations : list of int
        Trees of the uncertainty model.
    """

    scores: list[Floats]
    used: list[NDArray[np.bool_]]
    evaluations: list[int]
    uncertainty: Floats
    model_used: list[NDArray[np.bool_] | None]
    model_evaluations: list[int]

    @classmethod
    def of(
        cls,
        rungs: Sequence[Forest],
        uncertainty_models: Sequence[Forest | None],
        X: NDArray[np.floating],
    ) -> Self:
        """Send the rows X (n, d) through all rungs and uncertainty models."""
        outputs = [rung.score_and_used(X) for rung in rungs]
        scores, used = [scores for scores, _ in outputs], [used for _, used in outputs]
        uncertainty: list[Floats] = []
        model_used: list[NDArray[np.bool_] | None] = []
        for r, model in enumerate(uncertainty_models):
            if model is not None:
                values, touched = model.score_and_used(X)
                uncertainty.append(values)
                model_used.append(touched)
            else:
                is_class = scores[r].ndim == 2
                uncertainty.append(class_uncertainty(scores[r]) if is_class else np.zeros(len(X)))
                model_used.append(None)
        return cls(
            scores,
            used,
            [rung.most_evaluations for rung in rungs],
            np.array(uncertainty),
            model_used,
            [0 if model is None else model.most_evaluations for model in uncertainty_models],
        )

    @classmethod
    def out_of_fold(
        cls, rungs: Sequence[Forest], folded: Sequence[OutOfFold], X: NDArray[np.floating]
    ) -> Self:
        """Take the outputs of the training rows X (n, d) of a classifier from its folds.

        `folded` has an entry for each rung but the constant, which needs no folds.
        """
        constant_scores, nothing = rungs[0].score_and_used(X)
        scores = [constant_scores, *(apply_link(rungs[0].link, raw.T) for raw, _ in folded)]
        return cls(
            scores,
            [nothing, *(used for _, used in folded)],
            [rung.most_evaluations for rung in rungs],
            np.array([class_uncertainty(table) for table in scores]),
            [None] * len(rungs),
            [0] * len(rungs),
        )

    def bills(self, prices: BoundPrices, evaluated: NDArray[np.bool_]) -> Floats:
        """Return what the rows have paid when they are on each rung, (rungs, n).

        They have passed all rungs below, and the uncertainty models of the rungs in `evaluated`
        (rungs,).
        """
        touched = np.zeros_like(self.used[0])
        evaluations, bills = 0, []
        for r, used in enumerate(self.used):
            touched = touched | used
            evaluations += self.evaluations[r]
            model_used = self.model_used[r]
            if evaluated[r] and model_used is not None:
                touched |= model_used
                evaluations += self.model_evaluations[r]
            bills.append(prices.bill(touched, evaluations))
        return np.array(bills)


@dataclass(frozen=True, eq=False)
class FittedLadder:
    """Fitted rungs and the evidence for stopping: all that a model at any cost weight needs.

    The thresholds that its methods return and take are +inf from the top rung that any row
    reaches: equal models have equal thresholds.

    Parameters
    ----------
    rungs : list of Forest
        The constant, then the calibrated rungs, cheapest first.
    uncertainty_models : list of (Forest or None)
        The uncertainty model of each rung, if it has one.
    prices : BoundPrices
    validation : RungOutputs
        The validation rows on every rung.
    evidence : StoppingEvidence
        Chooses the thresholds: the validation rows, followed by the training rows out of fold
        where those are needed.
    """

    rungs: list[Forest]
    uncertainty_models: list[Forest | None]
    prices: BoundPrices
    validation: RungOutputs
    evidence: StoppingEvidence

    def thresholds(self, cost_weight: float) -> Floats:
        """Return the best thresholds at a cost weight, (rungs,)."""
        thresholds = self.evidence.thresholds(cost_weight)
        thresholds[_top(thresholds) :] = np.inf
        return thresholds

    def thresholds_of_rung(self, rung: int) -> Floats:
        """Return the thresholds at which every row stops on one rung, (rungs,)."""
        thresholds = np.full(len(self.rungs), np.inf)
        thresholds[:rung] = -np.inf
        return thresholds

    def model(self, thresholds: Floats) -> Frozen:
        """Return the frozen model; if all rows stop on the same rung, that is the rung itself."""
        top = _top(thresholds)
        if _is_single_rung(thresholds):
            return self.rungs[top]
        end = top + 1
        return Stages.of(self.rungs[:end], self.uncertainty_models[:end], thresholds[:end])

    def validation_outputs(self, thresholds: Floats) -> ValidationOutputs:
        """Return what `model` outputs for the validation rows, without running it."""
        outputs, n = self.validation, self.validation.uncertainty.shape[1]
        if _is_single_rung(thresholds):
            top = _top(thresholds)
            bills = self.prices.bill(outputs.used[top], outputs.evaluations[top])
            return ValidationOutputs(outputs.scores[top], bills)
        climbs = outputs.uncertainty > thresholds[:, np.newaxis]
        climbs[-1] = False
        stops = np.argmin(climbs, axis=0)
        scores = outputs.scores[0]
        for r in range(1, len(self.rungs)):
            stops_here = (stops == r).reshape(-1, *[1] * (scores.ndim - 1))
            scores = np.where(stops_here, outputs.scores[r], scores)
        if any(model is not None for model in self.uncertainty_models):
            bills = outputs.bills(self.prices, np.isfinite(thresholds))
        else:
            # Then bills do not depend on the thresholds; the validation rows come first.
            bills = self.evidence.bill[:, :n]
        return ValidationOutputs(scores, bills[stops, np.arange(n)])


def _top(thresholds: Floats) -> int:
    """Return the highest rung that a row can reach; the last threshold is +inf."""
    return int(np.argmax(thresholds == np.inf))


def _is_single_rung(thresholds: Floats) -> bool:
    """Return whether all rows stop on the same rung."""
    return bool(np.all(thresholds[: _top(thresholds)] == -np.inf))
