"""What the estimators for classes share: labels, weights of classes, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.learn.base import PricedEstimator
from thrifty.learn.targets import Labels

__all__ = ["PricedClassifier"]


class PricedClassifier(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """Base of the estimators that learn from labels and have a `class_weight`."""

    class_weight: dict[Any, float] | str | None
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))

    def _read_labeled(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[
        Schema, BoundPrices, NDArray[np.floating], NDArray[np.int64], NDArray[np.float64] | None
    ]:
        """Schema, prices, encoded rows, their class numbers and weights; sets `classes_`."""
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        weight = self._balanced(self._weights(sample_weight, rows), labels)
        return schema, prices, *self._kept(weight, rows, labels.codes)

    def _balanced(
        self, weight: NDArray[np.float64] | None, labels: Labels
    ) -> NDArray[np.float64] | None:
        """Weights of the rows times those of their classes."""
        if self.class_weight is None:
            return weight
        balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
        return np.asarray(balance if weight is None else weight * balance)

    def _codes(self, y: Any, rows: int) -> NDArray[np.int64]:
        """Class numbers of held-out labels."""
        return Labels(self.classes_, np.empty(0, np.int64)).recode(y, rows)
