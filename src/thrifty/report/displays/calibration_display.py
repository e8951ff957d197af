"""Calibration at each stopping point, as a picture."""

from __future__ import annotations

from typing import Any, Self

from thrifty.bundle import Predictor
from thrifty.report.calibration import CalibrationLine, calibration
from thrifty.report.displays.canvas import INK, SOFT, canvas, legend, looks

__all__ = ["CalibrationDisplay"]


class CalibrationDisplay:
    """Share of right answers against confidence, for each place where rows stop.

    Confidence is the probability of the predicted class: it is what a ladder compares with its
    limits, so it must mean what it says on every rung, for the rows that stop there. A model
    without rungs has one line. On the diagonal, answers are right as often as they claim.

    Make one with `from_estimator` or `from_predictor`.

    Parameters
    ----------
    lines : tuple of CalibrationLine

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = X[:, 0] + rng.normal(size=400) > 0
    >>> model = GreedyMiserClassifier(n_estimators=10).fit(X[:200], y[:200])
    >>> display = CalibrationDisplay.from_estimator(model, X[200:], y[200:])
    >>> display.lines[0].counts.sum().item()
    200
    """

    def __init__(self, lines: tuple[CalibrationLine, ...]) -> None:
        self.lines = tuple(lines)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the calibration of a fitted classifier on rows that it has not seen."""
        return cls.from_predictor(estimator.predictor_, X, y, ax=ax)

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the calibration of a predictor of classes on rows that it has not seen."""
        return cls(calibration(predictor, X, y)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on axes of its own."""
        self.ax_ = canvas(ax, size=(6.4, 4.8))
        self.figure_ = self.ax_.figure
        start = min(0.5, *(float(line.confidence.min()) for line in self.lines))
        bottom = min(start, *(float(line.low.min()) for line in self.lines))
        self.ax_.plot([start, 1], [start, 1], color=SOFT, linewidth=1, label="as sure as right")
        self.lines_ = {line.name: self._draw(line, looks(i)) for i, line in enumerate(self.lines)}
        self.ax_.set_xlabel("confidence (probability of the predicted class)", color=INK)
        self.ax_.set_ylabel("share of right answers", color=INK)
        self.ax_.set_xlim(start - 0.02, 1.02)
        self.ax_.set_ylim(bottom - 0.02, 1.02)
        self.ax_.grid(color=SOFT, alpha=0.25, linewidth=0.6)
        legend(self.ax_, loc="best")
        return self

    def _draw(self, line: CalibrationLine, look: dict[str, Any]) -> Any:
        told = f"{line.name}: {line.counts.sum()} rows, error {line.error:.3f}"
        self.ax_.vlines(line.confidence, line.low, line.high, color=look["color"], alpha=0.35)
        (drawn,) = self.ax_.plot(line.confidence, line.right, label=told, markersize=5, **look)
        return drawn
