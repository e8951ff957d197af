"""Ceilings: hold in every window, and for all processes that share them together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.serve.ceilings import Ceiling, read_grants


def test_a_ceiling_of_one_process_may_be_spent_whole():
    ceiling = Ceiling(10.0, 60.0, is_shared=False)
    assert ceiling.left(30.0) == 10.0
    ceiling.committed += 4.0
    assert ceiling.left(59.0) == 6.0
    assert ceiling.left(60.0) == 10.0
    assert not ceiling.lacks(1000.0, 60.0)


def test_a_shared_ceiling_is_spent_out_of_grants():
    ceiling = Ceiling(32.0, 60.0, is_shared=True)
    assert ceiling.left(0.0) == 0.0 and ceiling.lacks(1.0, 0.0)
    granted, own = ceiling.request(None, 1.0, 0.0)
    assert granted == own == (0, 2.0)  # a sixteenth
    ceiling.take(granted, own)
    assert ceiling.left(0.0) == 2.0 and not ceiling.lacks(1.0, 0.0)
    granted, own = ceiling.request((0, 30.0), 5.0, 0.0)
    assert own == (0, 2.0)  # no more is left
    ceiling.take(granted, own)
    assert ceiling.left(0.0) == 4.0
    assert not ceiling.lacks(5.0, 0.0)  # asking again would not help


def test_a_grant_is_for_its_window_only():
    ceiling = Ceiling(32.0, 60.0, is_shared=True)
    granted, own = ceiling.request(None, 1.0, 59.0)
    assert ceiling.left(61.0) == 0.0
    ceiling.take(granted, own)
    assert ceiling.left(61.0) == 0.0


def test_a_clock_behind_the_others_takes_their_window():
    ceiling = Ceiling(32.0, 60.0, is_shared=True)
    granted, own = ceiling.request((7, 31.0), 1.0, 60.0)
    assert own == (7, 1.0) and granted == (7, 32.0)


def test_what_was_not_spent_is_given_back():
    ceiling = Ceiling(32.0, 60.0, is_shared=True)
    ceiling.take(*ceiling.request(None, 4.0, 0.0))
    ceiling.committed += 1.0
    assert ceiling.give_back((0, 10.0), 0.0) == (0, 7.0)
    assert ceiling.give_back((3, 10.0), 0.0) == (3, 10.0)
    assert ceiling.give_back(None, 0.0) is None


ACTIONS = st.tuples(
    st.integers(0, 2), st.sampled_from(["case", "case", "wait", "end"]), st.floats(0, 1)
)


@given(st.lists(ACTIONS), st.floats(0, 100), st.floats(0.1, 30))
def test_processes_together_never_exceed_a_ceiling(actions, limit, largest):
    ceilings = [Ceiling(limit, 60.0, is_shared=True) for _ in range(3)]
    shared, now = None, 0.0
    reserved: dict[int, float] = {}
    for process, action, amount in actions:
        ceiling = ceilings[process]
        if action == "wait":
            now += 40 * amount
        elif action == "end":
            shared = ceiling.give_back(shared, now)
            ceilings[process] = Ceiling(limit, 60.0, is_shared=True)
        else:
            if ceiling.lacks(largest, now):
                shared, own = ceiling.request(shared, largest, now)
                ceiling.take(shared, own)
            cap = min(largest, ceiling.left(now))
            ceiling.committed += cap
            reserved[ceiling.window] = reserved.get(ceiling.window, 0.0) + cap
    assert max(reserved.values(), default=0.0) <= limit * (1 + 1e-12)


@pytest.mark.parametrize("plain", [5, {"day": [1]}, {"day": [-1, 2.0]}, {"day": [1, "2"]}])
def test_grants_that_are_none_are_not_read(plain):
    assert read_grants(plain) is None
