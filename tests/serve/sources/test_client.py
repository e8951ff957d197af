"""The client as a source is never asked."""

from __future__ import annotations

import asyncio

import pytest

from thrifty.serve import Query, UnsentError
from thrifty.serve.sources.client import CLIENT, ClientSource


def test_a_client_is_waited_for_and_not_asked():
    source = ClientSource(["age", "sex"])
    assert (source.terms.name, source.terms.features, source.terms.price) == (
        CLIENT,
        ("age", "sex"),
        None,
    )
    with pytest.raises(UnsentError):
        asyncio.run(source.fetch(Query(("age",))))
