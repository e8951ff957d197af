"""Sources of feature values.

base.py has the interface, `AsyncSource`, and what a source says about itself, `Terms`. `RowSource`
and `CallSource` (rows.py) are the small sources of `thrifty.serve.answer`.
"""

from __future__ import annotations

from thrifty.serve.sources.base import (
    AsyncSource,
    NotFound,
    Query,
    Refused,
    Terms,
    Unclear,
    Unsent,
    Unusable,
)
from thrifty.serve.sources.functions import FunctionSource, PlainSource
from thrifty.serve.sources.rows import CallSource, Feature, RowSource, Source, fetch

__all__ = [
    "AsyncSource",
    "CallSource",
    "Feature",
    "FunctionSource",
    "NotFound",
    "PlainSource",
    "Query",
    "Refused",
    "RowSource",
    "Source",
    "Terms",
    "Unclear",
    "Unsent",
    "Unusable",
    "fetch",
]
