"""What every request passes first: host, origin, rate, size, token and time; what responses get.

It is plain ASGI, so that it costs the hot routes next to nothing. Nothing about the values or ids
of a request is logged here or anywhere else.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.errors import ThriftyError
from thrifty.web.metrics import Metrics
from thrifty.web.problems import ProblemError, problem_of, problem_response
from thrifty.web.render import problem_page
from thrifty.web.settings import Settings, is_loopback

__all__ = ["SESSION_COOKIE", "Guard", "RateLimit", "is_local", "session_value"]

log = logging.getLogger("thrifty.web")

# Whoever supervises the server may ask these without a token; they tell nothing.
OPEN_PATHS = frozenset(["/healthz", "/readyz", "/login", "/static/page.css"])
SESSION_COOKIE = "thrifty_session"
# Every response gets this one; pages, which a browser interprets, get more.
HEADERS = ((b"x-content-type-options", b"nosniff"),)
NOT_KEPT = (b"cache-control", b"no-store")
PAGE_HEADERS = (
    *HEADERS,
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
        b"base-uri 'none'; frame-ancestors 'none'",
    ),
    # Another site learns nothing; this one needs to see where a form comes from.
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
# Clients whose rates are remembered; the one that was quiet the longest is forgotten first.
MAX_CLIENTS = 10_000
BURST_SECONDS = 2.0
# Requests that change nothing; a browser may be sent here by any site.
SAFE_METHODS = frozenset(["GET", "HEAD", "OPTIONS"])


def session_value(token: str) -> str:
    """Return the cookie of somebody who has entered the token on the page."""
    return hmac.new(token.encode(), b"thrifty page session", hashlib.sha256).hexdigest()


class RateLimit:
    """A token bucket per client.

    Parameters
    ----------
    rate : float
        Requests per second.
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> from thrifty.web.guard import RateLimit
    >>> limit = RateLimit(rate=1.0, clock=lambda: 0.0)
    >>> [limit.allows("10.0.0.4") for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._burst = max(rate * BURST_SECONDS, 1.0)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, when

    def allows(self, client: str) -> bool:
        """Return whether a request of this client is let through now."""
        now = self._clock()
        left, before = self._clients.pop(client, (self._burst, now))
        left = min(left + (now - before) * self._rate, self._burst)
        self._clients[client] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return left >= 1.0


class Guard:
    """The outermost layer of the app.

    Parameters
    ----------
    app : ASGI app
    settings : Settings
    metrics : Metrics
        Counts requests by route and status.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._limit = RateLimit(settings.rate)
        self._header = None if settings.token is None else f"Bearer {settings.token}".encode()
        self._session = None if settings.token is None else session_value(settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500
        scope["app"] = self  # has the router raise an error where it finds no route

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message.get("headers", [])
                is_json = (b"content-type", b"application/json") in headers
                added = HEADERS if is_json else PAGE_HEADERS
                message["headers"] = [*headers, *added]
                if is_json or all(name != b"cache-control" for name, _ in headers):
                    message["headers"].append(NOT_KEPT)
            await send(message)

        try:
            self._admit(scope)
            limited = _limited(receive, self._settings.max_body)
            async with asyncio.timeout(self._settings.timeout):
                await self._app(scope, limited, send_guarded)
        except ProblemError as problem:
            await _respond(problem, scope)(scope, receive, send_guarded)
        except HTTPException as error:
            unrouted = ProblemError(error.status_code, error.detail, headers=error.headers)
            await _respond(unrouted, scope)(scope, receive, send_guarded)
        except ThriftyError as error:
            await _respond(problem_of(error), scope)(scope, receive, send_guarded)
        except TimeoutError:
            late = ProblemError(504, "Too slow", f"no answer within {self._settings.timeout:g} s")
            await _respond(late, scope)(scope, receive, send_guarded)
        except Exception as error:
            # The message may quote a value; the type and the place are enough to find the cause.
            log.error("%s in %s", type(error).__name__, _place(error))
            failed = ProblemError(500, "Thrifty failed", f"internal error ({type(error).__name__})")
            await _respond(failed, scope)(scope, receive, send_guarded)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count_request(route, status, time.perf_counter() - start)

    def _admit(self, scope: Scope) -> None:
        """Refuse a request that has no business here."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if self._header is None and not is_local(host):
            # A page of another site could reach a local server under a name of its own.
            raise ProblemError(421, "Wrong host", "this server answers only to local names")
        if scope["method"] not in SAFE_METHODS and _is_cross_site(headers, host):
            raise ProblemError(403, "Cross-site request", "another site may not send this")
        client = scope["client"][0] if scope.get("client") else "unknown"
        if not self._limit.allows(client):
            raise ProblemError(429, "Too many requests", "slow down", {"retry-after": "1"})
        try:
            size = int(headers.get(b"content-length", b"0"))
        except ValueError:
            raise ProblemError(400, "Bad request", "content-length is not a number") from None
        if size > self._settings.max_body:
            raise _too_large(self._settings.max_body)
        if self._header is None or scope["path"] in OPEN_PATHS:
            return
        given = headers.get(b"authorization", b"")
        if hmac.compare_digest(given, self._header) or self._has_session(headers):
            return
        if b"text/html" in headers.get(b"accept", b""):
            raise ProblemError(303, "Log in", headers={"location": "/login"})
        raise ProblemError(
            401,
            "Token needed",
            "send the header Authorization: Bearer TOKEN",
            {"www-authenticate": "Bearer"},
        )

    def _has_session(self, headers: dict[bytes, bytes]) -> bool:
        try:
            cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
            cookie = cookies.get(SESSION_COOKIE)
        except CookieError:
            return False
        value = "" if cookie is None else cookie.value
        return hmac.compare_digest(value.encode(), (self._session or "").encode())


def _limited(receive: Receive, max_body: int) -> Receive:
    """Return `receive` that refuses a body beyond the limit, whatever its headers say."""
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > max_body:
            raise _too_large(max_body)
        return message

    return limited


def _too_large(max_body: int) -> ProblemError:
    return ProblemError(413, "Too large", f"a request has at most {max_body} bytes")


def _respond(problem: ProblemError, scope: Scope) -> Response:
    """Return the response for a problem: a page for a browser, JSON for a program."""
    if b"text/html" in dict(scope["headers"]).get(b"accept", b""):
        return problem_page(problem)
    return problem_response(problem)


def _is_cross_site(headers: dict[bytes, bytes], host: str) -> bool:
    """Return whether a browser sends this for a page of another site.

    Every present browser says where a request comes from; programs say nothing. An address that is
    neither HTTPS nor local gets the Origin header only.
    """
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and origin.decode("latin-1").partition("://")[2] != host


@lru_cache(maxsize=64)
def is_local(host: str) -> bool:
    """Return whether a Host header, with or without a port, names this machine."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return is_loopback(name)


def _place(error: BaseException) -> str:
    """Return the file and line where an error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
