"""Who buys what, in which order and at what price, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices
from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.frontier.splits import Rows
from thrifty.report.displays.canvas import COLORS, INK, SOFT, canvas

__all__ = ["PurchaseDisplay"]

# Names of more letters would leave no room for the bars.
WIDTH = 28


class PurchaseDisplay:
    """A bar for each feature that is bought: its length is the share of the rows that buy it.

    Features come in the order in which they are bought, by their mean place in the walks of the
    rows that buy them. A walk is told one value at a time, the first that it asks for.

    Make one with `from_estimator` or `from_predictor`.

    Parameters
    ----------
    features : sequence of str or int
        Features that are bought, in order.
    shares : array of shape (features,)
        Share of the rows that buy each.
    places : array of shape (features,)
        Mean place in the walks that buy it, 1 for the first; NaN if no row that was walked did.
    prices : sequence of str
        What each costs, in words.
    unit : str
        What the prices count.
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
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty import PurchaseDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> prices = Prices([1.0, 5.0, 9.0], unit="EUR")
    >>> model = GreedyMiserClassifier(prices, penalty=0.001, n_estimators=5).fit(X, X[:, 0] > 0)
    >>> display = PurchaseDisplay.from_estimator(model, X)
    >>> display.features, display.shares, display.places
    ((0,), array([1.]), array([1.]))
    """

    def __init__(
        self, features: tuple[str | int, ...], shares: NDArray[np.float64],
        places: NDArray[np.float64], prices: tuple[str, ...], unit: str, n_features: int,
    ) -> None:  # fmt: skip
        self.features, self.shares, self.places = features, shares, places
        self.prices, self.unit, self.n_features = prices, unit, n_features

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, walks: int = 200, ax: Any = None) -> Self:
        """Draw what a fitted estimator buys for the rows of X; see `from_predictor`."""
        return cls.from_predictor(estimator.predictor_, X, walks=walks, ax=ax)

    @classmethod
    def from_predictor(
        cls, predictor: Predictor, X: Any, *, walks: int = 200, ax: Any = None
    ) -> Self:
        """Draw what a predictor buys for the rows of X.

        Parameters
        ----------
        predictor : Predictor
        X : table
        walks : int
            How many rows, spread evenly over the table, are walked to learn the order. The shares
            are those of all rows.
        ax : matplotlib Axes, optional
        """
        if walks < 1:
            raise DataError(f"walks: {walks!r} is not a number of rows, 1 or more")
        used = predictor.used(X)
        shares, places = used.mean(axis=0), _places(predictor, X, len(used), walks)
        bought = np.flatnonzero(shares)
        order = bought[np.lexsort((-shares[bought], places[bought]))]  # NaN comes last
        names, d = predictor.schema.names, len(predictor.schema)
        prices = tuple(_price(predictor.prices, int(j)) for j in order)
        features = tuple(names[j] for j in order)
        display = cls(features, shares[order], places[order], prices, predictor.prices.unit, d)
        return display.plot(ax)

    def plot(self, ax: Any = None, *, most: int = 30) -> Self:
        """Draw on `ax`, or on axes of its own; at most `most` features, of the largest shares."""
        shown = np.sort(np.argsort(-self.shares, kind="stable")[:most])
        self.ax_ = canvas(ax, size=(7.6, 1.3 + 0.28 * max(len(shown), 2)))
        self.figure_ = self.ax_.figure
        self.bars_ = self.ax_.barh(
            np.arange(len(shown)), 100 * self.shares[shown], height=0.7, color=COLORS[0]
        )
        self._label(shown)
        self._columns(shown)
        return self

    def _label(self, shown: NDArray[np.intp]) -> None:
        ax = self.ax_
        names = [_short(str(self.features[i])) for i in shown]
        ax.set_yticks(np.arange(len(shown)), labels=names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)  # the first that is bought on top
        ax.set_xlim(0, 100)
        ax.set_xlabel("share of the rows that buy it (%)", color=INK)
        ax.set_title(self._summary(len(shown)), loc="left", fontsize="medium", color=INK, pad=22)
        ax.grid(axis="x", color=SOFT, alpha=0.25, linewidth=0.6)

    def _summary(self, shown: int) -> str:
        told = f"{len(self.features)} of {self.n_features} features are bought"
        return told if shown == len(self.features) else f"{told}, {shown} shown"

    def _columns(self, shown: NDArray[np.intp]) -> None:
        """Place and price of each feature, to the right of the bars."""
        price = f"price ({self.unit})" if self.unit else "price"
        self._write(-0.75, "place", price, color=SOFT, fontsize="small")
        for row, i in enumerate(shown):
            place = "" if np.isnan(self.places[i]) else f"{self.places[i]:.1f}"
            self._write(row, place, self.prices[i], color=INK, fontsize="medium")

    def _write(self, row: float, place: str, price: str, **style: Any) -> None:
        where = self.ax_.get_yaxis_transform()  # x in parts of the axes, y in bars
        for text, points, align in ((place, 42, "right"), (price, 54, "left")):
            self.ax_.annotate(text, (1, row), (points, 0), xycoords=where, ha=align, va="center",
                              textcoords="offset points", parse_math=False, **style)  # fmt: skip


def _places(predictor: Predictor, X: Any, n: int, walks: int) -> NDArray[np.float64]:
    """Mean place of each feature in the walks that buy it; NaN for one that none buys."""
    if isinstance(X, Mapping):  # of columns, which has no rows to take
        X = pandas.DataFrame(X)
    rows = Rows(np.arange(n), X, np.zeros(n))
    total, count = np.zeros(len(predictor.schema)), np.zeros(len(predictor.schema))
    for i in np.unique(np.linspace(0, n - 1, min(walks, n)).round().astype(int)):
        order = [predictor.schema.index(name) for name in _bought(predictor, rows.row(int(i)))]
        total[order] += np.arange(1, len(order) + 1)
        count[order] += 1
    unknown = np.full(len(total), np.nan)
    return np.asarray(np.divide(total, count, out=unknown, where=count > 0))


def _bought(predictor: Predictor, values: dict[str | int, Any]) -> list[str | int]:
    """Features in the order in which one row buys them."""
    walk = predictor.walk()
    while walk.asks:
        walk.tell({walk.asks[0]: values[walk.asks[0]]})
    return [purchase.feature for purchase in walk.receipt.purchases]


def _price(prices: BoundPrices, feature: int) -> str:
    own, group = money(float(prices.own[feature])), prices.group[feature]
    if group < 0 or not prices.shared[group]:
        return own
    return f"{own} + {money(float(prices.shared[group]))} {_short(prices.group_names[group])}"


def _short(name: str) -> str:
    return name if len(name) <= WIDTH else f"{name[: WIDTH - 1]}\u2026"
