"""A person as a source: questions wait until somebody answers them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thrifty.errors import DataError
from thrifty.serve.sources.base import AsyncSource, NotFoundError, Query, Terms
from thrifty.serve.sources.rows import Feature

__all__ = ["Pending", "PersonSource"]


@dataclass(frozen=True)
class Pending:
    """A question that waits for an answer.

    Parameters
    ----------
    key : str
        To answer it by: the idempotency key of the purchase.
    features : tuple of str or int
    context : mapping
        Identifiers of the case, to show to the person.
    """

    key: str
    features: tuple[Feature, ...]
    context: Mapping[str, Any] = field(repr=False)


class PersonSource(AsyncSource):
    """Questions to a person, answered by `answer` or `decline`, from any thread.

    Parameters
    ----------
    name : str
    features : sequence of str or int
    **terms
        Other parameters of `Terms`; the timeout is an hour by default. A question is put once,
        however many ask.
    """

    def __init__(self, name: str, features: Sequence[Feature], **terms: Any) -> None:
        defaults: dict[str, Any] = {"timeout": 3600.0, "idempotent": True}
        super().__init__(Terms(name, tuple(features), **{**defaults, **terms}))
        self._lock = threading.Lock()
        self._waiting: dict[
            str, tuple[Pending, list[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]]]
        ] = {}

    @property
    def pending(self) -> list[Pending]:
        """The questions that wait, the oldest first."""
        with self._lock:
            return [question for question, _ in self._waiting.values()]

    def answer(self, key: str, values: Mapping[Feature, Any]) -> None:
        """Answer a question; None is a value that was delivered empty.

        Raises
        ------
        DataError
            If no such question waits.
        """
        self._resolve(key, dict(values), None)

    def decline(self, key: str) -> None:
        """Say that a question cannot be answered; the walk goes on without.

        Raises
        ------
        DataError
            If no such question waits.
        """
        self._resolve(key, None, NotFoundError(f"source {self.terms.name!r}: declined"))

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Put a question and wait for the answer."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        question = Pending(query.key, query.features, query.context)
        with self._lock:
            self._waiting.setdefault(query.key, (question, []))[1].append((loop, future))
        try:
            found: Mapping[Feature, Any] = await future
            return found
        finally:
            with self._lock:
                waiting = self._waiting.get(query.key)
                if waiting is not None:
                    waiting[1][:] = [pair for pair in waiting[1] if pair[1] is not future]
                    if not waiting[1]:
                        del self._waiting[query.key]

    def _resolve(self, key: str, values: Any, error: Exception | None) -> None:
        with self._lock:
            waiting = self._waiting.pop(key, None)
        if waiting is None:
            raise DataError("no such question waits; it may have been answered or given up")

        def finish(future: asyncio.Future[Any]) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(values)
            else:
                future.set_exception(error)

        for loop, future in waiting[1]:
            loop.call_soon_threadsafe(finish, future)
