"""The curve of a model on its page: where each operating point is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from thrifty.costs.money import format_mean

__all__ = ["Curve", "Mark", "draw_curve", "format_quality"]

# In CSS pixels: as wide as a phone, so that the text is never smaller than it should be.
WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 316, 16, 206
PERCENT_METRICS = ("accuracy", "balanced_accuracy")


class Mark(NamedTuple):
    """A point, or a label of an axis, and where it is drawn."""

    x: float
    y: float
    words: str
    is_here: bool = False


@dataclass(frozen=True)
class Curve:
    """Quality against mean bill, ready to be drawn.

    Parameters
    ----------
    words : str
        What the point that is served costs and is worth.
    metric : str
        What the quality is.
    points, bills, qualities : list of Mark
        The points, cheapest first, and the labels of both axes.
    """

    words: str
    metric: str
    points: list[Mark]
    bills: list[Mark]
    qualities: list[Mark]
    width: int = WIDTH
    height: int = HEIGHT
    axis: tuple[int, int, int, int] = (LEFT, RIGHT, TOP, BOTTOM)


def draw_curve(
    bills: Sequence[float], qualities: Sequence[float], here: int, unit: str, metric: str
) -> Curve:
    """Lay out quality against mean bill.

    Parameters
    ----------
    bills, qualities : sequence of float
        Of each operating point.
    here : int
        Index of the point that is served.
    unit : str
        Unit of the bills.
    metric : str
        What the quality is.

    Examples
    --------
    >>> from thrifty.web.curve import draw_curve
    >>> curve = draw_curve([0.0, 3.2, 29.0], [0.6, 0.95, 0.965], 1, "CAD", "accuracy")
    >>> curve.words
    'CAD 3.20 per case on average, accuracy 95.0%'
    >>> [mark.words for mark in curve.bills]
    ['0', '10', '20', '30']
    """
    bill_ticks = _ticks(0.0, max(bills))
    quality_ticks = _ticks(min(qualities), max(qualities))
    name = metric.replace("_", " ")

    def x(bill: float) -> float:
        return LEFT + (RIGHT - LEFT) * _share(bill, bill_ticks)

    def y(quality: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * _share(quality, quality_ticks)

    def words(i: int) -> str:
        bill, quality = format_mean(bills[i], unit), format_quality(metric, qualities[i])
        return f"{bill} per case on average, {name} {quality}"

    order = sorted(range(len(bills)), key=lambda i: (bills[i], qualities[i]))
    percent = "%" if metric in PERCENT_METRICS else ""
    factor = 100 if percent else 1
    return Curve(
        words(here),
        name,
        [Mark(x(bills[i]), y(qualities[i]), words(i), i == here) for i in order],
        [Mark(x(tick), BOTTOM, f"{tick:g}") for tick in bill_ticks],
        [Mark(LEFT, y(tick), f"{factor * tick:g}{percent}") for tick in quality_ticks],
    )


def format_quality(metric: str, value: float) -> str:
    """Format a quality: accuracies in percent, others with four digits.

    Examples
    --------
    >>> from thrifty.web.curve import format_quality
    >>> format_quality("accuracy", 0.9646), format_quality("r2", 0.95)
    ('96.5%', '0.95')
    """
    return f"{100 * value:.1f}%" if metric in PERCENT_METRICS else f"{value:.4g}"


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers around a range, at equal distances: two to six of them."""
    span = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= span / 4)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _share(value: float, ticks: list[float]) -> float:
    return (value - ticks[0]) / (ticks[-1] - ticks[0])
