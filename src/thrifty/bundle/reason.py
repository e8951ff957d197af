"""Why a walk asks what it asks, in figures and in a sentence; and why it ended."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from thrifty.bundle.evidence import Cell
from thrifty.costs.money import money
from thrifty.model.motive import Motive

__all__ = ["ENDS", "NATURAL_ENDS", "Alternative", "Reason"]

ENDS = {
    "complete": "complete: nothing was left to ask",
    "sure": "sure enough without the remaining features",
    "settled": "settled: no remaining feature could change the answer",
    "not_worth_it": "no remaining feature is worth its price",
    "cap": "cap reached",
    "budget": "budget spent",
    "deadline": "deadline reached",
    "expired": "expired: nobody answered in time",
    "source_failed": "a source failed",
    "stopped": "stopped by the caller",
}
"""Why a walk ended: the codes of `Receipt.stopped`, and what each means."""

NATURAL_ENDS = ("complete", "sure", "settled", "not_worth_it")
"""The codes of walks that ended by themselves: their answer is that of the batch."""

# A larger power of e is no float.
MAX_EXPONENT = 700.0

GainKind = Literal["risk", "error", "log_loss", "range", "plan"]


@dataclass(frozen=True)
class Alternative:
    """What a walk could have done instead.

    Parameters
    ----------
    features : tuple of str or int
        What it could have bought; empty for stopping.
    price : float
    gain : float
        As in `Reason`; 0 for stopping.
    """

    features: tuple[str | int, ...]
    price: float
    gain: float

    def __str__(self) -> str:
        return ", ".join(map(str, self.features)) or "stopping here"


@dataclass(frozen=True)
class Reason:
    """Why a walk asks for some features now.

    Parameters
    ----------
    features : tuple of str or int
        What is bought together: the first of the walk's requests, or all of them.
    price : float
        What they cost now.
    kind : {"risk", "error", "log_loss", "range", "plan"}
        What the gain is. "risk": the expected drop of the probability of a wrong answer by the end
        of the walk, and "error": that of the absolute error of a value, both from labeled rows that
        were in the same state. "log_loss": the model's own estimate for this example. "range": no
        expectation, but the most that the trees waiting for the feature can move their output.
        "plan": there is no figure, the order was fixed in training.
    gain : float or None
    cost : float
        What the gain is expected to cost: for "risk" and "error" all that follows, on average; for
        the others the price.
    runner_up : Alternative or None
        The next best: the alternative of the largest gain per price, or stopping.
    text : str
        All this in a sentence.
    """

    features: tuple[str | int, ...]
    price: float
    kind: GainKind
    gain: float | None
    cost: float
    runner_up: Alternative | None
    text: str

    @property
    def per_price(self) -> float | None:
        """Gain per unit of what it costs; None without a gain, or if it is free."""
        return None if self.gain is None or self.cost <= 0 else self.gain / self.cost

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain values that JSON can hold."""
        other = self.runner_up
        return {
            "features": list(self.features),
            "price": self.price,
            "kind": self.kind,
            "gain": self.gain,
            "cost": self.cost,
            "per_price": self.per_price,
            "runner_up": None
            if other is None
            else {"features": list(other.features), "price": other.price, "gain": other.gain},
            "text": self.text,
        }

    def __str__(self) -> str:
        return self.text


def explain(
    motive: Motive,
    cell: Cell | None,
    bill: float,
    names: Callable[[int], str | int],
    price: Callable[[tuple[int, ...]], float],
    unit: str,
    is_class: bool,
) -> Reason:
    """Say why a walk asks for something.

    The model's own estimate for this example comes first, then what happened to labeled rows in
    the same state, then what the trees can still do.

    Parameters
    ----------
    motive : Motive
        What the model says.
    cell : Cell or None
        What labeled rows say that went on from here.
    bill : float
        What the walk has read so far, at full price.
    names : callable
        The name of a feature by its position.
    price : callable
        What some features would cost now, together.
    unit : str
        Unit of the prices.
    is_class : bool
        Whether the answer is a class.
    """
    cost = price(motive.features)
    named = tuple(map(names, motive.features))
    if motive.kind == "log_loss" or cell is None:
        other = _runner_up(motive, names, price)
        return Reason(named, cost, motive.kind, motive.gain, cost, other, _own_words(motive, other))
    ahead = max(cell.total - bill, cost)
    now, later = (_percent if is_class else _number)(cell.now, cell.later)
    gain = cell.now - cell.later
    what = "the risk of a wrong answer" if is_class else "the mean error"
    if gain > 0:
        effect = f"expected to cut {what} from {now} to {later}"
    else:
        effect = f"labeled rows gained nothing from here; {what} is {now}"
    amount = money(round(ahead, 2) if ahead >= 1 else float(f"{ahead:.3g}"), unit)
    more = f" ({amount} more on average by the end)"
    by_then = "" if math.isclose(ahead, cost, rel_tol=1e-3) else more
    stopping = Alternative((), 0.0, 0.0)
    kind: GainKind = "risk" if is_class else "error"
    text = f"{effect}{by_then}; next best: {stopping}"
    return Reason(named, cost, kind, gain, ahead, stopping, text)


def _runner_up(
    motive: Motive,
    names: Callable[[int], str | int],
    price: Callable[[tuple[int, ...]], float],
) -> Alternative | None:
    """Return the other purchase with the largest gain per price; None if there is none."""
    best: tuple[float, Alternative] | None = None
    for features, gain in motive.others:
        cost = price(features)
        rate = gain / cost if cost > 0 else math.inf
        if best is None or rate > best[0]:
            best = rate, Alternative(tuple(map(names, features)), cost, gain)
    return None if best is None else best[1]


def _own_words(motive: Motive, other: Alternative | None) -> str:
    """Return the sentence for what the model itself expects."""
    if motive.kind == "plan" or motive.gain is None:
        return motive.note or "next in the model's order; there is no evidence of its effect"
    if motive.kind == "log_loss":
        text = f"estimated to make the right answer {_factor(motive.gain)} times as probable"
        weaker = "" if other is None else f" ({_factor(other.gain)} times)"
    else:
        text = f"can still move {motive.note} by up to {motive.gain:.2g}"
        weaker = "" if other is None else f" (up to {other.gain:.2g})"
    return text if other is None else f"{text}; next best: {other}{weaker}"


def _factor(gain: float) -> str:
    """Format the factor of a probability whose logarithm grows by `gain`."""
    return f"{math.exp(min(gain, MAX_EXPONENT)):.2f}"


def _percent(*shares: float) -> list[str]:
    """Format shares, with a decimal if they would look the same, or like nothing, without."""
    texts = [f"{share:.0%}" for share in shares]
    vanish = any(0 < share < 0.005 for share in shares)
    alike = len(set(texts)) < len(texts)
    return [f"{share:.1%}" for share in shares] if vanish or alike else texts


def _number(*values: float) -> list[str]:
    """Format numbers with three significant digits."""
    return [f"{value:.3g}" for value in values]
