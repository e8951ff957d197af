"""The cost/quality curve as SVG that stands inside a page.

Colors are written as variables of the page, so that one drawing serves light, dark and paper.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

__all__ = ["chart"]

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
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def chart(facts: dict[str, Any]) -> str:
    """Draw quality against mean bill: all points, the frontier, the budget, the chosen point."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 3.8), layout="constrained")
        _draw(figure.add_subplot(), facts)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata=NO_METADATA)
    return _inline(buffer.getvalue(), _alt(facts))


def _draw(axes: Any, facts: dict[str, Any]) -> None:
    asked = facts["asked"]
    _dots(axes, facts["points"], marker=".", color=SOFT, alpha=0.5, linestyle="none")
    _dots(axes, facts["frontier"], marker="o", color=ACCENT, markersize=4, label="frontier",
          drawstyle="steps-post", linewidth=1.5)  # fmt: skip
    axes.axvline(asked["budget"], color=WARN, linestyle="--", linewidth=1, label="budget")
    _dots(axes, [facts["baseline"]["validation"]], marker="s", color=INK, linestyle="none",
          label="all features, no prices")  # fmt: skip
    _dots(axes, [facts["chosen"]["validation"]], marker="*", color=WARN, markersize=14,
          linestyle="none", label="chosen")  # fmt: skip
    unit = f" ({asked['unit']})" if asked["unit"] else ""
    axes.set_xlabel(f"mean bill{unit}", parse_math=False)
    axes.set_ylabel(f"{asked['metric']} on the validation rows")
    axes.set_xlim(0, _right(facts))
    axes.legend(loc="lower right", frameon=False)


def _right(facts: dict[str, Any]) -> float:
    """End of the axis of bills: a budget far beyond the curve does not squeeze it."""
    budget = float(facts["asked"]["budget"])
    largest = max(float(point["bill"]) for point in facts["points"])
    return 1.04 * (max(largest, min(budget, 1.2 * largest)) or budget or 1.0)


def _dots(axes: Any, points: list[dict[str, Any]], **style: Any) -> None:
    axes.plot([p["bill"] for p in points], [p["quality"] for p in points], **style)


def _alt(facts: dict[str, Any]) -> str:
    chosen = facts["chosen"]["validation"]
    return (
        f"{facts['asked']['metric']} against mean bill: {len(facts['frontier'])} points on the "
        f"frontier, the chosen one at {chosen['bill']:.4g} and {chosen['quality']:.4g}"
    )


def _inline(svg: str, alt: str) -> str:
    """SVG for the inside of a page: no prologue, no namespaces, no size, no rules of its own."""
    start = svg.index("<svg")
    head, body = svg[start:].split(">", 1)
    (box,) = re.findall(r'viewBox="[^"]*"', head)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href").strip()
    for drawn, color in COLORS.items():
        body = body.replace(drawn, color)
    return f'<svg {box} role="img" aria-label="{escape(alt)}">{body}'
