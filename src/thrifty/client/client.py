"""The client that waits for each response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar, Unpack

import msgspec

from thrifty.client import calls
from thrifty.client.calls import DEFAULT_URL, Call, CaseOptions, Values
from thrifty.client.led_case import LedCase
from thrifty.wire import CaseState, CaseSummary, Model, Prediction, Standing

__all__ = ["Client", "ClientCase"]

T = TypeVar("T", bound=msgspec.Struct)


class Client:
    """A client of a server that `thrifty serve` runs. Several threads may use it at once.

    Parameters
    ----------
    base_url : str
        Where the server listens.
    token : str, optional
        The token of the server; by default that in the environment variable THRIFTY_TOKEN. It is
        never shown.
    timeout : float
        Seconds to wait for a response. A case whose server buys slowly needs more than its
        deadline.
    transport : httpx2.BaseTransport, optional
        How requests are sent, for tests and unusual networks.

    Raises
    ------
    RequestError
        By every method, if the server refuses a request, fails or gives no answer.

    Examples
    --------
    >>> from thrifty.client import Client
    >>> client = Client("http://127.0.0.1:9", token="of-our-own-server")
    >>> client
    Client('http://127.0.0.1:9')
    >>> client.model()
    Traceback (most recent call last):
    ...
    thrifty.client.calls.RequestError: No answer: http://127.0.0.1:9: ConnectError
    >>> client.close()
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
        self._http = httpx2.Client(timeout=timeout, transport=transport, **options)

    def predict(self, rows: Iterable[Values]) -> list[Prediction]:
        """Predict rows, values by feature, whose values are all known."""
        return self._send(calls.predict_call(rows)).predictions

    def next(
        self,
        known: Values | None = None,
        told: Values | None = None,
        skipped: Iterable[str | int] = (),
    ) -> Standing:
        """Return what one example should get next, or its answer. The server keeps nothing.

        Parameters
        ----------
        known : mapping, optional
            Values known beforehand; they are free.
        told : mapping, optional
            Values bought since.
        skipped : iterable
            Features that cannot be had.
        """
        return self._send(calls.next_call(known, told, skipped))

    def model(self) -> Model:
        """Return what the model reads, what that costs, and what it predicts."""
        return self._send(calls.model_call())

    def case(self, id: str | None = None, **options: Unpack[CaseOptions]) -> ClientCase:
        """Start a case, or go on with one, and lead it step by step.

        The server buys what its sources deliver; what it asks for, you tell.

        Parameters
        ----------
        id : str, optional
            Name of the case; by default a random one. Sent again, the case goes on where it was.
        known : mapping, optional
            Values known beforehand; they are free.
        context : mapping, optional
            Identifiers for the sources, such as the number of a customer.
        subject : str, optional
            Whom it is about: values bought for earlier cases are reused while they are fresh.
        cap : float, optional
            What may be spent at most.
        deadline : float, optional
            Seconds until the answer is needed.
        max_age : mapping, optional
            How old a reused value may be, in seconds, by feature.

        Examples
        --------
        ::

            case = client.case(known={"age": 63}, cap=30)
            while case.asks:
                case.tell({ask.feature: measure(ask.feature) for ask in case.asks})
            print(case.answer, case.spent)
        """
        return ClientCase(self, self._send(calls.new_case_call(id, **options)))

    def find_case(self, handle: str) -> ClientCase:
        """Return a case by its handle, wherever it was started."""
        return ClientCase(self, self._send(calls.case_call(handle)))

    def open_cases(self, limit: int = 100) -> list[CaseSummary]:
        """Return the cases that have not ended, the oldest first."""
        return self._send(calls.open_cases_call(limit)).cases

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def _send(self, call: Call[T]) -> T:
        import httpx2

        try:
            response = self._http.request(call.method, call.path, content=call.content)
        except httpx2.HTTPError as error:
            raise calls.no_answer(self._url, error) from None
        return call.read(response.status_code, response.content)


class ClientCase(LedCase):
    """A case that is led step by step; see `Client.case`."""

    def __init__(self, client: Client, state: CaseState) -> None:
        super().__init__(state)
        self._client = client

    def tell(self, values: Values, context: Values | None = None) -> None:
        """Tell values that you have bought for the case: they count at their prices.

        `context` has identifiers for the sources, if the server was restarted meanwhile.
        """
        self._step(calls.tell_call(self.handle, values, None, context))

    def know(self, values: Values, context: Values | None = None) -> None:
        """Tell values that you had already; they are free."""
        self._step(calls.tell_call(self.handle, None, values, context))

    def skip(self, *features: str | int, context: Values | None = None) -> None:
        """Go on without some features, as they cannot be had."""
        self._step(calls.skip_call(self.handle, features, context))

    def stop(self) -> None:
        """End the case with its best answer so far."""
        self._step(calls.stop_call(self.handle))

    def back(self) -> None:
        """Take back the last step."""
        self._step(calls.back_call(self.handle))

    def refresh(self) -> None:
        """Ask where the case stands: others may lead it, too."""
        self._step(calls.case_call(self.handle))

    def _step(self, call: Call[CaseState]) -> None:
        self.state = self._client._send(call)
