"""Calls of an expensive model as purchases."""

from __future__ import annotations

import asyncio
from urllib.error import HTTPError, URLError

import pytest
from scripted import chain_predictor

from thrifty.errors import DataError
from thrifty.serve import Query, RefusedError, Terms, UnclearError, UnsentError, UnusableError
from thrifty.serve.sources.model import ModelSource


class FakeCall:
    needs = ("age",)

    def __init__(self, error=None):
        self.error = error

    def results(self, values):
        if self.error is not None:
            raise self.error
        return {"p": values["age"] / 100}


def fetch(error=None, **values):
    source = ModelSource(FakeCall(error), Terms("remote", ("p",), sold="together"))
    return asyncio.run(source.fetch(Query(("p",), values=values or {"age": 50})))


def test_a_call_has_the_values_of_the_example():
    assert fetch() == {"p": 0.5}


def test_a_call_whose_values_are_missing_is_not_made():
    with pytest.raises(UnsentError, match="it needs 'age'"):
        fetch(chol=1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HTTPError("http://x", 500, "no", None, None), RefusedError),
        (URLError(ConnectionRefusedError()), UnsentError),
        (URLError(TimeoutError()), UnclearError),
        (ConnectionResetError(), UnclearError),
        (ValueError("garbage"), UnusableError),
    ],
)
def test_every_failure_is_of_a_kind(error, kind):
    with pytest.raises(kind, match="'remote'"):
        fetch(error)


def test_a_predictor_that_makes_no_calls_has_no_such_source():
    with pytest.raises(DataError, match="not connected"):
        ModelSource.of(chain_predictor())
