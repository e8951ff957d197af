"""The report page: facts in, one HTML file out that needs neither network nor scripts.

The charts are inline SVG. Their colors are CSS variables of the page, so that one drawing serves
light mode, dark mode and print.
"""

from __future__ import annotations

import io
import os
import re
from html import escape
from typing import Any

from thrifty.costs.money import money
from thrifty.files import write_whole
from thrifty.report.spending import spending_sentences
from thrifty.report.words import format_mean, format_number

__all__ = ["calibration_chart", "frontier_chart", "render_page", "write_page"]

TEMPLATE = "report.html"
# Features listed one by one; the others are only counted.
MAX_FEATURES_LISTED = 40

# Placeholders that Matplotlib draws with; the CSS variables replace them afterwards.
INK, SOFT, ACCENT, WARN = "#010101", "#020202", "#030303", "#040404"
CSS_COLORS = {INK: "var(--ink)", SOFT: "var(--soft)", ACCENT: "var(--accent)", WARN: "var(--warn)"}
MARKERS, LINE_STYLES = ("o", "s", "^", "D"), ("-", "--", ":")
CHART_INCHES = (7.2, 3.8)
CHART_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, sharp, searchable
    "svg.hashsalt": "thrifty",  # the same facts always give the same drawing
    "font.family": "DejaVu Sans",  # ships with Matplotlib; the page overrides it
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


def render_page(facts: dict[str, Any]) -> str:
    """Render facts as an HTML page.

    Parameters
    ----------
    facts : dict
        What `fit_facts` or `predictor_facts` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import fit_facts, render_page
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> html = render_page(fit_facts(found, title="Signs & wonders"))
    >>> html[html.index("<h1>") : html.index("</h1>")]
    '<h1>Signs &amp; wonders'
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("thrifty.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(money=money, mean=format_mean, number=format_number)
    # The text inside the charts was escaped when they were drawn.
    return environment.get_template(TEMPLATE).render(
        facts,
        frontier_chart=Markup(frontier_chart(facts)) if "frontier" in facts else "",
        calibration_chart=Markup(calibration_chart(facts)) if facts["calibration"] else "",
        max_features=MAX_FEATURES_LISTED,
        spending=spending_sentences(facts),
    )


def write_page(html: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file is then unchanged.
    """
    write_whole(path, html.encode("utf-8"))


def frontier_chart(facts: dict[str, Any]) -> str:
    """Draw quality against mean bill as SVG: all points, the frontier, baselines and the choice."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings, chosen = facts["settings"], facts["chosen"]["validation"]
    frontier = [point for point in facts["frontier"] if not point["dominated"]]
    bills = [point["bill"] for point in frontier]
    quality_low, quality_high = zip(*(p["quality_interval"] for p in frontier), strict=True)
    bill_low, bill_high = zip(*(p["bill_interval"] for p in frontier), strict=True)
    # A budget far beyond the curve must not squeeze it.
    budget = float(settings["budget"] or 0.0)
    largest = max(float(point["bill"]) for point in [*facts["points"], *facts["baselines"]])
    right = 1.04 * (max(largest, min(budget, 1.2 * largest)) or budget or 1.0)

    with rc_context(CHART_SETTINGS):
        figure = Figure(figsize=CHART_INCHES, layout="constrained")
        axes = figure.add_subplot()

        def plot(points: list[dict[str, Any]], **style: Any) -> None:
            axes.plot([p["bill"] for p in points], [p["quality"] for p in points], **style)

        plot(facts["points"], marker=".", color=SOFT, alpha=0.5, linestyle="none")
        axes.fill_between(bills, quality_low, quality_high, step="post", color=ACCENT, alpha=0.13,
                          linewidth=0)  # fmt: skip
        axes.hlines([p["quality"] for p in frontier], bill_low, bill_high, color=ACCENT, alpha=0.5)
        plot(frontier, marker="o", color=ACCENT, markersize=4, label="frontier",
             drawstyle="steps-post", linewidth=1.5)  # fmt: skip
        if settings["budget"] is not None:
            axes.axvline(budget, color=WARN, linestyle="--", linewidth=1, label="budget")
        for baseline, marker in zip(facts["baselines"], ("s", "D", "^"), strict=False):
            plot([baseline], marker=marker, color=INK, linestyle="none", label=baseline["name"])
        plot([chosen], marker="*", color=WARN, markersize=14, linestyle="none", label="chosen")
        unit = f" ({settings['unit']})" if settings["unit"] else ""
        axes.set_xlabel(f"mean bill{unit}", parse_math=False)
        axes.set_ylabel(f"{settings['metric']} on the validation set")
        axes.set_xlim(0, right)
        axes.legend(loc="lower right", frameon=False)
        alt = (
            f"{settings['metric']} against mean bill: {len(facts['frontier'])} points on the "
            f"frontier, the chosen one at {chosen['bill']:.4g} and {chosen['quality']:.4g}"
        )
        return _inline_svg(figure, alt, "frontier")


def calibration_chart(facts: dict[str, Any]) -> str:
    """Draw accuracy against confidence as SVG, one line per calibration curve."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(CHART_SETTINGS):
        figure = Figure(figsize=CHART_INCHES, layout="constrained")
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, label="perfectly calibrated")
        lowest = 1.0
        for k, curve in enumerate(facts["calibration"]):
            confidence = [point["confidence"] for point in curve["bins"]]
            accuracy = [point["accuracy"] for point in curve["bins"]]
            lowest = min(lowest, *confidence, *accuracy)
            axes.plot(confidence, accuracy, marker=MARKERS[k % len(MARKERS)], markersize=5,
                      color=(ACCENT, WARN, INK)[k % 3],
                      linestyle=LINE_STYLES[k // 3 % len(LINE_STYLES)],
                      label=f"{curve['name']}: {curve['rows']} rows")  # fmt: skip
        axes.set_xlim(lowest - 0.03, 1.02)
        axes.set_ylim(lowest - 0.03, 1.02)
        axes.set_xlabel("confidence (probability of the predicted class)")
        axes.set_ylabel("accuracy")
        axes.legend(loc="best", frameon=False)
        return _inline_svg(figure, "accuracy against confidence", "calibration")


def _inline_svg(figure: Any, alt: str, prefix: str) -> str:
    """Render a figure as SVG for the inside of a page.

    The prologue, the namespaces, the size and the style rules are dropped, the placeholder colors
    become CSS variables, and ids get a prefix, since several charts stand on one page.
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
    for placeholder, color in CSS_COLORS.items():
        body = body.replace(placeholder, color)
    return f'<svg {view_box} role="img" aria-label="{escape(alt)}">{body}'
