"""Sources declared in a file."""

from __future__ import annotations

import asyncio
import re

import pytest

from thrifty.errors import DataError
from thrifty.serve import (
    FeatureStoreSource,
    HttpSource,
    PersonSource,
    Query,
    ReplaySource,
    SqlSource,
    read_sources,
)

GOOD = """
[[source]]
name = "bureau"
kind = "http"
url = "${BUREAU}/score/{customer}"
headers = { Authorization = "Bearer ${TOKEN}" }
values = { score = "/data/score" }
idempotency_header = "Idempotency-Key"
price = 2.0
timeout = 1.5
retries = 2
max_age = 86400

[[source]]
name = "lab"
kind = "sql"
database = "sqlite://"
query = "SELECT 1 AS chol, 2 AS fbs"
features = ["chol", "fbs"]

[[source]]
name = "store"
kind = "feature_store"
url = "http://localhost:6566"
references = { age = "person:age" }
entity = { person_id = "{customer}" }

[[source]]
name = "records"
kind = "replay"
table = "rows.csv"
by = "customer"

[[source]]
name = "nurse"
kind = "person"
features = ["pain"]
price = 10
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "rows.csv").write_text("customer,weight\n7,80\n")

    def write(text):
        path = tmp_path / "sources.toml"
        path.write_text(text)
        return path

    return write


def test_every_kind_can_be_declared(file):
    environ = {"BUREAU": "https://example.com", "TOKEN": "t0p"}
    sources = read_sources(file(GOOD), environ)
    kinds = [HttpSource, SqlSource, FeatureStoreSource, ReplaySource, PersonSource]
    assert list(map(type, sources)) == kinds
    bureau, lab, _, records, nurse = sources
    assert (bureau.terms.price, bureau.terms.timeout, bureau.terms.retries) == (2.0, 1.5, 2)
    assert bureau.terms.idempotent and bureau.terms.max_age == 86400
    assert lab.terms.features == ("chol", "fbs") and nurse.terms.price == 10.0
    query = Query(("weight",), context={"customer": 7})
    assert asyncio.run(records.fetch(query)) == {"weight": 80.0}
    assert "t0p" not in repr(sources)


def test_all_problems_are_named_at_once_and_no_secret(file):
    text = """
title = "my sources"
[[source]]
name = "a"
kind = "htpp"
[[source]]
name = "b"
kind = "http"
urll = "http://x"
[[source]]
name = "c"
kind = "sql"
database = "${MISSING}"
query = "SELECT 1"
features = ["x"]
[[source]]
kind = "person"
features = []
[[source]]
name = "d"
kind = "http"
url = "http://x"
method = "${SECRET}"
values = { x = "no pointer" }
[[source]]
name = "e"
kind = "http"
url = 7
values = { x = "/x" }
"""
    with pytest.raises(DataError) as caught:
        read_sources(file(text), {"SECRET": "s3cret-place"})
    message = str(caught.value)
    for part in (
        "'title': sources are declared as [[source]]",
        "source 'a': kind 'htpp' is not one of http, sql, feature_store, replay, person; did you",
        "'url' is missing",
        "'urll' is no parameter of http; did you mean 'url'?",
        "source 'c': ${MISSING}: there is no such environment variable",
        "source 4: 'name' is missing",
        "source 'd': 2 problems",
        "method: '${SECRET}' is not one of",
        "source 'e': 'url' is not a text",
    ):
        assert part in message, part
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it declares no source"),
        ("source = 7", "it declares no source"),
        ("source = [7]", "write \\[\\[source\\]\\]"),
        ("[[source", "it is no TOML"),
        ("a = " + "1" * 5000, "it is no TOML"),
        ("a = " + "[" * 20_000, "it is no TOML"),
        ("a = '" + "x" * 2**20 + "'", "the file is larger than 1 MiB"),
    ],
)
def test_a_file_without_sources_is_refused(file, text, problem):
    with pytest.raises(DataError, match=problem):
        read_sources(file(text))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("kind = { a = 1 }", "kind {'a': 1} is not one of http"),
        ("kind = 'sql'\ndatabase = 'sqlite://sqlite://'\nquery = 'SELECT 1'", "cannot be used"),
        ("kind = 'person'\nmax_age = 1" + "0" * 400, "max_age: .* is not a number of seconds"),
        ("kind = 'person'\ntimeout = 1e12", "timeout: .* is not a number of seconds above 0"),
        ("kind = 'person'\nretries = 1" + "0" * 30, "retries: .* is not a whole number"),
        ("kind = 'feature_store'\nurl = 'http://x'\nreferences = {}\nentity = 'who'",
         "'entity' is not a table"),
        ("kind = 'replay'\ntable = 'a\\u0000b.csv'\nby = 'id'", "a name with a NUL"),
        ("kind = 'replay'\ntable = '.'\nby = 'id'", "this is a folder"),
    ],
)  # fmt: skip
def test_what_no_source_can_be_made_of_is_refused(file, line, problem):
    text = f"[[source]]\nname = 'a'\n{line}\n".replace("'", '"')
    features = "" if "feature_store" in line else 'features = ["x"]\n'
    with pytest.raises(DataError, match=re.escape("source 'a'")) as caught:
        read_sources(file(text + features))
    assert re.search(problem, str(caught.value))


@pytest.mark.parametrize("features", ['"pain"', "[{ a = 1 }]", "[true]", "7"])
def test_features_are_a_list_of_names_or_positions(file, features):
    text = f'[[source]]\nname = "a"\nkind = "person"\nfeatures = {features}\n'
    with pytest.raises(DataError, match="features"):
        read_sources(file(text))


@pytest.mark.parametrize("line", ['name = "${TOKEN}"', 'features = ["x", "${TOKEN}"]'])
def test_what_everyone_may_see_cannot_refer_to_a_secret(file, line):
    given = {"name": 'name = "a"', "features": 'features = ["x"]'}
    given[line.split()[0]] = line
    text = "[[source]]\nkind = 'person'\n" + "\n".join(given.values())
    with pytest.raises(DataError, match="so it cannot refer to a secret") as caught:
        read_sources(file(text), {"TOKEN": "t0p"})
    assert "t0p" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"missing.toml: cannot be read \(No such file"):
        read_sources(tmp_path / "missing.toml")
