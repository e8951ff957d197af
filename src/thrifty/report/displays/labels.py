"""Labels beside points of a plot, placed so that none hides another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.report.displays.style import SOFT

__all__ = ["Label", "add_labels", "place_labels"]

Floats = NDArray[np.float64]

# Distance between positions that are tried, and room around a marker, in pixels.
STEP, CLEARANCE = 3.0, 8.0
# A label rather moves so many pixels than hide a marker.
PIXELS_PER_MARKER = 40.0
# A label farther from its point than this gets a line to it.
LEADER_PIXELS = 12.0
# Longer labels are wrapped.
MAX_CHARACTERS = 24


class Label(NamedTuple):
    """A text for a point in data coordinates."""

    x: float
    y: float
    text: str
    color: str


def place_labels(
    anchors: ArrayLike,
    sizes: ArrayLike,
    bounds: tuple[float, float, float, float],
    obstacles: ArrayLike = (),
) -> Floats:
    """Find a place for each label, near its anchor, where it overlaps no other label.

    Labels are placed one after the other, each as near to its anchor as possible; it hides
    obstacles only if the way around them is long. All positions are in pixels.

    Parameters
    ----------
    anchors : array of shape (n, 2)
        The points that the labels belong to.
    sizes : array of shape (n, 2)
        Width and height of each label.
    bounds : (left, bottom, right, top)
        Where labels may stand. Those for which there is no room stand above it.
    obstacles : array of shape (m, 2)
        Points that labels should not hide.

    Returns
    -------
    array of shape (n, 2)
        The lower left corner of each label.

    Examples
    --------
    >>> from thrifty.report.displays.labels import place_labels
    >>> place_labels([(50, 50), (50, 50)], [(30, 10), (30, 10)], (0, 0, 100, 100))
    array([[21., 42.],
           [51., 42.]])
    """
    left, bottom, right, top = bounds
    points = np.asarray(obstacles, dtype=np.float64).reshape(-1, 2)
    placed: list[Floats] = []
    pairs = zip(np.asarray(anchors, float), np.asarray(sizes, float), strict=True)
    for anchor, size in pairs:
        room = top
        while True:  # a label above all others is free, so this ends
            across = np.arange(left, max(right - size[0], left) + 1e-9, STEP)
            up = np.arange(bottom, max(room - size[1], bottom) + 1e-9, STEP)
            low = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
            high = low + size
            taken = [(low < box[1]).all(axis=1) & (high > box[0]).all(axis=1) for box in placed]
            free = ~np.any(taken, axis=0) if taken else np.ones(len(low), dtype=bool)
            if free.any():
                break
            room += size[1] + STEP
        low, high = low[free], high[free]
        away = np.linalg.norm(np.maximum(0.0, np.maximum(low - anchor, anchor - high)), axis=1)
        hidden = np.zeros(len(low))
        for point in points:
            hidden += ((low - CLEARANCE < point) & (high + CLEARANCE > point)).all(axis=1)
        best = int(np.argmin(away + PIXELS_PER_MARKER * hidden))
        placed.append(np.stack([low[best], high[best]]))
    return np.array([box[0] for box in placed]).reshape(-1, 2)


def add_labels(ax: Any, labels: Sequence[Label], obstacles: ArrayLike = ()) -> list[Any]:
    """Write labels on finished axes, with a thin line to each point that is not close.

    Parameters
    ----------
    ax : matplotlib Axes
        With scales, limits and axis labels set.
    labels : sequence of Label
        The first ones get the best places.
    obstacles : array of shape (m, 2)
        Points, in data coordinates, that labels should not hide.

    Returns
    -------
    list of matplotlib Annotation
    """
    ax.figure.draw_without_rendering()  # settles the layout
    to_pixels = ax.transData.transform
    texts = [
        ax.annotate(textwrap.fill(label.text, MAX_CHARACTERS), (label.x, label.y), (0, 0),
                    textcoords="axes fraction", color=label.color, fontsize="small",
                    parse_math=False, va="bottom", zorder=5)
        for label in labels
    ]  # fmt: skip
    anchors = to_pixels([(label.x, label.y) for label in labels])
    extents = [text.get_window_extent() for text in texts]
    sizes = [(extent.width + STEP, extent.height + STEP) for extent in extents]
    points = np.asarray(obstacles, dtype=np.float64).reshape(-1, 2)
    box = ax.get_window_extent()
    bounds = (box.x0 + STEP, box.y0 + STEP, box.x1, box.y1)
    hidden = to_pixels(points) if len(points) else points
    corners = place_labels(anchors, sizes, bounds, hidden)
    for text, corner, size, anchor in zip(texts, corners, sizes, anchors, strict=True):
        text.set_position(tuple(ax.transAxes.inverted().transform(corner)))
        gap = np.maximum(0.0, np.maximum(corner - anchor, anchor - corner - size))
        if np.linalg.norm(gap) > LEADER_PIXELS:
            nearest = np.clip(anchor, corner, corner + size)
            ends = ax.transData.inverted().transform([anchor, nearest])
            ax.plot(*ends.T, color=SOFT, linewidth=0.7, zorder=1.2, scalex=False, scaley=False)
    return texts
