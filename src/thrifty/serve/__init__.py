"""Serving: a walk meets the sources of its features. NumPy only."""

from __future__ import annotations

from thrifty.serve.interview import Interview, Question
from thrifty.serve.runtime import answer
from thrifty.serve.sources import CallSource, RowSource, Source

__all__ = ["CallSource", "Interview", "Question", "RowSource", "Source", "answer"]
