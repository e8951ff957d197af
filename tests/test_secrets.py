"""A secret in a URL or a token is used in requests, and shown or written nowhere else."""

from __future__ import annotations

import copy
import json
import threading
import traceback
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from thrifty import Call, GatedClassifier, LeavesFamily, OnlineGate, load
from thrifty.bundle.endpoint import TOKEN_VARIABLE, Endpoint, SecretUrl
from thrifty.cli.group import main
from thrifty.errors import DataError, SourceError
from thrifty.frontier.jobs import plain_settings
from thrifty.serve import connect

MARKERS = ("s3cret", "t0ken", "dXNlcjpzM2NyZXQ")  # the last is user:s3cret in base 64
N = 120
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
Y = np.where(X["a"] * X["b"] > 0, "yes", "no")


@pytest.fixture(scope="module")
def urls():
    """A URL with secrets of a server that predicts, and one of a path where it refuses."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.path.startswith("/good") else 403)
            self.end_headers()
            places = [body["columns"].index(name) for name in "ab"]
            signs = [row[places[0]] * row[places[1]] > 0 for row in body["rows"]]
            self.wfile.write(json.dumps({"labels": np.where(signs, "yes", "no").tolist()}).encode())

        def log_message(self, *_):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    at = f"http://user:s3cret@127.0.0.1:{http.server_port}"
    yield f"{at}/good?token=t0ken", f"{at}/bad?token=t0ken"
    http.shutdown()
    http.server_close()


def assert_hidden(*shown: Any) -> None:
    for each in shown:
        text = each if isinstance(each, bytes) else str(each).encode()
        found = [marker for marker in MARKERS if marker.encode() in text]
        assert not found, f"{found} in {each!r}"


def gate(expensive: Any) -> GatedClassifier:
    family = LeavesFamily(n_estimators=3, max_depth=2)
    return GatedClassifier(expensive, family=family, share=0.5, random_state=0)


def texts_of(error: BaseException) -> str:
    """Everything that an error and those behind it say, with their attributes."""
    chain, texts = error, ["".join(traceback.format_exception(error))]
    while chain is not None:
        texts.append(f"{chain!r} {chain.args!r} {vars(chain)!r} {getattr(chain, 'filename', '')}")
        chain = chain.__cause__ or chain.__context__
    return "\n".join(texts)


def test_objects_that_hold_a_url_do_not_show_it(urls) -> None:
    good, _ = urls
    call, endpoint = Call("doctor", 2.0, fn=good), Endpoint(good)
    model = gate(good)
    wrapped = make_pipeline(StandardScaler(), gate(good))
    search = GridSearchCV(model, {"expensive": [SecretUrl(good)]})
    for each in (call, endpoint, model, gate(call), clone(model), wrapped, search):
        assert_hidden(repr(each), str(each), f"{each}")
    assert_hidden(model.get_params(), wrapped.get_params(), [call.fn], vars(call), model.__dict__)
    assert_hidden(estimator_html_repr(wrapped), estimator_html_repr(search))
    changed = model.set_params(expensive=good + "2")
    assert_hidden(changed, copy.deepcopy(changed))
    assert changed.expensive == good + "2" and clone(changed).expensive == good + "2"


def test_a_url_is_no_name_of_a_call(urls) -> None:
    with pytest.raises(DataError, match="a URL is no name; give it as fn") as caught:
        Call(urls[0])
    assert_hidden(texts_of(caught.value))


def test_a_trained_gate_is_saved_and_reported_without_them(urls, tmp_path) -> None:
    model = gate(Call("doctor", 2.0, fn=urls[0], folder=tmp_path / "cache")).fit(X, Y)
    path = tmp_path / "gate.thrifty"
    model.save(path)
    predictor = load(path)
    connected = connect(predictor, urls[0])
    assert (connected.predict(X) == Y).mean() > 0.6
    walk = connected.walk()
    while walk.asks:
        walk.tell({name: float(X[name][0]) for name in walk.asks})
    assert_hidden(path.read_bytes(), *tmp_path.rglob("*"))
    assert_hidden(predictor.provenance, connected, connected.caller, walk, walk.receipt)
    assert_hidden(model.why(X), model.model_, model.schema_.plain(), model.predictor_.provenance)


def test_a_server_that_refuses_is_reported_without_them(urls) -> None:
    bad, call = urls[1], Call("doctor", fn=urls[1])
    with pytest.raises(OSError, match="403") as refused:
        Endpoint(bad).predict(["a", "b"], [[1.0, 2.0]])
    with pytest.raises(SourceError, match="403") as failed:
        call.predict_scores(X, np.array(["no", "yes"]))
    with pytest.raises(SourceError) as untrained:
        gate(bad).fit(X, Y)
    assert_hidden(*(texts_of(caught.value) for caught in (refused, failed, untrained)))
    model = gate(Call("doctor", 0.1, fn=urls[0])).fit(X, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        connect(model.predictor_, bad).predict(X)
    assert caught
    assert_hidden(*(warning.message for warning in caught))


@pytest.mark.parametrize(
    "wrong", ["htp://user:s3cret@host", "user:s3cret@host", "http://user:s3cret@", "//u:s3cret@h",
              "http://user:s3cret@host:port/?token=t0ken", "http://user:s3cret@[host/"]
)  # fmt: skip
def test_what_is_not_a_url_is_refused_without_them(wrong) -> None:
    for make in (Endpoint, lambda url: Call("x", fn=url), lambda url: gate(url).fit(X, Y)):
        with pytest.raises(DataError) as caught:
            make(wrong)
        assert_hidden(texts_of(caught.value))


def test_a_token_that_no_header_can_have_is_not_shown(urls, monkeypatch) -> None:
    plain = urls[0].replace("user:s3cret@", "")
    monkeypatch.setenv(TOKEN_VARIABLE, "t0ken\n")  # the end of a file, as the shell reads it
    Endpoint(plain).predict(["a", "b"], [[1.0, 2.0]])
    for token in ("t0\nken", "t0ken\u20ac"):
        monkeypatch.setenv(TOKEN_VARIABLE, token)
        with pytest.raises(DataError, match=TOKEN_VARIABLE) as caught:
            Endpoint(plain)
        assert token not in texts_of(caught.value)


def test_the_settings_of_a_finished_job_do_not_hold_them(urls) -> None:
    for model in (gate(urls[0]), gate(Call("doctor", fn=urls[0]))):
        assert_hidden(json.dumps(plain_settings(model)))


def test_an_online_gate_keeps_no_url(urls, tmp_path) -> None:
    model = gate(Call("doctor", 0.1, fn=urls[0])).fit(X, Y)
    online = OnlineGate([connect(model.predictor_, urls[0])], cost=0.3, horizon=50)
    online.save(tmp_path / "gate.json")
    assert_hidden(online, vars(online), (tmp_path / "gate.json").read_bytes())


def test_the_command_line_does_not_show_them(urls, tmp_path) -> None:
    table, path = tmp_path / "t.csv", tmp_path / "m.thrifty"
    X.assign(y=Y).to_csv(table, index=False)
    for url in (*urls, "user:s3cret@host", "ftp://user:s3cret@host", "http://user:s3cret@/"):
        for debug in ([], ["--debug"]):
            out = CliRunner().invoke(
                main, [*debug, "gate", str(table), "--target", "y", "--expensive", url,
                       "--family", "leaves", "-o", str(path)]
            )  # fmt: skip
            assert_hidden(out.output, out.stderr, repr(out.exception))
        if path.exists():
            out = CliRunner().invoke(main, ["predict", str(path), str(table), "--call", url])
            assert_hidden(out.output, out.stderr, repr(out.exception))
            assert_hidden(
                path.read_bytes(), CliRunner().invoke(main, ["inspect", str(path)]).output
            )


def test_a_secret_url_is_the_url(urls) -> None:
    url = SecretUrl(urls[0])
    assert url == urls[0] and hash(url) == hash(urls[0])
    assert copy.deepcopy(url) == url and isinstance(copy.deepcopy(url), SecretUrl)
    assert Endpoint(url).public_url == Endpoint(urls[0]).public_url
    assert_hidden(url, f"{url:>5}", [url])
