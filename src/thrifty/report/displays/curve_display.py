"""Plot of one or more cost/quality curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.report.displays.cost_axis import axis_end, set_cost_axis
from thrifty.report.displays.style import (
    INK,
    SOFT,
    WARN,
    add_legend,
    line_style,
    prepare_axes,
)

if TYPE_CHECKING:
    from thrifty.frontier.curve import Curve

__all__ = ["CurveDisplay"]

Floats = NDArray[np.float64]


class CurveDisplay:
    """Quality against mean bill: the frontier with its confidence band, budget and chosen point.

    The frontier is a step function: a budget between two points buys the cheaper one. The upper
    edge of the band takes the cheap end of every bill interval and the good end of every quality
    interval, the lower edge the expensive end and the poor end (point by point, at the level of the
    curve). The axis of bills is logarithmic if they span more than a factor of ten.

    Use `from_estimator`, `from_curve` or `from_curves` to create one.

    Parameters
    ----------
    curves : Curve, or mapping of str to Curve
        One or more curves of the same metric and unit, by name.
    budget : float, optional
        Drawn as a vertical line. The chosen point of a curve, if it has one, is drawn as a star.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        The frontier of each curve.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CurveDisplay, GreedyMiserRegressor, Prices
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> learner = GreedyMiserRegressor(Prices([1.0, 5.0], unit="EUR"), n_estimators=20)
    >>> display = CurveDisplay.from_estimator(learner, X, y, budget=3)
    >>> display.lines_["GreedyMiserRegressor"].get_xdata()  # bills of the frontier, end of the axis
    array([0.  , 1.  , 6.  , 6.24])
    """

    def __init__(
        self,
        curves: Curve | Mapping[str, Curve],
        *,
        budget: float | None = None,
    ) -> None:
        self.curves = dict(curves) if isinstance(curves, Mapping) else {"frontier": curves}
        self.budget = budget
        if not self.curves:
            raise DataError("curves: there is no curve to draw")
        for what in ("scoring", "unit"):
            found = sorted({getattr(curve, what) for curve in self.curves.values()})
            if len(found) > 1:
                raise DataError(f"curves: they differ in {what}, {found}; plot them separately")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, budget: float | None = None,
        ax: Any = None, **tracing: Any,
    ) -> Self:  # fmt: skip
        """Plot the curve of a fitted budget estimator, or trace that of a learner first.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with `frontier_`, whose budget and chosen point are drawn as well; or
            any estimator with `path`, which needs X and y.
        X, y : table and target, optional
            Passed to `trace`.
        budget : float, optional
            Overrides the estimator's own.
        ax : matplotlib Axes, optional
        **tracing
            Further arguments of `trace`, such as `scoring` or `validation`.
        """
        name = type(estimator).__name__
        if hasattr(estimator, "frontier_"):
            budget = getattr(estimator, "budget", None) if budget is None else budget
            return cls({name: estimator.frontier_}, budget=budget).plot(ax)
        if X is None or y is None:
            raise DataError(f"{name} has no frontier_ to draw: fit it, or give X and y to trace it")
        from thrifty.frontier.tracing import trace

        return cls({name: trace(estimator, X, y, **tracing)}, budget=budget).plot(ax)

    @classmethod
    def from_curve(cls, curve: Curve, *, budget: float | None = None, ax: Any = None) -> Self:
        """Plot one curve."""
        return cls(curve, budget=budget).plot(ax)

    @classmethod
    def from_curves(
        cls, curves: Mapping[str, Curve], *, budget: float | None = None, ax: Any = None
    ) -> Self:
        """Plot several curves by name."""
        return cls(curves, budget=budget).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax`, or on new axes."""
        self.ax_ = ax = prepare_axes(ax)
        self.figure_ = ax.figure
        first, alone = next(iter(self.curves.values())), len(self.curves) == 1
        bills = [point.bill for curve in self.curves.values() for point in curve.points]
        right = axis_end(bills, self.budget)
        set_cost_axis(ax, bills, first.unit, right)

        self.lines_ = {}
        for i, (name, curve) in enumerate(self.curves.items()):
            if alone:
                frontier = set(map(id, curve.frontier))
                dominated = [point for point in curve.points if id(point) not in frontier]
                ax.plot(_column(dominated, "bill"), _column(dominated, "quality"), ".", color=SOFT,
                        alpha=0.6, label="dominated points", zorder=1.5)  # fmt: skip
            self.lines_[name] = self._draw_frontier(name, curve, right, line_style(i))
        if self.budget is not None:
            ax.axvline(self.budget, color=WARN, linestyle=(0, (6, 2)), linewidth=1.2,
                       label=f"budget {money(self.budget, first.unit)}")  # fmt: skip
        chosen = [curve.chosen for curve in self.curves.values() if curve.chosen is not None]
        if chosen:
            ax.plot(_column(chosen, "bill"), _column(chosen, "quality"), "*", color=WARN,
                    markersize=15, label="chosen", markeredgecolor="white", zorder=4)  # fmt: skip

        ax.set_ylabel(first.scoring.replace("_", " "), color=INK)
        ax.grid(axis="y", color=SOFT, alpha=0.25, linewidth=0.6)
        add_legend(ax)
        return self

    def _draw_frontier(self, name: str, curve: Curve, right: float, style: dict[str, Any]) -> Any:
        """Draw the frontier of a curve as steps, with its band; return the line."""
        frontier = curve.frontier
        bill_low, bill_high = _column(frontier, "bill_interval").T
        quality_low, quality_high = _column(frontier, "quality_interval").T
        budgets = np.unique([*bill_low, *bill_high, right])
        self.ax_.fill_between(
            budgets,
            _best_within(budgets, bill_high, quality_low),
            _best_within(budgets, bill_low, quality_high),
            step="post",
            color=style["color"],
            linewidth=0,
            alpha=0.15 if len(self.curves) == 1 else 0.08,
        )
        bills, qualities = _column(frontier, "bill"), _column(frontier, "quality")
        (line,) = self.ax_.plot([*bills, right], [*qualities, qualities[-1]], label=name,
                                drawstyle="steps-post", markersize=4, linewidth=1.6,
                                markevery=range(len(bills)), **style)  # fmt: skip
        return line


def _column(points: Sequence[Any], name: str) -> Floats:
    """Return an attribute of the points as an array."""
    return np.array([getattr(point, name) for point in points], dtype=np.float64)


def _best_within(budgets: Floats, bills: Floats, qualities: Floats) -> Floats:
    """Return the best quality within each budget, NaN where no bill is within it."""
    within = np.where(bills <= budgets[:, np.newaxis], qualities, -np.inf).max(axis=1)
    return np.where(np.isfinite(within), within, np.nan)
