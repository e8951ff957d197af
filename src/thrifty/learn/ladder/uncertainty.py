"""Where a model predicts values: how much a row would gain by climbing.

A value has no probability that could tell how sure it is. So each rung gets a small boosted model
on its features, which predicts by how much climbing lowers the squared error. It is fitted to the
errors of the evidence, and cross-fitted once more: the uncertainty of a row comes from a model that
has not seen its errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.crossfit import CrossFit
from thrifty.learn.ladder.parts import BoostedTrees
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.losses import SquaredLoss
from thrifty.model import Forest

__all__ = ["fit_uncertainty"]

Floats = NDArray[np.float64]

# An uncertainty model is small: it only has to rank the rows, and its target is mostly noise.
SMALL = BoostedTrees(
    rounds=40, learning_rate=0.1, max_leaves=8, min_samples_leaf=20, max_depth=3
)  # fmt: skip
FOLDS = 3


def fit_uncertainty(
    rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
) -> tuple[list[Forest | None], Floats]:
    """Fit an uncertainty model for each rung but the first and the last.

    On the first rung, the constant, all rows are alike: its uncertainty is what climbing saves on
    average.

    Returns
    -------
    models : list of (Forest or None)
    uncertainty : array of shape (rungs, m)
        Uncertainty of each row of the evidence; 0 on the last rung.
    """
    errors = np.array([(rows.evidence_y - rung.scores) ** 2 for rung in rungs])
    models: list[Forest | None] = [None] * len(rungs)
    uncertainty = np.zeros((len(rungs), len(rows.evidence)))
    is_training = rows.evidence < rows.n_train
    trained = rows.evidence[is_training]
    groups = None
    if rows.groups is not None:
        _, groups = np.unique(rows.groups[trained], return_inverse=True)
    crossfit = CrossFit.draw(rows.y[trained], groups, FOLDS, 1, random)
    binned, weight = rows.binned.take(trained), rows.evidence_weight[is_training]
    for r, rung in enumerate(rungs[:-1]):
        # Where a row will stop is not known yet: take the mean error over the rungs above.
        saved = errors[r] - errors[r + 1 :].mean(axis=0)
        if r == 0:
            uncertainty[r] = np.average(saved, weights=rows.evidence_weight)
            continue
        forests: list[Forest] = []

        def score(fit: NDArray[np.intp], unseen: NDArray[np.intp]) -> Floats:
            loss = SquaredLoss(saved[is_training][fit], weight[fit])  # noqa: B023
            seed = random.randint(2**31)
            forest, _ = SMALL.fit(binned.take(fit), loss, rows.prices, rung.features, seed)  # noqa: B023
            forests.append(forest)  # noqa: B023
            return forest.score(rows.X[trained[unseen]])

        uncertainty[r, is_training] = crossfit.collect(score)
        model = Forest.average(forests)
        uncertainty[r, ~is_training] = model.score(rows.X[rows.evidence[~is_training]])
        models[r] = model
    return models, uncertainty
