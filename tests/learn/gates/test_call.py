"""Calls: what a model may return, what is refused, timeouts and servers."""

from __future__ import annotations

import json
import re
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from thrifty import Call, GatedClassifier, SourceError
from thrifty.bundle.endpoint import Endpoint, read_outputs
from thrifty.errors import DataError
from thrifty.kernels.threads import thread_count, threads
from thrifty.learn.gates.call import post_rows, run_with_timeout

CLASSES = np.array(["no", "yes"])


def broken(rows):
    raise RuntimeError("out of order")


FAULTS = [
    (broken, "RuntimeError: out of order"),
    (lambda rows: np.full((len(rows), 2), np.nan), "missing"),
    (lambda rows: np.full((len(rows), 2), 0.7), "sum to 1.4, not 1"),
    (lambda rows: np.tile([1.5, -0.5], (len(rows), 1)), "negative"),
    (lambda rows: np.full((len(rows), 3), 1 / 3), "3 probabilities for 2 classes"),
    (lambda rows: np.array(["maybe"] * len(rows)), r"\['maybe'\] are not classes"),
    (lambda rows: (np.full((len(rows), 2), 0.5), ["no", "later"]), r"\['later'\]"),
    (lambda rows: [], "for 300 rows"),
    (lambda rows: {"answer": 1}, "neither probabilities nor labels"),
    (lambda rows: time.sleep(1.0), "no response within 0.05 seconds"),
]


def patience(words: str) -> float:
    """Seconds to wait: a busy machine needs more for what is not slow by itself."""
    return 0.05 if words.startswith("no response") else 60.0


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_a_call_that_fails_is_an_error_in_training(
    fault, words, named_table, counting_oracle, small
) -> None:
    X, y = named_table()
    counting_oracle.fault = fault
    call = Call("oracle", fn=counting_oracle, timeout=patience(words))
    message = "call 'oracle': no prediction for 300 of 300"
    with pytest.raises(SourceError, match=message) as caught:
        GatedClassifier(call, **small).fit(X, y)
    assert caught.match(words)


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_a_run_records_why_it_failed(fault, words, named_table) -> None:
    X, _ = named_table()
    proba, failures = Call("it", fn=fault, timeout=patience(words)).run(X, CLASSES)
    assert np.isnan(proba).all()
    assert sorted(failures) == list(range(300))
    assert all(re.search(words, reason) for reason in failures.values())


@pytest.mark.parametrize(
    "output",
    [
        [[0.25, 0.75], [1.0, 0.0]],
        np.array([[0.25, 0.75], [1.0, 0.0]]),
        ([[0.75, 0.25], [0.0, 1.0]], ["yes", "no"]),
        {"probabilities": [[0.25, 0.75], [1.0, 0.0]]},
        {"probabilities": [[0.75, 0.25], [0.0, 1.0]], "classes": ["yes", "no"]},
    ],
)
def test_probabilities_are_put_in_the_order_of_the_classes(output) -> None:
    expected = [[0.25, 0.75], [1.0, 0.0]]
    np.testing.assert_array_equal(read_outputs(output, 2, CLASSES), expected)


@pytest.mark.parametrize("output", [["yes", "no"], {"labels": ["yes", "no"]}])
def test_labels_count_as_certain(output) -> None:
    np.testing.assert_array_equal(read_outputs(output, 2, CLASSES), [[0.0, 1.0], [1.0, 0.0]])


