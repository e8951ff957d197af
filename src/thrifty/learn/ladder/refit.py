"""Train the boosted trees of a ladder again, on all rows of a table in files.

A ladder that was fitted on a sample keeps its features, uncertainty models, temperatures, weights
and extra-trees. The boosted trees of each rung are replaced by as many on all rows. They are surer
of some rows and less sure of others, so that rows would stop elsewhere, at other bills: where
uncertainty is that of the class probabilities, the thresholds are chosen again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.error_costs import class_loss
from thrifty.learn.ladder.parts import BoostedTrees, LightlyDampedLogLoss
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.ladder.stopping import FittedLadder, Plan, StoppingEvidence, rung_bills
from thrifty.learn.long_training_set import LongTrainingSet, Report
from thrifty.learn.losses import Loss, SquaredLoss
from thrifty.model import Average, Forest, Frozen, Stages
from thrifty.model.stages import class_uncertainty

__all__ = ["refit_rungs", "replan"]


def refit_rungs(
    model: Frozen,
    train: LongTrainingSet,
    seed: int,
    report: Report | None = None,
    deadline: float = np.inf,
    clock: Callable[[], float] = monotonic,
) -> Frozen | None:
    """Return the model with boosted trees of all rows; None if it has none that can be replaced.

    Models with branches are kept as they are: their rungs are fitted on some of the rows only.

    Parameters
    ----------
    model : Frozen
        A ladder, or a rung by itself.
    train : LongTrainingSet
    seed : int
        Draws the features of each tree on wide tables.
    report : callable, optional
        Is told which share of the rungs is done.
    deadline : float
        Time on the clock after which no further rung is trained, if it would take as long as the
        last one. The others keep their trees.
    clock : callable
    """
    rungs = list(model.rungs) if isinstance(model, Stages) else [model]
    places = [
        (r, k)
        for r, rung in enumerate(rungs)
        if isinstance(rung, Average)
        for k, part in enumerate(rung.parts)
        if _is_boosted(part)
    ]
    # The top rung first: it has the most to learn.
    took, done = 0.0, 0
    for r, k in reversed(places):
        began = clock()
        if began + took > deadline:
            break
        rung = rungs[r]
        assert isinstance(rung, Average)
        parts = list(rung.parts)
        parts[k] = _boost(parts[k], np.flatnonzero(rung.reads), train, seed)
        rungs[r] = replace(rung, parts=tuple(parts))
        took, done = clock() - began, done + 1
        if report is not None:
            report(done / len(places))
    if not done:
        return None
    return replace(model, rungs=tuple(rungs)) if isinstance(model, Stages) else rungs[0]


def replan(model: Frozen, prices: BoundPrices, evidence: ValidationSet) -> list[tuple[float, Plan]]:
    """Choose the thresholds of a classifier again, on rows that its rungs have not seen.

    Returns a plan for each of some cost weights, without those that are the same.
    """
    stages = list(model.rungs) if isinstance(model, Stages) else [model]
    rungs = [
        Rung(
            np.flatnonzero(rung.reads) if isinstance(rung, Average) else np.empty(0, np.int64),
            rung,
            rung.score(evidence.X),
        )
        for rung in stages
        if isinstance(rung, Average | Forest)
    ]
    costs, weight = evidence.error_costs, evidence.weights / evidence.weights.mean()
    measure = class_uncertainty if costs is None else costs.decision.least
    bills = rung_bills(rungs, [None] * len(rungs), prices)
    stopping = StoppingEvidence(
        np.array([measure(rung.scores) for rung in rungs]),
        np.array([class_loss(rung.scores, evidence.y, costs) for rung in rungs]),
        np.repeat(bills[:, np.newaxis], len(evidence), axis=1),
        weight,
    )
    decision = None if costs is None else costs.decision
    ladder = FittedLadder(rungs, [None] * len(rungs), prices, stopping, decision=decision)
    plans = {
        plan.key: (cost_weight, plan)
        for cost_weight in stopping.cost_weights()
        for plan in [ladder.plan(cost_weight)]
    }
    return list(plans.values())


def _is_boosted(part: Frozen) -> bool:
    """Return whether a part of a rung is boosted trees, which start from a constant."""
    if not isinstance(part, Forest) or not len(part.roots):
        return False
    return part.link in ("sigmoid", "softmax") or (part.link == "sum" and bool(part.base.any()))


def _boost(part: Frozen, features: NDArray[np.intp], train: LongTrainingSet, seed: int) -> Forest:
    """Boost on all rows, with as many rounds and the same features."""
    assert isinstance(part, Forest)
    loss: Loss
    if train.classes is None:
        loss = SquaredLoss(train.y, train.weight)
    else:
        loss = LightlyDampedLogLoss(train.y, train.weight, train.n_classes)
    settings = BoostedTrees.for_size(len(train), train.n_classes, train.task)
    settings = replace(settings, rounds=len(part.roots) // loss.outputs)
    forest, _ = settings.fit(train.binned, loss, train.prices, features, seed)
    return forest
