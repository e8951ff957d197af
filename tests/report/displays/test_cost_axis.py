"""The axis of bills: its scale, its ticks and its label."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from thrifty.report.displays.cost_axis import axis_end, cost_label, set_cost_axis


def axis_of(bills, budget=None):
    ax = Figure().add_subplot()
    set_cost_axis(ax, bills, "min", axis_end(bills, budget))
    ax.figure.draw_without_rendering()
    return ax.get_xscale(), [label.get_text() for label in ax.get_xticklabels()]


@pytest.mark.parametrize(
    ("bills", "scale", "ticks"),
    [
        ([0.0, 1.0, 9.0], "linear", None),
        ([5.0], "linear", None),
        ([0.0], "linear", None),
        ([2.5, 40.0], "log", ["2", "5", "10", "20"]),
        ([0.0, 1.0, 324.0], "symlog", ["0", "1", "3", "10", "30", "100", "300"]),
        ([0.02, 3000.0], "log", ["0.1", "1", "10", "100", "1,000"]),
    ],
)
def test_bills_of_more_than_a_decade_are_drawn_by_their_logarithm(bills, scale, ticks) -> None:
    found, labels = axis_of(bills)
    assert found == scale
    assert ticks is None or labels == ticks


def test_many_decades_have_few_ticks() -> None:
    _, labels = axis_of([1e-6, 1e9])
    assert 4 <= len(labels) <= 8


def test_the_label_has_the_unit_as_people_write_it() -> None:
    assert cost_label("min") == "mean bill (min per example)"
    assert cost_label("") == "mean bill per example"
