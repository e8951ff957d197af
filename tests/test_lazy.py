"""A value is computed once, and without a lock."""

from __future__ import annotations

import functools
import threading

from thrifty.lazy import cached_property


class Slow:
    """Has a value whose computation can be held up."""

    def __init__(self, hold=None):
        self.hold, self.started, self.count = hold, threading.Event(), 0

    @cached_property
    def value(self):
        self.count += 1
        self.started.set()
        if self.hold is not None:
            self.hold.wait(10)
        return 5


def test_a_value_is_computed_once():
    slow = Slow()
    assert (slow.value, slow.value, slow.count) == (5, 5, 1)


def test_the_class_has_the_property_itself():
    assert isinstance(Slow.value, functools.cached_property)


def test_one_object_does_not_wait_for_another():
    hold = threading.Event()
    held = Slow(hold)
    thread = threading.Thread(target=lambda: held.value)
    thread.start()
    held.started.wait(10)
    other = Slow()
    reader = threading.Thread(target=lambda: other.value)
    reader.start()
    reader.join(5)
    assert other.count == 1  # although the first is still being computed
    hold.set()
    thread.join()
    assert held.value == 5
