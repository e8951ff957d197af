"""Requests as they are made, and responses as they are read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.client.calls import (
    RequestError,
    case_call,
    connection_options,
    model_call,
    new_case_call,
    next_call,
    predict_call,
)
from thrifty.errors import DataError


def test_numbers_of_numpy_and_missing_values_are_sent_as_json_has_them() -> None:
    row = {"age": np.float64(63), "sex": np.int64(1), "chol": float("nan"), 3: np.bool_(True)}
    sent = json.loads(predict_call([row]).content)
    assert sent == {"rows": [{"age": 63.0, "sex": 1, "chol": None, "3": True}]}


def test_what_is_no_value_of_a_feature_is_named_and_not_sent() -> None:
    with pytest.raises(DataError, match="a complex cannot be sent"):
        _ = next_call({"age": 1j}, None, ()).content


def test_a_case_without_an_id_gets_one() -> None:
    first, second = (json.loads(new_case_call(None).content)["id"] for _ in range(2))
    assert first != second
    assert json.loads(new_case_call("visit-1").content)["id"] == "visit-1"


def test_an_option_that_no_case_has_is_refused() -> None:
    with pytest.raises(TypeError, match="no option caps"):
        new_case_call(None, caps=3)


def test_a_handle_cannot_lead_elsewhere() -> None:
    assert case_call("../model?x").path == "/v1/cases/..%2Fmodel%3Fx"


@pytest.mark.parametrize("content", [b"<html>", b"{}", b"\xff", b'{"title": 3}', b"[]"])
@pytest.mark.parametrize("status", [200, 404, 502])
def test_what_is_no_response_of_thrifty_is_an_error(status, content) -> None:
    with pytest.raises(RequestError, match="not one of Thrifty") as caught:
        model_call().read(status, content)
    assert caught.value.status == status


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://localhost", "http://", "http://user:secret@localhost"]
)
def test_what_is_no_url_of_a_server_is_refused_and_not_shown(url) -> None:
    with pytest.raises(DataError, match="not the URL of a server") as caught:
        connection_options(url, None)
    assert "secret" not in str(caught.value)


def test_a_token_that_is_passed_goes_before_that_of_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("THRIFTY_TOKEN", "of the environment")
    found = [connection_options("http://x", token)["headers"].get("authorization")
             for token in (None, "passed", "")]  # fmt: skip
    assert found == ["Bearer of the environment", "Bearer passed", None]
