"""What a ledger needs of a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Entry, Header

__all__ = ["ConnectionLostError", "Store", "keep_trying"]

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
T = TypeVar("T")


class ConnectionLostError(LedgerError):
    """The connection to the database broke; what was under way may or may not be written."""


class Store(Protocol):
    """A database with the tables of a ledger.

    It has two connections, one to write and one to read, each of which is used by one thread at a
    time. Every method raises a `LedgerError` if the database fails, and `ConnectionLostError` if it
    may work after `connect`.
    """

    shown: str
    """The address without secrets."""

    def connect(self, check: str | None = None) -> None:
        """Open the writer's connection; create the tables if need be, and check their version.

        `check` is a hash with the ledger's key: it must be the one that the ledger was created
        with.
        """

    def connect_reader(self) -> None:
        """Open the reader's connection, again if it was lost."""

    def close(self) -> None:
        """Close the connections."""

    # --- by the writer; between `begin` and `commit` or `rollback`

    def begin(self) -> None:
        """Start a transaction."""

    def claim(self, headers: Collection[Header], cases: Collection[str], now: float) -> list[Entry]:
        """Keep other processes off some cases, and return all their entries.

        The cases of `headers` that are new are inserted.
        """

    def put(self, entries: Sequence[Entry]) -> None:
        """Write entries, new or changed."""

    def end(self, rows: Sequence[CaseRow]) -> None:
        """Write how cases ended, or that they wait."""

    def swap_state(self, name: str, version: int, body: str) -> bool:
        """Write a named text if its version is `version` (0: there is none), else return False."""

    def retain(self, values_before: float | None, cases_before: float | None) -> tuple[int, int]:
        """Erase old values, delete old cases; return how many entries and cases that were."""

    def commit(self) -> None:
        """End the transaction; what it wrote survives a crash."""

    def rollback(self) -> None:
        """Undo the transaction."""

    # --- by the reader

    def find(self, case: str, subject: str | None, since: float) -> CaseRecord:
        """Return what the ledger has of a case, and of values of its subject since then."""

    def open_entries(self) -> list[Entry]:
        """Return all intents that are not settled, the oldest first."""

    def page(self, after: tuple[float, str], size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return the next cases after a time and an id, the oldest first, with their entries."""

    def open_cases(self, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return cases that have not ended, the oldest first, with their entries."""

    def idle_cases(self, since: float, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return open cases for which nothing has happened since then, as `open_cases` does."""

    def count_open(self) -> int:
        """Return the number of cases that have not ended."""

    def spent_since(self, time: float) -> float:
        """Return the sum of all charges for what was bought since then."""

    def state(self, name: str) -> tuple[int, str] | None:
        """Return version and body of a named text."""


def keep_trying(action: Callable[[], T], reconnect: Callable[[], None], patience: float) -> T:
    """Do something with a database; after a lost connection, reconnect and do it again.

    Raises
    ------
    ConnectionLostError
        If it does not work within `patience` seconds.
    """
    give_up, pause, is_lost = time.monotonic() + patience, FIRST_PAUSE, False
    while True:
        try:
            if is_lost:
                reconnect()
            return action()
        except ConnectionLostError:
            if time.monotonic() + pause > give_up:
                raise
        is_lost = True
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
