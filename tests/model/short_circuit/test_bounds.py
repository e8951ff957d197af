"""Bounds hold what trees can still add, and settle a row only if nothing can change."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_circuits import CLASSES, SEEDS, draw, every_row, output_range, stumps

from thrifty.model import ShortCircuit
from thrifty.model.short_circuit.bounds import (
    LARGEST,
    SIGN,
    VALUE,
    Bounds,
    is_settled,
)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 6)), min_size=2, max_size=4),
    st.integers(0, 3),
    st.sampled_from([3, 2**62]),
)
def test_a_class_is_settled_when_no_outcome_within_the_bounds_has_another(boxes, margin, flat):
    least, most = [low for low, _ in boxes], [low + size for low, size in boxes]
    if not is_settled(least, most, [LARGEST, margin, margin, flat]):
        return
    winners = set()
    for corner in product(*zip(least, most, strict=True)):
        winners.add(int(np.clip(corner, -flat, flat).argmax()))
    assert len(winners) == 1


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]))
def test_outputs_lie_within_the_bounds_at_the_roots(seed, link):
    _, forest, X = draw(seed, link)
    bounds = Bounds.of(forest, tolerance=0.0)
    raw = forest.raw(X)
    if forest.link in ("mean", "vote"):
        raw *= max(len(forest.roots), 1)
    low, high = np.ldexp(bounds.start.astype(float), -bounds.bits)
    rounding = 1e-12 * (1.0 + np.abs(raw))
    assert np.all((raw >= low - rounding) & (raw <= high + rounding))


def test_the_bounds_of_a_node_are_the_extremes_of_its_leaves():
    bounds = Bounds.of(stumps([([-8.0], [8.0]), ([-1.0], [3.0])], "sum"), tolerance=1.0)
    scale = 2.0**bounds.bits
    assert (bounds.low[:, 0] / scale).tolist() == [-8.0, -8.0, 8.0, -1.0, -1.0, 3.0]
    assert (bounds.high[:, 0] / scale).tolist() == [8.0, -8.0, 8.0, 3.0, -1.0, 3.0]
    assert (bounds.start[:, 0] / scale).tolist() == [-9.0, 11.0]
    np.testing.assert_array_equal(bounds.pairs[:, 0], bounds.low)


def test_the_range_of_outputs_closes_when_all_trees_have_reached_a_leaf():
    model = ShortCircuit.of(stumps([([-8.0], [8.0]), ([-1.0], [3.0])], "sum"))
    for x in every_row(2):
        least, most = output_range(model, model.forest.leaves(x[np.newaxis])[:, 0])
        assert least == most
        assert least / 2.0**model.bounds.bits == model.forest.score(x[np.newaxis])


@pytest.mark.parametrize(
    ("link", "pairs", "kind"),
    [
        ("sum", [([-1.0], [1.0])], VALUE),
        ("sigmoid", [([-1.0], [1.0])], SIGN),
        ("mean", [([1, 0], [0, 1])], LARGEST),
    ],
)
def test_the_rule_follows_from_the_link(link, pairs, kind):
    assert Bounds.of(stumps(pairs, link), 0.0).rule[0] == kind


def test_values_of_rows_that_stopped_early_are_clipped_to_within_the_tolerance():
    # From -0.25 to 0.25, a value is at most 0.75 from all that lie between -0.5 and 0.5.
    bounds = Bounds.of(stumps([([-1.0], [1.0])], "sum"), tolerance=0.75)
    half = 2 ** (bounds.bits - 1)
    ends, stopped = np.array([[-half, half]] * 4), np.array([True, True, True, False])
    values = bounds.clip_values(np.array([-3.0, 0.125, 3.0, 3.0]), ends, stopped)
    np.testing.assert_allclose(values, [-0.25, 0.125, 0.25, 3.0], rtol=1e-12)
