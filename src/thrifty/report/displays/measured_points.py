"""The chart of the report: frontier, chosen model and baselines, all measured on the test set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty.costs.money import money
from thrifty.report.displays.cost_axis import axis_end, set_cost_axis
from thrifty.report.displays.labels import Label, add_labels
from thrifty.report.displays.style import COLORS, INK, SOFT, WARN, prepare_axes
from thrifty.report.words import PERCENT_METRICS

__all__ = ["draw_measured_points"]

BASELINE_MARKERS = ("s", "D", "^", "v", "P", "X")


def draw_measured_points(ax: Any, facts: dict[str, Any], names: Sequence[str]) -> None:
    """Draw quality against mean bill on the test set, with the intervals of both.

    The id of a point of the frontier is ``point-i``, that of a baseline ``baseline-i``, in the
    order of the facts.

    Parameters
    ----------
    ax : matplotlib Axes
    facts : dict
        What `fit_facts` returned: ``test_points``, ``baselines`` and ``settings``.
    names : sequence of str
        Labels of the baselines.
    """
    settings, points, baselines = facts["settings"], facts["test_points"], facts["baselines"]
    prepare_axes(ax)
    every = [*points, *baselines]
    bills, budget = [point["bill"] for point in every], settings["budget"]
    end = axis_end(bills, budget)
    set_cost_axis(ax, bills, settings["unit"], end)
    ax.set_ylabel(f"{settings['metric'].replace('_', ' ')} on the test set", color=INK)
    if settings["metric"] in PERCENT_METRICS:
        ax.yaxis.set_major_formatter("{x:.0%}")
    ax.grid(axis="y", color=SOFT, alpha=0.25, linewidth=0.6)

    in_order = sorted(points, key=lambda point: float(point["bill"]))
    ax.plot([p["bill"] for p in in_order], [p["quality"] for p in in_order], color=COLORS[0],
            linewidth=1, alpha=0.5, zorder=1.5)  # fmt: skip
    labels = []
    for i, point in enumerate(points):
        color, marker, size = (WARN, "*", 14) if point["chosen"] else (COLORS[0], "o", 5)
        _draw_point(ax, point, f"point-{i}", color=color, marker=marker, markersize=size,
                    zorder=4 if point["chosen"] else 2)  # fmt: skip
        if point["chosen"]:
            labels.append(Label(point["bill"], point["quality"], "chosen", WARN))
    for i, (point, name) in enumerate(zip(baselines, names, strict=True)):
        marker = BASELINE_MARKERS[i % len(BASELINE_MARKERS)]
        _draw_point(ax, point, f"baseline-{i}", color=INK, marker=marker, markersize=6, zorder=3)
        labels.append(Label(point["bill"], point["quality"], name, INK))
    obstacles = [(point["bill"], point["quality"]) for point in every]
    # The whiskers of points with labels, too, a few points of each.
    for point in [*baselines, *(point for point in points if point["chosen"])]:
        if None not in (ends := (point["quality_low"], point["quality_high"])):
            obstacles += [(point["bill"], quality) for quality in np.linspace(*ends, 7)]
    if budget is not None and budget <= end:
        ax.axvline(budget, color=WARN, linestyle="--", linewidth=1)
        bottom, top = ax.get_ylim()
        text = f"budget {money(budget, settings['unit'])}"
        labels.append(Label(budget, bottom + 0.02 * (top - bottom), text, WARN))
        ax.set_ylim(bottom, top)
        obstacles += [(budget, bottom + k / 12 * (top - bottom)) for k in range(13)]
    add_labels(ax, labels, obstacles)


def _draw_point(ax: Any, point: dict[str, Any], gid: str, color: str, **style: Any) -> None:
    """Draw a point with whiskers for the intervals of its bill and quality, if they are known."""
    bill, quality = point["bill"], point["quality"]
    alpha = 0.25 if style["marker"] == "o" else 0.6  # there may be many points of the frontier
    whiskers = {"color": color, "alpha": alpha, "linewidth": 1.0, "zorder": 1.8}
    if None not in (point["quality_low"], point["quality_high"]):
        ax.vlines(bill, point["quality_low"], point["quality_high"], **whiskers)
    if None not in (point["bill_low"], point["bill_high"]):
        ax.hlines(quality, max(point["bill_low"], 0.0), point["bill_high"], **whiskers)
    ax.plot([bill], [quality], color=color, linestyle="none", gid=gid, **style)
