"""What errors cost, in the unit of the prices, and the total cost of a row.

The total cost of a row is its bill plus the cost of its answer (Turney 1995). The cost may depend
on the true and the predicted class, or differ from row to row.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Decision
from thrifty.errors import DataError, did_you_mean, raise_all

__all__ = ["ErrorCosts", "class_loss", "read_cost_matrix"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """The costs of errors on the rows of a table.

    Parameters
    ----------
    decision : Decision
        The cost of each answer for each true class; with a value per row, the means over the rows
        of each class. New rows are decided by it.
    of_row : array of shape (n,), optional
        What an error on each row costs, whatever the answer is.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.error_costs import ErrorCosts
    >>> costs = ErrorCosts.read([[0, 100], [500, 0]], np.array(["well", "ill"]))
    >>> scores, y = np.array([[0.9, 0.1], [0.7, 0.3]]), np.array([0, 0])
    >>> costs.actual(scores, y)  # the second row is called ill
    array([  0., 100.])
    """

    decision: Decision
    of_row: Floats | None = None

    @classmethod
    def read(cls, costs: Any, classes: NDArray[Any]) -> Self:
        """Read costs by class: a matrix, or a mapping; see `read_cost_matrix`."""
        return cls(Decision(read_cost_matrix(costs, classes.tolist())))

    @classmethod
    def read_rows(cls, costs: Any, y: Codes, n_classes: int, weight: Floats | None = None) -> Self:
        """Read a value per row: what an error on it costs.

        New rows are decided by the mean of each class, with the sample weights.

        Raises
        ------
        DataError
            If there is not one cost for each row, finite and 0 or more, or all of them are 0.
        """
        try:
            of_row = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("costs: give a number for each row") from None
        if of_row.shape != (len(y),):
            raise DataError(
                f"costs: {of_row.shape} values for {len(y)} rows; give one per row, or costs by "
                "class to the constructor"
            )
        wrong = ~(np.isfinite(of_row) & (of_row >= 0))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(f"costs: {of_row[row]} in row {row} is not a finite cost of 0 or more")
        if not of_row.any():
            raise DataError("costs: an error costs nothing on any row; give a row a positive cost")
        weights = np.ones(len(y)) if weight is None else weight
        totals = np.bincount(y, weights, n_classes)
        means = np.bincount(y, weights * of_row, n_classes) / np.where(totals > 0, totals, 1.0)
        matrix = np.repeat(means[:, np.newaxis], n_classes, axis=1)
        np.fill_diagonal(matrix, 0.0)
        return cls(Decision(matrix), of_row)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Keep some of the rows."""
        return self if self.of_row is None else replace(self, of_row=self.of_row[rows])

    def join(self, other: Self | None, other_y: Codes) -> Self:
        """Append other rows; where they have no value per row, the mean of their class counts."""
        if self.of_row is None:
            return self
        theirs = None if other is None else other.of_row
        if theirs is None:
            theirs = self.decision.costs.max(axis=1)[other_y]
        return replace(self, of_row=np.concatenate([self.of_row, theirs]))

    def actual(self, scores: Floats, y: Codes) -> Floats:
        """Return what the answers cost, (n,)."""
        said = self.decision.decide(scores)
        if self.of_row is None:
            return np.asarray(self.decision.costs[y, said])
        return np.where(said == y, 0.0, self.of_row)

    def of_answers(self, y: Codes) -> Floats:
        """Return what each answer would cost on each row, (n, K)."""
        if self.of_row is None:
            return np.asarray(self.decision.costs[y])
        wrong = y[:, np.newaxis] != np.arange(self.decision.n_classes)
        return np.asarray(wrong * self.of_row[:, np.newaxis])


def class_loss(scores: Floats, y: Codes, costs: ErrorCosts | None = None) -> Floats:
    """Return half of what the answers cost, plus half of what they were expected to, (..., n).

    The expected half is the steadier one: on few rows, errors alone are too noisy.

    Parameters
    ----------
    scores : array of shape (..., n, K)
        Class probabilities; (n, K) if there are costs.
    y : int array of shape (n,)
    costs : ErrorCosts, optional
        By default an error costs 1, so that the uncertainty is expected: one minus the largest
        probability.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.error_costs import ErrorCosts, class_loss
    >>> scores, y = np.array([[0.9, 0.1], [0.7, 0.3]]), np.array([0, 1])
    >>> class_loss(scores, y)
    array([0.05, 0.65])
    >>> costs = ErrorCosts.read([[0, 100], [500, 0]], np.array(["well", "ill"]))
    >>> class_loss(scores, y, costs)  # 50 and 70 are expected; the second row is rightly called ill
    array([25., 35.])
    """
    if costs is None:
        actual, expected = scores.argmax(axis=-1) != y, 1.0 - scores.max(axis=-1)
    else:
        actual, expected = costs.actual(scores, y), costs.decision.least(scores)
    return np.asarray((actual + expected) / 2)


def read_cost_matrix(costs: Any, labels: list[Any]) -> Floats:
    """Return costs of errors as a matrix ``[true, predicted]`` in the order of the labels.

    Parameters
    ----------
    costs : array of shape (K, K), or mapping
        A matrix in the order of the labels; or ``{(true, predicted): cost}``, or
        ``{true: {predicted: cost}}``. In a mapping, a right answer costs nothing unless it is
        listed; all errors must be.
    labels : list
        The classes.

    Raises
    ------
    DataError
        With all problems of the costs.

    Examples
    --------
    >>> from thrifty.learn.error_costs import read_cost_matrix
    >>> read_cost_matrix({"ill": {"well": 500}, "well": {"ill": 100}}, ["ill", "well"])
    array([[  0., 500.],
           [100.,   0.]])
    """
    k = len(labels)
    if not isinstance(costs, Mapping):
        matrix = Decision(costs).costs
        if len(matrix) != k:
            raise DataError(f"costs: a matrix for {len(matrix)} classes; there are {k}: {labels}")
        return _check_differs(np.array(matrix))
    pairs: dict[Any, Any] = {}
    for key, value in costs.items():
        if isinstance(value, Mapping):
            pairs |= {(key, said): cost for said, cost in value.items()}
        else:
            pairs[key] = value
    codes = {label: code for code, label in enumerate(labels)}
    matrix = np.full((k, k), np.nan)
    np.fill_diagonal(matrix, 0.0)
    problems = []
    for key, cost in pairs.items():
        if not isinstance(key, tuple) or len(key) != 2:
            problems.append(f"{key!r} is not a pair (true, predicted)")
            continue
        unknown = [label for label in key if label not in codes]
        problems += [f"no class {each!r}{did_you_mean(each, labels)}" for each in unknown]
        number = isinstance(cost, (int, float, np.number)) and not isinstance(cost, bool)
        if not number or not 0 <= cost <= sys.float_info.max:
            problems.append(f"{key}: {cost!r} is not a finite cost of 0 or more")
        elif not unknown:
            matrix[codes[key[0]], codes[key[1]]] = cost
    if not problems:
        problems = [
            f"({labels[true]!r}, {labels[said]!r}) has no cost; list all errors"
            for true, said in zip(*np.nonzero(np.isnan(matrix)), strict=True)
        ]
    raise_all(DataError, "costs", problems)
    return _check_differs(matrix)


def _check_differs(matrix: Floats) -> Floats:
    """Return a matrix; DataError if all answers cost the same, so that nothing is to be gained."""
    if (matrix == matrix[:, :1]).all():
        raise DataError("costs: all answers cost the same; give errors a positive cost")
    return matrix
