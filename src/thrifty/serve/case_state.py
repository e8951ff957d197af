"""Where a case stands: what it asks its client for, and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass

from thrifty.serve.interview import Question
from thrifty.serve.runtime.receipt import CaseReceipt

__all__ = ["CaseState", "CaseSummary"]


@dataclass(frozen=True)
class CaseState:
    """Where a case stands.

    Parameters
    ----------
    handle : str
        What the case goes by from now on: a keyed hash of its id, which tells nobody the id.
    done : bool
        Whether it has ended.
    asks : tuple of Question
        What the client should get now, the most useful first; empty when it is done. If it is
        not done and empty all the same, sources are being asked: `tell` no values to go on.
    receipt : CaseReceipt
        Its `answer` is the best answer so far.
    left : float or None
        What the cap still allows; None without a cap.
    """

    handle: str
    done: bool
    asks: tuple[Question, ...]
    receipt: CaseReceipt
    left: float | None


@dataclass(frozen=True)
class CaseSummary:
    """An open case in a list.

    Parameters
    ----------
    handle : str
    started_at : float
        Seconds since 1970.
    spent : float
        All charges so far, without evaluations.
    n_answers : int
        How many features the client has answered.
    """

    handle: str
    started_at: float
    spent: float
    n_answers: int
