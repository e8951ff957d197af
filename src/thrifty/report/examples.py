"""One example walked from the first question to the answer, and told in words."""

from __future__ import annotations

import math
from typing import Any

from thrifty.bundle import NamedWalk, Predictor, Purchase, Receipt
from thrifty.costs.money import money
from thrifty.frontier.splits import Rows, plain

__all__ = ["example"]


def example(predictor: Predictor, rows: Rows, i: int) -> dict[str, Any]:
    """Facts of the walk of the i-th row."""
    walk = _walk(predictor, rows.row(i))
    receipt = walk.receipt
    told = {
        "row": int(rows.index[i]),
        "truth": _json(plain(rows.y[i])),
        "answer": walk.answer,
        "probability": None if predictor.classes is None else float(walk.scores.max()),
        "purchases": [_purchase(purchase) for purchase in receipt.purchases],
        "total": receipt.total,
    }
    return {**told, "story": _story(told, receipt)}


def _walk(predictor: Predictor, values: dict[str | int, Any]) -> NamedWalk:
    walk = predictor.walk()
    while walk.asks:
        # One by one, as a careful buyer would: the order of the receipt is then the order asked.
        walk.tell({walk.asks[0]: values[walk.asks[0]]})
    return walk


def _purchase(purchase: Purchase) -> dict[str, Any]:
    return {
        "feature": purchase.feature,
        "value": _json(purchase.value),
        "price": purchase.price,
    }


def _story(told: dict[str, Any], receipt: Receipt) -> str:
    bought = [_bought(purchase) for purchase in told["purchases"]]
    start = f"It bought {', then '.join(bought)}" if bought else "It bought nothing"
    answer = _shown(told["answer"])
    if told["probability"] is not None:
        answer += f" with probability {told['probability']:.2f}"
    bill = money(receipt.total, receipt.unit)
    return f"{start}, and answered {answer}; the truth is {_shown(told['truth'])}. Bill: {bill}."


def _bought(purchase: dict[str, Any]) -> str:
    value = "nothing" if purchase["value"] is None else _shown(purchase["value"])
    return f"{purchase['feature']} for {money(purchase['price'])} (it was {value})"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
