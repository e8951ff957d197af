"""The cost/quality curve as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.report.displays.canvas import INK, SOFT, WARN, canvas, legend, looks

if TYPE_CHECKING:
    from thrifty.frontier.curve import Curve

__all__ = ["CurveDisplay"]

Floats = NDArray[np.float64]


class CurveDisplay:
    """Quality against mean bill: points, frontier, how sure both are, budget, chosen point.

    The frontier is a step function: between two points a budget buys the cheaper one. Its band goes
    from the points if they are as cheap and good, to the points if they are as dear and bad, as the
    intervals of bill and quality allow (point by point, at the level of the curve).

    Make one with `from_estimator`, `from_curve` or `from_curves`.

    Parameters
    ----------
    curves : Curve, or mapping of str to Curve
        One or more curves of the same measure and unit, by name.
    budget : float, optional
        Drawn as a line. The chosen point of a curve, if it has one, is drawn as a star.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        The frontier of each curve.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor, Prices
    >>> from thrifty import CurveDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> learner = GreedyMiserRegressor(Prices([1.0, 5.0], unit="EUR"), n_estimators=20)
    >>> display = CurveDisplay.from_estimator(learner, X, y, budget=3)
    >>> display.ax_.get_xlabel()
    'mean bill (EUR)'
    """

    def __init__(
        self,
        curves: Curve | Mapping[str, Curve],
        *,
        budget: float | None = None,
    ) -> None:
        self.curves = dict(curves) if isinstance(curves, Mapping) else {"frontier": curves}
        self.budget = budget
        self._refuse_mixtures()

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, budget: float | None = None,
        ax: Any = None, **tracing: Any,
    ) -> Self:  # fmt: skip
        """Draw the curve of a fitted budget estimator, or trace that of a learner first.

        Parameters
        ----------
        estimator : estimator
            Fitted, with `frontier_`; its budget and chosen point are drawn as well. Or any with
            `path`, for which X and y are needed.
        X, y : table and target, optional
            What `trace` gets.
        budget : float, optional
            Instead of the estimator's own.
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
        """Draw one curve."""
        return cls(curve, budget=budget).plot(ax)

    @classmethod
    def from_curves(
        cls, curves: Mapping[str, Curve], *, budget: float | None = None, ax: Any = None
    ) -> Self:
        """Draw several curves by name."""
        return cls(curves, budget=budget).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on axes of its own."""
        self.ax_ = canvas(ax)
        self.figure_ = self.ax_.figure
        right = self._right()
        self.lines_ = {
            name: self._draw(name, curve, right, looks(i))
            for i, (name, curve) in enumerate(self.curves.items())
        }
        self._mark()
        self._label(right)
        return self

    def _draw(self, name: str, curve: Curve, right: float, look: dict[str, Any]) -> Any:
        ax, frontier = self.ax_, curve.frontier
        color = look["color"]
        alone = len(self.curves) == 1
        if alone:
            self._draw_beaten(curve)
        ax.fill_between(*_band(frontier, right), step="post", color=color, linewidth=0,
                        alpha=0.15 if alone else 0.08)  # fmt: skip
        bills, qualities = _column(frontier, "bill"), _column(frontier, "quality")
        (line,) = ax.plot([*bills, right], [*qualities, qualities[-1]], drawstyle="steps-post",
                          label=name, markersize=4, linewidth=1.6,
                          markevery=range(len(bills)), **look)  # fmt: skip
        return line

    def _draw_beaten(self, curve: Curve) -> None:
        kept = set(map(id, curve.frontier))
        beaten = [point for point in curve.points if id(point) not in kept]
        self.ax_.plot(_column(beaten, "bill"), _column(beaten, "quality"), ".", color=SOFT,
                      alpha=0.6, label="beaten points", zorder=1.5)  # fmt: skip

    def _mark(self) -> None:
        if self.budget is not None:
            told = f"budget {money(self.budget, self._first.unit)}"
            self.ax_.axvline(self.budget, color=WARN, linestyle=(0, (6, 2)), linewidth=1.2,
                             label=told)  # fmt: skip
        chosen = [curve.chosen for curve in self.curves.values() if curve.chosen is not None]
        if chosen:
            bills, qualities = _column(chosen, "bill"), _column(chosen, "quality")
            self.ax_.plot(bills, qualities, "*", color=WARN, markersize=15, label="chosen",
                          markeredgecolor="white", zorder=4)  # fmt: skip

    def _label(self, right: float) -> None:
        ax, unit = self.ax_, self._first.unit
        ax.set_xlabel(f"mean bill ({unit})" if unit else "mean bill", color=INK, parse_math=False)
        ax.set_ylabel(self._first.scoring.replace("_", " "), color=INK)
        ax.set_xlim(-0.02 * right, right)
        ax.grid(axis="y", color=SOFT, alpha=0.25, linewidth=0.6)
        legend(ax, loc="lower right")

    @property
    def _first(self) -> Curve:
        return next(iter(self.curves.values()))

    def _right(self) -> float:
        """End of the axis of bills: a budget far beyond the curves does not squeeze them."""
        largest = max(point.bill for curve in self.curves.values() for point in curve.points)
        budget = self.budget or 0.0
        return 1.04 * (max(largest, min(budget, 1.2 * largest)) or budget or 1.0)

    def _refuse_mixtures(self) -> None:
        if not self.curves:
            raise DataError("curves: there is no curve to draw")
        for what in ("scoring", "unit"):
            found = sorted({getattr(curve, what) for curve in self.curves.values()})
            if len(found) > 1:
                raise DataError(f"curves: they differ in {what}, {found}; draw them apart")


def _column(points: Sequence[Any], name: str) -> Floats:
    return np.array([getattr(point, name) for point in points], dtype=np.float64)


def _band(frontier: Sequence[Any], right: float) -> tuple[Floats, Floats, Floats]:
    """Budgets, and the steps of the least and the most that the intervals allow at each."""
    bill_low, bill_high = _column(frontier, "bill_interval").T
    low, high = _column(frontier, "quality_interval").T
    budgets = np.unique([*bill_low, *bill_high, right])
    least, most = _steps(budgets, bill_high, low), _steps(budgets, bill_low, high)
    return budgets, least, most


def _steps(budgets: Floats, bills: Floats, qualities: Floats) -> Floats:
    """Best quality within each budget; below the first point, NaN."""
    within = np.where(bills <= budgets[:, np.newaxis], qualities, -np.inf).max(axis=1)
    return np.where(np.isfinite(within), within, np.nan)
