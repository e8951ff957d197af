"""Ledgers of both kinds, empty, for tests that run on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from thrifty.serve import Ledger

KEY = "k" * 40


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_ledger(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Ledger]]:
    """Open the database again and again, as several processes would."""
    monkeypatch.setenv("THRIFTY_LEDGER_KEY", KEY)
    opened: list[Ledger] = []

    def open_one(**options: Any) -> Ledger:
        opened.append(Ledger.open(url, **{"clock": clock, "delay": 0.0, **options}))
        return opened[-1]

    yield open_one
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()
