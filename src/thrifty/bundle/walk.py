"""The walk of one example by name, and its receipt.

A walk asks for features by name, takes values as they are in a table and keeps track of what
they cost. Passing one value takes a few microseconds, so `NamedWalk.tell` only fills
dictionaries; names, answers and receipts are computed when they are read.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.bound import BoundPrices
from thrifty.costs.money import money
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from thrifty.bundle.predictor import Predictor

__all__ = ["NamedWalk", "Purchase", "Receipt"]

COMPLETE = "complete"


@dataclass(frozen=True)
class Purchase:
    """One feature that the model used.

    Parameters
    ----------
    feature : str or int
    value : object
        Its value, as it was passed to the walk.
    price : float
        Its own price, plus the shared price of its group if it is the first of the group; 0
        unless `why` is "asked".
    why : {"asked", "known", "skipped"}
        Whether the walk asked for it, it was known before the walk, or it was skipped.
    """

    feature: str | int
    value: Any
    price: float
    why: Literal["asked", "known", "skipped"]


@dataclass(frozen=True)
class Receipt:
    """What one walk has bought so far.

    Parameters
    ----------
    purchases : tuple of Purchase
        In the order in which the model used them.
    evaluation : float
        Price of the evaluations made.
    total : float
        The bill. For a complete walk that paid for all it used, it equals the bill of the batch
        bit for bit.
    unit : str
        Unit of the prices.
    stopped : str or None
        Why the walk ended: ``"complete"`` if nothing was left to ask; None if it has not ended.
    unread : tuple of str or int
        Features whose values were passed but not used; they are not charged.

    Examples
    --------
    >>> from thrifty.bundle import Purchase, Receipt
    >>> purchases = (Purchase("age", 63, 1.0, "asked"), Purchase("sex", "m", 0.0, "known"))
    >>> print(Receipt(purchases, 0.0, 1.0, "CAD", "complete", unread=("chol",)))
    age = 63     1.00
    sex = 'm'    0.00  known
    total    CAD 1.00  complete
    passed but not used, not charged: chol
    """

    purchases: tuple[Purchase, ...]
    evaluation: float
    total: float
    unit: str
    stopped: str | None = None
    unread: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        lines = []
        for purchase in self.purchases:
            what = f"{purchase.feature} = {reprlib.repr(purchase.value)}"
            why: str = "" if purchase.why == "asked" else purchase.why
            lines.append((what, money(purchase.price), why))
        if self.evaluation:
            lines.append(("evaluation", money(self.evaluation), ""))
        lines.append(("total", money(self.total, self.unit), self.stopped or "not done yet"))
        left, right = (max(len(line[i]) for line in lines) for i in (0, 1))
        rows = [f"{what:{left}}  {price:>{right}}  {why}".rstrip() for what, price, why in lines]
        if self.unread:
            rows.append(f"passed but not used, not charged: {', '.join(map(str, self.unread))}")
        return "\n".join(rows)


class NamedWalk:
    """One example that asks for features by name.

    Parameters
    ----------
    predictor : Predictor
    known : mapping, optional
        Values known beforehand, by feature; they are free of charge.

    Notes
    -----
    A walk is deterministic. ``walk = predictor.walk(old.known)``, ``walk.tell(old.told)`` and
    ``walk.skip(feature)`` for each of ``old.skipped`` restore the state of `old`.

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
        self._decide = predictor.decide
        self._raw: dict[int, Any] = {}  # values as they were passed, in order of arrival
        self._encoded: dict[int, float] = {}
        self._paid: set[int] = set()
        self._skipped: set[int] = set()
        self._stopped: str | None = None
        self._asks: tuple[str | int, ...] | None = None  # None: to be computed
        self._quotes = _Quotes(predictor.prices, self._paid)
        self._walk = predictor.model.walk(self._quotes.__getitem__)
        if known:
            self._advance(self._new_values(known))

    @property
    def asks(self) -> tuple[str | int, ...]:
        """Features wanted now, the most useful per price first; empty when done."""
        if self._asks is None:
            names = self._schema.names
            self._asks = tuple([names[j] for j in self._walk.asks])
        return self._asks

    @property
    def done(self) -> bool:
        """Whether no feature is wanted any more."""
        return not self.asks

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Pass values by feature, asked for or not, and advance as far as they allow.

        A value that arrives after the walk is done is kept as unread.

        Raises
        ------
        DataError
            If a feature is unknown, a value is invalid, or another value of the feature was
            passed before; the walk is then unchanged.
        """
        fresh = self._new_values(values)
        self._paid.update(fresh)
        self._quotes.expire(fresh)
        self._advance(fresh)

    def skip(self, feature: str | int) -> None:
        """Go on without a feature, as if its value were missing; it is not charged."""
        fresh = self._new_values({feature: None})
        self._skipped.update(fresh)
        self._advance(fresh)

    def stop(self, reason: str = "stopped by the caller") -> None:
        """End the walk: the best answer so far becomes the answer."""
        if not self.done:
            self._stopped = reason
            self._asks = ()

    def price(self, feature: str | int) -> float:
        """Return what a feature would cost now; 0 if it is paid, known or skipped already."""
        index = self._schema.index(feature)
        return 0.0 if index in self._encoded else self._quotes[index]

    @property
    def answer(self) -> Any:
        """The predicted label or value; None while the walk is not done."""
        return self.best if self.done else None

    @property
    def best(self) -> Any:
        """The best answer so far."""
        scores = self._walk.scores
        if self._labels is None:
            return float(scores[0])
        return self._labels[int(self._decide(scores[np.newaxis])[0])]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the best answer so far: class probabilities, or one value."""
        return self._walk.scores

    @property
    def told(self) -> dict[str | int, Any]:
        """Values passed to `tell` so far, by feature."""
        return self._by_name(self._paid)

    @property
    def known(self) -> dict[str | int, Any]:
        """Values known before the walk started, by feature."""
        return self._by_name(self._raw.keys() - self._paid - self._skipped)

    @property
    def skipped(self) -> tuple[str | int, ...]:
        """Features that were skipped."""
        return tuple(self._by_name(self._skipped))

    @property
    def receipt(self) -> Receipt:
        """What was bought so far, and at what price."""
        touched = self._walk.touched
        bought: set[int] = set()
        purchases = []
        for j in touched:
            price = 0.0
            why: Literal["asked", "known", "skipped"] = "known"
            if j in self._paid:
                price, why = self._prices.marginal(j, bought), "asked"
                bought.add(j)
            elif j in self._skipped:
                why = "skipped"
            purchases.append(Purchase(self._schema.names[j], self._raw[j], price, why))
        charged = np.zeros((1, len(self._schema)), dtype=bool)
        charged[0, list(bought)] = True
        evaluations = self._walk.evaluations
        return Receipt(
            purchases=tuple(purchases),
            evaluation=self._prices.evaluation * evaluations,
            total=float(self._prices.bill(charged, evaluations)[0]),
            unit=self._prices.unit,
            stopped=COMPLETE if self._stopped is None and self.done else self._stopped,
            unread=tuple(self._by_name(self._paid.difference(touched))),
        )

    def __repr__(self) -> str:
        state = f"answer={self.answer!r}" if self.done else f"asks={self.asks!r}"
        return f"NamedWalk({len(self._raw)} values, {state})"

    def _new_values(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Encode values by index, record them, and return those that the walk did not have.

        Raises a DataError, and records nothing, if one differs from what the walk has.
        """
        encoded = self._schema.encode_values(values)
        if self._encoded.keys().isdisjoint(encoded):
            self._raw.update(zip(encoded, values.values(), strict=True))
            return encoded
        raw = dict(zip(encoded, values.values(), strict=True))
        fresh = {j: x for j, x in encoded.items() if j not in self._encoded}
        problems = []
        for j, x in encoded.items():
            old = self._encoded.get(j, x)
            if x != old and not (x != x and old != old):  # two missing values are the same
                name = self._schema.names[j]
                problems.append(
                    f"{name!r} is {self._raw[j]!r} already; a value cannot be changed, "
                    f"start another walk for {raw[j]!r}"
                )
        raise_all(DataError, "values", problems)
        self._raw.update((j, raw[j]) for j in fresh)
        return fresh

    def _advance(self, fresh: Mapping[int, float]) -> None:
        """Pass new values on to the walk of the model, unless it was stopped."""
        self._encoded.update(fresh)
        if self._stopped is None:
            self._walk.tell(fresh)
            self._asks = None

    def _by_name(self, indices: Any) -> dict[str | int, Any]:
        """Return raw values by name, in the order in which they arrived."""
        return {self._schema.names[j]: value for j, value in self._raw.items() if j in indices}


class _Quotes(dict[int, float]):
    """What each feature would cost now, computed when first looked up.

    The walk of a model looks up all prices after every value, but only a purchase from a group
    changes any of them.
    """

    def __init__(self, prices: BoundPrices, paid: set[int]) -> None:
        self._prices, self._paid = prices, paid
        self._grouped = prices.grouped

    def __missing__(self, index: int) -> float:
        quote = self[index] = self._prices.marginal(index, self._paid)
        return quote

    def expire(self, bought: Iterable[int]) -> None:
        """Discard all quotes if one of the features bought is in a group."""
        if not self._grouped.isdisjoint(bought):
            self.clear()
