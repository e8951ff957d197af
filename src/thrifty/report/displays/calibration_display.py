"""Plot of the calibration of a classifier, one curve for each place where rows stop."""

from __future__ import annotations

from typing import Any, Self

from thrifty.bundle import Predictor
from thrifty.learn.dataset import ValidationSet
from thrifty.report.calibration import (
    MIN_ROWS_PER_BIN,
    CalibrationCurve,
    calibration_curves,
)
from thrifty.report.displays.style import INK, SOFT, add_legend, line_style, prepare_axes

__all__ = ["CalibrationDisplay"]


class CalibrationDisplay:
    """Accuracy against confidence, one curve for each place where rows stop.

    Confidence is the probability of the predicted class. A ladder compares it with its thresholds,
    so it should be calibrated on every rung, for the rows that stop there; rungs where few rows
    stop share a curve. A model without rungs has one curve. On the diagonal, predictions are
    correct as often as their confidence says. The bars are 95% confidence intervals; a bin of few
    rows says how many.

    Use `from_estimator` or `from_predictor` to create one.

    Parameters
    ----------
    curves : tuple of thrifty.report.calibration.CalibrationCurve

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        The line of each curve, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CalibrationDisplay, GreedyMiserClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = X[:, 0] + rng.normal(size=400) > 0
    >>> model = GreedyMiserClassifier(n_estimators=10).fit(X[:200], y[:200])
    >>> display = CalibrationDisplay.from_estimator(model, X[200:], y[200:])
    >>> display.lines_["all"].get_label()
    'all: 200 rows, error 0.087'
    """

    def __init__(self, curves: tuple[CalibrationCurve, ...]) -> None:
        self.curves = tuple(curves)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot the calibration of a fitted classifier on rows that it was not trained on."""
        return cls.from_predictor(estimator.predictor_, X, y, ax=ax)

    @classmethod
    def from_predictor(cls, predictor: Predictor, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot the calibration of a predictor with classes on rows that it was not trained on."""
        rows = ValidationSet.for_predictor(predictor, "classification", X, y)
        return cls(calibration_curves(predictor, rows)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax`, or on new axes."""
        self.ax_ = prepare_axes(ax, size=(6.4, 4.8))
        self.figure_ = self.ax_.figure
        start = min(0.5, *(float(curve.confidence.min()) for curve in self.curves))
        bottom = min(start, *(float(curve.low.min()) for curve in self.curves))
        self.ax_.plot([start, 1], [start, 1], color=SOFT, linewidth=1, label="perfectly calibrated")
        self.lines_ = {}
        for i, curve in enumerate(self.curves):
            style = line_style(i)
            label = f"{curve.name}: {curve.counts.sum()} rows, error {curve.error:.3f}"
            self.ax_.vlines(curve.confidence, curve.low, curve.high, color=style["color"],
                            alpha=0.35)  # fmt: skip
            (self.lines_[curve.name],) = self.ax_.plot(
                curve.confidence, curve.accuracy, label=label, markersize=5, **style
            )
            for x, y, n in zip(curve.confidence, curve.accuracy, curve.counts, strict=True):
                if n < MIN_ROWS_PER_BIN:
                    self.ax_.annotate(f"{n} rows", (x, y), (-6, 0), textcoords="offset points",
                                      ha="right", va="center", color=style["color"],
                                      fontsize="small")  # fmt: skip
        self.ax_.set_xlabel("probability of the predicted class", color=INK)
        self.ax_.set_ylabel("accuracy", color=INK)
        self.ax_.set_xlim(start - 0.02, 1.02)
        self.ax_.set_ylim(max(0.0, bottom) - 0.02, 1.02)
        self.ax_.grid(color=SOFT, alpha=0.25, linewidth=0.6)
        add_legend(self.ax_)
        return self
