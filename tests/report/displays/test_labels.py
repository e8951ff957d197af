"""Labels: each near its point, and none over another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from thrifty.report.displays.labels import Label, add_labels, place_labels

BOUNDS = (0.0, 0.0, 300.0, 200.0)
PLACES = st.tuples(st.floats(0, 300), st.floats(0, 200))
SIZES = st.tuples(st.floats(5, 320), st.floats(5, 40))


def overlap(one, two) -> bool:
    (a, size_a), (b, size_b) = one, two
    return bool((a < b + size_b - 1e-6).all() and (b < a + size_a - 1e-6).all())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(PLACES, SIZES), max_size=12), st.lists(PLACES, max_size=10))
def test_no_two_labels_overlap(labels, obstacles) -> None:
    anchors = np.array([anchor for anchor, _ in labels]).reshape(-1, 2)
    sizes = np.array([size for _, size in labels]).reshape(-1, 2)
    boxes = list(zip(place_labels(anchors, sizes, BOUNDS, obstacles), sizes, strict=True))
    assert len(boxes) == len(labels)
    for i, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[:i])


def test_a_label_stands_inside_close_to_its_point_and_beside_the_marker() -> None:
    anchor, size = np.array([150.0, 100.0]), np.array([40.0, 10.0])
    (corner,) = place_labels([anchor], [size], BOUNDS, [anchor])
    gap = np.maximum(corner - anchor, anchor - corner - size).max()
    assert 0 < gap < 15
    (edge,) = place_labels([(300.0, 200.0)], [size], BOUNDS, [(300.0, 200.0)])
    assert (edge >= 0).all() and (edge + size <= (300.0, 200.0)).all()


def test_labels_without_room_stand_above_the_others() -> None:
    corners = place_labels([(0, 0)] * 4, [(300, 90)] * 4, BOUNDS)
    tops = sorted(corners[:, 1].tolist())
    assert all(b - a >= 90 for a, b in pairwise(tops))


def test_labels_of_one_point_are_written_apart_and_far_ones_get_a_line() -> None:
    ax = Figure(figsize=(4, 3), dpi=72).add_subplot()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    labels = [Label(0.5, 0.5, f"$label number {i}$ " * 2, "black") for i in range(5)]
    texts = add_labels(ax, labels, [(0.5, 0.5)])
    boxes = [text.get_window_extent() for text in texts]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert texts[0].get_text() == "$label number 0$ $label\nnumber 0$"  # wrapped, not a formula
    assert ax.lines and ax.get_xlim() == (0, 1)
