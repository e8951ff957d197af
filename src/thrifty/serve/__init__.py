"""Serving: a walk meets the sources of its features, a gate learns as it goes. NumPy only."""

from __future__ import annotations

from thrifty.serve.experts import ASK
from thrifty.serve.interview import Interview, Question
from thrifty.serve.online_gate import Decision, OnlineGate
from thrifty.serve.runtime import answer
from thrifty.serve.sources import CallSource, RowSource, Source

__all__ = [
    "ASK",
    "CallSource",
    "Decision",
    "Interview",
    "OnlineGate",
    "Question",
    "RowSource",
    "Source",
    "answer",
]
