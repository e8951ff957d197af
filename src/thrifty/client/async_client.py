"""The client for event loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar, Unpack

import msgspec

from thrifty.client import calls
from thrifty.client.calls import DEFAULT_URL, Call, CaseOptions, Values
from thrifty.client.led_case import LedCase
from thrifty.wire import CaseState, CaseSummary, Model, Prediction, Standing

__all__ = ["AsyncClient", "AsyncClientCase"]

T = TypeVar("T", bound=msgspec.Struct)


class AsyncClient:
    """A client of a server that `thrifty serve` runs, for event loops; see `Client`.

    Parameters
    ----------
    base_url, token, timeout, transport
        As for `Client`; the transport is an ``httpx2.AsyncBaseTransport``.

    Raises
    ------
    RequestError
        By every method, if the server refuses a request, fails or gives no answer.

    Examples
    --------
    A server in this process; in reality, ``AsyncClient("http://127.0.0.1:8000")``.

    >>> import asyncio
    >>> import httpx2
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.client import AsyncClient
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.web import create_app
    >>> constant = Forest.constant([4.5], "sum", n_features=1)
    >>> predictor = Predictor(constant, Schema.of({"age": [63.0]}), Prices([1.0]).bind(["age"]))
    >>> server = httpx2.ASGITransport(create_app(predictor, "constant"))
    >>> async def ask():
    ...     async with AsyncClient("http://localhost", transport=server) as client:
    ...         return (await client.next()).best
    >>> asyncio.run(ask())
    4.5
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        token: str | None = None,
        timeout: float = 60.0,
        transport: Any = None,
    ) -> None:
        import httpx2

        self._url = base_url
        options = calls.connection_options(base_url, token)
        self._http = httpx2.AsyncClient(timeout=timeout, transport=transport, **options)

    async def predict(self, rows: Iterable[Values]) -> list[Prediction]:
        """Predict rows, values by feature, whose values are all known."""
        return (await self._send(calls.predict_call(rows))).predictions

    async def next(
        self,
        known: Values | None = None,
        told: Values | None = None,
        skipped: Iterable[str | int] = (),
    ) -> Standing:
        """Return what one example should get next, or its answer. The server keeps nothing.

        See `Client.next`.
        """
        return await self._send(calls.next_call(known, told, skipped))

    async def model(self) -> Model:
        """Return what the model reads, what that costs, and what it predicts."""
        return await self._send(calls.model_call())

    async def case(self, id: str | None = None, **options: Unpack[CaseOptions]) -> AsyncClientCase:
        """Start a case, or go on with one, and lead it step by step.

        The server buys what its sources deliver; what it asks for, you tell.

        Parameters
        ----------
        id : str, optional
        **options
            As for `Client.case`.

        Examples
        --------
        ::

            case = await client.case(known={"age": 63}, cap=30)
            while case.asks:
                await case.tell({ask.feature: await measure(ask.feature) for ask in case.asks})
            print(case.answer, case.spent)
        """
        return AsyncClientCase(self, await self._send(calls.new_case_call(id, **options)))

    async def find_case(self, handle: str) -> AsyncClientCase:
        """Return a case by its handle, wherever it was started."""
        return AsyncClientCase(self, await self._send(calls.case_call(handle)))

    async def open_cases(self, limit: int = 100) -> list[CaseSummary]:
        """Return the cases that have not ended, the oldest first."""
        return (await self._send(calls.open_cases_call(limit))).cases

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"

    async def _send(self, call: Call[T]) -> T:
        import httpx2

        try:
            response = await self._http.request(call.method, call.path, content=call.content)
        except httpx2.HTTPError as error:
            raise calls.no_answer(self._url, error) from None
        return call.read(response.status_code, response.content)


class AsyncClientCase(LedCase):
    """A case that is led step by step; see `AsyncClient.case`."""

    def __init__(self, client: AsyncClient, state: CaseState) -> None:
        super().__init__(state)
        self._client = client

    async def tell(self, values: Values, context: Values | None = None) -> None:
        """Tell values that you have bought for the case: they count at their prices.

        `context` has identifiers for the sources, if the server was restarted meanwhile.
        """
        await self._step(calls.tell_call(self.handle, values, None, context))

    async def know(self, values: Values, context: Values | None = None) -> None:
        """Tell values that you had already; they are free."""
        await self._step(calls.tell_call(self.handle, None, values, context))

    async def skip(self, *features: str | int, context: Values | None = None) -> None:
        """Go on without some features, as they cannot be had."""
        await self._step(calls.skip_call(self.handle, features, context))

    async def stop(self) -> None:
        """End the case with its best answer so far."""
        await self._step(calls.stop_call(self.handle))

    async def back(self) -> None:
        """Take back the last step."""
        await self._step(calls.back_call(self.handle))

    async def refresh(self) -> None:
        """Ask where the case stands: others may lead it, too."""
        await self._step(calls.case_call(self.handle))

    async def _step(self, call: Call[CaseState]) -> None:
        self.state = await self._client._send(call)
