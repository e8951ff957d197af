"""The tables of a ledger: how cases and entries are rows, in every database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Ending, Entry, Header

__all__ = [
    "CASE_COLUMNS",
    "ENTRY_COLUMNS",
    "STARTED_COLUMNS",
    "VERSION",
    "case_row",
    "check_ledger",
    "entry_row",
    "read_case",
    "read_entry",
    "record",
    "started_row",
    "with_entries",
]

VERSION = 1
"""Version of the tables that this version of Thrifty writes."""

ENTRY_COLUMNS = (
    "case_id", "item", "owner", "epoch", "state", "quoted", "intent_at", "expires_at", "subject",
    "paid", "outcome", "delivered", "settled_at",
)  # fmt: skip
CASE_COLUMNS = (
    "case_id", "subject", "model", "known", "cap", "context_names", "started_at", "ended_at",
    "stopped", "reason", "answer", "skipped", "bill", "spent", "unit",
)  # fmt: skip
STARTED_COLUMNS = CASE_COLUMNS[: CASE_COLUMNS.index("started_at") + 1]


def entry_row(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as a row, in the order of `ENTRY_COLUMNS`."""
    return (
        entry.case, entry.item, entry.owner, entry.epoch, entry.state, entry.quoted,
        entry.intent_at, entry.expires_at, entry.subject, entry.paid, entry.outcome, entry.values,
        entry.settled_at,
    )  # fmt: skip


def read_entry(row: Sequence[Any]) -> Entry:
    """Return the entry that a row holds."""
    return Entry(*row)


def case_row(case: CaseRow) -> tuple[Any, ...]:
    """Return a case as a row, in the order of `CASE_COLUMNS`."""
    header, ending = case.header, case.ending
    end: tuple[Any, ...] = (None,) * 7
    if ending is not None:
        end = (
            ending.stopped, ending.reason, ending.answer, ending.skipped, ending.bill,
            ending.spent, ending.unit,
        )  # fmt: skip
    return (*started_row(header, case.started_at), case.ended_at, *end)


def started_row(header: Header, now: float) -> tuple[Any, ...]:
    """Return a case that starts now as a row, in the order of `STARTED_COLUMNS`."""
    return (
        header.case, header.subject, header.model, header.known, header.cap, header.context, now
    )  # fmt: skip


def read_case(row: Sequence[Any]) -> CaseRow:
    """Return the case that a row holds."""
    *header, started_at = row[: len(STARTED_COLUMNS)]
    ended_at, *end = row[len(STARTED_COLUMNS) :]
    ending = None if ended_at is None else Ending(*end)
    return CaseRow(Header(*header), started_at, ended_at, ending)


def record(
    cases: Iterable[Sequence[Any]],
    entries: Iterable[Sequence[Any]],
    kept: Iterable[Sequence[Any]],
) -> CaseRecord:
    """Return all that was found about one case; of what is kept, the last row of an item counts."""
    own = [read_entry(row) for row in entries]
    others = [read_entry(row) for row in kept]
    return CaseRecord(
        row=next((read_case(row) for row in cases), None),
        entries={entry.item: entry for entry in own},
        kept={entry.item: entry for entry in others},
    )


def with_entries(
    rows: Sequence[CaseRow], entries: Iterable[Entry]
) -> list[tuple[CaseRow, list[Entry]]]:
    """Return cases, each with its entries in the order of purchase."""
    of_case: dict[str, list[Entry]] = {row.header.case: [] for row in rows}
    for entry in sorted(entries, key=lambda entry: (entry.intent_at, entry.item)):
        of_case[entry.case].append(entry)
    return [(row, of_case[row.header.case]) for row in rows]


def check_ledger(shown: str, meta: dict[str, str], check: str | None) -> None:
    """Refuse a ledger that a newer version wrote, or that has another key.

    Raises
    ------
    LedgerError
    """
    version = int(meta["version"])
    if version > VERSION:
        raise LedgerError(
            f"{shown}: a newer version of Thrifty wrote it (tables {version}, this version knows "
            f"{VERSION}); upgrade Thrifty. Nothing was bought"
        )
    if check is not None and meta["key_check"] != check:
        raise LedgerError(
            f"{shown}: it was created with another key; set THRIFTY_LEDGER_KEY or the key file "
            "to that one. Nothing was bought"
        )
