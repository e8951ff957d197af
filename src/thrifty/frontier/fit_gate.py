"""A gate from a whole table: rows to learn from, to place the limit on, and to report on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from thrifty.bundle import Predictor
from thrifty.frontier.splits import divide
from thrifty.learn import GatedClassifier
from thrifty.learn.gates.base import Gated

__all__ = ["GateFit", "fit_gate"]

SHARE = 0.2


@dataclass(frozen=True, eq=False)
class GateFit:
    """A gate, and how it does on rows that had no part in it.

    `sent` is the share of these rows that went to the expensive model; accuracies are those of
    the gated model and of the expensive one alone.
    """

    model: Gated
    rows: dict[str, int]
    sent: float
    bill: float
    accuracy: float
    expensive_bill: float
    expensive_accuracy: float

    @property
    def predictor(self) -> Predictor:
        """The frozen model."""
        return self.model.predictor_


def fit_gate(
    X: Any,
    y: NDArray[Any],
    *,
    model: Gated | None = None,
    random_state: int = 0,
) -> GateFit:
    """Divide the rows, learn a gate, and measure it.

    Parameters
    ----------
    X : table
    y : array of shape (n,)
        Labels.
    model : Gated, optional
        What to fit, with its expensive model, prices and target; `GatedClassifier()` without.
    random_state : int
        Divides the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.fit_gate import fit_gate
    >>> from thrifty import GatedClassifier, LeavesFamily
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> found = fit_gate(X, y, model=GatedClassifier(family=LeavesFamily(), random_state=0))
    >>> found.rows["test"], found.bill <= found.expensive_bill
    (120, True)
    """
    model = GatedClassifier(random_state=random_state) if model is None else model
    parts = divide(y, None, SHARE, random_state)
    train, held, test = ((_safe_indexing(X, rows), y[rows]) for rows in parts.values())
    model.fit(*train, validation=held)
    rows = {name: len(index) for name, index in parts.items()}
    table, truth = test
    answers, alone = model.expensive_answers(table)
    return GateFit(
        model,
        rows,
        float(model.sent(table).mean()),
        float(model.bill(table).mean()),
        float(np.mean(model.predict(table) == truth)),
        float(alone.mean()),
        float(np.mean(model.classes_[answers.argmax(axis=1)] == truth)),
    )
