"""How often answers are right by how sure they are, at each place where rows stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.model import Stages

__all__ = ["CalibrationLine", "calibration"]

Floats = NDArray[np.float64]

# A bin of fewer rows says little; more bins than this clutter the picture.
ROWS, BINS = 25, 10


@dataclass(frozen=True, eq=False)
class CalibrationLine:
    """How often the rows that stop at one place are right, by how sure they are.

    Parameters
    ----------
    name : str
        Where they stop.
    confidence, right : array of shape (bins,)
        Mean probability of the predicted class, and share of right answers.
    low, high : array of shape (bins,)
        Wilson's 95 % interval of that share.
    counts : array of shape (bins,)
        Rows of each bin.
    """

    name: str
    confidence: Floats
    right: Floats
    low: Floats
    high: Floats
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and right, over the rows."""
        return float(np.average(np.abs(self.confidence - self.right), weights=self.counts))


def calibration(predictor: Predictor, X: Any, y: Any) -> tuple[CalibrationLine, ...]:
    """Calibration of a predictor of classes on rows that it has not seen.

    A ladder has a line for each rung where rows stop, other models have one.
    """
    if predictor.classes is None:
        raise DataError("calibration: this predictor gives values, not class probabilities")
    scores, truth = predictor.predict_proba(X), np.asarray(y)
    if len(scores) != len(truth):
        raise DataError(f"target: {len(truth)} values for {len(scores)} rows; give one a row")
    right = predictor.classes[scores.argmax(axis=1)] == truth
    return tuple(
        _line(name, scores.max(axis=1)[rows], right[rows])
        for name, rows in _stops(predictor, X, len(scores)).items()
    )


def _stops(predictor: Predictor, X: Any, n: int) -> dict[str, NDArray[np.intp]]:
    """Rows by the place where they stop, the places in order."""
    if not isinstance(predictor.model, Stages):
        return {"all": np.arange(n)}
    rung = predictor.model.rung(predictor.schema.encode(X))
    return {f"rung {r}": np.flatnonzero(rung == r) for r in np.unique(rung).tolist()}


def _line(name: str, confidence: Floats, right: NDArray[np.bool_]) -> CalibrationLine:
    """Bins of about equally many rows; rows of equal confidence stay together."""
    bins = int(np.clip(len(confidence) // ROWS, 1, BINS))
    edges = np.quantile(confidence, np.arange(1, bins) / bins)
    _, code = np.unique(np.searchsorted(edges, confidence), return_inverse=True)
    counts, hits = np.bincount(code), np.bincount(code, right)
    intervals = [
        binomtest(int(k), int(n)).proportion_ci(method="wilson")
        for k, n in zip(hits, counts, strict=True)
    ]
    low, high = np.array(intervals).T
    mean = np.bincount(code, confidence) / counts
    return CalibrationLine(name, mean, hits / counts, low, high, counts)
