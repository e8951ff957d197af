"""Calls as purchases: who answers, what is refused, what is kept, and what is paid."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import thrifty
from thrifty import Call, GatedClassifier, LeavesFamily, Prices, SourceError
from thrifty.errors import DataError

SMALL = {"family": LeavesFamily(4, 0.5, 3, 5), "random_state": 0}
CLASSES = np.array(["no", "yes"])


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1, 1, size=(n, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y"], n)
    hard = (frame["b"] > 0) ^ (frame["kind"] == "x")
    yes = np.where(frame["a"].abs() > 0.5, frame["a"] > 0, hard)
    return frame, np.where(yes, "yes", "no")


def oracle(rows):
    """Knows the truth, and says so with probabilities."""
    hard = (rows["b"] > 0) ^ (rows["kind"] == "x")
    yes = np.where(rows["a"].abs() > 0.5, rows["a"] > 0, hard)
    return np.where(yes[:, np.newaxis], [0.1, 0.9], [0.9, 0.1])


class Counting:
    """Counts the rows that it is asked about, and can be told to fail."""

    def __init__(self, broken=None):
        self.rows, self.tables, self.broken = 0, [], broken

    def __call__(self, rows):
        self.rows += len(rows)
        self.tables.append(rows)
        if self.broken is not None:
            return self.broken(rows)
        return oracle(rows)


@pytest.fixture
def fitted():
    X, y = table()
    fn = Counting()
    call = Call("oracle", 5.0, needs=["a", "b", "kind"], fn=fn)
    prices = Prices({"a": 1.0, "b": 2.0, "c": 4.0, "kind": 1.0}, unit="EUR")
    model = GatedClassifier(call, share=0.4, penalty=0.02, prices=prices, **SMALL)
    return model.fit(X, y), fn


def test_only_rows_that_are_sent_are_asked_about(fitted) -> None:
    model, fn = fitted
    X, y = table(200, seed=1)
    assert fn.rows == 300  # each training row once
    sent = model.sent(X)
    model.used(X), model.bill(X)
    assert fn.rows == 300  # knowing the way and the bill asks no one
    assert model.score(X, y) > 0.8
    assert fn.rows == 300 + sent.sum()
    assert list(fn.tables[-1].columns) == ["a", "b", "kind"]


def test_a_call_is_paid_by_the_rows_that_make_it(fitted) -> None:
    model, _ = fitted
    X, _ = table(200, seed=1)
    sent, used, bill = model.sent(X), model.used(X), model.bill(X)
    assert sent.any() and not sent.all()
    np.testing.assert_array_equal(used[:, 4:], np.repeat(sent[:, np.newaxis], 2, axis=1))
    assert (used[sent][:, [0, 1, 3]]).all()
    own = used[:, :4] @ [1.0, 2.0, 4.0, 1.0]
    np.testing.assert_allclose(bill, own + 5.0 * sent)


def test_a_walk_asks_features_then_the_call(fitted, tmp_path) -> None:
    model, _ = fitted
    X, _ = table(200, seed=1)
    model.save(tmp_path / "m.thrifty")
    loaded = thrifty.load(tmp_path / "m.thrifty")
    row = int(np.flatnonzero(model.sent(X))[0])
    example = X.iloc[row].to_dict()
    walk = loaded.walk()
    while walk.asks and not walk.asks[0].startswith("oracle"):
        walk.tell({name: example[name] for name in walk.asks})
    assert walk.asks == ("oracle: no", "oracle: yes")
    walk.tell(model.answer(walk.told))
    assert walk.answer == model.predict(X.iloc[[row]])[0]
    assert walk.receipt.total == model.bill(X.iloc[[row]])[0]
    stays = int(np.flatnonzero(~model.sent(X))[0])
    short = loaded.walk()
    short.tell(X.iloc[stays].to_dict())
    assert short.answer == model.predict(X.iloc[[stays]])[0]
    with pytest.raises(DataError, match="needs"):
        model.answer({"a": 0.5})


def test_a_skipped_call_is_answered_locally(fitted) -> None:
    model, _ = fitted
    X, _ = table(200, seed=1)
    row = int(np.flatnonzero(model.sent(X))[0])
    walk = model.walk()
    walk.tell(X.iloc[row].to_dict())
    for name in walk.asks:
        walk.skip(name)
    local = model.model_.local.score(model._rows(X.iloc[[row]]))
    np.testing.assert_array_equal(walk.scores, local[0])
    assert {p.feature: p.why for p in walk.receipt.purchases}["oracle: yes"] == "skipped"


def boom(rows):
    raise RuntimeError("out of order")


FAULTS = [
    (boom, "RuntimeError: out of order"),
    (lambda rows: np.full((len(rows), 2), np.nan), "missing"),
    (lambda rows: np.full((len(rows), 2), 0.7), "sum to 1.4, not 1"),
    (lambda rows: np.tile([1.5, -0.5], (len(rows), 1)), "negative"),
    (lambda rows: np.full((len(rows), 3), 1 / 3), "3 probabilities for 2 classes"),
    (lambda rows: np.array(["maybe"] * len(rows)), r"\['maybe'\] are not classes"),
    (lambda rows: (np.full((len(rows), 2), 0.5), ["no", "later"]), r"\['later'\]"),
    (lambda rows: [], "for 300 rows"),
    (lambda rows: {"answer": 1}, "neither probabilities nor labels"),
    (lambda rows: time.sleep(1.0), "no answer within 0.05 seconds"),
]


@pytest.mark.parametrize(("broken", "words"), FAULTS)
def test_a_call_that_fails_is_an_error_in_training(broken, words) -> None:
    X, y = table()
    call = Call("oracle", fn=Counting(broken), timeout=0.05)
    with pytest.raises(SourceError, match="call 'oracle': no answer for 300 of 300") as caught:
        GatedClassifier(call, **SMALL).fit(X, y)
    assert caught.match(words)


@pytest.mark.parametrize(("broken", "words"), FAULTS[:4] + FAULTS[5:6])
def test_a_call_that_fails_in_prediction_is_answered_locally(fitted, broken, words) -> None:
    model, fn = fitted
    X, _ = table(200, seed=1)
    sent, fn.broken = model.sent(X), broken
    with pytest.warns(UserWarning, match=f"{sent.sum()} rows, which the local model answers"):
        found = model.predict_proba(X)
    np.testing.assert_array_equal(found, model.model_.local.score(model._rows(X)))
    why = np.array(model.why(X))
    assert all(line.startswith("local: oracle gave no answer") for line in why[sent])
    assert (why[~sent] == "local: the gate keeps it").all()


def test_one_bad_row_does_not_spoil_the_others(fitted) -> None:
    model, fn = fitted
    X, _ = table(200, seed=1)
    rows = np.flatnonzero(model.sent(X))

    def some(asked):
        answers = oracle(asked)
        answers[0] = np.nan
        return answers

    fn.broken = some
    with pytest.warns(UserWarning, match="no answer for 1 rows"):
        found = model.predict_proba(X)
    np.testing.assert_array_equal(found[rows[1:]], oracle(X)[rows[1:]])
    assert "missing" in model.why(X)[rows[0]]


def test_answers_are_kept_in_a_folder(tmp_path) -> None:
    X, y = table()
    fn = Counting()
    call = Call("the oracle", fn=fn, folder=tmp_path / "answers")
    first = GatedClassifier(call, **SMALL).fit(X, y)
    again = GatedClassifier(call, **SMALL).fit(X, y)
    assert fn.rows == 300
    (kept,) = (tmp_path / "answers").iterdir()
    np.testing.assert_array_equal(np.load(kept, allow_pickle=False), oracle(X))
    assert first.model_.state()[0] == again.model_.state()[0]
    GatedClassifier(call, **SMALL).fit(X.iloc[:299], y[:299])
    assert fn.rows == 599  # other rows
    kept.write_bytes(b"damaged")
    GatedClassifier(call, **SMALL).fit(X, y)
    assert fn.rows == 899 and np.load(kept, allow_pickle=False).shape == (300, 2)


def test_an_estimator_with_a_price_is_called_with_what_it_needs() -> None:
    X, y = table()
    forest = RandomForestClassifier(10, random_state=0)
    call = Call("forest", 3.0, needs=["a", "b"], fn=forest)
    model = GatedClassifier(call, share=0.3, **SMALL).fit(X, y)
    assert model.model_.expensive.kind == "answer"
    assert model._system.call.fn.n_features_in_ == 2
    assert not hasattr(forest, "estimators_")  # the user's own is left alone
    assert set(model.why(X)) == {"sent to forest", "local: the gate keeps it"}


@pytest.mark.parametrize("form", [pl.from_pandas, lambda frame: frame])
def test_functions_get_the_form_that_the_table_has(form) -> None:
    X, y = table()
    seen = []

    def speaks(rows):
        seen.append(type(rows))
        return oracle(rows if isinstance(rows, pd.DataFrame) else rows.to_pandas())

    model = GatedClassifier(Call("it", fn=speaks), **SMALL).fit(form(X), y)
    model.predict(form(X))
    assert set(seen) == {type(form(X))}


def test_a_table_without_names_gets_answers_by_position() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    call = Call("adder", 1.0, needs=[0, 1], fn=lambda rows: (rows.sum(axis=1) > 0).astype(int))
    model = GatedClassifier(call, **SMALL).fit(X, y)
    row = int(np.flatnonzero(model.sent(X))[0])
    walk = model.walk()
    walk.tell(dict(enumerate(X[row].tolist())))
    assert walk.asks == (3, 4)
    walk.tell(model.answer(walk.told))
    assert walk.answer == model.predict(X[[row]])[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": ""}, "name"),
        ({"price": -1.0}, "price"),
        ({"price": float("nan")}, "price"),
        ({"fn": "ftp://host"}, "http://"),
        ({"fn": 3}, "cannot answer"),
        ({"timeout": 0}, "timeout"),
        ({"folds": 1}, "folds"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(settings, words) -> None:
    with pytest.raises(DataError, match=words):
        Call(**{"name": "x", "fn": oracle, **settings})


def test_clones_share_who_answers() -> None:
    lock = threading.Lock()  # what cannot be copied

    def speaks(rows):
        with lock:
            return oracle(rows)

    model = GatedClassifier(Call("it", fn=speaks), **SMALL)
    assert clone(model).expensive.fn is speaks


def test_names_that_clash_are_refused() -> None:
    X, y = table()
    with pytest.raises(DataError, match="column 'x: no' already"):
        GatedClassifier(Call("x", fn=lambda rows: y), **SMALL).fit(X.assign(**{"x: no": 1.0}), y)
    prices = Prices(dict.fromkeys(X.columns, 1.0), groups={"x": ["a"]})
    with pytest.raises(DataError, match="group of that name"):
        GatedClassifier(Call("x", fn=lambda rows: y), prices=prices, **SMALL).fit(X, y)
    with pytest.raises((DataError, ValueError, SourceError), match="z"):
        GatedClassifier(Call("x", fn=oracle, needs=["z"]), **SMALL).fit(X, y)


class Server:
    """A model behind HTTP on the loopback."""

    def __init__(self, answer):
        outer = self
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                code, text = answer(body)
                self.send_response(code)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/predict"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def served(body):
    rows = pd.DataFrame(body["rows"], columns=body["columns"])
    answer = {"classes": ["yes", "no"], "probabilities": oracle(rows)[:, ::-1].tolist()}
    return 200, json.dumps(answer).encode()


def test_a_server_answers_in_batches() -> None:
    X, y = table()
    X.loc[3, "c"] = np.nan
    with Server(served) as server:
        model = GatedClassifier(Call("remote", 2.0, fn=server.url), share=0.4, **SMALL).fit(X, y)
        assert [len(body["rows"]) for body in server.requests] == [256, 44]
        assert server.requests[0]["rows"][3][2] is None
        assert server.requests[0]["columns"] == ["a", "b", "c", "kind"]
        sent = model.sent(X)
        np.testing.assert_allclose(model.predict_proba(X)[sent], oracle(X)[sent])
        assert sum(len(body["rows"]) for body in server.requests) == 300 + sent.sum()
    with pytest.warns(UserWarning, match="local model answers"):  # the server has gone
        assert len(model.predict(X)) == 300


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        (500, b"", "HTTP Error 500"),
        (200, b"not json", "JSONDecodeError"),
        (200, b'{"labels": ["no"]}', "for 20 rows"),
        (200, b"[[0.5, 0.5]]", "for 20 rows"),
    ],
)
def test_a_server_that_answers_nonsense_is_refused(code, text, words) -> None:
    X, y = table(20)
    with Server(lambda body: (code, text)) as server, pytest.raises(SourceError, match=words):
        GatedClassifier(server.url, **SMALL).fit(X, y)


def test_labels_count_as_sure_answers() -> None:
    X, y = table(60)
    with Server(lambda body: (200, json.dumps({"labels": y.tolist()}).encode())) as server:
        found = Call("it", fn=server.url).ask_all(X, CLASSES)
    np.testing.assert_array_equal(found, (y[:, np.newaxis] == CLASSES).astype(float))
