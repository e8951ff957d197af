"""Sources of feature values.

base.py has the interface, `AsyncSource`, and what a source says about itself, `Terms`. `RowSource`
and `CallSource` (rows.py) are the small sources of `thrifty.serve.answer`.
"""

from __future__ import annotations

from thrifty.serve.sources.base import AsyncSource, Query, Refused, Terms, Unclear, Unsent
from thrifty.serve.sources.rows import CallSource, Feature, RowSource, Source, fetch

__all__ = [
    "AsyncSource",
    "CallSource",
    "Feature",
    "Query",
    "Refused",
    "RowSource",
    "Source",
    "Terms",
    "Unclear",
    "Unsent",
    "fetch",
]
