"""A source that keeps failing is left alone, and tried again by one."""

from __future__ import annotations

import pytest

from thrifty.serve.sources.breaker import Breaker


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return Breaker(2, 30.0, clock)


def test_a_success_forgives_what_failed_before(breaker):
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert not breaker.is_open


def test_after_a_rest_one_may_try(breaker, clock):
    breaker.failed()
    breaker.failed()
    clock.now = 29.0
    assert breaker.is_open
    clock.now = 30.0
    assert not breaker.is_open
    breaker.asked()
    assert breaker.is_open  # the others wait for the one
    breaker.succeeded()
    assert not breaker.is_open


def test_a_try_that_fails_opens_it_again(breaker, clock):
    breaker.failed()
    breaker.failed()
    clock.now = 30.0
    breaker.asked()
    breaker.failed()
    clock.now = 59.0
    assert breaker.is_open
    clock.now = 60.0
    assert not breaker.is_open


def test_a_try_that_nobody_hears_of_again_is_followed_by_another(breaker, clock):
    breaker.failed()
    breaker.failed()
    clock.now = 30.0
    breaker.asked()
    clock.now = 60.0
    assert not breaker.is_open


def test_asking_a_source_that_works_changes_nothing(breaker):
    breaker.asked()
    assert not breaker.is_open
