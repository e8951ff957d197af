"""Serving predictions one example at a time; only NumPy is needed.

`answer` (runtime.py) walks an example and fetches what it asks for from a `Source` (sources.py).
`Interview` (interview.py) does the same with a person as the source. `OnlineGate`
(online_gate.py) learns while it serves which local model to trust and when to ask a remote one.
`Pacer` (pacer.py) holds the mean bill at the budget while the data drift. `connect` (calls.py)
lets a gate call an expensive model that is not part of its file.
"""

from __future__ import annotations

from thrifty.serve.calls import connect
from thrifty.serve.experts import ASK
from thrifty.serve.interview import Interview, Question
from thrifty.serve.online_gate import Decision, OnlineGate
from thrifty.serve.pacer import OperatingPoint, Pacer, Ticket
from thrifty.serve.runtime import answer
from thrifty.serve.sources import CallSource, RowSource, Source

__all__ = [
    "ASK",
    "CallSource",
    "Decision",
    "Interview",
    "OnlineGate",
    "OperatingPoint",
    "Pacer",
    "Question",
    "RowSource",
    "Source",
    "Ticket",
    "answer",
    "connect",
]
