from __future__ import annotations

import json

import pytest

from thrifty.bundle.audit import FORMAT, audit_header, parse
from thrifty.errors import BundleError

ENTRY = {"sha256": "0" * 64, "dtype": "<f8", "shape": [1]}
HEADER = {
    "thrifty": FORMAT,
    "needs": "0.1",
    "kind": "forest",
    "model": {},
    "schema": {},
    "classes": None,
    "prices": {},
    "knob": None,
    "provenance": None,
    "arrays": {"a": ENTRY, "stages/0.values": ENTRY},
}


def test_sound_json_is_read():
    assert parse(json.dumps(HEADER).encode()) == HEADER
    assert audit_header(dict(HEADER)) == HEADER


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "not sound JSON"),
        (b"{", "not sound JSON"),
        (b"\xff", "not sound JSON"),
        (b"\xef\xbb\xbf{}", "not sound JSON"),
        (b"{} {}", "not sound JSON"),
        (b"[" * 100_000, "not sound JSON"),
        (b'{"a":' * 100_000, "not sound JSON"),
        (b"9" * 10_000, "not sound JSON"),
        (b"[" * 100 + b"]" * 100, "nested more than 64 deep"),
        (b'{"a": 1, "b": 2, "a": 1}', "names 'a' twice"),
        (b"NaN", "not a finite number"),
        (b"[-Infinity]", "not a finite number"),
        (b"1e999", "not a finite number"),
    ],
    ids=range(13),
)
def test_unsound_json_is_refused(text, message):
    with pytest.raises(BundleError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": 1}, "'kind' is of the wrong type"),
        ({"needs": None}, "'needs' is of the wrong type"),
        ({"model": []}, "'model' is of the wrong type"),
        ({"classes": []}, "'classes' is of the wrong type"),
        ({"knob": 3}, "'knob' is of the wrong type"),
        ({"arrays": []}, "'arrays' is of the wrong type"),
        ({"code": "import os"}, "unknown part 'code'"),
        ({"thrifty": True}, "no Thrifty model file"),
        ({"thrifty": "1"}, "no Thrifty model file"),
        ({"thrifty": 0}, "no format 0"),
        ({"thrifty": -1}, "no format -1"),
        ({"arrays": {"../a": ENTRY}}, "plain words"),
        ({"arrays": {"/a": ENTRY}}, "plain words"),
        ({"arrays": {"a/..": ENTRY}}, "plain words"),
        ({"arrays": {"a\\b": ENTRY}}, "plain words"),
        ({"arrays": {"a\0": ENTRY}}, "plain words"),
        ({"arrays": {"a": None}}, "sha256, a dtype and a shape"),
        ({"arrays": {"a": ENTRY | {"more": 1}}}, "sha256, a dtype and a shape"),
        ({"arrays": {"a": {"dtype": "<f8"}}}, "sha256, a dtype and a shape"),
    ],
    ids=range(19),
)
def test_an_unsound_header_is_refused(changes, message):
    with pytest.raises(BundleError, match=message):
        audit_header(HEADER | changes)


@pytest.mark.parametrize("plain", [None, [], "header", {}, 1])
def test_what_is_no_header_is_refused(plain):
    with pytest.raises(BundleError, match="no Thrifty model file"):
        audit_header(plain)


@pytest.mark.parametrize("part", sorted(HEADER.keys() - {"thrifty"}))
def test_a_header_needs_all_its_parts(part):
    with pytest.raises(BundleError, match=f"lacks '{part}'"):
        audit_header({key: value for key, value in HEADER.items() if key != part})


def test_a_newer_format_is_refused_with_the_release_it_needs():
    newer = {"thrifty": FORMAT + 1, "needs": "3.7", "whatever": 1}
    with pytest.raises(BundleError, match=r"reads up to 1: it needs Thrifty 3\.7 or newer"):
        audit_header(newer)
    for strange in (None, "\x1b[31m", "3.7; rm", "9" * 50):
        with pytest.raises(BundleError, match="it needs a newer Thrifty$"):
            audit_header(newer | {"needs": strange})
