"""Train a gate on a whole table: split it, fit on the training set, place the threshold on the
validation set, and measure on the test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.frontier.splits import split_three
from thrifty.learn import GatedClassifier
from thrifty.learn._sklearn import take_rows
from thrifty.learn.gates.base import BaseGateClassifier

__all__ = ["GateFit", "fit_gate"]

# Share of the rows in the validation set, and again in the test set.
HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class GateFit:
    """A gate, and how it does on the test set.

    Parameters
    ----------
    model : BaseGateClassifier
        The fitted estimator.
    rows : dict
        Number of rows in the parts "train", "validation" and "test".
    sent : float
        Share of the test rows that are sent to the expensive model.
    bill, accuracy : float
        Mean bill and accuracy of the gated model.
    expensive_bill, expensive_accuracy : float
        Those of the expensive model alone.
    """

    model: BaseGateClassifier
    rows: dict[str, int]
    sent: float
    bill: float
    accuracy: float
    expensive_bill: float
    expensive_accuracy: float

    @property
    def predictor(self) -> Predictor:
        """The frozen model, with names and prices."""
        return self.model.predictor_


def fit_gate(
    X: Any,
    y: NDArray[Any],
    *,
    model: BaseGateClassifier | None = None,
    random_state: int = 0,
) -> GateFit:
    """Split a table 60/20/20, fit a gate on it, and measure the gate.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
    y : array of shape (n,)
        Labels.
    model : BaseGateClassifier, optional
        The estimator, with its expensive model, prices and target; it is fitted in place. By
        default, ``GatedClassifier()``.
    random_state : int
        Splits the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.fit_gate import fit_gate
    >>> from thrifty import GatedClassifier, LeavesFamily
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> result = fit_gate(X, y, model=GatedClassifier(family=LeavesFamily(), random_state=0))
    >>> result.rows["test"], round(result.sent, 2)
    (120, 0.28)
    >>> round(result.accuracy, 3), round(result.expensive_accuracy, 3)
    (0.942, 0.967)
    """
    model = GatedClassifier(random_state=random_state) if model is None else model
    parts = split_three("classification", y, None, HELD_OUT_SHARE, random_state)
    train, validation, (table, labels) = ((take_rows(X, rows), y[rows]) for rows in parts.values())
    model.fit(*train, validation=validation)
    expensive_proba, expensive_bills = model.expensive_outputs(table)
    expensive_labels = model.classes_[expensive_proba.argmax(axis=1)]
    return GateFit(
        model,
        {name: len(rows) for name, rows in parts.items()},
        float(model.sent(table).mean()),
        float(model.bill(table).mean()),
        float(np.mean(model.predict(table) == labels)),
        float(expensive_bills.mean()),
        float(np.mean(expensive_labels == labels)),
    )
