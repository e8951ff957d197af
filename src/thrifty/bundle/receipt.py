"""The receipt of one walk: what was bought, in which order, at what price, why it stopped."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, Literal

from thrifty.costs.money import money

__all__ = ["Purchase", "Receipt"]


@dataclass(frozen=True)
class Purchase:
    """One feature that the evaluation read.

    `price` is its own price, and the shared price of its group if it is the first of the
    group; it is 0 for a value that was `known` before the walk, or `skipped` in it.
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
        In the order of first reading.
    evaluation : float
        Price of the evaluations made.
    total : float
        The bill; to the bit that of the batch, for a complete walk that paid for all it read.
    unit : str
        What the prices count.
    stopped : str or None
        Why the walk ended, ``"complete"`` when nothing was left to ask; None while it goes on.
    unread : tuple
        Features that were told and not read: they are not charged.

    Examples
    --------
    >>> from thrifty.bundle import Purchase, Receipt
    >>> purchases = (Purchase("age", 63, 1.0, "asked"), Purchase("sex", "m", 0.0, "known"))
    >>> print(Receipt(purchases, 0.0, 1.0, "CAD", "complete", unread=("chol",)))
    age = 63     1.00
    sex = 'm'    0.00  known
    total    CAD 1.00  complete
    told, not read and not charged: chol
    """

    purchases: tuple[Purchase, ...]
    evaluation: float
    total: float
    unit: str
    stopped: str | None = None
    unread: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        lines = [_row(purchase) for purchase in self.purchases]
        if self.evaluation:
            lines.append(("evaluation", money(self.evaluation), ""))
        lines.append(("total", money(self.total, self.unit), self.stopped or "not done yet"))
        left, right = (max(len(line[i]) for line in lines) for i in (0, 1))
        rows = [f"{what:{left}}  {price:>{right}}  {why}".rstrip() for what, price, why in lines]
        if self.unread:
            rows.append(f"told, not read and not charged: {', '.join(map(str, self.unread))}")
        return "\n".join(rows)


def _row(purchase: Purchase) -> tuple[str, str, str]:
    what = f"{purchase.feature} = {reprlib.repr(purchase.value)}"
    why = "" if purchase.why == "asked" else purchase.why
    return what, money(purchase.price), why