def test_a_class_that_the_model_lacks_has_probability_zero() -> None:
    three = np.array(["a", "b", "c"])
    proba = read_outputs(([[0.4, 0.6]], ["a", "c"]), 1, three)
    np.testing.assert_array_equal(proba, [[0.4, 0.0, 0.6]])


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda frame: frame])
def test_functions_get_the_type_that_the_table_has(convert, named_table, oracle, small) -> None:
    X, y = named_table()
    seen = []

    def predict(rows):
        seen.append(type(rows))
        return oracle(rows if isinstance(rows, pd.DataFrame) else rows.to_pandas())

    model = GatedClassifier(Call("it", fn=predict), **small).fit(convert(X), y)
    model.predict(convert(X))
    assert set(seen) == {type(convert(X))}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": ""}, "name"),
        ({"price": -1.0}, "price"),
        ({"price": float("nan")}, "price"),
        ({"fn": "ftp://host"}, "http://"),
        ({"fn": 3}, "cannot predict"),
        ({"timeout": 0}, "timeout"),
        ({"folds": 1}, "folds"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(settings, words) -> None:
    with pytest.raises(DataError, match=words):
        Call(**{"name": "x", "fn": broken, **settings})


def test_a_clone_calls_the_same_function(oracle, small) -> None:
    lock = threading.Lock()  # cannot be copied

    def predict(rows):
        with lock:
            return oracle(rows)

    model = GatedClassifier(Call("it", fn=predict), **small)
    assert clone(model).expensive.fn is predict


def test_a_call_names_itself_and_its_model() -> None:
    assert repr(Call("it", 2.5, fn=broken)) == "Call('it', 2.5, fn=function)"
    other = Call("it", 2.5, needs=["a"], fn=broken, timeout=3.0, folds=4).with_model(len)
    assert (other.fn, other.needs, other.timeout, other.folds) == (len, ("a",), 3.0, 4)


def test_an_error_in_time_is_raised_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="out of order"):
        run_with_timeout(5.0, lambda: broken(None))


@pytest.fixture
def oracle_server(serve, oracle):
    """A server that knows the labels, and returns the classes in another order."""

    def reply(body):
        rows = pd.DataFrame(body["rows"], columns=body["columns"])
        proba = oracle(rows)[:, ::-1].tolist()
        return 200, json.dumps({"classes": ["yes", "no"], "probabilities": proba}).encode()

    return serve(reply)


def test_a_server_predicts_in_batches(oracle_server, named_table, oracle, small) -> None:
    url, requests, stop = oracle_server
    X, y = named_table()
    X.loc[3, "c"] = np.nan
    model = GatedClassifier(Call("remote", 2.0, fn=url), share=0.4, **small).fit(X, y)
    assert [len(body["rows"]) for body in requests] == [256, 44]
    assert requests[0]["rows"][3][2] is None
    assert requests[0]["columns"] == ["a", "b", "c", "kind"]
    sent = model.sent(X)
    np.testing.assert_allclose(model.predict_proba(X)[sent], oracle(X)[sent])
    assert sum(len(body["rows"]) for body in requests) == 300 + sent.sum()
    stop()
    with pytest.warns(UserWarning, match="which the local model predicts"):
        assert len(model.predict(X)) == 300


def test_a_server_gets_arrays_by_position(serve) -> None:
    url, requests, _ = serve(lambda body: (200, b'{"labels": ["no", "no"]}'))
    post_rows(Endpoint(url), np.array([[1.0, np.inf], [np.nan, 2.0]]))
    assert requests == [{"columns": [0, 1], "rows": [[1.0, None], [None, 2.0]]}]


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (500, b"", "HTTP Error 500"),
        (200, b"not json", "JSONDecodeError"),
        (200, b'{"labels": ["no"]}', "for 20 rows"),
        (200, b"[[0.5, 0.5]]", "for 20 rows"),
    ],
)
def test_a_server_that_returns_nonsense_is_refused(
    status, text, words, serve, named_table, small
) -> None:
    X, y = named_table(20)
    url, _, _ = serve(lambda body: (status, text))
    with pytest.raises(SourceError, match=words):
        GatedClassifier(url, **small).fit(X, y)


def test_labels_of_a_server_count_as_certain(serve, named_table) -> None:
    X, y = named_table(60)
    url, _, _ = serve(lambda body: (200, json.dumps({"labels": y.tolist()}).encode()))
    proba = Call("it", fn=url).predict_scores(X, CLASSES)
    np.testing.assert_array_equal(proba, (y[:, np.newaxis] == CLASSES).astype(float))


def test_a_function_keeps_to_the_limit_of_threads_of_its_caller() -> None:
    with threads(3):
        assert run_with_timeout(5.0, thread_count) == 3
