"""Models inside a model."""

from __future__ import annotations

import numpy as np
import pytest
from forests import Shape, draw_forest, draw_table

from thrifty.errors import BundleError
from thrifty.model.base import DEEPEST, pack, unpack


def test_parts_come_back_to_the_bit():
    rng, shape = np.random.default_rng(0), Shape.of("softmax")
    parts = [draw_forest(rng, shape), draw_forest(rng, shape)]
    X = draw_table(rng, shape)
    for part, read in zip(parts, unpack(*pack(parts)), strict=True):
        np.testing.assert_array_equal(part.score(X), read.score(X))


def test_no_parts_are_no_parts():
    assert unpack(*pack([])) == []


@pytest.mark.parametrize("name", ["nodes", "2/nodes", "01/nodes", "-1/nodes", "²/nodes"])
def test_an_array_of_no_part_is_refused(name):
    plains, arrays = pack([draw_forest(np.random.default_rng(0), Shape.of("sum"))] * 2)
    with pytest.raises(BundleError, match="belong to no part"):
        unpack(plains, {**arrays, name: np.zeros(1)})


@pytest.mark.parametrize(
    "plains", [None, {}, [1], [{"kind": "forest"}], [{"kind": 1, "model": {}}]]
)
def test_parts_that_are_not_described_are_refused(plains):
    with pytest.raises(BundleError, match="not described"):
        unpack(plains, {})


def test_an_unknown_kind_is_refused():
    with pytest.raises(BundleError, match="no model of kind 'oracle'"):
        unpack([{"kind": "oracle", "model": {}}], {})


def test_deep_nesting_is_refused_before_it_is_followed():
    plains: list = []
    for _ in range(DEEPEST + 1):
        plains = [{"kind": "forest", "model": {"parts": plains}}]
    with pytest.raises(BundleError, match="deep"):
        unpack(plains, {})
