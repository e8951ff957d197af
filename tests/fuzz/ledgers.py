"""Ledgers as documents: the statements that make their tables, and the rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import Any

from fuzz.documents import damaged
from fuzz.values import without_raw

__all__ = ["LedgerFile"]


class LedgerFile:
    """A database of SQLite; the seeds are SQL."""

    suffix = ".db"

    def split(self, data: bytes) -> Any:
        """Return what a script makes: tables without constraints, so that rows may hold all."""
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(data.decode())
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            made = connection.execute(
                "SELECT name, type, sql FROM sqlite_schema ORDER BY type = 'index'"
            )
            named = [row for row in made if row[2] is not None]
            rows = {
                name: [list(row) for row in connection.execute(f'SELECT * FROM "{name}"')]
                for name, kind, _ in named
                if kind == "table"
            }
        tables = {name: sql.replace("NOT NULL", "") for name, _, sql in named}
        return {"application": application, "tables": tables, "rows": rows}

    def join(self, document: Any) -> bytes:
        """Return a file, without the statements that SQLite refuses and rows that fit no table."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            with suppress(sqlite3.Error, UnicodeError, ValueError):
                connection.execute(f"PRAGMA application_id = {document.get('application')}")
            connection.execute("PRAGMA ignore_check_constraints = ON")
            tables, rows = document.get("tables"), document.get("rows")
            for sql in tables.values() if isinstance(tables, dict) else ():
                with suppress(sqlite3.Error, UnicodeError, ValueError):
                    connection.execute(without_raw(str(sql)))
            for name, table in rows.items() if isinstance(rows, dict) else ():
                for row in table if isinstance(table, list) else [table]:
                    _insert(connection, str(name), row if isinstance(row, list) else [row])
            try:
                data = connection.serialize()
            except sqlite3.Error:  # a database without anything
                data = b""
            return damaged(data, document.get("damage"))


def _insert(connection: sqlite3.Connection, table: str, row: list[Any]) -> None:
    """Insert a row, if the table takes it."""
    cells = [_cell(value) for value in row]
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, str) else "?" for value in row)
    with suppress(sqlite3.Error, UnicodeError, ValueError):
        connection.execute(f'INSERT INTO "{table}" VALUES ({marks})', cells)


def _cell(value: Any) -> Any:
    """Return a plain value as SQLite stores it; text as bytes, which need not be valid."""
    if isinstance(value, str):
        return without_raw(value).encode("utf-8", "surrogatepass")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)[:400] if abs(value) < 10**400 else "1e400"
    return (
        value
        if isinstance(value, (int, float, type(None)))
        else str(value).encode("utf-8", "replace")
    )
