"""Host, token, rate, size and time of requests; headers of responses; nothing in the logs."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.responses import PlainTextResponse

from thrifty.web.guard import Guard, RateLimit, session_value
from thrifty.web.metrics import Metrics
from thrifty.web.settings import Settings

TOKEN = "a-token-of-the-tests"


def ask(app, path="/", headers=(), body=(b"",)) -> tuple[int, dict, bytes]:
    """Send a request to an ASGI app and return status, headers and body of the response."""
    chunks = [
        {"type": "http.request", "body": each, "more_body": k < len(body) - 1}
        for k, each in enumerate(body)
    ]
    sent = []

    async def receive():
        return chunks.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"",
             "headers": [(b"host", b"localhost"), *headers]}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(each["body"] for each in sent[1:])


def echo(reply="fine"):
    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await PlainTextResponse(reply)(scope, receive, send)

    return app


def guard(app, **settings) -> Guard:
    return Guard(app, Settings(**settings), Metrics())


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_a_local_name_is_answered(guarded, host):
    assert guarded().get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "10.0.0.4", ""])
def test_without_a_token_other_names_of_this_machine_are_refused(guarded, host):
    response = guarded().get("/healthz", headers={"host": host})
    assert response.status_code == 421


def test_with_a_token_every_name_is_answered(guarded):
    headers = {"host": "thrifty.example", "authorization": f"Bearer {TOKEN}"}
    assert guarded(token=TOKEN).get("/v1/model", headers=headers).status_code == 200


@pytest.mark.parametrize("given", [None, "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN])
def test_a_request_without_the_token_is_refused(guarded, given):
    headers = {} if given is None else {"authorization": given}
    response = guarded(token=TOKEN).get("/v1/model", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in response.text


def test_health_needs_no_token(guarded):
    assert guarded(token=TOKEN).get("/healthz").status_code == 200


def test_the_page_accepts_the_session_of_somebody_who_has_logged_in(guarded):
    client = guarded(token=TOKEN)
    client.cookies.set("thrifty_session", session_value(TOKEN))
    assert client.get("/v1/model").status_code == 200
    client.cookies.set("thrifty_session", "0" * 64)
    assert client.get("/v1/model").status_code == 401


def test_a_browser_without_a_session_is_sent_to_the_login(guarded):
    response = guarded(token=TOKEN).get(
        "/v1/model", headers={"accept": "text/html"}, follow_redirects=False
    )
    assert (response.status_code, response.headers["location"]) == (303, "/login")


def test_a_large_body_is_refused_by_its_length(guarded):
    response = guarded(max_body=100).post("/v1/next", content=b"x" * 101)
    assert response.status_code == 413


def test_a_large_body_is_refused_though_its_length_is_not_stated():
    status, _, _ = ask(guard(echo(), max_body=100), body=[b"x" * 60, b"x" * 60])
    assert status == 413


def test_a_length_that_is_no_number_is_refused():
    status, _, _ = ask(guard(echo()), headers=[(b"content-length", b"many")])
    assert status == 400


def test_a_client_that_asks_too_often_is_told_to_wait(guarded):
    client = guarded(rate=1.0)
    statuses = [client.get("/healthz").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert client.get("/healthz").headers["retry-after"] == "1"


def test_the_rate_of_one_client_does_not_limit_another():
    now = [0.0]
    limit = RateLimit(rate=1.0, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]
    assert limit.allows("b")
    now[0] = 1.0
    assert [limit.allows("a") for _ in range(2)] == [True, False]


def test_only_so_many_clients_are_remembered(monkeypatch):
    monkeypatch.setattr("thrifty.web.guard.MAX_CLIENTS", 10)
    limit = RateLimit(rate=1.0)
    for k in range(100):
        limit.allows(str(k))
    assert len(limit._clients) == 10


def test_a_slow_request_is_given_up():
    async def slow(scope, receive, send):
        await asyncio.sleep(5)

    status, _, body = ask(guard(slow, timeout=0.01))
    assert status == 504
    assert b"0.01 s" in body


def test_an_internal_error_tells_neither_client_nor_log_what_the_values_were(caplog):
    async def broken(scope, receive, send):
        raise RuntimeError("the patient's name is Mary")

    with caplog.at_level(logging.DEBUG):
        status, _, body = ask(guard(broken))
    assert status == 500
    assert "RuntimeError in" in caplog.text
    assert "test_guard.py" in caplog.text
    assert "Mary" not in caplog.text + body.decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": "http://localhost"},
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "null"},
    ],
)
def test_another_site_cannot_send_anything(client, headers):
    response = client.post("/v1/next", json={}, headers=headers)
    assert response.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin", "origin": "null"},
        {"sec-fetch-site": "none"},
        {"origin": "http://localhost"},
    ],
)
def test_this_site_and_programs_can_send_requests(client, headers):
    assert client.post("/v1/next", json={}, headers=headers).status_code == 200


def test_another_site_may_link_here(client):
    headers = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    assert client.get("/v1/model", headers=headers).status_code == 200


def test_a_browser_gets_problems_as_pages(client):
    response = client.get("/v2", headers={"accept": "text/html,*/*"})
    assert response.status_code == 404
    assert "<h1>Not Found</h1>" in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_pages_get_all_security_headers():
    _, headers, _ = ask(guard(echo()))
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"default-src 'none'" in headers[b"content-security-policy"]
    assert headers[b"cache-control"] == b"no-store"


def test_json_is_not_cached_or_guessed_at(client):
    headers = client.get("/v1/model").headers
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v2", 404), ("GET", "/v1/next", 405)]
)
def test_what_is_not_there_is_a_problem(client, method, path, status):
    response = client.request(method, path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


def test_what_is_not_http_is_passed_on():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(guard(app)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


def test_a_malformed_cookie_is_no_session(guarded):
    response = guarded(token=TOKEN).get("/v1/model", headers={"cookie": 'a="\\; thrifty_session'})
    assert response.status_code == 401
