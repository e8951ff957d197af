"""How a CSV file is written is found by looking at it."""

from __future__ import annotations

import os

import pytest

from thrifty.csv_files import CsvFormat, find_format, read_header, read_text, to_commas
from thrifty.errors import DataError


@pytest.fixture
def found(tmp_path):
    """Write a file and find out its format."""

    def call(text: str | bytes, encoding: str = "utf-8") -> CsvFormat:
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return find_format(path)

    return call


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1.5,2\n", ",", "."),
        ("a;b\n1,5;2\n", ";", ","),
        ("a;b\n1.5;2\n", ";", "."),
        ("a;b\n1.5;2,5\n", ";", "."),  # both: left as text, and refused by column later
        ("a\tb\n1\t-2,5e3\n", "\t", ","),
        ("a|b\n1|2\n", "|", "."),
        ("a\n1\n", ",", "."),
        ("a\n1,5\n", ",", "."),
        ('"x;y",b\n1,2\n', ",", "."),
        ("a,b\nx;y,2\n", ",", "."),
        ("size, cm;weight;age\n1,5;70;30\n", ";", ","),
        ("a;b\n\n1;x\n\n", ";", "."),
        ('a;b\n"x\ny;z";1,5\n', ";", ","),
        ("a,b\n1,2,3\n", ",", "."),  # ragged: reading reports it
    ],
)
def test_separator_and_decimal_mark_are_found(found, text, separator, decimal):
    assert found(text) == CsvFormat(separator=separator, decimal=decimal)


def test_encodings_are_found(found):
    assert found("é;b\n1;2\n").encoding == "utf-8-sig"
    assert found("é;b\n1;2\n", "utf-8-sig") == CsvFormat("utf-8-sig", ";")
    assert found("é;b\n1;2\n", "utf-16") == CsvFormat("utf-16", ";")
    with pytest.warns(UserWarning, match="read as Windows-1252"):
        assert found("é;b\n1;2\n", "cp1252") == CsvFormat("cp1252", ";")


def test_a_letter_may_be_cut_between_two_reads(found, monkeypatch):
    monkeypatch.setattr("thrifty.csv_files.CHUNK", 1)
    assert found("é,b\n1,2\n").encoding == "utf-8-sig"


def test_a_long_file_is_judged_by_its_start(found, monkeypatch):
    monkeypatch.setattr("thrifty.csv_files.SAMPLE", 12)
    assert found("a;b\n1,5;2\n1,5;22222;3;4\n") == CsvFormat(separator=";", decimal=",")
    monkeypatch.setattr("thrifty.csv_files.RECORDS", 1)
    assert found("a;b\n1,5;2\n").separator == ";"


def test_a_cell_that_is_too_long_is_left_to_the_reader(found):
    assert found("a,b\n" + "x" * 200_000 + ",1\n").separator == ","
    assert found("x" * 200_000 + ",b\n").separator == ","


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"a,b;c\n1,2;3\n", "separated by commas or semicolons"),
        (b"\x81\xff", "neither UTF-8 nor Windows-1252"),
        (b"\xff\xfea", "not the UTF-16 text that its start announces"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(found, data, words):
    with pytest.raises(DataError, match=words):
        found(data)


def test_the_header_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a;"b;c"\n1;2\n')
    assert read_header(path, CsvFormat(separator=";")) == ["a", "b;c"]


def test_a_file_with_commas_is_not_rewritten():
    text = 'a,b\n1,"2,5"\n'
    assert to_commas(text, CsvFormat()) is text
    assert to_commas("a;b\nx,y;2,5\n", CsvFormat(separator=";")) == 'a,b\n"x,y","2,5"\n'


def test_a_small_file_is_read_with_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("é;b\n1,5;2\n".encode("utf-16"))
    assert read_text(path) == "é,b\n1.5,2\n"
    (tmp_path / "t.toml").write_bytes(b"\xef\xbb\xbfa = 1")
    assert read_text(tmp_path / "t.toml") == "a = 1"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("t.toml", b"a" * 101, "larger than 100 bytes"),
        ("t.toml", b"\xff", "not UTF-8 text"),
        ("t.csv", b"a;b\n" + b"x" * 140_000 + b";1\n", "field larger than field limit"),
    ],
)
def test_a_small_file_that_cannot_be_read_is_named(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"{name}: .*{words}"):
        read_text(tmp_path / name, 100 if len(data) < 200 else 200_000)


def test_utf_16_that_breaks_after_its_start_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("thrifty.csv_files.SAMPLE", 4)
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16") + b"\0" * 8191 + b"\xdc")
    with pytest.raises(DataError, match="not UTF-16 text"):
        read_text(path)


def test_a_pipe_is_no_table(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    for read in (find_format, read_text):
        with pytest.raises(DataError, match=r"pipe.csv: this is not a regular file"):
            read(path)
