"""No ledger: nothing is recorded, and every intent is granted."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from typing import TypeVar

from thrifty.serve.ledger.keys import KeyedHash
from thrifty.serve.ledger.records import (
    CaseRecord,
    Ending,
    Entry,
    Grants,
    Header,
    Intent,
    Settlement,
)

__all__ = ["NoLedger"]

T = TypeVar("T")


class NoLedger:
    """What serves in place of a `Ledger` where there is none; see there for the methods."""

    def __init__(self) -> None:
        self._hash = KeyedHash(secrets.token_bytes(32))
        self._numbers = count()

    def header(
        self,
        case: str,
        subject: str | None,
        model: str,
        known: str | None,
        cap: float | None = None,
        context: str | None = None,
    ) -> Header:
        """Return how a case is identified."""
        return Header(self._hash("case", case), None, model, known, cap, context)

    def idempotency_key(self, header: Header, item: str) -> str:
        """Return the key under which an item is bought for a case, in this process."""
        return hashlib.sha256(f"{header.case}/{item}".encode()).hexdigest()

    def find(self, header: Header, max_age: float) -> Future[CaseRecord]:
        """Return an empty record."""
        return _done(CaseRecord())

    def intend(
        self,
        header: Header,
        intents: Sequence[Intent],
        limit: float | None = None,
        besides: Sequence[float] = (),
    ) -> Future[Grants]:
        """Grant everything."""
        owner = str(next(self._numbers))
        return _done(Grants({}, {intent.item: owner for intent in intents}))

    def settle(self, settlements: Sequence[Settlement], hurry: bool = False) -> Future[list[bool]]:
        """Acknowledge settlements."""
        return _done([True] * len(settlements))

    def flush(self) -> Future[None]:
        """Return at once: nothing waits."""
        return _done(None)

    async def wait(self, case: str, items: Sequence[str]) -> dict[str, Entry]:
        """Return nothing: nobody else buys."""
        return {}

    def finish(self, header: Header, ending: Ending | None) -> Future[None]:
        """Forget the case."""
        return _done(None)


def _done(result: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(result)
    return future
