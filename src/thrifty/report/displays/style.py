"""Axes, colors, line styles and legends that the displays share."""

from __future__ import annotations

from typing import Any

__all__ = ["COLORS", "INK", "SOFT", "WARN", "add_legend", "line_style", "prepare_axes", "shorten"]

INK, SOFT, WARN = "#222222", "#8a8a8a", "#b3261e"
# Dark enough on white and safe for color-blind readers; in grayscale, line styles and markers
# still tell the lines apart.
COLORS = ("#0b5cad", "#c45a00", "#00795a", "#8e2f8f", "#5b4a00", "#444444")
LINE_STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
# Narrower axes have room for one column of a legend only.
INCHES_OF_TWO_COLUMNS = 4.5
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def prepare_axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return axes with light spines: `ax` itself, or the axes of a new figure of `size` inches."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(SOFT)
    ax.tick_params(color=SOFT, labelcolor=INK)
    ax.set_axisbelow(True)
    return ax


def line_style(i: int) -> dict[str, Any]:
    """Return the color, line style and marker of the i-th line, as keywords of `Axes.plot`."""
    return {
        "color": COLORS[i % len(COLORS)],
        "linestyle": LINE_STYLES[i % len(LINE_STYLES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def add_legend(ax: Any) -> None:
    """Add a legend above the axes, where it hides no data.

    It shows its labels literally: a dollar sign does not start a formula.
    """
    inches = ax.get_position().width * ax.figure.get_figwidth()
    columns = 2 if inches > INCHES_OF_TWO_COLUMNS else 1
    legend = ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1.0),
                       ncols=columns, borderaxespad=0.3, labelcolor=INK)  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def shorten(name: str, width: int) -> str:
    """Cut a name to at most `width` characters, with an ellipsis in place of its middle.

    Names of many features often differ only at their end.

    Examples
    --------
    >>> from thrifty.report.displays.style import shorten
    >>> shorten("cholesterol", 20), len(shorten("cholesterol", 5))
    ('cholesterol', 5)
    """
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}\u2026{name[len(name) - tail :]}"
