"""The bodies that server and clients share."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from thrifty import wire

STRUCTS = [
    value
    for value in vars(wire).values()
    if inspect.isclass(value) and issubclass(value, msgspec.Struct)
]


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_every_body_has_a_description_and_a_schema(kind) -> None:
    assert kind.__doc__
    assert msgspec.json.schema(kind)["$defs"]


def test_bodies_of_requests_refuse_entries_that_they_do_not_have() -> None:
    for kind in (
        wire.CaseStep, wire.CaseValues, wire.NewCase, wire.Next, wire.Predict, wire.SkippedFeatures
    ):  # fmt: skip
        with pytest.raises(msgspec.ValidationError, match="unknown field"):
            msgspec.convert({"features": [], "rows": [], "x": 1}, kind)
