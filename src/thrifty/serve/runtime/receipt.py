"""The receipt of a case: the bill of the model, what was really spent, and every charge."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from thrifty.bundle import Receipt
from thrifty.costs.money import money

__all__ = ["CaseReceipt", "Charge", "Outcome"]

Outcome = Literal[
    "delivered", "invalid", "failed", "assumed", "open", "earlier", "kept", "known", "declined"
]


@dataclass(frozen=True)
class Charge:
    """One purchase of a case, made or attempted.

    Parameters
    ----------
    item : str
        What is charged: a source that sells all its features together, or one feature of a source.
    source : str
    features : tuple of str or int
    outcome : str
        "delivered": values came, some perhaps empty; "invalid": what came cannot be used; "failed":
        the source had none, or was down; "assumed": nobody can tell, it counts as paid; "open": not
        settled when the receipt was written, it counts as paid; "earlier": bought by an earlier run
        of the case; "kept": reused from another case, free. What the client answers is "delivered",
        "known" (it had it already, free) or "declined" (it could not be had).
    paid : float
        What was charged, as far as is known; the quoted price if "assumed" or "open".
    attempts : int
        Requests made.
    error : str
        What went wrong, without values and secrets.
    """

    item: str
    source: str
    features: tuple[str | int, ...]
    outcome: Outcome
    paid: float
    attempts: int = 1
    error: str = ""


@dataclass(frozen=True)
class CaseReceipt(Receipt):
    """What one case used, and what it really cost.

    `total` is the bill of the model: the price of what it used. `spent` is what was charged,
    with purchases that failed, arrived late or were not used.

    Parameters
    ----------
    spent : float
        Sum of all charges of the case, evaluations and calls of models in the file.
    charges : tuple of Charge
    skipped : tuple of str or int
        Features that the walk went on without.
    seconds : float
        How long the case took.
    recorded : bool
        Whether the ledger had the case and all its purchases as this receipt shows them when it was
        written. False if a purchase was counted as abandoned before it could be settled.
    """

    spent: float = 0.0
    charges: tuple[Charge, ...] = ()
    skipped: tuple[str | int, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    recorded: bool = False

    @classmethod
    def of(cls, receipt: Receipt, **more: Any) -> Self:
        """Return a receipt of a walk with what is known about its purchases."""
        return cls(**{each.name: getattr(receipt, each.name) for each in fields(Receipt)}, **more)

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as plain values that JSON can hold."""
        charges = [
            {each.name: getattr(charge, each.name) for each in fields(Charge)}
            | {"features": list(charge.features)}
            for charge in self.charges
        ]
        return super().to_dict() | {
            "spent": self.spent,
            "charges": charges,
            "skipped": list(self.skipped),
            "seconds": self.seconds,
            "recorded": self.recorded,
        }

    def __str__(self) -> str:
        lines = [super().__str__()]
        if not math.isclose(self.spent, self.total, abs_tol=1e-9):
            lines.append(f"spent: {money(self.spent, self.unit)}")
        for charge in self.charges:
            if charge.outcome not in ("delivered", "earlier", "kept", "known", "declined"):
                lines.append(f"{charge.item}: {charge.outcome}, {money(charge.paid)}")
        return "\n".join(lines)
