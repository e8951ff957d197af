"""The facts of a predictor on some rows: who buys what, what it costs, and how good it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.frontier.splits import Rows, plain
from thrifty.model import LinearTree
from thrifty.report.branches import branches
from thrifty.report.calibration import calibration
from thrifty.report.examples import example

__all__ = ["answers"]

# Bars of the distribution of bills; rows whose walk is told.
BARS, EXAMPLES = 10, 5
# A confusion of more classes is no table to read.
MOST_CLASSES = 12


def answers(predictor: Predictor, rows: Rows) -> dict[str, Any]:
    """Collect what a predictor does on some rows, with their truth."""
    used, bills = predictor.used(rows.X), predictor.bill(rows.X)
    return {
        "bought": _bought(predictor, used),
        "tree": _tree(predictor, rows),
        "bills": _bills(bills),
        "calibration": _calibration(predictor, rows),
        "confusion": _confusion(predictor, rows),
        "examples": [example(predictor, rows, int(row)) for row in _spread(bills)],
    }


def _bought(model: Predictor, used: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Features by how many rows buy them, those of most rows first."""
    counts, prices = used.sum(axis=0), model.prices
    order = [j for j in np.argsort(-counts, kind="stable").tolist() if counts[j]]
    return [
        {
            "feature": model.schema.names[j],
            "price": float(prices.own[j]),
            "group": prices.group_names[prices.group[j]] if prices.group[j] >= 0 else None,
            "shared": float(prices.shared[prices.group[j]]) if prices.group[j] >= 0 else 0.0,
            "rows": int(counts[j]),
            "share": float(counts[j] / len(used)),
        }
        for j in order
    ]


def _tree(predictor: Predictor, rows: Rows) -> list[dict[str, Any]]:
    """The nodes of a tree of linear models; none for another model."""
    if not isinstance(predictor.model, LinearTree):
        return []
    told = [asdict(branch) for branch in branches(predictor, rows.X)]
    return [{**branch, "bought": list(branch["bought"])} for branch in told]


def _bills(bills: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "mean": float(bills.mean()),
        "median": float(np.median(bills)),
        "smallest": float(bills.min()),
        "largest": float(bills.max()),
        "bars": _bars(bills),
    }


def _bars(bills: NDArray[np.float64]) -> list[dict[str, Any]]:
    """One bar for each bill if there are few, else equal steps."""
    # Bills that differ in the last bit only are the same bill.
    values, counts = np.unique(np.round(bills, 9), return_counts=True)
    lows, highs = values, values
    if len(values) > BARS:
        counts, edges = np.histogram(bills, bins=BARS)
        lows, highs = edges[:-1], edges[1:]
    top = counts.max()
    return [
        {"low": float(a), "high": float(b), "rows": int(n), "share": float(n / top)}
        for a, b, n in zip(lows, highs, counts, strict=True)
    ]


def _calibration(predictor: Predictor, rows: Rows) -> list[dict[str, Any]]:
    """For each stopping point, how often answers are right by how sure they are."""
    if predictor.classes is None:
        return []
    return [
        {
            "name": line.name,
            "rows": int(line.counts.sum()),
            "error": line.error,
            "bins": [
                {"confidence": float(c), "right": float(r), "rows": int(n)}
                for c, r, n in zip(line.confidence, line.right, line.counts, strict=True)
            ],
        }
        for line in calibration(predictor, rows.X, rows.y)
    ]


def _confusion(predictor: Predictor, rows: Rows) -> dict[str, Any] | None:
    """Rows by true and by predicted class, where there are not too many classes."""
    classes = predictor.classes
    if classes is None or len(classes) > MOST_CLASSES:
        return None
    predicted = predictor.predict(rows.X)
    table = [[int(np.sum((rows.y == t) & (predicted == p))) for p in classes] for t in classes]
    return {"classes": [plain(label) for label in classes], "rows": table}


def _spread(bills: NDArray[np.float64]) -> list[int]:
    """Rows from the smallest bill to the largest, in even steps of rank."""
    order = np.argsort(bills, kind="stable").tolist()
    places = np.linspace(0, len(order) - 1, min(EXAMPLES, len(order))).astype(int)
    return [order[place] for place in dict.fromkeys(places.tolist())]
