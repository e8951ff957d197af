"""A walk in the user's words: features by name, values as the table had them, prices.

One value told costs a few microseconds here, so telling only fills dictionaries; names,
answers and receipts are made when someone looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.receipt import Purchase, Receipt
from thrifty.costs.bound import BoundPrices
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from thrifty.bundle.predictor import Predictor

__all__ = ["NamedWalk"]

COMPLETE = "complete"


class NamedWalk:
    """One example asking for features by name.

    Parameters
    ----------
    predictor : Predictor
    known : mapping, optional
        Values already at hand, by feature; they are free of charge.

    Notes
    -----
    A walk is deterministic: ``walk = predictor.walk(old.known)``, ``walk.tell(old.told)`` and
    ``walk.skip(feature)`` for each of ``old.skipped`` lead to where `old` is.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(5)
    >>> nodes[0] = (60.0, 1, 0)  # age <= 60: node 1, else node 2
    >>> nodes[2] = (200.0, 3, 1)  # chol <= 200: node 3, else node 4
    >>> values = np.array([[0.5], [0.1], [0.7], [0.6], [0.9]])
    >>> tree = Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sum", 2)
    >>> schema = Schema.of({"age": [63, 41], "chol": [233, 204]})
    >>> prices = Prices({"age": 1.0, "chol": 7.27}, unit="CAD").bind(["age", "chol"])
    >>> walk = Predictor(tree, schema, prices).walk()
    >>> walk.tell({"age": 70})
    >>> walk.asks, walk.answer, walk.best
    (('chol',), None, 0.7)
    >>> walk.stop("the laboratory is closed")
    >>> walk.answer
    0.7
    >>> print(walk.receipt)
    age = 70      1.00
    total     CAD 1.00  the laboratory is closed
    """

    def __init__(self, predictor: Predictor, known: Mapping[Any, Any] | None = None) -> None:
        self._schema = predictor.schema
        self._prices = predictor.prices
        self._labels = predictor.labels
        self._raw: dict[int, Any] = {}
        self._encoded: dict[int, float] = {}
        self._paid: set[int] = set()
        self._skipped: set[int] = set()
        self._stopped: str | None = None
        self._asks: tuple[str | int, ...] | None = None
        self._quotes = _Quotes(predictor.prices, self._paid)
        self._walk = predictor.model.walk(self._quotes.__getitem__)
        if known:
            self._take(self._fresh(known))

    @property
    def asks(self) -> tuple[str | int, ...]:
        """Features wanted now, the most useful per price first; empty when done."""
        if self._asks is None:
            names = self._schema.names
            self._asks = tuple([names[j] for j in self._walk.asks])
        return self._asks

    @property
    def done(self) -> bool:
        """Whether nothing is asked any more."""
        return not self.asks

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Take values by feature, asked for or not, and move on as far as they allow.

        A value that arrives after the walk is done is kept as unread.

        Raises
        ------
        DataError
            If a feature or a value is not fit, or another value was told before; the walk
            is then where it was.
        """
        fresh = self._fresh(values)
        self._paid.update(fresh)
        self._quotes.expire(fresh)
        self._take(fresh)

    def skip(self, feature: str | int) -> None:
        """Go on without a feature, as if it came back empty; it is not charged."""
        fresh = self._fresh({feature: None})
        self._skipped.update(fresh)
        self._take(fresh)

    def stop(self, reason: str = "stopped by the caller") -> None:
        """End here: the best answer so far becomes the answer."""
        if not self.done:
            self._stopped = reason
            self._asks = ()

    def price(self, feature: str | int) -> float:
        """What a feature would cost now: 0 for what is paid, known or skipped already."""
        index = self._schema.index(feature)
        return 0.0 if index in self._encoded else self._quotes[index]

    @property
    def answer(self) -> Any:
        """The predicted label or value; None while not done."""
        return self.best if self.done else None

    @property
    def best(self) -> Any:
        """The best answer so far."""
        scores = self._walk.scores
        return float(scores[0]) if self._labels is None else self._labels[int(scores.argmax())]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the best answer so far: class probabilities, or one value."""
        return self._walk.scores

    @property
    def told(self) -> dict[str | int, Any]:
        """Values told so far, by feature, without those known or skipped."""
        return self._named(self._paid)

    @property
    def known(self) -> dict[str | int, Any]:
        """Values that were at hand at the start."""
        return self._named(self._raw.keys() - self._paid - self._skipped)

    @property
    def skipped(self) -> tuple[str | int, ...]:
        """Features that the walk went on without."""
        return tuple(self._named(self._skipped))

    @property
    def receipt(self) -> Receipt:
        """What was bought so far, and at what price."""
        touched = self._walk.touched
        charged = np.zeros((1, len(self._schema)), dtype=bool)
        charged[0, [j for j in touched if j in self._paid]] = True
        evaluations = self._walk.evaluations
        return Receipt(
            purchases=self._purchases(touched),
            evaluation=self._prices.evaluation * evaluations,
            total=float(self._prices.bill(charged, evaluations)[0]),
            unit=self._prices.unit,
            stopped=COMPLETE if self._stopped is None and self.done else self._stopped,
            unread=tuple(self._named(self._paid.difference(touched))),
        )

    def __repr__(self) -> str:
        state = f"answer={self.answer!r}" if self.done else f"asks={self.asks!r}"
        return f"NamedWalk({len(self._raw)} values, {state})"

    def _fresh(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Values as floats by position, without those that the walk has already."""
        encoded = self._schema.encode_values(values)
        if self._encoded.keys().isdisjoint(encoded):
            self._raw.update(zip(encoded, values.values(), strict=True))
            return encoded
        raw = dict(zip(encoded, values.values(), strict=True))
        self._refuse_changes(encoded, raw)
        fresh = {j: x for j, x in encoded.items() if j not in self._encoded}
        self._raw.update((j, raw[j]) for j in fresh)
        return fresh

    def _take(self, fresh: Mapping[int, float]) -> None:
        self._encoded.update(fresh)
        if self._stopped is None:
            self._walk.tell(fresh)
            self._asks = None

    def _refuse_changes(self, encoded: Mapping[int, float], raw: Mapping[int, Any]) -> None:
        problems = [
            f"{self._schema.names[j]!r} is {self._raw[j]!r} already; a walk does not turn back, "
            f"start another one for {raw[j]!r}"
            for j, x in encoded.items()
            if j in self._encoded and not _same(x, self._encoded[j])
        ]
        raise_all(DataError, "values", problems)

    def _named(self, indices: Any) -> dict[str | int, Any]:
        """Raw values by name, in the order in which they arrived."""
        return {self._schema.names[j]: value for j, value in self._raw.items() if j in indices}

    def _purchases(self, touched: tuple[int, ...]) -> tuple[Purchase, ...]:
        bought: set[int] = set()
        purchases = []
        for j in touched:
            price, why = 0.0, self._why(j)
            if why == "asked":
                price = self._prices.marginal(j, bought)
                bought.add(j)
            purchases.append(Purchase(self._schema.names[j], self._raw[j], price, why))
        return tuple(purchases)

    def _why(self, index: int) -> Literal["asked", "known", "skipped"]:
        if index in self._paid:
            return "asked"
        return "skipped" if index in self._skipped else "known"


class _Quotes(dict[int, float]):
    """What each feature would cost now, worked out when first asked for.

    A walk asks for all prices after every value; only a purchase from a group changes any.
    """

    def __init__(self, prices: BoundPrices, paid: set[int]) -> None:
        self._prices, self._paid = prices, paid
        self._grouped = prices.grouped

    def __missing__(self, index: int) -> float:
        quote = self[index] = self._prices.marginal(index, self._paid)
        return quote

    def expire(self, bought: Iterable[int]) -> None:
        """Forget what buying these features may have changed."""
        if not self._grouped.isdisjoint(bought):
            self.clear()


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)
