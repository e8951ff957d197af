"""A ledger in SQLite: one file, one writer at a time, a write-ahead log."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Entry, Header
from thrifty.serve.ledger.tables import (
    CASE_COLUMNS,
    ENTRY_COLUMNS,
    STARTED_COLUMNS,
    VERSION,
    case_row,
    check_ledger,
    entry_row,
    read_case,
    read_entry,
    record,
    started_row,
    with_entries,
)

__all__ = ["SqliteStore"]

# Marks the file as a ledger: "Thr$" in ASCII.
APPLICATION_ID = 0x54687224
# SQLite takes this many parameters in every build.
MAX_PARAMETERS = 900

TABLES = """
CREATE TABLE thrifty_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE thrifty_case (
    case_id TEXT PRIMARY KEY, subject TEXT, model TEXT NOT NULL, known TEXT, cap REAL,
    context_names TEXT, started_at REAL NOT NULL, ended_at REAL, stopped TEXT, reason TEXT,
    answer TEXT, skipped TEXT, bill REAL, spent REAL, unit TEXT
) WITHOUT ROWID;
CREATE TABLE thrifty_purchase (
    case_id TEXT NOT NULL, item TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intent', 'settled', 'assumed', 'void')),
    quoted REAL NOT NULL, intent_at REAL NOT NULL, expires_at REAL NOT NULL, subject TEXT,
    paid REAL, outcome TEXT, delivered TEXT, settled_at REAL, PRIMARY KEY (case_id, item)
) WITHOUT ROWID;
CREATE INDEX thrifty_purchase_of_subject ON thrifty_purchase (subject, settled_at)
    WHERE subject IS NOT NULL;
CREATE INDEX thrifty_purchase_open ON thrifty_purchase (intent_at) WHERE state = 'intent';
CREATE INDEX thrifty_purchase_begun ON thrifty_purchase (intent_at);
CREATE INDEX thrifty_case_started ON thrifty_case (started_at);
CREATE INDEX thrifty_case_open ON thrifty_case (started_at) WHERE ended_at IS NULL;
CREATE TABLE thrifty_state (name TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL)
    WITHOUT ROWID;
