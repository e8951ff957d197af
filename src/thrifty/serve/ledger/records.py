"""What a ledger holds: cases, and what was bought for them.

An *item* is what is charged at once: a source that sells all its features together, one feature of
a source, or the call of a model. A case buys an item at most once::

    (none) -- intent --> settled    delivered, or failed and charged
                     --> void       failed and not charged: may be bought again
                     --> assumed    nobody can tell: counts as paid

An intent is written before the purchase is made and has an owner, the process that makes it. It
expires: when its owner is gone, it is assumed to be paid, or taken over by another owner if the
source charges two requests with one key once.

What a client answers needs no intent: it is an item, too, and settled at once; see `STEP_ITEM`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "STEP_ITEM",
    "CaseRecord",
    "CaseRow",
    "Ending",
    "Entry",
    "Grants",
    "Header",
    "Intent",
    "Settlement",
    "State",
]

State = Literal["intent", "settled", "assumed", "void"]

STEP_ITEM = "client"
"""Begins the items of what a client answered: ``client/FEATURE``; alone, that it ended the case.

Their outcomes are "delivered" (charged), "known" and "declined" (both free), "stopped",
"expired" (the client has not answered in time), and "withdrawn" (void). Their `epoch` counts the
steps of the client.
"""


@dataclass(frozen=True, slots=True)
class Header:
    """What identifies a case in the ledger.

    Parameters
    ----------
    case, subject : str
        Keyed hashes of the id of the case and of its subject; the latter may be None.
    model : str
        Digest of the model.
    known : str
        The values known beforehand, as JSON pairs.
    cap : float or None
        What the case may cost at most.
    context : str
        Names of the identifiers that came with it, as a JSON list; what they stand for is not
        stored.
    """

    case: str
    subject: str | None = None
    model: str = ""
    known: str | None = field(default=None, repr=False)
    cap: float | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """The wish to buy an item for at most `quoted`.

    Parameters
    ----------
    item : str
    quoted : float
        What it may cost at most.
    lease : float
        Seconds after which the purchase is considered abandoned.
    take_over : bool
        Whether an abandoned purchase may be repeated, as the source would charge it once.
    """

    item: str
    quoted: float
    lease: float = 60.0
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a case, as the ledger has it; times are seconds since 1970."""

    case: str
    item: str
    owner: str
    epoch: int
    state: State
    quoted: float
    intent_at: float
    expires_at: float
    subject: str | None = None
    paid: float | None = None
    outcome: str | None = None
    values: str | None = field(default=None, repr=False)
    settled_at: float | None = None

    @property
    def charged(self) -> float:
        """What the item costs as far as is known: the quoted price until it is settled."""
        if self.state == "void":
            return 0.0
        return self.quoted if self.paid is None else self.paid


@dataclass(frozen=True, slots=True)
class Grants:
    """What a ledger says to some intents of one case.

    Parameters
    ----------
    entries : dict of str to Entry
        What the ledger has now, by item.
    mine : dict of str to str
        The items to buy now, and the owner to settle each with.
    over : bool
        Whether nothing was granted, as all of it together would exceed the limit.
    """

    entries: dict[str, Entry]
    mine: dict[str, str]
    over: bool = False


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a purchase ended.

    Parameters
    ----------
    case, item, owner : str
        The intent that it settles; refused if another owner has taken it over.
    state : {"settled", "void", "assumed"}
    paid : float
    outcome : str
    values : str or None
        What was delivered, as JSON pairs.
    """

    case: str
    item: str
    owner: str
    state: State
    paid: float
    outcome: str
    values: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of a case ended.

    Parameters
    ----------
    stopped, reason : str
        As on the receipt.
    answer : str or None
        As JSON; None if there is none, or it was erased.
    skipped : str
        Features that the walk went on without, as a JSON list.
    bill, spent : float
    unit : str
    """

    stopped: str
    reason: str
    answer: str | None = field(repr=False)
    skipped: str
    bill: float
    spent: float
    unit: str


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the ledger; `ending` is None until a run of it has ended."""

    header: Header
    started_at: float
    ended_at: float | None = None
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """All that a ledger has of a case.

    Parameters
    ----------
    row : CaseRow or None
        None if the case is new.
    entries : dict of str to Entry
        What was bought for it, by item.
    kept : dict of str to Entry
        The newest values that other cases of the same subject bought, by item.
    """

    row: CaseRow | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    kept: dict[str, Entry] = field(default_factory=dict)
