"""Sources behind HTTP: one request a purchase, a JSON pointer to each value."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Mapping
from typing import Any

from thrifty.bundle.endpoint import redact, url_fault
from thrifty.errors import BundleError, DataError, raise_all
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
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.templates import NAME, fill_json, fill_url, names_in, variables
from thrifty.untrusted import parse_json

__all__ = ["ABSENT", "HttpSource", "find_pointer"]

METHODS = ("GET", "POST", "PUT")
MAX_BYTES = 1 << 20
# Statuses by which a server that works says that it has nothing for this example.
NOTHING_THERE = (404, 410, 422)
ABSENT = object()
"""What `find_pointer` returns where a document has nothing."""


class HttpSource(AsyncSource):
    """A server that returns JSON.

    Redirections are not followed, and proxies of the environment not used: what is sent goes to the
    address that was named. A connection that cannot be made was not charged; one that breaks later
    counts as paid, unless there is an idempotency header. So does a response that cannot be read.

    Parameters
    ----------
    name : str
    url : str
        ``{name}`` in it stands for an identifier in the context of the case, or for a value that
        the case has already.
    values : mapping of feature to str
        Where each value is in the response: a JSON pointer (RFC 6901), such as ``"/data/score"``.
        null is a value that was delivered empty; a pointer to nothing is one that was not.
    method : {"GET", "POST", "PUT"}
    headers : mapping of str to str, optional
    body : JSON value, optional
        Sent as JSON; ``{name}`` as in the URL.
    idempotency_header : str, optional
        Header that holds the key of the purchase. With it, the source counts as idempotent: the
        server charges two requests with the same key once.
    **terms
        Other parameters of `Terms`. The features are sold together unless ``sold="each"``.

    Examples
    --------
    >>> from thrifty.serve import HttpSource
    >>> HttpSource("bureau", "https://example.com/score/{customer}?key=secret",
    ...            {"score": "/data/score"}, price=2.0)
    HttpSource('bureau', https://example.com/score/{customer}?key=***)
    """

    def __init__(
        self,
        name: str,
        url: str,
        values: Mapping[Feature, str],
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        idempotency_header: str | None = None,
        **terms: Any,
    ) -> None:
        if idempotency_header is not None:
            terms = {"idempotent": True, **terms}
        super().__init__(Terms(name, tuple(values), **{"sold": "together", **terms}))
        problems = []
        fault = url_fault(NAME.sub("0", url))
        if fault is not None:
            problems.append("url: it is not a URL of a server, such as https://example.com/{id}")
        if method not in METHODS:
            problems.append(f"method: {method!r} is not one of {', '.join(METHODS)}")
        if body is not None and method == "GET":
            problems.append("body: a GET request has none; set method to POST")
        for feature, pointer in values.items():
            if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
                problems.append(f"values: {pointer!r} of {feature!r} is no JSON pointer: '/a/b'")
        raise_all(DataError, f"source {name!r}", problems)
        self._url, self._method, self._body = url, method, body
        self.needs = sorted({*names_in(url), *names_in(body)})
        self._pointers = dict(values)
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._key_header = idempotency_header
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = (
            weakref.WeakKeyDictionary()
        )

    async def fetch(self, query: Query) -> Mapping[Feature, Any]:
        """Send one request, and return the values that its response has."""
        found = variables(query)
        body = None if self._body is None else fill_json(self._body, found)
        document = await self.send(query, fill_url(self._url, found), body)
        values = {}
        for feature in query.features:
            value = find_pointer(document, self._pointers[feature])
            if value is not ABSENT:
                values[feature] = value
        return values

    async def send(self, query: Query, url: str, body: Any) -> Any:
        """Send a request and return the JSON document that comes back.

        Raises
        ------
        UnsentError, RefusedError, NotFoundError, UnclearError or UnusableError
        """
        import httpx2

        name = self.terms.name
        headers = dict(self._headers)
        if self._key_header is not None:
            headers[self._key_header] = query.key
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, allow_nan=False).encode()
        try:
            request = self._client().stream(self._method, url, headers=headers, content=content)
            async with request as response:
                if response.status_code in NOTHING_THERE:
                    raise NotFoundError(f"source {name!r}: status {response.status_code}")
                if not response.is_success:
                    raise RefusedError(f"source {name!r}: status {response.status_code}")
                data = bytearray()
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > MAX_BYTES:
                        raise UnusableError(f"source {name!r}: more than {MAX_BYTES} bytes")
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout,
                httpx2.UnsupportedProtocol, httpx2.LocalProtocolError,
                httpx2.InvalidURL) as error:  # fmt: skip
            raise UnsentError(f"source {name!r}: {type(error).__name__}") from None
        except httpx2.DecodingError:
            raise UnusableError(f"source {name!r}: the response cannot be decoded") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise UnclearError(f"source {name!r}: {type(error).__name__}") from None
        try:
            return parse_json(bytes(data), max_bytes=MAX_BYTES)
        except BundleError:
            raise UnusableError(f"source {name!r}: the response is no JSON") from None

    async def close(self) -> None:
        """Close the connections of the current event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> Any:
        """Return the client of the current event loop: a connection belongs to one."""
        import httpx2

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            # How long a response may take is up to whoever buys.
            timeout = httpx2.Timeout(None, connect=self.terms.timeout, pool=self.terms.timeout)
            n = self.terms.at_once
            limits = httpx2.Limits(max_connections=n, max_keepalive_connections=n)
            self._clients[loop] = httpx2.AsyncClient(
                timeout=timeout, limits=limits, follow_redirects=False, trust_env=False
            )
        return self._clients[loop]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.terms.name!r}, {redact(self._url)})"


def find_pointer(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) refers to, or `ABSENT`.

    Examples
    --------
    >>> from thrifty.serve.sources.http import ABSENT, find_pointer
    >>> find_pointer({"data": [{"score": 7}]}, "/data/0/score")
    7
    >>> find_pointer({"data": []}, "/data/0") is ABSENT
    True
    """
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and token in document:
            document = document[token]
        elif isinstance(document, list) and token.isdecimal() and int(token) < len(document):
            document = document[int(token)]
        else:
            return ABSENT
    return document
