"""Small trees as challengers of a ladder, where errors have costs.

Where errors are cheap, few features are worth their price, and only for some rows: a small tree
that pays along its path is then hard to beat. Trees of the least total cost are found by complete
search, larger and smaller ones, and measured on rows that they have not seen. The shares of the
classes in their leaves are too extreme, as the search favors leaves that look pure, so they are
shrunk towards those of all rows: as far as maximizes the likelihood of unseen rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.predictor import bill_ceiling
from thrifty.costs import BoundPrices
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.stopping import Plan
from thrifty.learn.point import ValidationOutputs
from thrifty.learn.shallow_tree import Splits, TreeSearch, freeze_tree
from thrifty.model import Forest

__all__ = ["fit_small_trees"]

Floats = NDArray[np.float64]

# A search of depth 3 takes time in proportion to the rows and the cube of the questions: beyond so
# much work, about three seconds, trees have depth 2, and beyond that there are none.
DEPTHS = (3, 2)
MAX_WORK = 2e10
# What a leaf costs in the search, in errors: a tree grows a leaf if that saves more.
LEAF_ERRORS = (0.5, 1.0, 2.0, 4.0)
# Least weight of a leaf, in rows.
FEWEST = 3.0
# Numbers of pseudo-rows, with the class shares of all rows, that may be added to each leaf.
PRIOR_ROWS = (1.0, 3.0, 10.0, 30.0)
# The search takes time in proportion to the rows, and more of them hardly change so small a tree.
MAX_ROWS = 10_000


def fit_small_trees(rows: LadderRows, prices: BoundPrices, cap: float | None) -> list[Plan]:
    """Fit trees of the least total cost; none if errors have no costs.

    Parameters
    ----------
    rows : LadderRows
    prices : BoundPrices
    cap : float or None
        Largest bill of any row.
    """
    if rows.error_costs is None:
        return []
    n, m = rows.n_train, len(rows.evidence)
    splits = Splits.of(rows.X[:n], rows.binned.categorical)
    n_fits, n_questions = rows.crossfit.n_once + 1, len(splits.feature)
    work = n_fits * min(n, MAX_ROWS)
    depth = next((depth for depth in DEPTHS if work * n_questions**depth <= MAX_WORK), None)
    if depth is None:
        return []
    yes = splits.answers(rows.X[:n])
    # Outputs of the evidence for each cost of a leaf and each of `PRIOR_ROWS`.
    shape = len(LEAF_ERRORS), len(PRIOR_ROWS), m
    scores, bills = np.empty((*shape, rows.n_classes)), np.empty(shape)

    def look_up(forests: list[list[Forest]], unseen: NDArray[np.intp]) -> None:
        place = np.searchsorted(rows.evidence, unseen)
        for i, j in np.ndindex(*shape[:2]):
            forest = forests[i][j]
            scores[i, j, place], used = forest.score_and_used(rows.X[unseen])
            bills[i, j, place] = prices.bill(used, forest.evaluations(rows.X[unseen]))

    for fit, unseen in rows.crossfit.divisions[: rows.crossfit.n_once]:
        look_up(_grow(rows, splits, yes, fit, prices, depth), unseen)
    own = np.take_along_axis(scores, rows.evidence_y[np.newaxis, np.newaxis, :, np.newaxis], -1)
    likely = np.average(np.log(own[..., 0]), axis=-1, weights=rows.evidence_weight)
    kept = np.setdiff1d(np.arange(n), rows.held_out)
    whole = _grow(rows, splits, yes, kept, prices, depth)
    look_up(whole, rows.evidence[rows.evidence >= n])  # a validation set, which no tree has seen
    plans = []
    for i, j in enumerate(likely.argmax(axis=1).tolist()):
        forest = whole[i][j]
        if cap is None or bill_ceiling(forest, prices) <= cap:
            key = b"tree" + forest.nodes.tobytes() + forest.values.tobytes()
            plans.append(Plan(key, forest, partial(ValidationOutputs, scores[i, j], bills[i, j])))
    return plans


def _grow(
    rows: LadderRows,
    splits: Splits,
    yes: NDArray[np.bool_],
    fit: NDArray[np.intp],
    prices: BoundPrices,
    depth: int,
) -> list[list[Forest]]:
    """Grow a tree on some of the training rows for each cost of a leaf, with all `PRIOR_ROWS`."""
    assert rows.error_costs is not None
    fit = fit[:: -(-len(fit) // MAX_ROWS)]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight / rows.weight.mean()
    weight, y = weight[fit], rows.y[fit]
    costs = rows.error_costs.of_answers(rows.y)[fit] * weight[:, np.newaxis]
    error = float(costs.max(axis=1).sum() / weight.sum())
    leaf_costs = tuple(error * errors for errors in LEAF_ERRORS)
    search = TreeSearch(yes[fit], splits.feature, costs, weight, prices, leaf_costs, FEWEST)
    members = weight[:, np.newaxis] * (y[:, np.newaxis] == np.arange(rows.n_classes))
    return [
        [
            freeze_tree(tree, splits, yes[fit], members, rows.X.shape[1], prior_rows)
            for prior_rows in PRIOR_ROWS
        ]
        for tree in search.best(depth)
    ]
