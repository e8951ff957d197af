"""Functions as sources."""

from __future__ import annotations

import asyncio
import threading

import pytest

from thrifty.serve import CallSource, FunctionSource, PlainSource, Query, UnusableError


def fetch(source, *features):
    return asyncio.run(source.fetch(Query(features or source.terms.features)))


def test_a_plain_function_runs_in_a_thread_and_a_coroutine_in_the_loop():
    async def coroutine(query):
        return threading.current_thread().name

    def plain(query):
        return threading.current_thread().name

    assert fetch(FunctionSource("a", plain, ["x"])) == {"x": "thrifty-source"}
    assert fetch(FunctionSource("b", coroutine, ["x"])) == {"x": "MainThread"}


def test_an_object_with_a_coroutine_as_its_call_is_one():
    class Client:
        async def __call__(self, query):
            return {"x": 1}

    assert fetch(FunctionSource("a", Client(), ["x"])) == {"x": 1}


def test_a_single_value_for_several_features_is_unusable():
    with pytest.raises(UnusableError, match="return a mapping"):
        fetch(FunctionSource("a", lambda query: 1, ["x", "y"]))


def test_a_small_source_can_have_terms():
    source = PlainSource("lab", CallSource(len), ["age", "thalach"], price=2.0)
    assert fetch(source, "age") == {"age": 3} and source.terms.price == 2.0
