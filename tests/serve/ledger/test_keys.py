"""The key of a ledger: from the environment or a file that nobody else can read."""

from __future__ import annotations

import os
import stat

import pytest

from thrifty.errors import LedgerError
from thrifty.serve.ledger.keys import KEY_VARIABLE, KeyedHash, read_key


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def test_the_environment_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv(KEY_VARIABLE, "e" * 32)
    assert read_key(tmp_path / "missing") == b"e" * 32


def test_a_short_key_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(LedgerError, match="fewer than 32 characters") as caught:
        read_key(None)
    assert "short" not in str(caught.value)


def test_a_key_file_is_created_once(tmp_path):
    file = tmp_path / "key"
    key = read_key(file, create=True)
    assert len(key) == 64 and read_key(file, create=True) == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_key_file_that_another_process_creates_meanwhile_is_read(tmp_path, monkeypatch):
    file = tmp_path / "key"

    def slower(path, data):
        path.write_bytes(b"o" * 40)
        path.chmod(0o600)
        return False

    monkeypatch.setattr("thrifty.serve.ledger.keys.create_whole", slower)
    assert read_key(file, create=True) == b"o" * 40


def test_a_key_file_is_small_and_regular(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"k" * 70_000)
    file.chmod(0o600)
    with pytest.raises(LedgerError, match="key file .*key: the file is larger than 65536 bytes"):
        read_key(file)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(LedgerError, match="not a regular file"):
        read_key(tmp_path / "pipe")


def test_a_key_file_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "key"
    file.write_text("k" * 40)
    file.chmod(0o640)
    with pytest.raises(LedgerError, match="others can read it; run chmod 600"):
        read_key(file)


def test_a_short_key_file_is_refused(tmp_path):
    file = tmp_path / "key"
    file.write_text("k" * 31 + "\n")
    file.chmod(0o600)
    with pytest.raises(LedgerError, match="fewer than 32"):
        read_key(file)


def test_a_missing_key_file_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be read"):
        read_key(tmp_path / "missing")
    with pytest.raises(LedgerError, match="cannot be created"):
        read_key(tmp_path / "no" / "folder", create=True)


def test_a_ledger_without_a_key_is_refused():
    with pytest.raises(LedgerError, match=f"set {KEY_VARIABLE}"):
        read_key(None)


def test_hashes_depend_on_the_key_and_on_where_a_part_ends():
    one, other = KeyedHash(b"a" * 32), KeyedHash(b"b" * 32)
    assert one("case", "x") != other("case", "x")
    assert one("ab", "c") != one("a", "bc")
    assert len(one("case", "x")) == 64
    assert "aaa" not in repr(one)