"""
ENTRY, CASE = ", ".join(ENTRY_COLUMNS), ", ".join(CASE_COLUMNS)
PUT = f"INSERT OR REPLACE INTO thrifty_purchase ({ENTRY}) VALUES "
START = f"INSERT OR IGNORE INTO thrifty_case ({', '.join(STARTED_COLUMNS)}) VALUES "
END = f"INSERT INTO thrifty_case ({CASE}) VALUES "
REPLACED = "ON CONFLICT (case_id) DO UPDATE SET " + ", ".join(
    f"{c} = excluded.{c}" for c in CASE_COLUMNS if c not in ("case_id", "started_at")
)
KEPT = (
    f"SELECT {ENTRY} FROM thrifty_purchase WHERE subject = ? AND settled_at >= ? "
    "AND state = 'settled' AND delivered IS NOT NULL AND case_id <> ? ORDER BY settled_at"
)
OPEN_CASES = f"SELECT {CASE} FROM thrifty_case WHERE ended_at IS NULL ORDER BY started_at LIMIT ?"
IDLE_CASES = (
    f"SELECT {CASE} FROM thrifty_case c WHERE ended_at IS NULL AND started_at < ? AND NOT EXISTS "
    "(SELECT 1 FROM thrifty_purchase p WHERE p.case_id = c.case_id "
    "AND coalesce(settled_at, intent_at) >= ?) ORDER BY started_at LIMIT ?"
)
COUNT_OPEN = "SELECT count(*) FROM thrifty_case WHERE ended_at IS NULL"
SPENT = (
    "SELECT coalesce(sum(coalesce(paid, quoted)), 0) FROM thrifty_purchase "
    "WHERE state <> 'void' AND intent_at >= ?"
)
PAGE = (
    f"SELECT {CASE} FROM thrifty_case WHERE (started_at, case_id) > (?, ?) "
    "ORDER BY started_at, case_id LIMIT ?"
)


class SqliteStore:
    """A ledger in a file.

    Parameters
    ----------
    path : str
        The file; ``sqlite:///`` before it is allowed. It is created with mode 600.
    busy : float
        Seconds to wait for another process that locks it.
    """

    def __init__(self, path: str, busy: float) -> None:
        self.path = Path(path.removeprefix("sqlite:///"))
        self.shown = f"ledger {self.path}"
        self._busy = busy
        self._writer: sqlite3.Connection | Any = None
        self._reader: sqlite3.Connection | Any = None

    def connect(self, check: str | None = None) -> None:
        """Open the file; create its tables if it is new, and check its version."""
        with self._clear_errors():
            if not self.path.exists():  # values are nobody else's business
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._writer = self._open()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                meta = self._meta(check)
                self._writer.execute("COMMIT")
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            check_ledger(self.shown, meta, check)

    def connect_reader(self) -> None:
        """Open the file once more, to read."""
        with self._clear_errors():
            self._reader = self._open()
            self._reader.execute("PRAGMA query_only = ON")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        # FULL: a commit waits for the disk, so that what was acknowledged survives a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _meta(self, check: str | None) -> dict[str, str]:
        """Return the facts about the ledger; create it if the file is empty."""
        execute = self._writer.execute
        if execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
            for statement in TABLES.split(";")[:-1]:
                execute(statement)
            facts = [("version", str(VERSION)), ("key_check", check or "")]
            self._writer.executemany("INSERT INTO thrifty_meta VALUES (?, ?)", facts)
            execute(f"PRAGMA application_id = {APPLICATION_ID}")
        elif execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            raise LedgerError(f"{self.shown}: it is another database; name a new file")
        return dict(execute("SELECT name, value FROM thrifty_meta").fetchall())

    def close(self) -> None:
        """Close the file."""
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.close()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn what SQLite and the operating system report into a `LedgerError`."""
        try:
            yield
        except OSError as error:
            raise LedgerError(f"{self.shown}: cannot be opened ({error.strerror})") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                words = (
                    f"another process has locked it for more than {self._busy:g} s; "
                    "end that process, or use PostgreSQL"
                )
            elif code.startswith("SQLITE_FULL"):
                words = "the disk is full; make room"
            else:
                words = f"{error}"
            raise LedgerError(f"{self.shown}: {words}. Nothing was bought") from error

    def begin(self) -> None:
        """Start a transaction that keeps all other writers off."""
        with self._clear_errors():
            self._writer.execute("BEGIN IMMEDIATE")

    def claim(self, headers: Collection[Header], cases: Collection[str], now: float) -> list[Entry]:
        """Return the entries of some cases; the transaction keeps other processes off."""
        with self._clear_errors():
            found = self._of_cases(self._writer, sorted(cases))
        seen = {entry.case for entry in found}
        self._insert(START, [started_row(h, now) for h in headers if h.case not in seen])
        return found

    def _of_cases(self, connection: sqlite3.Connection, cases: Sequence[str]) -> list[Entry]:
        found: list[Entry] = []
        for start in range(0, len(cases), MAX_PARAMETERS):
            some = cases[start : start + MAX_PARAMETERS]
            marks = ", ".join("?" * len(some))
            query = f"SELECT {ENTRY} FROM thrifty_purchase WHERE case_id IN ({marks})"
            found += map(read_entry, connection.execute(query, some))
        return found

    def put(self, entries: Sequence[Entry]) -> None:
        """Write entries, new or changed."""
        self._insert(PUT, [entry_row(entry) for entry in entries])

    def end(self, rows: Sequence[CaseRow]) -> None:
        """Write how cases ended."""
        self._insert(END, [case_row(row) for row in rows], REPLACED)

    def _insert(self, start: str, rows: Sequence[Sequence[Any]], end: str = "") -> None:
        """Insert many rows by one statement.

        A statement a row would give up the interpreter's lock once a row, and every time wait
        until the threads that serve let it have it back.
        """
        if not rows:
            return
        marks = f"({', '.join('?' * len(rows[0]))})"
        size = MAX_PARAMETERS // len(rows[0])
        with self._clear_errors():
            for first in range(0, len(rows), size):
                some = rows[first : first + size]
                query = start + ", ".join([marks] * len(some)) + end
                self._writer.execute(query, [cell for row in some for cell in row])

    def swap_state(self, name: str, version: int, body: str) -> bool:
        """Write a named text if its version is `version` (0: there is none), else return False."""
        with self._clear_errors():
            if version == 0:
                query = "INSERT OR IGNORE INTO thrifty_state VALUES (?, 1, ?)"
                return self._writer.execute(query, (name, body)).rowcount == 1
            query = (
                "UPDATE thrifty_state SET version = version + 1, body = ? "
                "WHERE name = ? AND version = ?"
            )
            return self._writer.execute(query, (body, name, version)).rowcount == 1

    def retain(self, values_before: float | None, cases_before: float | None) -> tuple[int, int]:
        """Erase old values, delete old cases; return how many entries and cases that were."""
        execute, n_values, n_cases = self._writer.execute, 0, 0
        with self._clear_errors():
            if values_before is not None:
                n_values = execute(
                    "UPDATE thrifty_purchase SET delivered = NULL "
                    "WHERE settled_at < ? AND delivered IS NOT NULL",
                    (values_before,),
                ).rowcount
                execute(
                    "UPDATE thrifty_case SET known = NULL, answer = NULL WHERE ended_at < ?",
                    (values_before,),
                )
            if cases_before is not None:
                old = (
                    "SELECT case_id FROM thrifty_case c WHERE started_at < ? AND NOT EXISTS (SELECT"
                    " 1 FROM thrifty_purchase p WHERE p.case_id = c.case_id AND state = 'intent')"
                )
                cases = execute(old, (cases_before,)).fetchall()
                for table in ("thrifty_purchase", "thrifty_case"):
                    self._writer.executemany(f"DELETE FROM {table} WHERE case_id = ?", cases)
                n_cases = len(cases)
        return n_values, n_cases

    def commit(self) -> None:
        """End the transaction; what it wrote survives a crash."""
        with self._clear_errors():
            self._writer.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, unless SQLite has undone it itself."""
        with self._clear_errors():
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def find(self, case: str, subject: str | None, since: float) -> CaseRecord:
        """Return what the ledger has of a case, and of values of its subject since then."""
        execute = self._reader.execute
        with self._clear_errors():
            cases = execute(f"SELECT {CASE} FROM thrifty_case WHERE case_id = ?", (case,))
            own = execute(f"SELECT {ENTRY} FROM thrifty_purchase WHERE case_id = ?", (case,))
            kept = execute(KEPT, (subject, since, case)) if subject is not None else ()
            return record(cases, own, kept)

    def open_entries(self) -> list[Entry]:
        """Return all intents that are not settled, the oldest first."""
        query = f"SELECT {ENTRY} FROM thrifty_purchase WHERE state = 'intent' ORDER BY intent_at"
        with self._clear_errors():
            return [read_entry(row) for row in self._reader.execute(query)]

    def page(self, after: tuple[float, str], size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return the next cases after a time and an id, the oldest first, with their entries."""
        return self._cases(PAGE, *after, size)

    def open_cases(self, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return cases that have not ended, the oldest first, with their entries."""
        return self._cases(OPEN_CASES, size)

    def idle_cases(self, since: float, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return open cases for which nothing has happened since then, as `open_cases` does."""
        return self._cases(IDLE_CASES, since, since, size)

    def _cases(self, query: str, *parameters: Any) -> list[tuple[CaseRow, list[Entry]]]:
        """Return the cases that a query finds, with their entries."""
        with self._clear_errors():
            rows = [read_case(row) for row in self._reader.execute(query, parameters)]
            return with_entries(rows, self._of_cases(self._reader, [r.header.case for r in rows]))

    def count_open(self) -> int:
        """Return the number of cases that have not ended."""
        with self._clear_errors():
            return int(self._reader.execute(COUNT_OPEN).fetchone()[0])

    def spent_since(self, time: float) -> float:
        """Return the sum of all charges for what was bought since then."""
        with self._clear_errors():
            return float(self._reader.execute(SPENT, (time,)).fetchone()[0])

    def state(self, name: str) -> tuple[int, str] | None:
        """Return version and body of a named text."""
        with self._clear_errors():
            query = "SELECT version, body FROM thrifty_state WHERE name = ?"
            found: tuple[int, str] | None = self._reader.execute(query, (name,)).fetchone()
            return found
