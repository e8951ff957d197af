"""What metrics compare with the target: labels, probabilities, values, costs of answers.

Each function takes the scores of a model, the rows, and the decision by which labels are predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Decision
from thrifty.errors import DataError
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.error_costs import ErrorCosts

__all__ = [
    "answer_costs",
    "answers",
    "predicted_classes",
    "predicted_of",
    "probabilities",
    "probabilities_of_all",
    "ranking_scores",
    "values",
]

Floats = NDArray[np.float64]


def predicted_classes(
    scores: Floats, data: ValidationSet, decision: Decision | None = None
) -> NDArray[np.int64]:
    """Return the class codes of least expected cost; without any costs, the most probable."""
    if scores.ndim == 1:
        raise DataError("scoring: this model predicts values, not classes; use r2")
    if decision is None and data.error_costs is not None:
        decision = data.error_costs.decision
    return np.asarray(scores.argmax(axis=1)) if decision is None else decision.decide(scores)


def predicted_of(
    scores: Floats, data: ValidationSet, decision: Decision | None = None
) -> tuple[NDArray[np.int64], int]:
    """Return the predicted class codes, and the number of classes."""
    predicted = predicted_classes(scores, data, decision)
    return predicted, max(scores.shape[1], int(data.y.max()) + 1)


def answer_costs(scores: Floats, data: ValidationSet, decision: Decision | None = None) -> Floats:
    """Return what the answer of each row costs."""
    costs = data.error_costs
    if costs is None and decision is not None:
        costs = ErrorCosts(decision)
    if costs is None:
        raise DataError("neg_error_cost: errors have no costs here; give costs")
    if int(data.y.max()) >= scores.shape[1]:
        probabilities(scores, data)  # which names the labels that have no costs
    return costs.actual(scores, data.y)


def answers(scores: Floats, data: ValidationSet, decision: Decision | None = None) -> Any:
    """Return what a scorer of scikit-learn compares: labels with probabilities, or values."""
    if data.task != "classification":
        return data.labels, values(scores, data)
    proba = probabilities(scores, data)
    assert data.classes is not None
    classes = data.classes[: proba.shape[1]]
    return data.labels, classes[predicted_classes(proba, data, decision)], proba, classes


def probabilities(scores: Floats, data: ValidationSet, decision: Decision | None = None) -> Floats:
    """Return probabilities within [0, 1]; DataError for labels that the model does not know."""
    if scores.ndim == 1:
        raise DataError("scoring: this model predicts values, not classes; use r2")
    assert data.classes is not None
    unknown = np.unique(data.labels[data.y >= scores.shape[1]]).tolist()
    if unknown:
        raise DataError(
            f"target: {unknown[:5]} are not classes of the model "
            f"{data.classes[: scores.shape[1]].tolist()[:20]}, so they have no probability; "
            "drop these rows"
        )
    # Averages over trees may exceed 1 by the last bit.
    return np.clip(scores, 0.0, 1.0)


def probabilities_of_all(
    scores: Floats, data: ValidationSet, decision: Decision | None = None
) -> Floats:
    """Return probabilities; DataError if a class has no row."""
    proba = probabilities(scores, data)
    assert data.classes is not None
    absent = np.setdiff1d(np.arange(scores.shape[1]), data.y)
    if len(absent):
        raise DataError(
            f"scoring: no row is of class {data.classes[absent].tolist()[:5]}, so roc_auc and "
            "average_precision cannot compare it with the rest; give more rows, or use neg_log_loss"
        )
    return proba


def values(scores: Floats, data: ValidationSet, decision: Decision | None = None) -> Floats:
    """Return the values of a regression model as they are."""
    if scores.ndim == 2:
        raise DataError("scoring: this model predicts classes, not values; use accuracy")
    return scores


def ranking_scores(scores: Floats, data: ValidationSet, decision: Decision | None = None) -> Floats:
    """Return scores to rank by; classes that are numbers are ranked by their expected value."""
    if not data.y.any():
        raise DataError("target: no row is relevant (every grade is 0), so no order is better")
    if scores.ndim == 1:
        return scores
    assert data.classes is not None
    if data.classes.dtype.kind not in "biuf":
        labels = data.classes.tolist()
        raise DataError(f"scoring: the classes {labels} are not grades, so they cannot be ranked")
    return np.asarray(scores @ data.classes[: scores.shape[1]].astype(np.float64))
