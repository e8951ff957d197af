"""Axes, hand-made models and helpers for the tests of the displays."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test leaves open."""
    yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    """Axes that pyplot does not know."""
    return Figure().add_subplot()


@pytest.fixture
def legend_of() -> Callable[..., list[str]]:
    """Return the labels in the legend of a display."""
    return lambda display: [text.get_text() for text in display.ax_.get_legend().get_texts()]
