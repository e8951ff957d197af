"""The ledger: what was bought for which case, written before it is bought.

Order of writes: an *intent* is committed, then the purchase is made, then it is *settled*. So a
process that dies leaves an open intent behind, and never a purchase that nobody knows of.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any, Self

from thrifty.errors import LedgerError
from thrifty.serve.ledger.keys import KeyedHash, read_key
from thrifty.serve.ledger.records import (
    CaseRecord,
    CaseRow,
    Ending,
    Entry,
    Grants,
    Header,
    Intent,
    Settlement,
)
from thrifty.serve.ledger.rules import Request, Step, abandon, stamp
from thrifty.serve.ledger.store import Store, keep_trying
from thrifty.serve.ledger.writer import Writer

__all__ = ["Ledger"]

DELAY, PATIENCE, BUSY = 0.01, 5.0, 5.0
DAY = 86_400.0
PAGE_SIZE = 500


class Ledger:
    """A record of all purchases, in SQLite or PostgreSQL; use `Ledger.open`.

    Several processes may use one ledger. Methods may be called from any thread. Those that serve
    cases return futures: of `asyncio.wrap_future` in an event loop, of ``result()`` elsewhere.

    Parameters
    ----------
    store : Store
    key : bytes
        The key of the hashes that ids are stored as.
    clock : function, optional
        Returns the time in seconds since 1970.
    delay : float, optional
        Seconds for which a settlement may wait to share a commit.
    patience : float, optional
        Seconds for which a lost database is tried again before a write fails.

    Examples
    --------
    >>> import tempfile
    >>> from thrifty.serve import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder, Ledger.open(f"{folder.name}/purchases.db") as ledger:
    ...     ledger.open_purchases()
    []
    """

    def __init__(
        self,
        store: Store,
        key: bytes,
        clock: Callable[[], float] = time.time,
        delay: float = DELAY,
        patience: float = PATIENCE,
    ) -> None:
        self._store, self._clock, self._hash = store, clock, KeyedHash(key)
        try:
            check = self._hash("check")
            keep_trying(lambda: store.connect(check), lambda: None, patience)
            keep_trying(store.connect_reader, lambda: None, patience)
        except BaseException:
            store.close()
            raise
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(6)}"
        self._numbers = count()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._patience = patience
        self._writer = Writer(store, clock, delay, patience)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="thrifty-ledger-reader")

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        key_file: str | os.PathLike[str] | None = None,
        busy: float = BUSY,
        create: bool = True,
        **options: Any,
    ) -> Self:
        """Open a ledger; create it if it does not exist.

        Parameters
        ----------
        url : str or path
            A file (SQLite), or ``postgresql://user:password@host/database``.
        key_file : path, optional
            File with the key, unless THRIFTY_LEDGER_KEY has it. By default, and only for SQLite,
            the name of the ledger with ``.key`` at the end, created with the ledger.
        busy : float
            Seconds to wait for another process that locks the database.
        create : bool
            Whether a file that does not exist is created.
        **options
            Parameters of `Ledger`.

        Raises
        ------
        LedgerError
            If it cannot be opened, a newer version of Thrifty wrote it, or its key is another one.
        """
        text = os.fspath(url)
        if text.startswith(("postgresql:", "postgres:")):
            from thrifty.serve.ledger.postgres import PostgresStore

            return cls(PostgresStore(text, busy), read_key(key_file), **options)
        from thrifty.serve.ledger.sqlite import SqliteStore

        store = SqliteStore(text, busy)
        if not create and not store.path.exists():
            raise LedgerError(f"{store.shown}: there is no such file")
        default = f"{store.path}.key"
        return cls(store, read_key(key_file or default, create and key_file is None), **options)

    @classmethod
    def temporary(cls) -> Self:
        """Return an empty ledger in a temporary folder, which goes when the ledger is closed."""
        from thrifty.serve.ledger.sqlite import SqliteStore

        folder = tempfile.TemporaryDirectory(prefix="thrifty-ledger-")
        try:
            ledger = cls(SqliteStore(f"{folder.name}/ledger.db", BUSY), secrets.token_bytes(32))
        except BaseException:
            folder.cleanup()
            raise
        ledger._folder = folder
        return ledger

    # --- serving

    def header(
        self,
        case: str,
        subject: str | None,
        model: str,
        known: str | None,
        cap: float | None = None,
        context: str | None = None,
    ) -> Header:
        """Return how the ledger identifies a case, with what has to be stored of it."""
        hashed = None if subject is None else self._hash("subject", subject)
        return Header(self._hash("case", case), hashed, model, known, cap, context)

    def idempotency_key(self, header: Header, item: str) -> str:
        """Return the key under which an item is bought for a case, in every process."""
        return hashlib.sha256(f"{header.case}/{item}".encode()).hexdigest()

    def find(self, header: Header, max_age: float) -> Future[CaseRecord]:
        """Read what the ledger has of a case, and values of its subject up to so old."""
        since = self._clock() - max_age
        subject = header.subject if max_age > 0 else None
        return self._read(self._store.find, header.case, subject, since)

    def intend(
        self,
        header: Header,
        intents: Sequence[Intent],
        limit: float | None = None,
        besides: Sequence[float] = (),
    ) -> Future[Grants]:
        """Commit the intent to buy some items of one case, unless others have it already.

        What is in `Grants.mine` is to be bought now. For the rest, `Grants.entries` has what was
        bought, or the intent of another owner: wait for it with `wait`. An intent that was
        abandoned is taken over, or assumed to be paid. Nothing is granted if the case, with
        `besides`, would cost more than `limit`.
        """
        owner = f"{self.owner}:{next(self._numbers)}"
        return self._writer.submit(Request(header, intents, owner, limit, tuple(besides)))

    def settle(self, settlements: Sequence[Settlement], hurry: bool = False) -> Future[list[bool]]:
        """Settle purchases in one commit; False for one that was taken over or assumed meanwhile.

        The future is done when the settlements survive a crash. By default they wait a moment to
        share a commit.
        """
        return self._writer.submit(tuple(settlements), hurry)

    def flush(self) -> Future[None]:
        """Write all that waits; the future is done when it survives a crash."""
        return self._writer.submit(lambda store: None)

    async def wait(self, case: str, items: Sequence[str]) -> dict[str, Entry]:
        """Wait until none of some items is an intent of a living owner; return their entries."""
        pause = 0.002
        while True:
            record = await asyncio.wrap_future(self._read(self._store.find, case, None, 0.0))
            entries = {item: record.entries[item] for item in items if item in record.entries}
            now = self._clock()
            if not any(e.state == "intent" and e.expires_at > now for e in entries.values()):
                return entries
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    def finish(self, header: Header, ending: Ending | None) -> Future[None]:
        """Record how a run of a case ended, after all settlements that were submitted before.

        None: it waits for a client.
        """
        now = self._clock()
        return self._writer.submit(CaseRow(header, now, None if ending is None else now, ending))

    # --- cases that wait for a client

    def draft(
        self, header: Header, number: int, answers: Sequence[tuple[str, float, str, str | None]]
    ) -> tuple[Entry, ...]:
        """Return the entries of a client's step, which `take_step` writes.

        Parameters
        ----------
        header : Header
        number : int
            The number of the step in its case.
        answers : sequence of tuple
            Item, what is paid, outcome and values of each. What is withdrawn becomes void.
        """
        now, owner = self._clock(), f"{self.owner}:{next(self._numbers)}"
        return tuple(
            Entry(
                header.case, item, owner, number, "void" if outcome == "withdrawn" else "settled",
                paid, now, now, header.subject, paid, outcome, values, now,
            )
            for item, paid, outcome, values in answers
        )  # fmt: skip

    def take_step(self, record: CaseRecord, entries: Sequence[Entry]) -> Future[bool]:
        """Write what a client answered, unless the case has changed since the record was read."""
        if record.row is None:
            raise LedgerError("a step needs a case")
        return self._writer.submit(Step(record.row.header, stamp(record.entries), tuple(entries)))

    def open_cases(self, limit: int = PAGE_SIZE) -> Future[list[tuple[CaseRow, list[Entry]]]]:
        """Read the cases that have not ended, the oldest first, with their entries."""
        return self._read(self._store.open_cases, limit)

    def idle_cases(
        self, days: float, limit: int = PAGE_SIZE
    ) -> Future[list[tuple[CaseRow, list[Entry]]]]:
        """Read the open cases that were neither answered nor bought for in so many days."""
        return self._read(self._store.idle_cases, self._clock() - days * DAY, limit)

    def count_open(self) -> Future[int]:
        """Count the cases that have not ended."""
        return self._read(self._store.count_open)

    def spent_since(self, time: float) -> Future[float]:
        """Sum up all charges for what was bought since a time in seconds since 1970.

        What is under way counts; evaluations do not.
        """
        return self._read(self._store.spent_since, time)

    def _read(self, method: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Read in the reader's thread; after a lost connection, read again."""

        def read() -> Any:
            store = self._store
            return keep_trying(lambda: method(*arguments), store.connect_reader, self._patience)

        try:
            return self._reader.submit(read)
        except RuntimeError:
            raise LedgerError("the ledger is closed; open it again") from None

    # --- upkeep

    def open_purchases(self) -> list[Entry]:
        """Return all purchases that are not settled, the oldest first."""
        return list(self._read(self._store.open_entries).result())

    def assume_paid(self, entry: Entry) -> bool:
        """Resolve an open purchase as paid; False if it was settled or taken over meanwhile."""

        def swap(store: Store) -> bool:
            claimed = store.claim((), [entry.case], self._clock())
            found = {e.item: e for e in claimed}.get(entry.item)
            if found is None or (found.owner, found.state) != (entry.owner, "intent"):
                return False
            store.put([abandon(found, self._clock())])
            return True

        return bool(self._writer.submit(swap).result())

    def recover(self) -> list[Entry]:
        """Resolve all abandoned purchases as paid; return them.

        A purchase of a source that charges two requests with one key once need not be resolved:
        the case takes it over when it is sent again.
        """
        now = self._clock()
        abandoned = [entry for entry in self.open_purchases() if entry.expires_at <= now]
        return [entry for entry in abandoned if self.assume_paid(entry)]

    def cases(self) -> Iterator[tuple[CaseRow, list[Entry]]]:
        """Yield all cases with what was bought for them, the oldest first."""
        after = (-math.inf, "")
        while page := self._read(self._store.page, after, PAGE_SIZE).result():
            yield from page
            last = page[-1][0]
            after = (last.started_at, last.header.case)

    def retain(
        self, values_days: float | None = None, cases_days: float | None = None
    ) -> tuple[int, int]:
        """Erase values, and delete cases, that are older than so many days.

        What was paid stays as long as the case. Cases with open purchases are not deleted.

        Returns
        -------
        values, cases : int
            How many purchases lost their values, and how many cases were deleted.
        """
        limits = [None if days is None else self._clock() - days * DAY
                  for days in (values_days, cases_days)]  # fmt: skip
        erased: tuple[int, int] = self._writer.submit(lambda store: store.retain(*limits)).result()
        return erased

    def state(self, name: str) -> tuple[int, str] | None:
        """Return version and body of a text that `swap_state` wrote; None if there is none."""
        found: tuple[int, str] | None = self._read(self._store.state, name).result()
        return found

    def swap_state(self, name: str, version: int, body: str) -> bool:
        """Write a named text if it still has this version (0: there is none); it becomes one more.

        For what other parts of a server have to share between processes.
        """
        return bool(self._writer.submit(lambda s: s.swap_state(name, version, body)).result())

    def close(self) -> None:
        """Write what waits, and close the database."""
        self._writer.close()
        self._reader.shutdown()
        self._store.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.shown})"
