"""What trees and cascades share that learn labels: a target for each class, weights of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import StrOptions

from thrifty.errors import DataError
from thrifty.learn.cost_linear import CostLinear, Table, Target
from thrifty.learn.deep_forest import constant_forest
from thrifty.learn.linear_inputs import Scale
from thrifty.learn.node_losses import HalfSquare, Logistic, NodeLoss
from thrifty.learn.priced_classifier import PricedClassifier
from thrifty.learn.targets import Labels
from thrifty.model import Frozen, OneVsRest

__all__ = ["CostLinearClassifier"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class CostLinearClassifier(PricedClassifier, CostLinear):
    """Base of the classifiers; more than two classes are learnt one against the rest."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        "loss": [StrOptions({"log_loss", "squared"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    loss: str

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, validation: Sequence[Any] | None
    ) -> tuple[Table, list[Target]]:
        self._validate_params()
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        balance = np.ones(len(rows))
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
        if not np.any(balance > 0):
            raise DataError("class_weight: every class of the target has weight 0")
        weight = self._weights(sample_weight, rows)
        rows, codes, balance, weight = self._kept(weight, rows, labels.codes, balance)
        held = held_codes = None
        if validation is not None:
            held = self._held_rows(schema, validation)
            held_codes = self._codes(validation[1], len(held))
        table = Table(schema, prices, rows, weight, held)
        return table, self._targets(table, codes, balance, held_codes)

    def _targets(
        self, table: Table, codes: Whole, balance: Floats, held: Whole | None
    ) -> list[Target]:
        count = len(self.classes_)
        # What a class counts on rows held out is what it counts on those learnt from.
        factor = np.ones(count)
        factor[codes] = balance
        held_balance = None if held is None else factor[held]
        weight = np.ones(len(codes)) if table.weight is None else table.weight
        return [
            Target(
                _signs(codes, k), balance, None if held is None else _signs(held, k),
                held_balance, self._loss(), Scale(),
                _prior(codes == k, weight * balance, len(table.schema)),
            )
            for k in range(1 if count == 2 else 0, count)
        ]  # fmt: skip

    def _loss(self) -> NodeLoss:
        return Logistic() if self.loss == "log_loss" else HalfSquare("hinge")

    def _joined(self, models: Sequence[Frozen]) -> Frozen:
        return models[0] if len(models) == 1 else OneVsRest.of(models)

    def _quality(self, scores: Floats, y: Any) -> float:
        return float(np.mean(scores.argmax(axis=1) == self._codes(y, len(scores))))

    @property
    def _classes(self) -> NDArray[Any]:
        return self.classes_


def _signs(codes: Whole, k: int) -> Floats:
    return np.where(codes == k, 1.0, -1.0)


def _prior(member: NDArray[np.bool_], weight: Floats, n_features: int) -> Frozen:
    share = float(np.average(member, weights=weight))
    return constant_forest(np.array([1.0 - share, share]), n_features)
