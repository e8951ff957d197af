"""A walk that passes an example from part to part."""

from __future__ import annotations

import numpy as np

from thrifty.model.base import Walk
from thrifty.model.relay import RelayWalk


class ReadsOne(Walk):
    """A walk that needs one feature, or none; its score is the value."""

    def __init__(self, feature=None):
        self.feature, self.value = feature, None

    @property
    def asks(self):
        return () if self.feature is None or self.value is not None else (self.feature,)

    def tell(self, values):
        self.value = values.get(self.feature, self.value)

    @property
    def touched(self):
        return () if self.value is None else (self.feature,)

    @property
    def scores(self):
        return np.array([0.0 if self.value is None else self.value])

    @property
    def evaluations(self):
        return int(not self.asks)


class Relay(RelayWalk[ReadsOne]):
    """Reads features in order, and stops early at a negative value."""

    def __init__(self, *features):
        self.left = list(features[1:])
        super().__init__(ReadsOne(features[0]))

    @property
    def scores(self):
        return self._walks[-1].scores

    def _next(self):
        if not self.left or self._walks[-1].scores[0] < 0:
            return None
        return ReadsOne(self.left.pop(0))


def test_each_part_starts_when_the_one_before_is_done():
    walk = Relay(3, 1, 4)
    seen = []
    while walk.asks:
        seen.append(walk.asks)
        walk.tell({walk.asks[0]: 1.0})
    assert seen == [(3,), (1,), (4,)]
    assert walk.touched == (3, 1, 4) and walk.evaluations == 3


def test_a_value_told_early_is_read_by_the_part_that_needs_it():
    walk = Relay(3, 1)
    walk.tell({1: 5.0})
    assert walk.asks == (3,) and walk.touched == ()
    walk.tell({3: 1.0})
    assert walk.asks == () and walk.touched == (3, 1) and walk.scores.tolist() == [5.0]


def test_a_walk_that_is_done_reads_nothing_more():
    walk = Relay(3, 1)
    walk.tell({3: -1.0})
    walk.tell({1: 5.0})
    assert walk.asks == () and walk.touched == (3,) and walk.evaluations == 1


def test_a_feature_that_two_parts_read_is_touched_once():
    walk = Relay(2, 2)
    walk.tell({2: 1.0})
    assert walk.asks == () and walk.touched == (2,) and walk.evaluations == 2


def test_parts_that_need_nothing_are_passed_at_once():
    walk = Relay(None, None, 5)
    assert walk.asks == (5,) and walk.evaluations == 2
