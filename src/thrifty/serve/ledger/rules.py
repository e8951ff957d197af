"""The rules of a ledger: who may buy what, and which settlements hold.

They are pure functions of what the ledger has. A database runs them in one transaction, in which
no other process can change the cases concerned, so that they are the same for every database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from thrifty.serve.ledger.records import Entry, Grants, Header, Intent, Settlement, State

__all__ = ["Request", "Stamp", "Step", "abandon", "grant", "settle", "stamp", "take_step"]

Stamp = frozenset[tuple[str, str, int, State]]
"""What tells two moments of a case apart: item, owner, epoch and state of all its entries."""


@dataclass(frozen=True, slots=True)
class Request:
    """Intents of one case, granted all together or not at all.

    Parameters
    ----------
    header : Header
    intents : sequence of Intent
    owner : str
        A name that no other request has.
    limit : float or None
        What the case may cost at most, all entries and intents together.
    besides : tuple of float
        What counts against the limit, too: evaluations, and calls of models in the file.
    """

    header: Header
    intents: Sequence[Intent]
    owner: str
    limit: float | None = None
    besides: tuple[float, ...] = ()


def grant(request: Request, entries: dict[str, Entry], now: float) -> tuple[Grants, list[Entry]]:
    """Decide which items the owner of a request is to buy.

    Parameters
    ----------
    request : Request
    entries : dict of str to Entry
        All entries of the case, by item.
    now : float

    Returns
    -------
    grants : Grants
    changed : list of Entry
        Entries to write.
    """
    header, owner = request.header, request.owner
    changed: dict[str, Entry] = {}
    mine: dict[str, str] = {}
    for intent in request.intents:
        old = entries.get(intent.item)
        if old is not None and old.owner == owner and old.state == "intent":
            mine[intent.item] = owner  # the same request once more, after a lost connection
            continue
        is_abandoned = old is not None and old.state == "intent" and old.expires_at <= now
        if old is not None and is_abandoned and not intent.take_over:
            changed[intent.item] = abandon(old, now)
        elif (
            old is None
            or old.state == "void"
            or is_abandoned
            or (old.state == "assumed" and intent.take_over)  # asking again costs nothing more
        ):
            changed[intent.item] = Entry(
                case=header.case,
                item=intent.item,
                owner=owner,
                epoch=0 if old is None else old.epoch + 1,
                state="intent",
                quoted=intent.quoted,
                intent_at=now,
                expires_at=now + intent.lease,
                subject=header.subject,
            )
            mine[intent.item] = owner
    after = {**entries, **changed}
    total = fsum([*(entry.charged for entry in after.values()), *request.besides])
    if mine and request.limit is not None and total > request.limit:
        kept = [entry for entry in changed.values() if entry.state == "assumed"]
        found = {**entries, **{entry.item: entry for entry in kept}}
        return Grants(_asked(request, found), {}, over=True), kept
    return Grants(_asked(request, after), mine), list(changed.values())


def settle(settlement: Settlement, old: Entry | None, now: float) -> tuple[bool, Entry | None]:
    """Decide whether a settlement holds.

    Returns
    -------
    holds : bool
        Whether the ledger has it now: False if the intent was taken over or assumed meanwhile.
    changed : Entry or None
        The entry to write; None if nothing changes.
    """
    if old is None or old.owner != settlement.owner:
        return False, None
    if old.state != "intent":  # the same settlement once more, after a lost connection
        return (old.state, old.outcome) == (settlement.state, settlement.outcome), None
    entry = replace(
        old,
        state=settlement.state,
        paid=settlement.paid,
        outcome=settlement.outcome,
        values=settlement.values,
        settled_at=now,
    )
    return True, entry


@dataclass(frozen=True, slots=True)
class Step:
    """What a client answers, or takes back.

    Parameters
    ----------
    header : Header
    seen : Stamp
        The case as it was when the entries were made.
    entries : tuple of Entry
        What becomes of it. Their owner is one that no other step has.
    """

    header: Header
    seen: Stamp
    entries: tuple[Entry, ...]


def stamp(entries: Mapping[str, Entry]) -> Stamp:
    """Return what tells this moment of a case from others."""
    return frozenset((e.item, e.owner, e.epoch, e.state) for e in entries.values())


def take_step(step: Step, entries: Mapping[str, Entry]) -> tuple[bool, list[Entry]]:
    """Decide whether a step can be taken: only if the case is as the client's side has seen it.

    Price, cap and conflicts were decided on what it has seen. If anything has changed since, it
    has to look again.

    Returns
    -------
    holds : bool
    changed : list of Entry
        Entries to write.
    """
    now = stamp(entries)
    if stamp({entry.item: entry for entry in step.entries}) <= now:
        return True, []  # the same step once more, after a lost connection
    return (True, list(step.entries)) if now == step.seen else (False, [])


def abandon(entry: Entry, now: float) -> Entry:
    """Return an intent whose owner is gone, assumed to be paid; nobody owns it any more."""
    return replace(
        entry,
        owner="",
        epoch=entry.epoch + 1,
        state="assumed",
        paid=entry.quoted,
        outcome="assumed",
        settled_at=now,
    )


def _asked(request: Request, entries: dict[str, Entry]) -> dict[str, Entry]:
    """Return the entries of the items that a request is about."""
    wanted: Iterable[str] = (intent.item for intent in request.intents)
    return {item: entries[item] for item in wanted if item in entries}
