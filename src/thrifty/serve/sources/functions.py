"""Sources that are functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thrifty.serve.sources.base import AsyncSource, Query, Terms, UnusableError
from thrifty.serve.sources.rows import Feature, Source
from thrifty.serve.sources.threads import in_thread

__all__ = ["FunctionSource", "PlainSource"]


class FunctionSource(AsyncSource):
    """A function that fetches values; a coroutine, or a plain one, which runs in a thread.

    Parameters
    ----------
    name : str
    function : function of a Query
        Returns a mapping of feature to value; the value itself if there is one feature.
    features : sequence of str or int
    **terms
        Other parameters of `Terms`.

    Examples
    --------
    >>> import asyncio
    >>> from thrifty.serve import FunctionSource, Query
    >>> bureau = {"ann": 720, "bob": 540}
    >>> source = FunctionSource("bureau", lambda query: bureau[query.context["who"]], ["score"],
    ...                         price=2.0, timeout=1.0)
    >>> asyncio.run(source.fetch(Query(("score",), context={"who": "ann"})))
    {'score': 720}
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Query], Any],
        features: Sequence[Feature],
        **terms: Any,
    ) -> None:
        super().__init__(Terms(name, tuple(features), **terms))
        self._function = function
        call = getattr(function, "__call__", None)  # noqa: B004 -- it may be a coroutine
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Call the function."""
        if self._is_async:
            result = await self._function(query)
        else:
            result = await in_thread(self._function, query)
        if isinstance(result, Mapping):
            return result
        if len(self.terms.features) > 1:
            raise UnusableError(f"source {self.terms.name!r}: return a mapping of feature to value")
        return {self.terms.features[0]: result}


class PlainSource(AsyncSource):
    """A source of `thrifty.serve.answer`, such as a `RowSource`, with terms.

    Parameters
    ----------
    name : str
    source : Source
        Its `fetch` runs in a thread.
    features : sequence of str or int
    **terms
        Other parameters of `Terms`.
    """

    def __init__(
        self, name: str, source: Source, features: Sequence[Feature], **terms: Any
    ) -> None:
        super().__init__(Terms(name, tuple(features), **terms))
        self._source = source

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Fetch from the source."""
        return await in_thread(self._source.fetch, query.features)
