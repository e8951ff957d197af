"""A server by its URL: secrets are used and never shown, and responses are read strictly."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError

import numpy as np
import pytest

from thrifty import Call
from thrifty.bundle.endpoint import TOKEN_VARIABLE, Endpoint, read_outputs, redact
from thrifty.errors import DataError

SECRET = "http://user:s3cret@localhost:8000/score?token=t0ken&model=2"


@pytest.fixture
def server():
    """A server that records requests; /away redirects, and the rest echoes the number of rows."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, self.headers.get("Authorization"), body))
            self.send_response(307 if self.path == "/away" else 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(json.dumps({"labels": ["no"] * len(body["rows"])}).encode())

        def log_message(self, *_):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{http.server_port}", requests
    http.shutdown()
    http.server_close()


def test_secrets_are_not_shown() -> None:
    endpoint, call = Endpoint(SECRET), Call("doctor", 1.0, fn=SECRET)
    shown = f"{endpoint!r} {call!r} {endpoint.public_url} {redact(SECRET)}"
    for secret in ("user", "s3cret", "t0ken"):
        assert secret not in shown
    assert endpoint.public_url == "http://localhost:8000/score"
    assert redact("http://a/?opaque") == "http://a/?***"
    assert redact("http://[broken") == "***"


@pytest.mark.parametrize(
    "url",
    ["ftp://user:s3cret@host/", "http://user:s3cret@host:port/?t=s3cret", "http://", "http://[x",
     "http://user:s3cret@host/a b?t=s3cret", "http:///path?t=s3cret", "user:s3cret"],
)  # fmt: skip
def test_what_is_not_a_url_is_refused_without_its_secrets(url) -> None:
    for make in (Endpoint, lambda url: Call("x", fn=url)):
        with pytest.raises(DataError) as caught:
            make(url)
        if url != "user:s3cret":  # has no part that a URL would keep secret
            assert "s3cret" not in str(caught.value)


def test_credentials_reach_the_server(server, monkeypatch) -> None:
    host, requests = server
    monkeypatch.setenv(TOKEN_VARIABLE, "t0ken")
    Endpoint(f"http://user:s3%40@{host}/?key=1").predict(["a"], [[1.0], [None]])
    Endpoint(f"http://{host}/").predict(["a"], [[np.inf]])
    Endpoint(f"http://{host}/", trusted=False).predict(["a"], [[np.int64(3)]])
    basic = base64.b64encode(b"user:s3@").decode()
    assert [sent[:2] for sent in requests] == [
        ("/?key=1", f"Basic {basic}"), ("/", "Bearer t0ken"), ("/", None)
    ]  # fmt: skip
    assert [sent[2]["rows"] for sent in requests] == [[[1.0], [None]], [[None]], [[3]]]


def test_rows_are_not_redirected(server) -> None:
    host, requests = server
    with pytest.raises(HTTPError):
        Endpoint(f"http://{host}/away").predict(["a"], [[1.0]])
    assert len(requests) == 1


def test_a_response_that_is_too_large_is_refused(server, monkeypatch) -> None:
    host, _ = server
    monkeypatch.setattr("thrifty.bundle.endpoint.MAX_RESPONSE_BYTES", 5)
    with pytest.raises(ValueError, match="larger than 5 bytes"):
        Endpoint(f"http://{host}/").predict(["a"], [[1.0]])


def test_outputs_are_read_in_the_order_of_the_classes() -> None:
    classes = np.array(["a", "b"])
    np.testing.assert_array_equal(read_outputs({"labels": ["b"]}, 1, classes), [[0.0, 1.0]])
    with pytest.raises(ValueError, match="neither probabilities nor labels"):
        read_outputs({"score": 1}, 1, classes)


def test_a_class_that_is_named_twice_is_refused() -> None:
    response = {"probabilities": [[0.1, 0.9]], "classes": ["a", "a"]}
    with pytest.raises(ValueError, match="a class is named twice among"):
        read_outputs(response, 1, np.array(["a", "b"]))


def test_an_output_of_another_shape_names_the_shape_that_is_expected() -> None:
    by_class = {"probabilities": [{"a": 0.2, "b": 0.8}, {"a": 0.5, "b": 0.5}]}
    for output in (by_class, {"labels": [{"a": 1}, "b"]}, {"scores": [1, 2]}):
        with pytest.raises(
            ValueError, match=r'\{"probabilities": \[\[\.\.\.\], \.\.\.\], "classes"'
        ):
            read_outputs(output, 2, np.array(["a", "b"]))


def test_an_infinite_probability_counts_as_none():
    response = {"probabilities": [[float("inf"), 0.0], [0.25, 0.75]]}
    found = read_outputs(response, 2, np.array(["a", "b"]))
    assert np.isnan(found[0, 0]) and found[1].tolist() == [0.25, 0.75]


def test_values_come_as_a_list_or_under_their_name() -> None:
    for output in ([3, 4.5], np.array([[3.0], [4.5]]), {"values": [3, 4.5]}):
        np.testing.assert_array_equal(read_outputs(output, 2, None), [[3.0], [4.5]])
    assert np.isnan(read_outputs([np.inf, np.nan], 2, None)).all()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"labels": [1, 2]}, r"no values among \['labels'\]; .*\"values\""),
        ([1.0], r"shape \(1,\) for 2 rows"),
        ([[1.0, 2.0], [3.0, 4.0]], r"shape \(2, 2\) for 2 rows"),
        (["low", "high"], r"\['low', 'high'\] are not numbers"),
    ],
)
def test_outputs_that_are_no_values_are_refused(output, message) -> None:
    with pytest.raises(ValueError, match=message):
        read_outputs(output, 2, None)
