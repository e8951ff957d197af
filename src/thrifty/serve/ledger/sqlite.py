"""A ledger in SQLite: one file, one writer at a time, a write-ahead log."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Concatenate

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Entry, Header
from thrifty.serve.ledger.store import (
    CASE_COLUMNS,
    ENTRY_COLUMNS,
    VERSION,
    case_of,
    check_version,
    entry_of,
    row_of_case,
    row_of_entry,
)

__all__ = ["SqliteStore"]

# Marks the file as a ledger: "Thr$" in ASCII.
APPLICATION_ID = 0x54687224

TABLES = """
CREATE TABLE thrifty_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE thrifty_case (
    case_id TEXT PRIMARY KEY, subject TEXT, model TEXT NOT NULL, known TEXT,
    started_at REAL NOT NULL, ended_at REAL, stopped TEXT, reason TEXT, answer TEXT, skipped TEXT,
    bill REAL, spent REAL, unit TEXT
) WITHOUT ROWID;
CREATE TABLE thrifty_purchase (
    case_id TEXT NOT NULL, item TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intent', 'settled', 'assumed', 'void')),
    quoted REAL NOT NULL, intent_at REAL NOT NULL, expires_at REAL NOT NULL, subject TEXT,
    paid REAL, outcome TEXT, "values" TEXT, settled_at REAL, PRIMARY KEY (case_id, item)
) WITHOUT ROWID;
CREATE INDEX thrifty_purchase_of_subject ON thrifty_purchase (subject, item, settled_at)
    WHERE subject IS NOT NULL;
CREATE INDEX thrifty_purchase_open ON thrifty_purchase (intent_at) WHERE state = 'intent';
CREATE TABLE thrifty_state (name TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL)
    WITHOUT ROWID;
"""
