"""What servers and sources send, and what a server of ours reads: replies, requests, ledgers."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import numpy as np

from fuzz.laws import check_text, require
from thrifty import load
from thrifty.bundle.endpoint import Endpoint
from thrifty.errors import ThriftyError
from thrifty.serve import (
    Case,
    FeatureStoreSource,
    HttpSource,
    Ledger,
    ReplaySource,
    Runtime,
    answer,
    calls,
    read_sources,
    what_if,
)
from thrifty.web import create_app
from thrifty.web.settings import Settings

__all__ = [
    "LOCAL",
    "read_declared",
    "read_http",
    "read_ledger",
    "read_page",
    "read_reply",
    "read_request",
    "read_source",
    "use_declared",
    "use_reply",
    "use_source",
]

CORPUS = Path(__file__).parents[1] / "corpus"
REMOTE = load(CORPUS / "remote.thrifty")
LOCAL = load(CORPUS / "clinic.thrifty")
ROW = {"size": 0.5, "weight": 1.0, "scan": 0.1, "town": "ulm", "grade": "low", "count": 2}
SECRET = "t0p-s3cret"
# What the corpus's ledger was made with; see tests/corpus/serving.py.
LEDGER_KEY = "a key of a ledger for the corpus"
# One event loop for all cases: to make one takes longer than most of them.
LOOP = asyncio.Runner()


# --- models behind calls -----------------------------------------------------


class _Replies(Endpoint):
    """A server that sends the contents of a file as its reply."""

    def __init__(self, text: bytes) -> None:
        super().__init__("http://models.example.com")
        self.text = text

    def predict(self, columns: Any, rows: Any) -> Any:
        """Decode the reply as `Endpoint.predict` does."""
        return json.loads(self.text)


def read_reply(path: Path) -> Any:
    """Make a predictor that gets this reply to every call."""
    result = calls._call_result(REMOTE)
    assert result is not None
    return REMOTE.connect(calls.ModelCall(REMOTE, result, _Replies(path.read_bytes())))


def use_reply(predictor: Any) -> None:
    """Predict by batch and by walk: a call that fails leaves it to the local model."""
    rows = np.array([[0.1, 0.4, 0.3], [0.9, -0.4, 0.2], [-0.2, 0.6, -0.5]])
    for k in range(len(rows)):
        proba = predictor.predict_proba(rows[k : k + 1])
        require(bool(np.isfinite(proba).all()), f"reply: probabilities {proba}")
        walk = predictor.walk()
        walk.tell(dict(enumerate(rows[k].tolist())))
        require(walk.done and np.array_equal(walk.scores, proba[0]), "reply: walk and batch differ")


# --- values of sources -------------------------------------------------------


# Objects that no file holds, but a source may return; each stands for a hostile text.
OBJECTS: dict[str, Any] = {
    "a": object(), " ": b"\xff", "true": {1}, "None": 1j, "0/nodes": np.arange(3), "nan": np.nan,
    "inf": np.inf, "|O": int, "<f8": np.array([]), "1e999": np.str_("bonn"), "-inf": 10**400,
}  # fmt: skip


class _Values:
    """A source whose values are those of a file; where it says so, other objects."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def fetch(self, features: Any) -> Any:
        """Return whatever the file has."""
        if not isinstance(self.values, dict):
            return self.values
        return {
            key: OBJECTS.get(value, value) if isinstance(value, str) else value
            for key, value in self.values.items()
        }


