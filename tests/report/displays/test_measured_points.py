"""The chart of the report: points, whiskers, budget and labels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from thrifty.report.displays.measured_points import draw_measured_points
from thrifty.report.displays.style import WARN


def measured(name, bill, quality, chosen=False):
    return {
        "name": name, "chosen": chosen,
        "bill": bill, "bill_low": 0.8 * bill - 0.1, "bill_high": 1.2 * bill,
        "quality": quality, "quality_low": quality - 0.1, "quality_high": quality + 0.05,
    }  # fmt: skip


FACTS = {
    "settings": {"metric": "accuracy", "unit": "min", "budget": 10.0},
    "test_points": [
        measured("constant", 0.0, 0.5),
        measured("two", 2.0, 0.8, chosen=True),
        measured("one", 1.0, 0.82),  # measured on other rows, a dearer model may be worse
    ],
    "baselines": [measured(f"plain model {i}", 30.0 + i, 0.85) for i in range(4)],
}
NAMES = [baseline["name"] for baseline in FACTS["baselines"]]


@pytest.fixture
def ax():
    axes = Figure(figsize=(7, 4), dpi=72, layout="constrained").add_subplot()
    draw_measured_points(axes, FACTS, NAMES)
    axes.figure.draw_without_rendering()
    return axes


def drawn(ax) -> dict[str, tuple[float, float]]:
    return {line.get_gid(): tuple(line.get_xydata()[0]) for line in ax.lines if line.get_gid()}


def test_every_point_is_where_it_was_measured(ax) -> None:
    wanted = {f"point-{i}": (p["bill"], p["quality"]) for i, p in enumerate(FACTS["test_points"])}
    wanted |= {f"baseline-{i}": (p["bill"], p["quality"]) for i, p in enumerate(FACTS["baselines"])}
    assert drawn(ax) == wanted
    assert [line.get_gid() for line in ax.lines if line.get_marker() == "*"] == ["point-1"]


def test_every_point_has_whiskers_for_bill_and_quality(ax) -> None:
    segments = [segment for lines in ax.collections for segment in lines.get_segments()]
    points = [*FACTS["test_points"], *FACTS["baselines"]]
    assert len(segments) == 2 * len(points)
    for k, point in enumerate(points):
        upright, level = segments[2 * k], segments[2 * k + 1]
        np.testing.assert_allclose(upright[:, 1], [point["quality_low"], point["quality_high"]])
        np.testing.assert_allclose(level[:, 0], [max(point["bill_low"], 0), point["bill_high"]])


def test_labels_overlap_neither_each_other_nor_the_edge(ax) -> None:
    texts = [text for text in ax.texts if text.get_text() != "//"]
    found = [text.get_text() for text in texts]
    assert found == ["chosen", *NAMES, "budget 10.00 min"]
    boxes = [text.get_window_extent() for text in texts]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert ax.figure.bbox.fully_containsx(box.x0) and ax.figure.bbox.fully_containsx(box.x1)


def test_axes_have_units_as_people_write_them(ax) -> None:
    assert ax.get_xlabel() == "mean bill (min per example)"
    assert ax.get_ylabel() == "accuracy on the test set"
    assert ax.get_xscale() == "symlog"
    assert all(label.get_text().endswith("%") for label in ax.get_yticklabels())


def test_a_budget_out_of_sight_or_none_is_not_drawn() -> None:
    for budget in (None, 1e6):
        axes = Figure().add_subplot()
        facts = {**FACTS, "settings": {**FACTS["settings"], "budget": budget, "metric": "r2"}}
        draw_measured_points(axes, facts, NAMES)
        assert not any("budget" in text.get_text() for text in axes.texts)
        assert [line.get_gid() for line in axes.lines if line.get_color() == WARN] == ["point-1"]
