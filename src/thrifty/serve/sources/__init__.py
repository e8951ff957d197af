"""Sources of feature values.

base.py has the interface, `AsyncSource`, what a source says about itself, `Terms`, and how it may
fail. Kinds: functions.py, http.py, feature_store.py, sql.py, replay.py, person.py, model.py.
declared.py reads them from a TOML file. values.py checks what they deliver, breaker.py leaves one
alone that keeps failing. `RowSource` and `CallSource` (rows.py) are the small sources of
`thrifty.serve.answer`.
"""

from __future__ import annotations

from thrifty.serve.sources.base import (
    AsyncSource,
    NotFoundError,
    Query,
    RefusedError,
    Terms,
    UnclearError,
    UnsentError,
    UnusableError,
)
from thrifty.serve.sources.declared import read_sources
from thrifty.serve.sources.feature_store import FeatureStoreSource
from thrifty.serve.sources.functions import FunctionSource, PlainSource
from thrifty.serve.sources.http import HttpSource
from thrifty.serve.sources.person import PersonSource
from thrifty.serve.sources.replay import ReplaySource
from thrifty.serve.sources.rows import CallSource, Feature, RowSource, Source, fetch
from thrifty.serve.sources.sql import SqlSource

__all__ = [
    "AsyncSource",
    "CallSource",
    "Feature",
    "FeatureStoreSource",
    "FunctionSource",
    "HttpSource",
    "NotFoundError",
    "PersonSource",
    "PlainSource",
    "Query",
    "RefusedError",
    "ReplaySource",
    "RowSource",
    "Source",
    "SqlSource",
    "Terms",
    "UnclearError",
    "UnsentError",
    "UnusableError",
    "fetch",
    "read_sources",
]
