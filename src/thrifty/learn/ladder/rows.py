"""The rows of a ladder: encoded once, binned once, and divided for cross-fitting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.binned import Binned
from thrifty.learn.crossfit import LARGE, CrossFit
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.error_costs import ErrorCosts, class_loss
from thrifty.learn.targets import queries

__all__ = ["FEW_BINS", "LadderRows"]

Floats = NDArray[np.float64]

# On fewer rows than that, boosting with fewer bins takes a third of the time and is as good.
MANY_BINS_FROM, FEW_BINS = 2500, 64
# From so many rows on, the average of models of single folds is no better than one on all rows.
REFIT_FROM = 1000
# Cells of the table, times classes, or columns, from which boosting takes most of the time.
MANY_CELLS, MANY_COLUMNS = 5_000_000, 2000


@dataclass(frozen=True, eq=False)
class LadderRows:
    """Training rows, followed by the rows of a validation set if one is given.

    Parameters
    ----------
    task : {"classification", "regression", "ranking"}
    X : array of shape (n, d)
        The encoded rows.
    y : array of shape (n,)
        Class codes, numbers or grades.
    weight : array of shape (n,) or None
        Sample weights.
    query : int64 array of shape (n,) or None
        Query of each row, for ranking.
    groups : int64 array of shape (n,) or None
        Rows of one group belong together; for ranking, the queries.
    n_classes : int
        0 if the target holds numbers.
    prices : BoundPrices
    binned : Binned
        The training rows in bins.
    crossfit : CrossFit
        Its evidence chooses everything: weights, temperatures, thresholds.
    is_large : bool
        Whether no model, forests included, is fitted on the evidence. On a small table, forests are
        fitted on all training rows and score them out of bag.
    share : float
        Share of the rows that models are fitted on, where there is no time for all.
    error_costs : ErrorCosts or None
        What errors cost, where they are not all alike.
    is_side : bool
        Whether they are the rows on one side of a split of a small table. The ladders of both sides
        come after that of all rows, and are fitted with less work: fewer bins, rounds and trees,
        and no boosted model on all rows. On design tasks this took half of the time and was as
        good.
    """

    task: str
    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Floats | None
    query: NDArray[np.int64] | None
    groups: NDArray[np.int64] | None
    n_classes: int
    prices: BoundPrices
    binned: Binned
    crossfit: CrossFit
    is_large: bool = False
    share: float = 1.0
    error_costs: ErrorCosts | None = None
    is_side: bool = False

    @classmethod
    def of(
        cls,
        train: TrainingSet,
        validation: ValidationSet | None,
        crossfit: CrossFit,
        random: np.random.RandomState,
    ) -> Self:
        """Join the rows of both sets; `crossfit` divides the training rows."""
        X, y, weight, query, groups = train.X, train.y, train.weight, train.query, train.groups
        costs = train.error_costs
        if validation is not None:
            crossfit = crossfit.with_validation(len(train), len(validation))
            X = np.concatenate([X, validation.X])
            y = np.concatenate([y, validation.y])
            if weight is not None or validation.weight is not None:
                weight = np.concatenate([train.weights, validation.weights])
            query = _append(query, validation.query, len(validation))
            groups = _append(groups, validation.clusters, len(validation))
            costs = costs and costs.join(validation.error_costs, validation.y)
        binned = Binned.of(train.X, train.categorical, random)
        return cls(
            train.task, X, y, weight, query, groups, train.n_classes, train.prices, binned,
            crossfit, is_large=len(train) >= LARGE, error_costs=costs,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return int(self.binned.bins.shape[1])

    @property
    def evidence(self) -> NDArray[np.intp]:
        """Rows that are scored by models that have not seen them, (m,)."""
        return self.crossfit.rows

    @cached_property
    def held_out(self) -> NDArray[np.intp]:
        """Training rows that no model is fitted on; there are none on a small table."""
        if not self.is_large:
            return np.empty(0, dtype=np.intp)
        return np.asarray(self.evidence[self.evidence < self.n_train])

    @cached_property
    def evidence_y(self) -> NDArray[Any]:
        """Target of the evidence, (m,)."""
        return np.asarray(self.y[self.evidence])

    @cached_property
    def evidence_weight(self) -> Floats:
        """Weights of the evidence, (m,); their mean is 1."""
        if self.weight is None:
            return np.ones(len(self.evidence))
        weight = self.weight[self.evidence]
        return np.asarray(weight / weight.mean())

    @cached_property
    def evidence_costs(self) -> ErrorCosts | None:
        """What errors on the evidence cost, where they are not all alike."""
        return self.error_costs and self.error_costs.take(self.evidence)

    def class_loss(self, scores: Floats) -> Floats:
        """Return half the error plus half the uncertainty of the evidence, given its scores, (m,).

        Where errors have costs, these take the place of the error, and what is expected of them
        that of the uncertainty.
        """
        return class_loss(scores, self.evidence_y, self.evidence_costs)

    @cached_property
    def bins_to_fit(self) -> list[Binned]:
        """The bins, for boosting, of the rows that each division fits on."""
        many = self.n_train >= MANY_BINS_FROM and not self.is_side
        binned = self.binned if many else self.binned.coarsen(FEW_BINS)
        return [binned.take(division.fit) for division in self.crossfit.divisions]

    @property
    def refits(self) -> bool:
        """Whether boosted models of single folds only score the evidence, and one is fitted on all.

        Where a single model is all that there is time for, it is kept.
        """
        can_refit = self.n_train >= REFIT_FROM and len(self.crossfit.divisions) > 1
        return can_refit and not self.is_wide and not self.is_side

    @property
    def is_wide(self) -> bool:
        """Whether there are so many columns and classes that boosting has to be sparing."""
        cells = self.n_train * self.X.shape[1] * max(self.n_classes, 1)
        return bool(cells > MANY_CELLS or self.X.shape[1] > MANY_COLUMNS)

    def weight_of(self, rows: NDArray[np.intp]) -> Floats | None:
        """Return the weights of some rows, if there are any."""
        return None if self.weight is None else self.weight[rows]

    @property
    def fold(self) -> NDArray[np.int64]:
        """Fold of each training row in the first division into folds, (n_train,)."""
        fold = np.full(len(self), -1, dtype=np.int64)
        for k, (_, unseen) in enumerate(self.crossfit.divisions):
            if (fold[unseen[unseen < self.n_train]] >= 0).any():
                break  # the next division into folds
            fold[unseen] = k
        return fold[: self.n_train]

    def thin(self, n_divisions: int, share: float, random: np.random.RandomState) -> Self:
        """Fit on fewer divisions, and on a share of the rows; the evidence is that of these."""
        if share == 1 and n_divisions == len(self.crossfit.divisions):
            return self
        crossfit = self.crossfit.thin(n_divisions, share, random)
        return replace(self, crossfit=crossfit, share=share * self.share)

    def split(self, goes_left: NDArray[np.bool_], feature: int) -> tuple[Self, Self]:
        """Divide the rows in two by a split on a feature, which is free from then on."""
        prices = self.prices.after([feature])
        return self._take(goes_left, prices), self._take(~goes_left, prices)

    def _take(self, kept: NDArray[np.bool_], prices: BoundPrices) -> Self:
        """Keep some of the rows, given as a mask (n,), at other prices."""
        rows = np.flatnonzero(kept)
        query, groups = (
            None if each is None else queries(each[rows], len(rows))
            for each in (self.query, self.groups)
        )
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weight=self.weight_of(rows),
            query=query,
            groups=groups,
            prices=prices,
            binned=self.binned.take(rows[rows < self.n_train]),
            crossfit=self.crossfit.take(kept),
            error_costs=self.error_costs and self.error_costs.take(rows),
            is_side=not self.is_large,
        )


def _append(
    groups: NDArray[np.int64] | None, more: NDArray[np.int64] | None, count: int
) -> NDArray[np.int64] | None:
    """Append groups of other rows as new ones; rows without a group are groups of their own."""
    if groups is None:
        return None
    added = np.arange(count) if more is None else more
    return np.concatenate([groups, added + groups.max() + 1])
