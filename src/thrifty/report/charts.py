"""The charts of the report page as inline SVG.

They are drawn by the displays. Their colors become CSS variables of the page, so that one drawing
serves light mode, dark mode and print. Each chart comes in two sizes, and the page shows the one
that fits the screen, since the text of a wide chart is too small on a phone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from string import ascii_uppercase
from typing import Any

import numpy as np

from thrifty.report.calibration import CalibrationCurve
from thrifty.report.displays import CalibrationDisplay
from thrifty.report.displays.measured_points import draw_measured_points
from thrifty.report.displays.style import COLORS, INK, SOFT, WARN
from thrifty.report.words import format_mean, format_quality

__all__ = ["MAX_NAMED", "calibration_chart", "frontier_chart"]

# The variables of the page that replace the colors of the displays.
CSS_COLORS = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    WARN: "var(--warn)",
    **{color: f"var(--line-{i})" for i, color in enumerate(COLORS)},
}
# Names of more baselines than this would cover the points of a chart.
MAX_NAMED = 4
# Inches; in the SVG, 72 units are an inch.
SIZES = {"wide": (7.2, 4.0), "narrow": (3.6, 4.2)}
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, searchable
    "svg.hashsalt": "thrifty",  # the same facts always give the same drawing
    "font.family": "DejaVu Sans",  # ships with Matplotlib; the page overrides it
    "font.size": 10,
}


def frontier_chart(facts: dict[str, Any]) -> str:
    """Draw quality against mean bill on the test set as SVG.

    The wide chart names the baselines if they are few; otherwise, and in the narrow one, there are
    letters for them, as in the table of results. The element of each point has its figures as data
    attributes, and as a tooltip.
    """
    settings, test = facts["settings"], facts["test"]
    metric, unit = settings["metric"], settings["unit"]
    points = {f"point-{i}": point for i, point in enumerate(facts["test_points"])}
    points |= {f"baseline-{i}": point for i, point in enumerate(facts["baselines"])}
    alt = (
        f"{metric} against mean bill on the test set: {len(facts['test_points'])} models of the "
        f"frontier and {len(facts['baselines'])} baselines; the chosen model at "
        f"{format_mean(test['bill'], unit)} and {format_quality(metric, test['quality'])}"
    )

    def with_figures(tag: re.Match[str]) -> str:
        point = points[tag[2]]
        bill, quality = point["bill"], point["quality"]
        words = f"{point['name']}: {format_mean(bill, unit)}, {metric} "
        words = escape(words + format_quality(metric, quality))
        return f'{tag[1]} data-bill="{bill!r}" data-quality="{quality!r}"><title>{words}</title>'

    def draw(ax: Any, size: str) -> None:
        letters = ascii_uppercase[: len(facts["baselines"])]
        names = [baseline["name"] for baseline in facts["baselines"]]
        named = size == "wide" and len(names) <= MAX_NAMED
        draw_measured_points(ax, facts, names if named else letters)

    svg = _draw(draw, alt, "frontier")
    return re.sub(r'(<g id="frontier-\w+-((?:point|baseline)-\d+)")>', with_figures, svg)


def calibration_chart(facts: dict[str, Any]) -> str:
    """Draw accuracy against confidence as SVG, one line per calibration curve."""
    curves = [
        CalibrationCurve(
            curve["name"],
            *(
                np.array([point[key] for point in curve["bins"]])
                for key in ("confidence", "accuracy", "low", "high", "rows")
            ),
        )
        for curve in facts["calibration"]
    ]
    display = CalibrationDisplay(tuple(curves))
    return _draw(lambda ax, _: display.plot(ax), "accuracy against confidence", "calibration")


def _draw(draw: Callable[[Any, str], object], alt: str, name: str) -> str:
    """Draw on new axes in every size; return the SVG elements one after the other."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawings = []
    for size, inches in SIZES.items():
        with rc_context(SETTINGS):
            figure = Figure(figsize=inches, dpi=72, layout="constrained")
            draw(figure.add_subplot(), size)
            drawings.append(_inline_svg(figure, alt, size, f"{name}-{size}"))
    return "\n".join(drawings)


def _inline_svg(figure: Any, alt: str, size: str, prefix: str) -> str:
    """Render a figure as SVG for the inside of a page.

    The prologue, the namespaces, the size and the style rules are dropped, the colors become CSS
    variables, and ids get a prefix, since several charts stand on one page.
    """
    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    svg = buffer.getvalue()
    head, body = svg[svg.index("<svg") :].split(">", 1)
    (view_box,) = re.findall(r'viewBox="[^"]*"', head)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href").strip()
    body = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", body)
    for color, variable in CSS_COLORS.items():
        body = body.replace(color, variable)
    return f'<svg class="{size}" {view_box} role="img" aria-label="{escape(alt)}">{body}'
