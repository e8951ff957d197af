"""The tables of a ledger: how cases and entries are rows, in every database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRecord, CaseRow, Ending, Entry, Header, State
from thrifty.untrusted import is_count, is_number, is_text

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

# Most characters of a text: values that were delivered, as JSON.
MAX_TEXT = 2**28


def _is_text(value: Any) -> bool:
    return is_text(value, MAX_TEXT, controls=True)


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_amount(value: Any) -> bool:
    return is_number(value, low=0)


def _is_amount_or_none(value: Any) -> bool:
    return value is None or is_number(value, low=0)


def _is_state(value: Any) -> bool:
    return value in get_args(State)


def _is_number_or_none(value: Any) -> bool:
    return value is None or is_number(value)


# What a column may hold, in the order of the columns: SQLite itself does not look at types.
ENTRY_FITS: tuple[Callable[[Any], bool], ...] = (
    _is_text, _is_text, _is_text, is_count, _is_state, _is_amount, is_number, is_number,
    _is_text_or_none, _is_amount_or_none, _is_text_or_none, _is_text_or_none, _is_number_or_none,
)  # fmt: skip
CASE_FITS: tuple[Callable[[Any], bool], ...] = (
    _is_text, _is_text_or_none, _is_text, _is_text_or_none, _is_amount_or_none, _is_text_or_none,
    is_number, _is_number_or_none, _is_text_or_none, _is_text_or_none, _is_text_or_none,
    _is_text_or_none, _is_amount_or_none, _is_amount_or_none, _is_text_or_none,
)  # fmt: skip
# Of a case that has ended; its answer may have been erased.
ENDED_FITS = (
    *CASE_FITS[: len(STARTED_COLUMNS) + 1], _is_text, _is_text, _is_text_or_none, _is_text,
    _is_amount, _is_amount, _is_text,
)  # fmt: skip


def entry_row(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as a row, in the order of `ENTRY_COLUMNS`."""
    return (
        entry.case, entry.item, entry.owner, entry.epoch, entry.state, entry.quoted,
        entry.intent_at, entry.expires_at, entry.subject, entry.paid, entry.outcome, entry.values,
        entry.settled_at,
    )  # fmt: skip


def read_entry(row: Sequence[Any]) -> Entry:
    """Return the entry that a row holds.

    Raises
    ------
    LedgerError
        If the row holds what no entry has.
    """
    _check_row("a purchase", row, ENTRY_COLUMNS, ENTRY_FITS)
    return Entry(*row)


def _check_row(
    what: str, row: Sequence[Any], columns: Sequence[str], fits: Sequence[Callable[[Any], bool]]
) -> None:
    """Refuse a row with a damaged cell; the message does not quote it, as it may be a secret."""
    for column, value, fit in zip(columns, row, fits, strict=True):
        if not fit(value):
            raise LedgerError(
                f"the ledger is damaged: {what} has no usable {column} (a {type(value).__name__}); "
                "restore it from a copy"
            )


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
    """Return the case that a row holds.

    Raises
    ------
    LedgerError
        If the row holds what no case has.
    """
    n = len(STARTED_COLUMNS)
    has_ended = row[n] is not None
    _check_row("a case", row, CASE_COLUMNS, ENDED_FITS if has_ended else CASE_FITS)
    *header, started_at = row[:n]
    ended_at, *end = row[n:]
    return CaseRow(Header(*header), started_at, ended_at, Ending(*end) if has_ended else None)


def record(
    cases: Iterable[Sequence[Any]],
    entries: Iterable[Sequence[Any]],
    kept: Iterable[Sequence[Any]],
) -> CaseRecord:
    """Return all that was found about one case, its entries in the order of purchase.

    Of what is kept, the last row of an item counts.
    """
    own = sorted(map(read_entry, entries), key=lambda entry: (entry.intent_at, entry.item))
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
    text = meta.get("version")
    is_version = is_text(text, 9) and text.isascii() and text.isdecimal() and text != "0"
    if not is_version or not is_text(meta.get("key_check")):
        raise LedgerError(f"{shown}: it is damaged: it does not say its version or its key")
    version = int(str(text))
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
