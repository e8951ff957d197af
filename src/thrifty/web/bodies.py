"""How the body of a request is read, and that of a response written.

A request is read strictly: duplicate keys, NaN, numbers beyond the range of a float, unknown
entries and wrong types are refused before anything is bought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from thrifty import serve
from thrifty.bundle import NamedWalk, Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.errors import DataError
from thrifty.untrusted import parse_json
from thrifty.web.problems import ProblemError
from thrifty.wire import Asked, CaseState, Question, Standing

__all__ = [
    "JsonRoute",
    "asked",
    "by_feature",
    "case_state",
    "read_body",
    "refuse_contradictions",
    "respond",
    "standing_of",
]

# No table has so many columns, and Python reads no number of thousands of digits.
MAX_DIGITS = 10

T = TypeVar("T")
V = TypeVar("V")


def case_state(state: serve.CaseState) -> CaseState:
    """Return the state of a case as it is sent."""
    asks = [
        Question(
            feature=each.feature,
            price=each.price,
            categories=None if each.labels is None else [plain_value(c) for c in each.labels],
            why=each.why,
        )
        for each in state.asks
    ]
    return CaseState(
        case=state.handle,
        done=state.done,
        asks=asks,
        left=state.left,
        **state.receipt.to_dict(),
    )


def read_body(data: bytes, kind: type[T], max_body: int) -> T:
    """Read the JSON body of a request.

    Raises
    ------
    ProblemError
        If it is not JSON (400), or not of this kind (422).
    """
    try:
        plain = parse_json(data, max_bytes=max_body, what="the body", error=DataError)
    except DataError as error:
        raise ProblemError(400, "Bad JSON", str(error)) from None
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise ProblemError(422, "Bad request", str(error)) from None


def refuse_contradictions(twice: Iterable[str]) -> None:
    """Refuse features of which a request says two things, if there are any (409)."""
    names = ", ".join(repr(name) for name in sorted(set(twice)))
    if names:
        raise ProblemError(409, "Contradiction", f"values: {names} in two ways; send each once")


class JsonRoute:
    """A route whose handler is a function from the body of a request to a class of wire.py.

    It is plain ASGI: the hot routes have no use for more, and it saves a third of their time.

    Parameters
    ----------
    handler : function of bytes
    """

    def __init__(self, handler: Callable[[bytes], msgspec.Struct]) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        message = await receive()
        data = message.get("body", b"")
        while message.get("more_body", False):
            message = await receive()
            data += message.get("body", b"")
        if message["type"] == "http.disconnect":
            return
        body = msgspec.json.encode(self._handler(data))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def respond(body: Any, status: int = 200) -> Response:
    """Return a response with a JSON body."""
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def by_feature(predictor: Predictor, values: dict[str, V]) -> dict[str | int, V]:
    """Return values by feature: in a table without names, features go by their index."""
    if predictor.schema.named:
        return values  # type: ignore[return-value]
    return {
        int(name) if name.isdecimal() and len(name) < MAX_DIGITS else name: value
        for name, value in values.items()
    }


def standing_of(walk: NamedWalk, predictor: Predictor) -> Standing:
    """Return where a walk stands."""
    best, probability, scores, spent = walk.standing
    asks = [asked(predictor, feature, walk.price(feature)) for feature in walk.asks]
    return Standing(not asks, asks, plain_value(best), probability, scores.tolist(), spent)


def asked(predictor: Predictor, feature: str | int, price: float) -> Asked:
    """Return a feature with its price and its categories."""
    column = predictor.schema.columns[predictor.schema.index(feature)]
    labels = None if column.categories is None else [plain_value(c) for c in column.categories]
    return Asked(feature, price, labels)
