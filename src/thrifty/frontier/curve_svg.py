"""A small picture of a curve for notebooks: SVG as text, without a plotting library.

Lines and letters take the color of the text around them, so that the picture is readable on light
and on dark pages.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from thrifty.costs.money import format_mean

if TYPE_CHECKING:
    from thrifty.frontier.curve import Curve, CurvePoint

__all__ = ["curve_svg"]

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 24, 40
# Least distance of two ticks, as a share of the axis; its scale is that of the square root.
LEAST_GAP = 0.12
ACCENT = "#c45a00"


def curve_svg(curve: Curve) -> str:
    """Draw the Pareto frontier of a curve, with the chosen point if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier import trace
    >>> from thrifty.frontier.curve_svg import curve_svg
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> curve = trace(GreedyMiserRegressor(prices=[1.0, 50.0]), X, X[:, 0] + 0.1 * X[:, 1])
    >>> curve_svg(curve)[:4]
    '<svg'
    """
    points = list(curve.frontier)
    shown = points if curve.chosen is None else [*points, curve.chosen]
    largest = max(point.bill for point in shown) or 1.0
    low, high = (pick(point.quality for point in shown) for pick in (min, max))
    span = (high - low) or 1.0

    def x(bill: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.sqrt(bill / largest)

    def y(quality: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (quality - low) / span

    path = "".join(
        f"H{x(point.bill):.1f}V{y(point.quality):.1f}" for point in points
    )  # the quality at a budget is that of the last point within it
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        'style="max-width: 100%; height: auto" '
        f'role="img" font-family="sans-serif" font-size="11" fill="currentColor">',
        f"<title>{escape(repr(curve))}</title>",
        f'<path d="M{LEFT},{TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.4"/>',
        f'<path d="M{x(points[0].bill):.1f},{y(points[0].quality):.1f}{path}H{WIDTH - RIGHT}" '
        'fill="none" stroke="currentColor" stroke-width="1.5"/>',
        f'<text x="{LEFT}" y="{TOP - 10}">{escape(curve.scoring)} on the validation set</text>',
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"mean bill{escape(f' ({curve.unit})' if curve.unit else '')}</text>",
    ]
    for tick in _round_amounts(largest):
        lines.append(
            f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    for quality in dict.fromkeys((low, high)):
        lines.append(
            f'<text x="{LEFT - 6}" y="{y(quality) + 4:.1f}" text-anchor="end">{quality:.3f}</text>'
        )
    lines += [_circle(curve, point, x(point.bill), y(point.quality)) for point in points]
    if curve.chosen is not None:
        point = curve.chosen
        place = x(point.bill), y(point.quality)
        lines.append(_circle(curve, point, *place, chosen=True))
        words = f"chosen: {format_mean(point.bill, curve.unit)}, {point.quality:.3f}"
        side = "start" if place[0] < (LEFT + WIDTH) / 2 else "end"
        below = min(place[1] + 20, HEIGHT - BOTTOM - 6)
        lines.append(
            f'<text x="{place[0]:.1f}" y="{below:.1f}" text-anchor="{side}" fill="{ACCENT}">'
            f"{escape(words)}</text>"
        )
    return "\n".join([*lines, "</svg>"])


def _round_amounts(largest: float) -> list[float]:
    """Return 0 and round amounts up to the largest bill, not too close to each other."""
    power = math.floor(math.log10(largest))
    amounts = [0.0]
    for exponent in (power - 2, power - 1, power):
        for digit in (1.0, 2.0, 5.0):
            amount = digit * 10.0**exponent
            gap = math.sqrt(amount / largest) - math.sqrt(amounts[-1] / largest)
            if amount <= largest and gap >= LEAST_GAP:
                amounts.append(amount)
    return amounts


def _circle(curve: Curve, point: CurvePoint, x: float, y: float, chosen: bool = False) -> str:
    """Draw a point, with its name and its figures to read when the pointer is on it."""
    figures = f"{format_mean(point.bill, curve.unit)}, {curve.scoring} {point.quality:.4f}"
    title = f"{'chosen: ' if chosen else ''}{point.name}: {figures}"
    style = f'r="6" fill="{ACCENT}"' if chosen else 'r="2.5"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" {style}><title>{escape(title)}</title></circle>'
