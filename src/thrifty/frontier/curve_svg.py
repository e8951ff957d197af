"""A small picture of a curve for notebooks: SVG as text, without a plotting library.

Lines and letters take the color of the text around them, so that the picture is readable on light
and on dark pages.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from thrifty.costs.money import money

if TYPE_CHECKING:
    from thrifty.frontier.curve import Curve, CurvePoint

__all__ = ["curve_svg"]

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 24, 40
# Shares of the largest bill at which the axis has a tick; its scale is that of the square root.
TICKS = (0.0, 0.04, 0.16, 0.36, 0.64, 1.0)
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
    for share in TICKS:
        lines.append(
            f'<text x="{x(share * largest):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">'
            f"{share * largest:.3g}</text>"
        )
    for quality in dict.fromkeys((low, high)):
        lines.append(
            f'<text x="{LEFT - 6}" y="{y(quality) + 4:.1f}" text-anchor="end">{quality:.3f}</text>'
        )
    lines += [_circle(curve, point, x(point.bill), y(point.quality)) for point in points]
    if curve.chosen is not None:
        point = curve.chosen
        lines.append(_circle(curve, point, x(point.bill), y(point.quality), chosen=True))
    return "\n".join([*lines, "</svg>"])


def _circle(curve: Curve, point: CurvePoint, x: float, y: float, chosen: bool = False) -> str:
    """Draw a point, with its name and its figures to read when the pointer is on it."""
    figures = f"{money(point.bill, curve.unit)}, {curve.scoring} {point.quality:.4f}"
    title = f"{'chosen: ' if chosen else ''}{point.name}: {figures}"
    style = f'r="6" fill="{ACCENT}"' if chosen else 'r="2.5"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" {style}><title>{escape(title)}</title></circle>'
