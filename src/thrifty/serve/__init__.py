"""Serving predictions one example at a time; only NumPy is needed.

`Runtime` (runtime/) serves a `Case`: it walks, buys what the walk asks for from sources (sources/),
and records every purchase in a `Ledger` (ledger/). `Cases` (cases.py) are those that also wait for
people. `what_if` (past_cases.py) replays past cases on another model, a `Shadow` (shadow.py) those
that are served. `answer` is the small version
with one source.
`Interview` (interview.py) does the same with a person as the source. `OnlineGate`
(online_gate.py) learns while it serves which local model to trust and when to ask a remote one;
`LedgerGate` (ledger_gate.py) is one that several processes use.
`Pacer` (pacer.py) holds the mean bill at the budget while the data drift, within ceilings
(ceilings.py); `Pacing` has a runtime do so with several operating points. `connect` (calls.py)
lets a gate call an expensive model that is not part of its file.
"""

from __future__ import annotations

from thrifty.serve.calls import connect
from thrifty.serve.case_state import CaseState, CaseSummary
from thrifty.serve.cases import CaseExpiredError, Cases, TooManyCasesError
from thrifty.serve.experts import ASK
from thrifty.serve.interview import Interview, Question
from thrifty.serve.ledger import Ledger
from thrifty.serve.ledger_gate import LedgerGate
from thrifty.serve.online_gate import Decision, OnlineGate
from thrifty.serve.pacer import OperatingPoint, Pacer, Ticket
from thrifty.serve.past_cases import ReplayedCase, WhatIf, what_if
from thrifty.serve.runtime import Case, CaseReceipt, Charge, Pacing, Runtime, answer
from thrifty.serve.shadow import Shadow
from thrifty.serve.sources import (
    AsyncSource,
    CallSource,
    FeatureStoreSource,
    FunctionSource,
    HttpSource,
    NotFoundError,
    PersonSource,
    PlainSource,
    Query,
    RefusedError,
    ReplaySource,
    RowSource,
    Source,
    SqlSource,
    Terms,
    UnclearError,
    UnsentError,
    UnusableError,
    read_sources,
)

__all__ = [
    "ASK",
    "AsyncSource",
    "CallSource",
    "Case",
    "CaseExpiredError",
    "CaseReceipt",
    "CaseState",
    "CaseSummary",
    "Cases",
    "Charge",
    "Decision",
    "FeatureStoreSource",
    "FunctionSource",
    "HttpSource",
    "Interview",
    "Ledger",
    "LedgerGate",
    "NotFoundError",
    "OnlineGate",
    "OperatingPoint",
    "Pacer",
    "Pacing",
    "PersonSource",
    "PlainSource",
    "Query",
    "Question",
    "RefusedError",
    "ReplaySource",
    "ReplayedCase",
    "RowSource",
    "Runtime",
    "Shadow",
    "Source",
    "SqlSource",
    "Terms",
    "Ticket",
    "TooManyCasesError",
    "UnclearError",
    "UnsentError",
    "UnusableError",
    "WhatIf",
    "answer",
    "connect",
    "read_sources",
    "what_if",
]
