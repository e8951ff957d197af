"""Reports: a fit as a plain dict of facts, then one page that needs no network."""

from __future__ import annotations

from thrifty.report.facts import facts, facts_of
from thrifty.report.page import page, write

__all__ = ["facts", "facts_of", "page", "write"]
