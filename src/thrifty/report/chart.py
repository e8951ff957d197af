"""The drawings of a page as SVG that stands inside it.

Colors are written as variables of the page, so that one drawing serves light, dark and paper.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

__all__ = ["calibration_chart", "chart"]

# Matplotlib draws in these colors; the page's own take their place afterwards.
INK, SOFT, ACCENT, WARN = "#010101", "#020202", "#030303", "#040404"
COLORS = {INK: "var(--ink)", SOFT: "var(--soft)", ACCENT: "var(--accent)", WARN: "var(--warn)"}
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, found by a search
    "svg.hashsalt": "thrifty",  # the same facts always give the same drawing
    "font.family": "DejaVu Sans",  # comes with Matplotlib; the page sets its own
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
MARKERS, LINES = ("o", "s", "^", "D"), ("-", "--", ":")
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def chart(facts: dict[str, Any]) -> str:
    """Draw quality against mean bill: the points, the frontier with its bands, the choice."""
    return _drawn(_draw, facts, _alt(facts))


def calibration_chart(facts: dict[str, Any]) -> str:
    """Draw the share of right answers against confidence, a line for each stopping point."""
    return _drawn(_draw_calibration, facts, "share of right answers against confidence")


def _drawn(draw: Callable[[Any, dict[str, Any]], None], facts: dict[str, Any], alt: str) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 3.8), layout="constrained")
        draw(figure.add_subplot(), facts)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata=NO_METADATA)
    return _inline(buffer.getvalue(), alt, draw.__name__)


def _draw(axes: Any, facts: dict[str, Any]) -> None:
    asked = facts["asked"]
    frontier = [point for point in facts["frontier"] if not point["beaten"]]
    _dots(axes, facts["points"], marker=".", color=SOFT, alpha=0.5, linestyle="none")
    _bands(axes, frontier)
    _dots(axes, frontier, marker="o", color=ACCENT, markersize=4, label="frontier",
          drawstyle="steps-post", linewidth=1.5)  # fmt: skip
    if asked["budget"] is not None:
        axes.axvline(asked["budget"], color=WARN, linestyle="--", linewidth=1, label="budget")
    for baseline, marker in zip(facts["baselines"], ("s", "D", "^"), strict=False):
        _dots(axes, [baseline], marker=marker, color=INK, linestyle="none",
              label=baseline["name"])  # fmt: skip
    _dots(axes, [facts["chosen"]["validation"]], marker="*", color=WARN, markersize=14,
          linestyle="none", label="chosen")  # fmt: skip
    unit = f" ({asked['unit']})" if asked["unit"] else ""
    axes.set_xlabel(f"mean bill{unit}", parse_math=False)
    axes.set_ylabel(f"{asked['metric']} on the validation rows")
    axes.set_xlim(0, _right(facts))
    axes.legend(loc="lower right", frameon=False)


def _bands(axes: Any, frontier: list[dict[str, Any]]) -> None:
    """The intervals of quality as a band, those of the bill as whiskers."""
    bills = [point["bill"] for point in frontier]
    low, high = zip(*(point["quality_interval"] for point in frontier), strict=True)
    axes.fill_between(bills, low, high, step="post", color=ACCENT, alpha=0.13, linewidth=0)
    left, right = zip(*(point["bill_interval"] for point in frontier), strict=True)
    axes.hlines([point["quality"] for point in frontier], left, right, color=ACCENT, alpha=0.5)


def _draw_calibration(axes: Any, facts: dict[str, Any]) -> None:
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, label="as sure as right")
    least = 1.0
    for k, line in enumerate(facts["calibration"]):
        confidence = [point["confidence"] for point in line["bins"]]
        right = [point["right"] for point in line["bins"]]
        least = min(least, *confidence, *right)
        axes.plot(confidence, right, marker=MARKERS[k % len(MARKERS)], markersize=5,
                  color=(ACCENT, WARN, INK)[k % 3], linestyle=LINES[k // 3 % len(LINES)],
                  label=f"{line['name']}: {line['rows']} rows")  # fmt: skip
    axes.set_xlim(least - 0.03, 1.02)
    axes.set_ylim(least - 0.03, 1.02)
    axes.set_xlabel("confidence: probability of the predicted class")
    axes.set_ylabel("share of right answers")
    axes.legend(loc="best", frameon=False)


def _right(facts: dict[str, Any]) -> float:
    """End of the axis of bills: a budget far beyond the curve does not squeeze it."""
    budget = float(facts["asked"]["budget"] or 0.0)
    drawn = [*facts["points"], *facts["baselines"]]
    largest = max(float(point["bill"]) for point in drawn)
    return 1.04 * (max(largest, min(budget, 1.2 * largest)) or budget or 1.0)


def _dots(axes: Any, points: list[dict[str, Any]], **style: Any) -> None:
    axes.plot([p["bill"] for p in points], [p["quality"] for p in points], **style)


def _alt(facts: dict[str, Any]) -> str:
    chosen = facts["chosen"]["validation"]
    return (
        f"{facts['asked']['metric']} against mean bill: {len(facts['frontier'])} points on the "
        f"frontier, the chosen one at {chosen['bill']:.4g} and {chosen['quality']:.4g}"
    )


def _inline(svg: str, alt: str, name: str) -> str:
    """SVG for the inside of a page: no prologue, no namespaces, no size, no rules of its own."""
    start = svg.index("<svg")
    head, body = svg[start:].split(">", 1)
    (box,) = re.findall(r'viewBox="[^"]*"', head)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href").strip()
    # Two drawings stand on one page: each has ids of its own.
    body = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name.strip('_')}-", body)
    for drawn, color in COLORS.items():
        body = body.replace(drawn, color)
    return f'<svg {box} role="img" aria-label="{escape(alt)}">{body}'
