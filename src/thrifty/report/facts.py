"""The facts of a fit as a plain dict: all that a page or a program may want to tell.

Every number is computed here, and everything in the dict can be written as JSON.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import __version__
from thrifty.bundle import Predictor
from thrifty.frontier import BudgetFit, undominated
from thrifty.learn import Point
from thrifty.report.examples import example
from thrifty.report.words import assumptions, headline

__all__ = ["facts"]

# Bars of the distribution of bills.
BARS = 10


def facts(
    found: BudgetFit,
    *,
    title: str = "Prediction under a budget",
    target: str = "target",
    source: str = "",
    note: str = "",
) -> dict[str, Any]:
    """Collect what there is to tell about a fit.

    Parameters
    ----------
    found : BudgetFit
    title : str
        Heading of the page.
    target : str
        What is predicted.
    source : str
        Where the table comes from.
    note : str
        A further assumption, such as where the prices come from.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import facts
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> told = facts(fit_budget(X, X[:, 0] > 0, budget=1), target="sign")
    >>> told["asked"]["target"], told["asked"]["task"], told["bills"]["mean"]
    ('sign', 'classification', 1.0)
    """
    model = found.chosen.model
    used, bills = model.used(found.test.X), model.bill(found.test.X)
    return {
        "title": title,
        "headline": headline(found),
        "asked": _asked(found, target, source),
        "chosen": _told(found.chosen, found.held_out.bill, found.held_out.quality),
        "baseline": _told(
            found.baseline, found.baseline_held_out.bill, found.baseline_held_out.quality
        ),
        "frontier": _frontier(found),
        "points": [{"bill": point.bill, "quality": point.quality} for point in found.points],
        "bought": _bought(model, used),
        "bills": _bills(bills),
        "examples": [example(found, int(row)) for row in _spread(bills)],
        "provenance": _provenance(found),
        "assumptions": assumptions(found, note),
    }


def _asked(found: BudgetFit, target: str, source: str) -> dict[str, Any]:
    prices = found.chosen.model.prices
    return {
        "target": target,
        "source": source,
        "task": found.task,
        "guessed": found.guessed,
        "metric": found.metric,
        "budget": found.budget,
        "unit": prices.unit,
        "features": len(prices.own),
        "full": prices.full,
        "rows": dict(found.sizes),
    }


def _told(point: Point, bill: float, quality: float) -> dict[str, Any]:
    return {
        "knob": dict(point.knob),
        "validation": {"bill": point.bill, "quality": point.quality},
        "test": {"bill": bill, "quality": quality},
    }


def _frontier(found: BudgetFit) -> list[dict[str, Any]]:
    rows = found.chosen.model.schema.encode(found.test.X)  # the points of a path share the schema
    return [
        {
            "knob": dict(point.knob),
            "bill": point.bill,
            "quality": point.quality,
            "features": int(point.model.model.used(rows).any(axis=0).sum()),
            "within": point.bill <= found.budget,
            "chosen": point.knob == found.chosen.knob,
        }
        for point in undominated(found.points)
    ]


def _bought(model: Predictor, used: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Features by how many test rows buy them, those of most rows first."""
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


def _spread(bills: NDArray[np.float64]) -> list[int]:
    """Rows with the smallest, the middle and the largest bill."""
    order = np.argsort(bills, kind="stable").tolist()
    return list(dict.fromkeys([order[0], order[len(order) // 2], order[-1]]))


def _provenance(found: BudgetFit) -> dict[str, Any]:
    packages = {name: version(name) for name in ("numpy", "scikit-learn", "numba")}
    return {
        "method": (found.chosen.model.provenance or {}).get("method", ""),
        "seed": found.seed,
        "data": found.data,
        "versions": {"thrifty": __version__, "python": platform.python_version(), **packages},
    }
