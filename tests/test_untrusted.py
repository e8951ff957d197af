"""Values that may come from anyone: read, or refused within bounded time and memory."""

from __future__ import annotations

import os
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.errors import BundleError, DataError
from thrifty.untrusted import (
    allowance,
    claim,
    escaped,
    is_count,
    is_list,
    is_number,
    is_text,
    parse_json,
    read_file,
    shown,
)


def parse(text: bytes, **options):
    return parse_json(text, max_bytes=10**7, **options)


# --- JSON --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b"{} {}", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b"9" * 10_000, "not valid JSON"),
        (b"[" * 100 + b"]" * 100, "more than 64 levels"),
        (b'{"a": 1, "b": 2, "a": 1}', "the key 'a' twice"),
        (b"NaN", "not a finite number"),
        (b"[-Infinity]", "not a finite number"),
        (b"1e999", "not a finite number"),
        (b'{"limit": ' + b"9" * 400 + b"}", "not a finite number"),
        (b'["\\ud800"]', "half a character"),
        (b'{"\\uDFFF": 1}', "half a character"),
    ],
    ids=range(16),
)
def test_invalid_json_is_refused(text, message):
    with pytest.raises(BundleError, match=message):
        parse(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False,
                                                                          allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)  # fmt: skip
def test_valid_json_is_read(value):
    import json

    assert parse(json.dumps(value).encode()) == value


def test_pairs_of_escapes_are_one_character():
    assert parse(b'["\\ud83d\\ude00"]') == ["\U0001f600"]


def test_json_that_is_too_large_is_not_parsed():
    with pytest.raises(DataError, match="the answer is larger than 9 bytes"):
        parse_json(b"[" * 10, max_bytes=9, what="the answer", error=DataError)


def test_other_programs_write_nan_and_infinity():
    (number,) = parse(b"[NaN]", finite=False)
    assert number != number
    assert parse(b"[-Infinity, 1e999]", finite=False) == [-float("inf"), float("inf")]


# --- values ------------------------------------------------------------------


def test_numbers_are_finite_and_within_their_range():
    assert is_number(0.5, 0, 1) and is_number(1, 0, 1) and is_number(-(10**300))
    for value in (True, "1", None, float("nan"), float("inf"), 10**400, -(10**400), [1]):
        assert not is_number(value)
    assert not is_number(1.5, 0, 1)


def test_counts_are_whole_numbers_within_their_range():
    assert is_count(0) and is_count(5, 5, 5)
    for value in (-1, 2**63, 1.0, True, "1", None):
        assert not is_count(value)


@pytest.mark.parametrize("text", ["", "CAD", "Größe", "\U0001f600", "\u202e", "\u200b"])
def test_text_that_can_be_written_is_text(text):
    assert is_text(text)


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\x00", "\x7f", "\x9b"])
def test_control_characters_are_text_of_tables_only(text):
    assert not is_text(text) and is_text(text, controls=True)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "a" * 10_001, b"a", None, 3])
def test_what_cannot_be_written_is_no_text(text):
    assert not is_text(text) and not is_text(text, controls=True)


def test_lists_have_a_length_and_entries_that_fit():
    assert is_list([1, 2.0], is_number, 2, 2)
    for value in ([1], [1, "x"], (1, 2), None, "12"):
        assert not is_list(value, is_number, 2, 2)


def test_a_message_quotes_little_of_a_value():
    for value in ([[0] * 1000] * 1000, "x" * 10**6, {str(k): k for k in range(10**5)}, 10**9000):
        assert len(shown(value)) <= 80
    assert shown("\x1b[0m") == "'\\x1b[0m'" and shown({"a": 1}) == "{'a': 1}"


@given(st.text())
def test_escaped_text_prints_and_can_be_encoded(text):
    assert escaped(text).isprintable()
    escaped(text).encode()


def test_escapes_are_readable_and_some_characters_may_stay():
    assert escaped("a\x1b[31m\u202e\ud800\n\u2028") == r"a\x1b[31m\u202e\ud800\n\u2028"
    assert escaped("a\n\tb", keep="\n") == "a\n\\tb"
    assert escaped("Größe") == "Größe"


# --- files -------------------------------------------------------------------


def test_a_regular_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5) == b"12345"
    assert read_file(str(tmp_path / "a"), 10**12) == b"12345"


def test_a_large_file_is_refused_unread(tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**33)  # sparse
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="larger than 2 GiB"):
            read_file(tmp_path / "large", 2**31 - 1, DataError)
        with pytest.raises(BundleError, match="larger than 16 MiB"):
            read_file(tmp_path / "large", 2**24)
        with pytest.raises(BundleError, match="larger than 4 bytes"):
            read_file(tmp_path / "large", 4)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_folders_pipes_and_devices_are_refused(tmp_path):
    with pytest.raises(BundleError, match="folder"):
        read_file(tmp_path, 10)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(BundleError, match="not a regular file"):
            read_file(path, 10)


def test_a_file_that_does_not_exist_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nothing", 10)


# --- memory ------------------------------------------------------------------


def test_claims_add_up_within_an_allowance_only():
    claim(10**15, "anything")
    with allowance(100):
        claim(60, "one table")
        with pytest.raises(BundleError, match="60 bytes for another table"):
            claim(60, "another table")
    with allowance(100):
        claim(100, "a table")
    claim(10**15, "anything")
