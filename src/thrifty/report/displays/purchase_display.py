"""Plot of the features that rows buy: how many rows buy each, in which order, at what price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.learn.dataset import row_of
from thrifty.report.displays.style import COLORS, INK, SOFT, prepare_axes, shorten
from thrifty.report.predictions import walk_row

__all__ = ["PurchaseDisplay"]

# Longer names would leave no room for the bars.
MAX_NAME_LENGTH = 28
# Distance of the two columns of text from the right edge of the bars, in points.
POSITION_OFFSET, PRICE_OFFSET = 42, 54


class PurchaseDisplay:
    """One bar per feature that is bought: the share of rows that buy it.

    Features are sorted by the order in which they are bought: by their mean position in the walks
    of the rows that buy them. Each walk gets one value at a time, the first that it requests.

    Use `from_estimator` or `from_predictor` to create one.

    Parameters
    ----------
    features : sequence of str or int
        Features that are bought, in order.
    shares : float array of shape (features,)
        Share of the rows that buy each.
    positions : float array of shape (features,)
        Mean position in the walks that buy the feature, 1 for the first; NaN if no walk does.
    prices : sequence of str
        Price of each feature, formatted.
    unit : str
        Unit of the prices.
    n_features : int
        Number of features of the table.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices, PurchaseDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> prices = Prices([1.0, 5.0, 9.0], unit="EUR")
    >>> model = GreedyMiserClassifier(prices, penalty=0.001, n_estimators=5).fit(X, X[:, 0] > 0)
    >>> display = PurchaseDisplay.from_estimator(model, X)
    >>> display.features, display.shares, display.positions
    ((0,), array([1.]), array([1.]))
    """

    def __init__(
        self, features: tuple[str | int, ...], shares: NDArray[np.float64],
        positions: NDArray[np.float64], prices: tuple[str, ...], unit: str, n_features: int,
    ) -> None:  # fmt: skip
        self.features, self.shares, self.positions = features, shares, positions
        self.prices, self.unit, self.n_features = prices, unit, n_features

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, walks: int = 200, ax: Any = None) -> Self:
        """Plot what a fitted estimator buys for the rows of X; see `from_predictor`."""
        return cls.from_predictor(estimator.predictor_, X, walks=walks, ax=ax)

    @classmethod
    def from_predictor(
        cls, predictor: Predictor, X: Any, *, walks: int = 200, ax: Any = None
    ) -> Self:
        """Plot what a predictor buys for the rows of X.

        Parameters
        ----------
        predictor : Predictor
        X : table
        walks : int
            Number of rows, spread evenly over the table, that are walked to find the order of
            purchases. The shares are computed from all rows.
        ax : matplotlib Axes, optional
        """
        if walks < 1:
            raise DataError(f"walks: {walks!r} is not a number of rows, 1 or more")
        used = predictor.model.used(predictor.encode(X))
        shares, positions = used.mean(axis=0), _mean_positions(predictor, X, len(used), walks)
        bought = np.flatnonzero(shares)
        order = bought[np.lexsort((-shares[bought], positions[bought]))]  # NaN comes last
        bound, prices = predictor.prices, []
        for j in order:
            price, group = money(float(bound.own[j])), bound.group[j]
            if group >= 0 and bound.shared[group]:
                name = shorten(bound.group_names[group], MAX_NAME_LENGTH)
                price += f" + {money(float(bound.shared[group]))} {name}"
            prices.append(price)
        names = predictor.schema.names
        return cls(
            features=tuple(names[j] for j in order),
            shares=shares[order],
            positions=positions[order],
            prices=tuple(prices),
            unit=bound.unit,
            n_features=len(predictor.schema),
        ).plot(ax)

    def plot(self, ax: Any = None, *, most: int = 30) -> Self:
        """Draw the `most` features of the largest shares on `ax`, or on new axes."""
        shown = np.sort(np.argsort(-self.shares, kind="stable")[:most])
        self.ax_ = ax = prepare_axes(ax, size=(7.6, 1.3 + 0.28 * max(len(shown), 2)))
        self.figure_ = ax.figure
        bars = np.arange(len(shown))
        self.bars_ = ax.barh(bars, 100 * self.shares[shown], height=0.7, color=COLORS[0])
        names = [shorten(str(self.features[i]), MAX_NAME_LENGTH) for i in shown]
        ax.set_yticks(bars, labels=names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)  # the first purchase on top
        ax.set_xlim(0, 100)
        ax.set_xlabel("rows that buy the feature (%)", color=INK)
        title = f"{len(self.features)} of {self.n_features} features are bought"
        title += "" if len(shown) == len(self.features) else f", {len(shown)} shown"
        ax.set_title(title, loc="left", fontsize="medium", color=INK, pad=22)
        ax.grid(axis="x", color=SOFT, alpha=0.25, linewidth=0.6)
        # Mean position and price of each feature, as two columns of text right of the bars.
        price_heading = f"price ({self.unit})" if self.unit else "price"
        self._write(-0.75, "position", price_heading, color=SOFT, fontsize="small")
        for bar, i in enumerate(shown):
            position = "" if np.isnan(self.positions[i]) else f"{self.positions[i]:.1f}"
            self._write(bar, position, self.prices[i], color=INK, fontsize="medium")
        return self

    def _write(self, bar: float, position: str, price: str, **style: Any) -> None:
        """Write the two columns of text at the height of a bar."""
        where = self.ax_.get_yaxis_transform()  # x in axes coordinates, y in bars
        for text, offset, align in (
            (position, POSITION_OFFSET, "right"),
            (price, PRICE_OFFSET, "left"),
        ):
            self.ax_.annotate(text, (1, bar), (offset, 0), xycoords=where, ha=align, va="center",
                              textcoords="offset points", parse_math=False, **style)  # fmt: skip


def _mean_positions(predictor: Predictor, X: Any, n: int, walks: int) -> NDArray[np.float64]:
    """Walk up to `walks` evenly spaced rows; average the position (1 is first) of each purchase.

    Returns an array of shape (n_features,), NaN for a feature that no walk buys.
    """
    if isinstance(X, Mapping):  # of columns: its rows cannot be taken one by one
        X = pandas.DataFrame(X)
    total, count = np.zeros(len(predictor.schema)), np.zeros(len(predictor.schema))
    for i in np.unique(np.linspace(0, n - 1, min(walks, n)).round().astype(int)):
        receipt = walk_row(predictor, row_of(X, int(i))).receipt
        order = [predictor.schema.index(purchase.feature) for purchase in receipt.purchases]
        total[order] += np.arange(1, len(order) + 1)
        count[order] += 1
    unknown = np.full(len(total), np.nan)
    return np.asarray(np.divide(total, count, out=unknown, where=count > 0))
