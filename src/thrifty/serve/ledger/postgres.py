"""A ledger in PostgreSQL: many processes on many machines, many rows a statement."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from thrifty.bundle.endpoint import redact
from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Entry, Header
from thrifty.serve.ledger.store import ConnectionLostError
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

__all__ = ["PostgresStore"]

TABLES = """
CREATE TABLE thrifty_meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE thrifty_case (
    case_id text PRIMARY KEY, subject text, model text NOT NULL, known text, cap double precision,
    context_names text, started_at double precision NOT NULL, ended_at double precision,
    stopped text, reason text, answer text, skipped text, bill double precision,
    spent double precision, unit text
);
CREATE TABLE thrifty_purchase (
    case_id text NOT NULL, item text NOT NULL, owner text NOT NULL, epoch integer NOT NULL,
    state text NOT NULL CHECK (state IN ('intent', 'settled', 'assumed', 'void')),
    quoted double precision NOT NULL, intent_at double precision NOT NULL,
    expires_at double precision NOT NULL, subject text, paid double precision, outcome text,
    delivered text, settled_at double precision, PRIMARY KEY (case_id, item)
);
CREATE INDEX thrifty_purchase_of_subject ON thrifty_purchase (subject, settled_at)
    WHERE subject IS NOT NULL;
CREATE INDEX thrifty_purchase_open ON thrifty_purchase (intent_at) WHERE state = 'intent';
CREATE INDEX thrifty_purchase_begun ON thrifty_purchase (intent_at);
CREATE INDEX thrifty_case_started ON thrifty_case (started_at);
CREATE INDEX thrifty_case_open ON thrifty_case (started_at) WHERE ended_at IS NULL;
CREATE TABLE thrifty_state (name text PRIMARY KEY, version integer NOT NULL, body text NOT NULL);
"""
# Whoever creates the tables holds this lock: two processes may start at once.
CREATION_LOCK = 0x54687224
ENTRY, CASE = ", ".join(ENTRY_COLUMNS), ", ".join(CASE_COLUMNS)
FLOATS = {"quoted", "intent_at", "expires_at", "paid", "settled_at", "started_at", "ended_at",
          "bill", "spent", "cap"}  # fmt: skip


def _rows_of(columns: Sequence[str]) -> str:
    """Return SQL for a table whose columns come as arrays."""
    kinds = ["float8" if c in FLOATS else "int" if c == "epoch" else "text" for c in columns]
    arrays = (f"CAST(:{c} AS {k}[])" for c, k in zip(columns, kinds, strict=True))
    return f"SELECT * FROM unnest({', '.join(arrays)})"


def _replaced(columns: Sequence[str], *fixed: str) -> str:
    return ", ".join(f"{c} = excluded.{c}" for c in columns if c not in fixed)


INSERT_CASES = (
    f"INSERT INTO thrifty_case ({', '.join(STARTED_COLUMNS)}) {_rows_of(STARTED_COLUMNS)} "
    "ON CONFLICT DO NOTHING"
)
LOCK_CASES = (
    "SELECT case_id FROM thrifty_case WHERE case_id = ANY(CAST(:cases AS text[])) "
    "ORDER BY case_id FOR UPDATE"
)
ENTRIES = f"SELECT {ENTRY} FROM thrifty_purchase WHERE case_id = ANY(CAST(:cases AS text[]))"
PUT = (
    f"INSERT INTO thrifty_purchase ({ENTRY}) {_rows_of(ENTRY_COLUMNS)} "
    f"ON CONFLICT (case_id, item) DO UPDATE SET {_replaced(ENTRY_COLUMNS, 'case_id', 'item')}"
)
END = (
    f"INSERT INTO thrifty_case ({CASE}) {_rows_of(CASE_COLUMNS)} "
    f"ON CONFLICT (case_id) DO UPDATE SET {_replaced(CASE_COLUMNS, 'case_id', 'started_at')}"
)
KEPT = (
    f"SELECT {ENTRY} FROM thrifty_purchase WHERE subject = :subject AND settled_at >= :since "
    "AND state = 'settled' AND delivered IS NOT NULL AND case_id <> :case ORDER BY settled_at"
)
PAGE = (
    f"SELECT {CASE} FROM thrifty_case WHERE (started_at, case_id) > (:started, :case) "
    "ORDER BY started_at, case_id LIMIT :size"
)
OPEN_CASES = (
    f"SELECT {CASE} FROM thrifty_case WHERE ended_at IS NULL ORDER BY started_at LIMIT :size"
)
IDLE_CASES = f"""
SELECT {CASE} FROM thrifty_case c WHERE ended_at IS NULL AND started_at < :since AND NOT EXISTS
(SELECT 1 FROM thrifty_purchase p WHERE p.case_id = c.case_id
AND coalesce(settled_at, intent_at) >= :since) ORDER BY started_at LIMIT :size"""
COUNT_OPEN = "SELECT count(*) FROM thrifty_case WHERE ended_at IS NULL"
SPENT = (
    "SELECT coalesce(sum(coalesce(paid, quoted)), 0) FROM thrifty_purchase "
    "WHERE state <> 'void' AND intent_at >= :since"
)
OPEN = f"SELECT {ENTRY} FROM thrifty_purchase WHERE state = 'intent' ORDER BY intent_at"
OLD = """
SELECT case_id FROM thrifty_case c WHERE started_at < :before AND NOT EXISTS
(SELECT 1 FROM thrifty_purchase p WHERE p.case_id = c.case_id AND state = 'intent')"""

# What the server reports (SQLSTATE) when it works again after connecting once more: connection
# exceptions, a deadlock, and a server that stops, starts or has crashed.
TRANSIENT = ("08", "40P01", "57P")
LOCKED, FULL, NO_ROOM = "55P03", "53100", "53"


class PostgresStore:
    """A ledger in a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``postgresql://user:password@host:port/database``; for a local socket
        ``postgresql://user@/database?host=/run/postgresql``.
    busy : float
        Seconds to wait for another process that locks a row.
    """

    def __init__(self, url: str, busy: float) -> None:
        try:
            from pg8000 import native
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs pg8000: pip install 'thrifty[serve]'"
            ) from None
        self.shown = f"ledger {redact(url)}"
        self._native, self._busy = native, busy
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:
            raise LedgerError(f"{self.shown}: it is not a URL of a database") from None
        options = parse_qs(parts.query)
        folder = options.get("host", [None])[0]
        self._address: dict[str, Any] = {
            "user": unquote(parts.username or "postgres"),
            "password": unquote(parts.password) if parts.password else None,
            "database": parts.path.lstrip("/") or None,
            "timeout": busy + 25.0,
        }
        if folder:
            self._address["unix_sock"] = f"{folder}/.s.PGSQL.{port}"
        else:
            self._address |= {"host": parts.hostname or "localhost", "port": port}
            if options.get("sslmode", [""])[0] in ("require", "verify-ca", "verify-full"):
                self._address["ssl_context"] = True
        self._writer: Any = None
        self._reader: Any = None
        self._prepared: dict[str, Any] = {}

    def connect(self, check: str | None = None) -> None:
        """Connect to write; create the tables if there are none, and check their version."""
        self._drop(self._writer)
        with self._clear_errors():
            self._writer = self._open()
            self._prepared = {}
            run = self._writer.run
            run("BEGIN")
            run(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")
            if run("SELECT to_regclass('thrifty_meta') IS NULL") == [[True]]:
                for statement in TABLES.split(";")[:-1]:
                    run(statement)
                for name, value in (("version", str(VERSION)), ("key_check", check or "")):
                    run("INSERT INTO thrifty_meta VALUES (:name, :value)", name=name, value=value)
            meta = dict(run("SELECT name, value FROM thrifty_meta"))
            run("COMMIT")
        check_ledger(self.shown, meta, check)

    def connect_reader(self) -> None:
        """Connect to read."""
        self._drop(self._reader)
        with self._clear_errors():
            self._reader = self._open()

    def _open(self) -> Any:
        connection = self._native.Connection(**self._address)
        connection.run(f"SET lock_timeout = {int(self._busy * 1000)}")
        return connection

    def _drop(self, connection: Any) -> None:
        if connection is not None:
            with contextlib.suppress(Exception):  # it may be lost already
                connection.close()

    def close(self) -> None:
        """Close the connections."""
        self._drop(self._writer)
        self._drop(self._reader)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn what the driver reports into a `LedgerError`, or `ConnectionLostError`."""
        try:
            yield
        except self._native.DatabaseError as error:
            facts = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
            code, text = facts.get("C", ""), facts.get("M", "")
            if code.startswith(TRANSIENT):
                raise ConnectionLostError(f"{self.shown}: {text}. Nothing was bought") from error
            words = text
            if code == LOCKED:
                words = f"another process has locked it for more than {self._busy:g} s"
            elif code == FULL:
                words = "the disk is full; make room"
            raise LedgerError(f"{self.shown}: {words}. Nothing was bought") from error
        except (self._native.InterfaceError, OSError, struct.error, AttributeError) as error:
            # What the driver raises when the other side is gone; an attribute, as it has no socket.
            raise ConnectionLostError(
                f"{self.shown}: no connection ({type(error).__name__}). Nothing was bought"
            ) from error

    def _run(self, query: str, **parameters: Any) -> Any:
        """Run a query that is prepared once a connection."""
        statement = self._prepared.get(query)
        if statement is None:
            statement = self._prepared[query] = self._writer.prepare(query)
        return statement.run(**parameters)

    def begin(self) -> None:
        """Start a transaction."""
        with self._clear_errors():
            self._run("BEGIN")

    def claim(self, headers: Collection[Header], cases: Collection[str], now: float) -> list[Entry]:
        """Lock the rows of some cases, in one order everywhere, and return their entries."""
        with self._clear_errors():
            locked = {row[0] for row in self._run(LOCK_CASES, cases=sorted(cases))}
            new = sorted((h for h in headers if h.case not in locked), key=lambda h: h.case)
            if new:
                rows = [started_row(header, now) for header in new]
                self._run(INSERT_CASES, **_columns(STARTED_COLUMNS, rows))
                # Another process may have inserted them at the same time.
                self._run(LOCK_CASES, cases=[h.case for h in new])
            return [read_entry(row) for row in self._run(ENTRIES, cases=sorted(cases))]

    def put(self, entries: Sequence[Entry]) -> None:
        """Write entries, new or changed."""
        with self._clear_errors():
            self._run(PUT, **_columns(ENTRY_COLUMNS, [entry_row(entry) for entry in entries]))

    def end(self, rows: Sequence[CaseRow]) -> None:
        """Write how cases ended."""
        with self._clear_errors():
            self._run(END, **_columns(CASE_COLUMNS, [case_row(row) for row in rows]))

    def swap_state(self, name: str, version: int, body: str) -> bool:
        """Write a named text if its version is `version` (0: there is none), else return False."""
        with self._clear_errors():
            if version == 0:
                query = (
                    "INSERT INTO thrifty_state VALUES (:name, 1, :body) ON CONFLICT DO NOTHING "
                    "RETURNING version"
                )
                return bool(self._run(query, name=name, body=body))
            query = (
                "UPDATE thrifty_state SET version = version + 1, body = :body "
                "WHERE name = :name AND version = :version RETURNING version"
            )
            return bool(self._run(query, name=name, version=version, body=body))

    def retain(self, values_before: float | None, cases_before: float | None) -> tuple[int, int]:
        """Erase old values, delete old cases; return how many entries and cases that were."""
        n_values = n_cases = 0
        with self._clear_errors():
            if values_before is not None:
                erased = self._run(
                    "UPDATE thrifty_purchase SET delivered = NULL WHERE settled_at < :before "
                    "AND delivered IS NOT NULL RETURNING 1",
                    before=values_before,
                )
                self._run(
                    "UPDATE thrifty_case SET known = NULL, answer = NULL WHERE ended_at < :before",
                    before=values_before,
                )
                n_values = len(erased)
            if cases_before is not None:
                cases = [row[0] for row in self._run(OLD, before=cases_before)]
                for table in ("thrifty_purchase", "thrifty_case"):
                    query = f"DELETE FROM {table} WHERE case_id = ANY(CAST(:cases AS text[]))"
                    self._run(query, cases=cases)
                n_cases = len(cases)
        return n_values, n_cases

    def commit(self) -> None:
        """End the transaction; what it wrote survives a crash."""
        with self._clear_errors():
            self._run("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if there is still a connection."""
        with contextlib.suppress(ConnectionLostError), self._clear_errors():
            self._run("ROLLBACK")

    def find(self, case: str, subject: str | None, since: float) -> CaseRecord:
        """Return what the ledger has of a case, and of values of its subject since then."""
        with self._clear_errors():
            run = self._reader.run
            cases = run(f"SELECT {CASE} FROM thrifty_case WHERE case_id = :case", case=case)
            own = run(ENTRIES, cases=[case])
            kept = []
            if subject is not None:
                kept = run(KEPT, subject=subject, since=since, case=case)
            return record(cases, own, kept)

    def open_entries(self) -> list[Entry]:
        """Return all intents that are not settled, the oldest first."""
        with self._clear_errors():
            return [read_entry(row) for row in self._reader.run(OPEN)]

    def page(self, after: tuple[float, str], size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return the next cases after a time and an id, the oldest first, with their entries."""
        return self._cases(PAGE, started=after[0], case=after[1], size=size)

    def open_cases(self, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return cases that have not ended, the oldest first, with their entries."""
        return self._cases(OPEN_CASES, size=size)

    def idle_cases(self, since: float, size: int) -> list[tuple[CaseRow, list[Entry]]]:
        """Return open cases for which nothing has happened since then, as `open_cases` does."""
        return self._cases(IDLE_CASES, since=since, size=size)

    def _cases(self, query: str, **parameters: Any) -> list[tuple[CaseRow, list[Entry]]]:
        """Return the cases that a query finds, with their entries."""
        with self._clear_errors():
            rows = [read_case(row) for row in self._reader.run(query, **parameters)]
            entries = self._reader.run(ENTRIES, cases=[row.header.case for row in rows])
            return with_entries(rows, map(read_entry, entries))

    def count_open(self) -> int:
        """Return the number of cases that have not ended."""
        with self._clear_errors():
            return int(self._reader.run(COUNT_OPEN)[0][0])

    def spent_since(self, time: float) -> float:
        """Return the sum of all charges for what was bought since then."""
        with self._clear_errors():
            return float(self._reader.run(SPENT, since=time)[0][0])

    def state(self, name: str) -> tuple[int, str] | None:
        """Return version and body of a named text."""
        with self._clear_errors():
            found = self._reader.run(
                "SELECT version, body FROM thrifty_state WHERE name = :name", name=name
            )
            return (found[0][0], found[0][1]) if found else None


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows as one list a column."""
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
