"""What the displays share: axes to draw on, and colors that can be told apart in grey too."""

from __future__ import annotations

from typing import Any

__all__ = ["INK", "SOFT", "WARN", "canvas", "legend", "looks"]

INK, SOFT, WARN = "#222222", "#8a8a8a", "#b3261e"
# Dark enough on white, safe for color-blind readers; line style and marker differ as well.
COLORS = ("#0b5cad", "#c45a00", "#00795a", "#8e2f8f", "#5b4a00", "#444444")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def canvas(ax: Any = None, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Axes to draw on: those given, or new ones of `size` inches; quiet ones in any case."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(SOFT)
    ax.tick_params(color=SOFT, labelcolor=INK)
    ax.set_axisbelow(True)
    return ax


def looks(i: int) -> dict[str, Any]:
    """Color, line and marker of the i-th line."""
    return {
        "color": COLORS[i % len(COLORS)],
        "linestyle": LINES[i % len(LINES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def legend(ax: Any, **where: Any) -> None:
    """A legend whose words are taken as they are: a dollar sign is no formula."""
    for text in ax.legend(frameon=False, fontsize="small", **where).get_texts():
        text.set_parse_math(False)
