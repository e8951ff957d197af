"""Gates whose expensive model is not in the file: tables are completed, walks make calls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import Call, GatedClassifier, GreedyMiserClassifier, LeavesFamily
from thrifty.errors import BundleError, DataError
from thrifty.serve import RowSource, answer, connect
from thrifty.serve.calls import result_columns, stored_url


def rows_of(n=300, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)
    return X, np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def remote():
    X, y = rows_of(seed=5)
    return GreedyMiserClassifier(n_estimators=40, random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), y
    )


@pytest.fixture(scope="module")
def gate(remote):
    """A gate that calls the remote model at a price of 5, as a function."""
    X, y = rows_of()
    call = Call("remote", 5.0, needs=["a", "b", "c"], fn=remote.predict_proba)
    model = GatedClassifier(call, share=0.4, family=LeavesFamily(4, 0.5, 3, 5), random_state=0)
    return model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)


@pytest.fixture
def frame():
    return pd.DataFrame(rows_of(100, seed=1)[0], columns=["a", "b", "c"])


def test_a_model_that_makes_no_calls_is_returned_as_it_is(remote) -> None:
    predictor = remote.predictor_
    assert connect(predictor) is predictor and connect(predictor, predictor) is predictor
    assert result_columns(predictor) == () and stored_url(predictor) is None


def test_tables_of_every_kind_are_completed(gate, remote, frame) -> None:
    connected = connect(gate.predictor_, remote.predictor_)
    expected = gate.predict_proba(frame)
    for table in (frame, pl.from_pandas(frame), frame.to_dict("list")):
        np.testing.assert_array_equal(connected.predict_proba(table), expected)
    np.testing.assert_array_equal(connected.bill(frame), gate.bill(frame))
    np.testing.assert_array_equal(connected.used(frame), gate.used(frame))
    assert connected.evaluations(frame).shape == (100,)


def test_results_that_a_table_has_are_kept(gate, remote, frame) -> None:
    caller = connect(gate.predictor_, remote.predictor_).caller
    wide = frame.assign(**{"remote: no": 0.0, "remote: yes": 1.0})
    assert caller.complete(wide) is wide
    with pytest.raises(DataError, match=r"it has \['remote: no'\] only"):
        caller.complete(wide.drop(columns="remote: yes"))


def test_a_table_without_names_is_completed(remote) -> None:
    X, y = rows_of()
    unnamed = GreedyMiserClassifier(n_estimators=20, random_state=0).fit(X, y)
    call = Call("remote", 5.0, needs=[0, 1, 2], fn=unnamed.predict_proba)
    family = LeavesFamily(4, 0.5, 3, 5)
    model = GatedClassifier(call, share=0.4, family=family, random_state=0).fit(X, y)
    connected = connect(model.predictor_, unnamed.predictor_)
    np.testing.assert_array_equal(connected.predict(X), model.predict(X))
    wide = connected.caller.complete(X)
    assert wide.shape == (300, 5) and connected.caller.complete(wide) is wide


def test_a_walk_makes_the_call_itself_and_no_row_twice(gate, frame, monkeypatch, remote) -> None:
    connected = connect(gate.predictor_, remote.predictor_)
    sent = int(np.flatnonzero(gate.sent(frame))[0])
    values, calls = frame.iloc[sent].to_dict(), []
    run = connected.caller._run
    monkeypatch.setattr(connected.caller, "_run", lambda rows: calls.append(rows) or run(rows))
    for _ in range(2):
        label, receipt = answer(connected, RowSource(values))
        assert label == gate.predict(frame.iloc[[sent]])[0]
        assert receipt.total == gate.bill(frame.iloc[[sent]])[0]
    assert len(calls) == 1
    replayed = connected.walk()
    replayed.tell({**values, "remote: no": 1.0, "remote: yes": 0.0})
    assert replayed.answer == "no"


def test_a_call_beyond_the_cap_is_not_made(gate, remote, frame) -> None:
    connected = connect(gate.predictor_, remote.predictor_)
    sent = int(np.flatnonzero(gate.sent(frame))[0])
    for cap in (2.0, 3.0, 7.9, 8.0):
        _, receipt = answer(connected, RowSource(frame.iloc[sent].to_dict()), cap=cap)
        assert receipt.total <= cap
        assert (receipt.stopped == "complete") == (cap == 8.0)


def test_a_call_that_fails_leaves_the_row_to_the_local_model(gate, frame) -> None:
    connected = connect(gate.predictor_, "http://user:s3cret@127.0.0.1:9/?key=t0ken")
    with pytest.warns(UserWarning, match="failed for") as caught:
        labels = connected.predict(frame)
    assert "s3cret" not in str(caught[0].message) and "t0ken" not in str(caught[0].message)
    proba, _ = gate.local_outputs(frame)
    np.testing.assert_array_equal(labels, gate.classes_[proba.argmax(axis=1)])


def test_a_call_that_failed_is_made_again(gate, frame, remote, monkeypatch) -> None:
    caller = connect(gate.predictor_, remote.predictor_).caller
    values = frame.iloc[0].to_dict()
    with monkeypatch.context() as patch:
        patch.setattr(caller, "_target", None)
        with pytest.warns(UserWarning, match="failed for 1 rows"):
            assert np.isnan(list(caller.answer(values).values())).all()
    assert sum(caller.answer(values).values()) == pytest.approx(1.0)


def test_only_the_most_recent_results_are_kept(gate, frame, remote, monkeypatch) -> None:
    monkeypatch.setattr("thrifty.serve.calls.MAX_RESULTS_KEPT", 3)
    caller, calls = connect(gate.predictor_, remote.predictor_).caller, []
    run = caller._run
    monkeypatch.setattr(caller, "_run", lambda rows: calls.append(rows) or run(rows))
    for row in (0, 1, 2, 0, 3, 0, 1):  # the fourth drops 1, which was used longest ago
        caller.answer(frame.iloc[row].to_dict())
    sent = [rows[0][0] for rows in calls]
    assert sent == frame["a"].iloc[[0, 1, 2, 3, 1]].tolist()
    assert len(caller._results) == 3


def test_no_row_is_sent_if_none_needs_it(gate, frame, remote, monkeypatch) -> None:
    connected = connect(gate.predictor_, remote.predictor_)
    monkeypatch.setattr(connected.caller, "_run", lambda rows: pytest.fail("a call was made"))
    kept = frame[~gate.sent(frame)]
    assert len(connected.predict(kept)) == len(kept) > 0


def test_the_server_of_the_file_gets_no_credentials(gate, monkeypatch) -> None:
    monkeypatch.setenv("THRIFTY_CALL_TOKEN", "t0ken")
    predictor = gate.predictor_.connect(None)  # a copy
    predictor.provenance = {"call": {"name": "remote", "url": "http://127.0.0.1:9/"}}
    assert stored_url(predictor) == "http://127.0.0.1:9/"
    assert "Authorization" not in connect(predictor).caller._target._headers
    assert "Authorization" in connect(predictor, "http://127.0.0.1:9/").caller._target._headers


def test_without_a_server_the_ways_are_named(gate) -> None:
    with pytest.raises(DataError, match="URL or a predictor"):
        connect(gate.predictor_)
    assert stored_url(gate.predictor_) is None
    predictor = connect(gate.predictor_, "http://localhost:9/")
    predictor.provenance = {"call": {"name": "remote", "url": "javascript:alert(1)"}}
    with pytest.raises(BundleError, match="not a URL"):
        connect(predictor)
