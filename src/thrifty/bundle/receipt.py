"""The receipt of a walk: what was bought, at what price and why, where it stands, why it ended."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.reason import Reason
from thrifty.costs.money import duration, money

__all__ = ["Purchase", "Receipt", "Standing", "Why", "plain_value"]

Why = Literal["asked", "required", "known", "skipped"]


@dataclass(frozen=True)
class Purchase:
    """One feature that the model used.

    Parameters
    ----------
    feature : str or int
    value : object
        Its value, as it was passed to the walk.
    price : float
        Its own price, plus the shared price of its group if it is the first of the group; 0 if
        `why` is "known" or "skipped".
    why : {"asked", "required", "known", "skipped"}
        Whether the model asked for it, it came along with what the model asked for, it was known
        before the walk, or it was skipped.
    reason : Reason or None
        Why the walk asked for it, if `walk.why` was read at that time.
    """

    feature: str | int
    value: Any
    price: float
    why: Why
    reason: Reason | None = field(default=None, compare=False, repr=False)


class Standing(NamedTuple):
    """Where a walk stands.

    Parameters
    ----------
    best : label or float
        The best answer so far.
    probability : float or None
        Its probability; None for a model that predicts values.
    scores : array
        Class probabilities, or one value.
    bill : float
        What the values read so far cost, with the evaluations made.
    """

    best: Any
    probability: float | None
    scores: NDArray[np.float64]
    bill: float


@dataclass(frozen=True)
class Receipt:
    """What one walk has bought so far.

    Parameters
    ----------
    purchases : tuple of Purchase
        In the order in which the model used them, each after what it requires.
    evaluation : float
        Price of the evaluations made.
    total : float
        The bill. For a complete walk that paid for all it used, it equals the bill of the batch
        bit for bit.
    unit : str
        Unit of the prices.
    stopped : str or None
        Why the walk ended, as a code: ``"complete"``, ``"sure"``, ``"settled"`` and
        ``"not_worth_it"`` if the model asks for nothing more; ``"cap"``, ``"budget"``,
        ``"deadline"``, ``"expired"``, ``"source_failed"`` and ``"stopped"`` if it was stopped. None
        if it has not ended.
    unread : tuple of str or int
        Features whose values were passed but not used; they are not charged.
    reason : str
        Why the walk ended, in words.
    answer : label or float or None
        The answer; the best so far if the walk has not ended.
    probability : float or None
        Its probability; None for a model that predicts values.
    interval : (float, float) or None
        95 % interval of the probability, or of the value, from labeled rows that were in the same
        state; None if nothing is known about them.
    rounds : tuple of tuples of str or int
        What was bought in each round, if the prices have delays.
    latency : float or None
        Sum over the rounds of the slowest delay; None if the prices have no delays.
    delay_unit : str
        Unit of the delays.

    Examples
    --------
    >>> from thrifty.bundle import Purchase, Receipt
    >>> purchases = (Purchase("age", 63, 1.0, "asked"), Purchase("sex", "m", 0.0, "known"))
    >>> print(Receipt(purchases, 0.0, 1.0, "CAD", "complete", unread=("chol",), reason="complete"))
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
    reason: str = ""
    answer: Any = None
    probability: float | None = None
    interval: tuple[float, float] | None = None
    rounds: tuple[tuple[str | int, ...], ...] = ()
    latency: float | None = None
    delay_unit: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as plain values that JSON can hold; a missing value is None.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.bundle import Purchase, Receipt
        >>> bought = Purchase("age", np.float64(63.0), 1.0, "asked")
        >>> Receipt((bought,), 0.0, 1.0, "CAD", "complete").to_dict()["purchases"]
        [{'feature': 'age', 'value': 63.0, 'price': 1.0, 'why': 'asked', 'reason': None}]
        """
        return {
            "answer": plain_value(self.answer),
            "probability": self.probability,
            "interval": None if self.interval is None else list(self.interval),
            "stopped": self.stopped,
            "reason": self.reason,
            "purchases": [
                {
                    "feature": purchase.feature,
                    "value": plain_value(purchase.value),
                    "price": purchase.price,
                    "why": purchase.why,
                    "reason": None if purchase.reason is None else purchase.reason.to_dict(),
                }
                for purchase in self.purchases
            ],
            "evaluation": self.evaluation,
            "total": self.total,
            "unit": self.unit,
            "unread": list(self.unread),
            "rounds": [list(each) for each in self.rounds],
            "latency": self.latency,
            "delay_unit": self.delay_unit,
        }

    def __str__(self) -> str:
        lines = []
        for purchase in self.purchases:
            value = plain_value(purchase.value)
            what = f"{purchase.feature} = {'missing' if value is None else reprlib.repr(value)}"
            what = str(purchase.feature) if purchase.why == "skipped" else what
            why: str = "" if purchase.why == "asked" else purchase.why
            lines.append((what, money(purchase.price), why))
        if self.evaluation:
            lines.append(("evaluation", money(self.evaluation), ""))
        end = "not done yet" if self.stopped is None else self.reason or self.stopped
        lines.append(("total", money(self.total, self.unit), end))
        left, right = (max(len(line[i]) for line in lines) for i in (0, 1))
        rows = [f"{what:{left}}  {price:>{right}}  {why}".rstrip() for what, price, why in lines]
        if self.latency is not None:
            rounds = "1 round" if len(self.rounds) == 1 else f"{len(self.rounds)} rounds"
            rows.append(f"latency: {duration(self.latency, self.delay_unit)} in {rounds}")
        if self.unread:
            rows.append(f"passed but not used, not charged: {', '.join(map(str, self.unread))}")
        return "\n".join(rows)


def plain_value(value: Any) -> Any:
    """Return a value as a type that JSON can hold: None, bool, int, float or str.

    NumPy's numbers become Python's; NaN, infinity and pandas' NA become None, other objects text.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.receipt import plain_value
    >>> [plain_value(value) for value in (np.int64(3), np.nan, "m", np.str_("f"), np.bool_(True))]
    [3, None, 'm', 'f', True]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    is_missing = type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing else str(value)
