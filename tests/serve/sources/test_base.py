"""The terms of a source."""

from __future__ import annotations

import asyncio

import pytest

from thrifty.errors import DataError, SourceError
from thrifty.serve import (
    AsyncSource,
    NotFoundError,
    Query,
    RefusedError,
    Terms,
    UnclearError,
    UnsentError,
    UnusableError,
)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"name": "a/b"}, "name: .* without '/'"),
        ({"name": "a\nb"}, "name: .* printable"),
        ({"name": 7}, "name: "),
        ({"name": ""}, "name: it is empty"),
        ({"features": ()}, "features: there are none"),
        ({"features": ("x", "x")}, "features: x named twice"),
        ({"price": float("nan")}, "price: nan"),
        ({"price": True}, "price: True"),
        ({"price": {"x": 1.0}}, "price: pass the price of every feature"),
        ({"price": {"x": 1.0, "y": -1.0}}, "price of 'y': -1.0 is negative"),
        ({"price": {"x": 1.0, "y": 1.0}, "sold": "together"}, "has one price"),
        ({"sold": "by weight"}, "sold: 'by weight'"),
        ({"timeout": 0}, "timeout: 0 is not a number of seconds above 0"),
        ({"timeout": float("inf")}, "timeout: inf"),
        ({"pause": -1}, "pause: -1"),
        ({"max_age": "day"}, "max_age: 'day'"),
        ({"rests": None}, "rests: None"),
        ({"retries": 1.5}, "retries: 1.5"),
        ({"at_once": 0}, "at_once: 0"),
        ({"trips_after": True}, "trips_after: True"),
    ],
)
def test_terms_that_make_no_sense_are_refused(arguments, problem):
    with pytest.raises(DataError, match=problem):
        Terms(**{"name": "lab", "features": ("x", "y"), **arguments})


def test_terms_keep_their_own_prices():
    prices = {"x": 1, "y": 2}
    terms = Terms("lab", ["x", "y"], price=prices)
    prices["x"] = 9
    assert terms.price["x"] == 1 and terms.features == ("x", "y")
    assert Terms("lab", ["x"], price=2).price == 2.0


def test_every_failure_is_a_source_error():
    for kind in (NotFoundError, RefusedError, UnclearError, UnsentError, UnusableError):
        assert issubclass(kind, SourceError)
    assert issubclass(NotFoundError, RefusedError)


def test_a_query_shows_no_value_and_no_identifier():
    query = Query(("x",), {"y": "secret value"}, {"who": "ann"}, "key")
    assert repr(query) == "Query(features=('x',))"


def test_a_source_that_holds_nothing_can_be_closed():
    class Constant(AsyncSource):
        async def fetch(self, query):
            return {"x": 1}

    source = Constant(Terms("lab", ("x",)))
    asyncio.run(source.close())
    assert repr(source) == "Constant('lab', 1 features)"
