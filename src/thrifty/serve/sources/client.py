"""The client of a case as a source: it is not asked, it answers when it comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thrifty.serve.ledger.records import STEP_ITEM
from thrifty.serve.sources.base import AsyncSource, Query, Terms, UnsentError
from thrifty.serve.sources.rows import Feature

__all__ = ["CLIENT", "ClientSource"]

CLIENT = STEP_ITEM
"""The name of this source."""


class ClientSource(AsyncSource):
    """Stands for the client, at the prices of the model.

    Parameters
    ----------
    features : sequence of str or int
        What a client may answer.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        super().__init__(Terms(CLIENT, tuple(features)))

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Refuse: a client is waited for, not asked."""
        raise UnsentError("the client answers when it comes back")
