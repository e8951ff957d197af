"""Calibration curves: how often predictions are correct, given how confident they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.learn.dataset import ValidationSet
from thrifty.model import Stages

__all__ = ["CalibrationCurve", "calibration_curves", "join_rungs"]

Floats = NDArray[np.float64]

# A bin of fewer rows says little about its accuracy.
MIN_ROWS_PER_BIN = 25
# More bins, or more curves, clutter the plot.
MAX_BINS, MAX_CURVES = 10, 5


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Accuracy against confidence for the rows that stop at one place.

    Parameters
    ----------
    name : str
        Where the rows stop: ``"rung 0"``, ``"rungs 1 to 3"``, ... or ``"all"``.
    confidence, accuracy : float array of shape (bins,)
        Mean probability of the predicted class, and fraction of correct predictions.
    low, high : float array of shape (bins,)
        Wilson's 95% confidence interval of the accuracy.
    counts : int array of shape (bins,)
        Number of rows in each bin.
    """

    name: str
    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Expected calibration error: the gap between confidence and accuracy, averaged by row."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.counts))


def calibration_curves(predictor: Predictor, rows: ValidationSet) -> tuple[CalibrationCurve, ...]:
    """Compute the calibration of a classifier on rows that it was not trained on.

    A ladder has a curve for each rung where rows stop, with neighboring rungs joined where these
    rows are few; any other model has one for all rows. Bins hold about equally many rows; rows of
    equal confidence share a bin.

    Raises
    ------
    DataError
        If the predictor has no classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.learn.dataset import ValidationSet
    >>> from thrifty.report.calibration import calibration_curves
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = X[:, 0] + rng.normal(size=400) > 0
    >>> model = GreedyMiserClassifier(n_estimators=10).fit(X[:200], y[:200]).predictor_
    >>> test = ValidationSet.for_predictor(model, "classification", X[200:], y[200:])
    >>> (curve,) = calibration_curves(model, test)
    >>> curve.counts.sum().item(), round(curve.error, 2)
    (200, 0.09)
    """
    if predictor.classes is None:
        raise DataError("calibration: this predictor is not a classifier; it has no probabilities")
    scores = predictor.model.score(rows.X)
    stops = {"all": np.arange(len(scores))}
    if isinstance(predictor.model, Stages):
        stops = join_rungs(predictor.model.rung(rows.X))
    curves = []
    for name, here in stops.items():
        confidence = scores[here].max(axis=1)
        correct = scores[here].argmax(axis=1) == rows.y[here]
        n_bins = int(np.clip(len(here) // MIN_ROWS_PER_BIN, 1, MAX_BINS))
        edges = np.quantile(confidence, np.arange(1, n_bins) / n_bins)
        _, code = np.unique(np.searchsorted(edges, confidence), return_inverse=True)
        counts, hits = np.bincount(code), np.bincount(code, correct)
        intervals = [
            binomtest(int(k), int(n)).proportion_ci(method="wilson")
            for k, n in zip(hits, counts, strict=True)
        ]
        low, high = np.array(intervals).T
        mean = np.bincount(code, confidence) / counts
        curves.append(CalibrationCurve(name, mean, hits / counts, low, high, counts))
    return tuple(curves)


def join_rungs(rung: NDArray[np.integer]) -> dict[str, NDArray[np.intp]]:
    """Return the rows that stop at each rung, neighboring rungs joined until they have enough rows.

    Enough are a bin of rows, and a share of all rows that makes for a few curves.

    Parameters
    ----------
    rung : int array of shape (n,)
        The rung where each row stops.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.report.calibration import join_rungs
    >>> stops = join_rungs(np.repeat([0, 1, 2, 5], [40, 3, 30, 2]))
    >>> {name: len(rows) for name, rows in stops.items()}
    {'rung 0': 40, 'rungs 1 to 5': 35}
    """
    enough = max(MIN_ROWS_PER_BIN, len(rung) / MAX_CURVES)
    parts: list[list[int]] = [[]]
    for number in np.unique(rung).tolist():
        if np.isin(rung, parts[-1]).sum() >= enough:
            parts.append([])
        parts[-1].append(number)
    if len(parts) > 1 and np.isin(rung, parts[-1]).sum() < enough:
        parts[-2:] = [parts[-2] + parts[-1]]
    return {
        f"rungs {part[0]} to {part[-1]}" if len(part) > 1 else f"rung {part[0]}": np.flatnonzero(
            np.isin(rung, part)
        )
        for part in parts
    }
