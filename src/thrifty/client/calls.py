"""The requests of clients: how they are made, and how their responses are read.

Nothing is sent here, so that the client that waits and the one for event loops share all of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlsplit

import msgspec

from thrifty.errors import DataError, ThriftyError
from thrifty.wire import (
    CaseState,
    CaseStep,
    CaseValues,
    Model,
    NewCase,
    Next,
    OpenCases,
    Predict,
    Predictions,
    ProblemDetails,
    SkippedFeatures,
    Standing,
)

__all__ = [
    "DEFAULT_URL",
    "Call",
    "CaseOptions",
    "RequestError",
    "Values",
    "back_call",
    "case_call",
    "connection_options",
    "model_call",
    "new_case_call",
    "next_call",
    "no_answer",
    "open_cases_call",
    "predict_call",
    "skip_call",
    "stop_call",
    "tell_call",
]

DEFAULT_URL = "http://127.0.0.1:8000"
TOKEN_VARIABLE = "THRIFTY_TOKEN"

T = TypeVar("T", bound=msgspec.Struct)
Values = Mapping[Any, Any]
"""Values by feature; None and NaN are values that came back empty."""


class RequestError(ThriftyError, RuntimeError):
    """A server refused a request, failed, or gave no answer.

    Parameters
    ----------
    title : str
        What kind of problem it is.
    status : int or None
        HTTP status; None if there was no answer. Then nobody can tell whether the request was
        carried out: send it again, a case under the same id.
    detail : str
        What is wrong with this request, and the remedy.

    Examples
    --------
    >>> from thrifty.client import RequestError
    >>> print(RequestError("The values cannot be used", 422, "there is no feature 'ages'"))
    The values cannot be used (422): there is no feature 'ages'
    """

    def __init__(self, title: str, status: int | None, detail: str = "") -> None:
        number = "" if status is None else f" ({status})"
        super().__init__(f"{title}{number}" + (f": {detail}" if detail else ""))
        self.title, self.status, self.detail = title, status, detail


def no_answer(base_url: str, error: Exception) -> RequestError:
    """Return the error for a request without an answer."""
    return RequestError("No answer", None, f"{base_url}: {type(error).__name__}")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that can be sent.

    Parameters
    ----------
    method, path : str
    response : type
        Class of the body of the response.
    body : Struct, optional
    """

    method: str
    path: str
    response: type[T]
    body: msgspec.Struct | None = None

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else msgspec.json.encode(self.body, enc_hook=_plain)

    def read(self, status: int, content: bytes) -> T:
        """Return what a response says.

        Raises
        ------
        RequestError
            If it is a problem, or no response of Thrifty.
        """
        try:
            if status == 200:
                return msgspec.json.decode(content, type=self.response)
            problem = msgspec.json.decode(content, type=ProblemDetails)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise RequestError("The response is not one of Thrifty", status) from None
        raise RequestError(problem.title, status, problem.detail)


def _plain(value: Any) -> Any:
    """Return a number of NumPy, or of anything alike, as one that JSON can hold."""
    if hasattr(value, "item"):
        return value.item()
    kind = type(value).__name__
    raise DataError(f"values: a {kind} cannot be sent; pass a number, a text, a bool or None")


def _named(values: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {str(name): value for name, value in (values or {}).items()}


def connection_options(base_url: str, token: str | None) -> dict[str, Any]:
    """Return the options of an httpx2 client that reaches a server.

    Redirections are not followed, and proxies of the environment not used: a token goes to the
    address that was named, and nowhere else.

    Raises
    ------
    DataError
        If the URL is not that of a server; the message does not show it.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise DataError(f"base_url: it is not the URL of a server, such as {DEFAULT_URL}")
    token = os.environ.get(TOKEN_VARIABLE) if token is None else token
    headers = {"accept": "application/json", "content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    return {
        "base_url": base_url,
        "headers": headers,
        "follow_redirects": False,
        "trust_env": False,
    }


# --- requests


def predict_call(rows: Iterable[Values]) -> Call[Predictions]:
    """Predict rows whose values are all known."""
    return Call("POST", "/v1/predict", Predictions, Predict([_named(row) for row in rows]))


def next_call(
    known: Values | None, told: Values | None, skipped: Iterable[str | int]
) -> Call[Standing]:
    """Ask what an example should get next."""
    body = Next(_named(known), _named(told), [str(name) for name in skipped])
    return Call("POST", "/v1/next", Standing, body)


def model_call() -> Call[Model]:
    """Ask what the model reads, costs and predicts."""
    return Call("GET", "/v1/model", Model)


def open_cases_call(limit: int) -> Call[OpenCases]:
    """Ask for the cases that are open."""
    return Call("GET", f"/v1/cases?limit={limit:d}", OpenCases)


class CaseOptions(TypedDict, total=False):
    """What a new case may be given; see `Client.case`."""

    known: Values | None
    context: Values | None
    subject: str | None
    cap: float | None
    deadline: float | None
    max_age: Mapping[Any, float] | None


def new_case_call(id: str | None, **options: Unpack[CaseOptions]) -> Call[CaseState]:
    """Start a case; without an id it gets one here, so that sending it twice does no harm."""
    body = NewCase(
        id=secrets.token_hex(16) if id is None else id,
        known=_named(options.get("known")),
        context=_named(options.get("context")),
        subject=options.get("subject"),
        cap=options.get("cap"),
        deadline=options.get("deadline"),
        max_age=_named(options.get("max_age")),
    )
    unknown = options.keys() - CaseOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"a case has no option {', '.join(sorted(unknown))}")
    return Call("POST", "/v1/cases", CaseState, body)


def case_call(handle: str) -> Call[CaseState]:
    """Ask where a case stands."""
    return Call("GET", _path(handle), CaseState)


def tell_call(
    handle: str, values: Values | None, known: Values | None, context: Values | None
) -> Call[CaseState]:
    """Tell values that were bought for a case, and values that were at hand."""
    body = CaseValues(_named(values), _named(known), _named(context))
    return Call("POST", f"{_path(handle)}/values", CaseState, body)


def skip_call(
    handle: str, features: Iterable[str | int], context: Values | None
) -> Call[CaseState]:
    """Go on without some features."""
    body = SkippedFeatures([str(name) for name in features], _named(context))
    return Call("POST", f"{_path(handle)}/skip", CaseState, body)


def stop_call(handle: str) -> Call[CaseState]:
    """End a case."""
    return Call("POST", f"{_path(handle)}/stop", CaseState, CaseStep())


def back_call(handle: str) -> Call[CaseState]:
    """Take back the last step of a case."""
    return Call("POST", f"{_path(handle)}/back", CaseState, CaseStep())


def _path(handle: str) -> str:
    return f"/v1/cases/{quote(handle, safe='')}"