def read_source(path: Path) -> Any:
    """Predict with values from a source, with and without a cap."""
    try:
        source = _Values(json.loads(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        raise ThriftyError("this is no JSON, which is not Thrifty's to read") from error
    results = []
    for cap in (None, 8.0):
        results.append((cap, answer(LOCAL, source, cap=cap)))
    return results


def use_source(results: Any) -> None:
    """Check answers and receipts."""
    for cap, (label, receipt) in results:
        require(label in LOCAL.labels, f"source: the answer {label!r} is no class")
        require(cap is None or receipt.total <= cap, f"source: {receipt.total} above the cap {cap}")


# --- declared sources --------------------------------------------------------


def read_declared(path: Path) -> list[Any]:
    """Read the sources of a file; what is wrong with them tells no secret."""
    table = path.parent / "table.csv"
    if not table.exists():
        shutil.copy(CORPUS / "table.csv", table)
    try:
        return read_sources(path, {"TOKEN": SECRET})
    except ThriftyError as error:
        require(SECRET not in str(error), "declared sources: an error tells a secret")
        raise


def use_declared(sources: list[Any]) -> None:
    """Serve a model from the sources, if they deliver what it needs; nothing is fetched."""
    for source in sources:
        shown = repr(source)
        require(SECRET not in shown, "declared sources: a repr tells a secret")
        check_text(shown)
        _ = source.terms, getattr(source, "needs", ())
    try:
        repr(Runtime(LOCAL, sources, given=LOCAL.schema.names))
    except ThriftyError as error:
        require(SECRET not in str(error), "declared sources: an error tells a secret")


# --- replies of HTTP sources -------------------------------------------------


def read_head(path: Path) -> tuple[Mapping[str, Any], bytes]:
    """Return the head and the body; a head that is no HTTP is empty, as it is not ours to read."""
    head, _, body = path.read_bytes().partition(b"\n")
    try:
        plain = json.loads(head)
    except (ValueError, RecursionError):
        plain = None
    return plain if isinstance(plain, dict) else {}, body


def headers_of(head: Mapping[str, Any]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers that can be sent."""
    listed = head.get("headers")
    for pair in listed.items() if isinstance(listed, dict) else ():
        name, value = (str(each).encode("latin-1", "replace")[:4000] for each in pair)
        if name.replace(b"-", b"").isalnum():
            yield name.lower(), value.translate(None, b"\r\n\0")


def read_http(path: Path) -> Any:
    """Serve a case from a source that gets this response to every request."""
    head, body = read_head(path)
    status = head.get("status")
    is_status = type(status) is int and 200 <= status <= 599

    def respond(request: Any) -> Any:
        return httpx2.Response(
            status if is_status else 200, headers=[*headers_of(head)], content=body
        )

    names, terms = ("weight", "count"), {"price": 8.0, "sold": "together"}
    source: HttpSource
    if head.get("store"):
        references = {name: f"lab:{name}" for name in names}
        source = FeatureStoreSource(
            "lab", "http://lab.example.com", references, {"id": "{who}"}, **terms
        )
    else:
        pointers = {"weight": "/data/weight", "count": "/data/counts/0"}
        source = HttpSource("lab", "http://lab.example.com/{who}", pointers, **terms)
    others = [name for name in LOCAL.schema.names if name not in names]

    async def serve() -> Any:
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
        source._clients[asyncio.get_running_loop()] = client
        async with Runtime(LOCAL, [source, ReplaySource("rest", ROW, others)]) as runtime:
            return await runtime.serve(Case(context={"who": "ann"}, cap=29.0))

    receipt = LOOP.run(serve())
    plain = receipt.to_dict()
    json.dumps(plain, allow_nan=False)
    check_text(json.dumps(plain, ensure_ascii=False))
    require(receipt.answer in LOCAL.labels, f"http: the answer {receipt.answer!r} is no class")
    require(0 <= receipt.spent <= 29.0, f"http: {receipt.spent} was spent under a cap of 29")
    return receipt


# --- requests ----------------------------------------------------------------


NAMES = list(LOCAL.schema.names)
SETTINGS = Settings(rate=1e9, timeout=30.0)
APP = create_app(
    LOCAL,
    settings=SETTINGS,
    runtime=Runtime(LOCAL, [ReplaySource("rest", ROW, NAMES)], Ledger.temporary()),
)
# An app that asks people for everything.
PAGES = create_app(
    LOCAL, settings=SETTINGS, runtime=Runtime(LOCAL, [], Ledger.temporary(), asked=NAMES)
)
ANSWERS = urlencode({f"f{j}": "1" for j in range(len(NAMES))}).encode()
NEW_CASE = {
    "path": "/cases",
    "headers": {"accept": "text/html", "content-type": "application/x-www-form-urlencoded"},
}


def read_request(path: Path) -> str:
    """Send a request to the app."""
    _, text = send(APP, *read_head(path))
    return text


def read_page(path: Path) -> str:
    """Send a form, or ask for a page, of a case with one answer; it must be whole afterwards."""
    head, body = read_head(path)
    try:
        fields = json.loads(body)
        if isinstance(fields, dict):  # else it is sent as it is: no form
            body = urlencode(fields, doseq=True, errors="surrogatepass").encode()
    except (ValueError, RecursionError):
        pass
    where, _ = send(PAGES, NEW_CASE, b"")
    send(PAGES, {**NEW_CASE, "path": f"{where}/know"}, ANSWERS)
    target = head.get("path")
    if isinstance(target, str):
        head = {**head, "path": target.replace("/cases/{case}", where)}
    try:
        _, text = send(PAGES, head, body)
    finally:
        _, shown = send(PAGES, {**NEW_CASE, "method": "GET", "path": where}, b"")
        require("<h1" in shown, f"page: a case is shown as {shown[:200]!r}")
    check_text(text)
    return text


def send(app: Any, head: Mapping[str, Any], body: bytes) -> tuple[str, str]:
    """Send a request: it is answered, or refused by problem details and a status 4xx.

    A browser, which accepts HTML, may get a page instead, and whoever asks for one. Returns where
    it is sent to, if it is, and the text.
    """
    method, target = head.get("method"), head.get("path")
    target = target if isinstance(target, str) and target.isprintable() else "/v1/next"
    headers = {b"host": b"localhost", **dict(headers_of(head))}
    scope = {
        "type": "http", "http_version": "1.1", "scheme": "http", "query_string": b"",
        "method": method if method in ("GET", "PUT", "HEAD", "DELETE") else "POST",
        "path": target, "raw_path": target.encode("utf-8", "replace"), "root_path": "",
        "headers": list(headers.items()), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    third = len(body) // 3
    parts = [body[:third], body[third:]]
    sent: list[Any] = []

    async def receive() -> Any:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def keep(message: Any) -> None:
        sent.append(message)

    LOOP.run(app(scope, receive, keep))
    status, answered = sent[0]["status"], dict(sent[0]["headers"])
    text = b"".join(message.get("body", b"") for message in sent[1:])
    kind = answered.get(b"content-type", b"").decode()
    is_moved = status in (302, 303, 307) and answered[b"location"].startswith(b"/")
    is_known = status == 200 or is_moved or 400 <= status < 500
    require(is_known, f"request: status {status}: {text[:200]!r}")
    if status < 400:
        if kind == "application/json":
            json.loads(text, parse_constant=_refuse)
        return answered.get(b"location", b"").decode(), text.decode()
    is_for_people = b"text/html" in headers.get(b"accept", b"") or target.startswith("/cases")
    is_page = kind.startswith("text/html") and is_for_people
    is_problem = kind == "application/problem+json"
    require(is_page or is_problem, f"request: status {status} with {kind}")
    if text and is_problem:  # HEAD has no text
        problem = json.loads(text, parse_constant=_refuse)
        require(problem["status"] == status and bool(problem["title"]), f"request: {problem}")
    raise ThriftyError(text.decode())


def _refuse(name: str) -> None:
    require(False, f"request: a response holds {name}")


# --- ledgers -----------------------------------------------------------------


def read_ledger(path: Path) -> Any:
    """Do with a ledger all that a server and the command line do."""
    for more in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + more).unlink(missing_ok=True)
    key = path.with_name("ledger.key")
    if not key.exists():
        key.touch(0o600)
        key.write_text(LEDGER_KEY)
    # A purchase that is under way elsewhere, as the ledger says, is waited for as long.
    brief = {"timeout": 0.05}
    sources = [
        ReplaySource("register", ROW, ("size", "town", "grade", "scan"), max_age=1e12, **brief),
        ReplaySource("lab", ROW, ("weight", "count"), sold="together", price=8.0, **brief),
    ]
    with Ledger.open(path, key, busy=0.01, create=False, delay=0.0, patience=0.0) as ledger:
        cases = list(ledger.cases())
        check_text(repr([entry.item for entry in ledger.open_purchases()]))
        found = what_if(cases, LOCAL)
        require(math.isfinite(found.bill_before + found.bill_after), "ledger: a bill is infinite")
        receipts = []
        with Runtime(LOCAL, sources, ledger) as runtime:
            for k in range(3):
                case = Case(f"case-{k}", subject="person-0", cap=40.0)
                receipts.append(runtime.answer(case))
        ledger.recover()
        ledger.retain(1.0, 1.0)
    for receipt in receipts:
        require(receipt.answer in LOCAL.labels, f"ledger: the answer {receipt.answer!r}")
        json.dumps(receipt.to_dict(), allow_nan=False)
    return receipts
