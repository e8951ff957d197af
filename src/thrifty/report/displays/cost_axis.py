"""The axis of mean bills: its scale, its end, its ticks and its label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thrifty.report.displays.style import INK, SOFT

__all__ = ["axis_end", "cost_label", "set_cost_axis"]

# Bills that differ by a larger factor are drawn on a logarithmic axis.
LINEAR_FACTOR = 10.0
# Width of the part from 0 to the first tick of a logarithmic axis, in decades.
FREE_DECADES = 0.35
# Ticks of each decade, for axes of up to so many decades.
TICKS = ((1.5, (1, 2, 5)), (3.2, (1, 3)), (7.0, (1,)))


def cost_label(unit: str) -> str:
    """Return the label of the axis, with the unit as people write it.

    Examples
    --------
    >>> from thrifty.report.displays.cost_axis import cost_label
    >>> cost_label("CAD"), cost_label("")
    ('mean bill (CAD per example)', 'mean bill per example')
    """
    return f"mean bill ({unit} per example)" if unit else "mean bill per example"


def axis_end(bills: Sequence[float], budget: float | None) -> float:
    """Return where the axis ends: right of all bills and of the budget, unless that is far off.

    Examples
    --------
    >>> from thrifty.report.displays.cost_axis import axis_end
    >>> axis_end([0.0, 1.0, 4.0], budget=4.5)
    4.68
    >>> axis_end([0.0, 1.0, 4.0], budget=1e6)  # it would squeeze the bills
    4.992
    """
    largest, limit = max(bills), budget or 0.0
    return 1.04 * (max(largest, min(limit, 1.2 * largest)) or limit or 1.0)


def set_cost_axis(ax: Any, bills: Sequence[float], unit: str, end: float) -> None:
    """Scale and label the horizontal axis for some mean bills.

    The scale is logarithmic if the positive bills differ by more than a factor of ten. A logarithm
    has no place for what is free: then the axis is linear from 0 to its first tick, and a mark
    shows the break.

    Parameters
    ----------
    ax : matplotlib Axes
    bills : sequence of float
    unit : str
        Unit of the prices.
    end : float
        Where the axis ends, see `axis_end`.
    """
    ax.set_xlabel(cost_label(unit), color=INK, parse_math=False)
    positive = [bill for bill in bills if bill > 0]
    if not positive or max(positive) <= LINEAR_FACTOR * min(positive):
        ax.set_xlim(-0.02 * end, end)
        return
    power = 10.0 ** math.floor(math.log10(min(positive)))
    start = max(step * power for step in (1, 2, 5) if step * power <= min(positive) * (1 + 1e-9))
    decades = math.log10(end / start)
    steps = next((steps for most, steps in TICKS if decades <= most), (1,))
    every = 1 + int(decades / TICKS[-1][0])
    first, last = math.floor(math.log10(start)), math.floor(math.log10(end))
    ticks = [step * 10.0**k for k in range(first, last + 1, every) for step in steps]
    ticks = [tick for tick in ticks if start * (1 - 1e-9) <= tick <= end]
    if min(bills) > 0:
        ax.set_xscale("log")
        ax.set_xlim(0.9 * start, end * 1.1)
    else:
        ax.set_xscale("symlog", linthresh=start, linscale=FREE_DECADES)
        ax.set_xlim(-0.15 * start, end * 1.1)
        ax.text(0.5 * start, 0, "//", transform=ax.get_xaxis_transform(), ha="center", va="center",
                color=SOFT, fontsize="small", gid="break")  # fmt: skip
        ticks = [0.0, *ticks]
    ax.set_xticks(ticks, labels=[f"{tick:,.10g}" for tick in ticks])
    ax.set_xticks([], minor=True)
