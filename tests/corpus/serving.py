"""Write what a server reads into the corpus: ``python tests/corpus/serving.py``.

Declared sources (``sources.toml``), and a ledger as SQL (``ledger.sql``), which is smaller than the
file that SQLite makes of it. As with `write.py`, a file that exists is never touched.
"""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from thrifty import load
from thrifty.serve import Case, Ledger, ReplaySource, Runtime, read_sources
from thrifty.serve.ledger.records import Intent
from thrifty.serve.ledger.sqlite import SqliteStore

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
TOKEN = "t0p-s3cret"
KEY = b"a key of a ledger for the corpus"
ROW = {"size": 0.5, "weight": 1.0, "scan": 0.1, "town": "ulm", "grade": "low", "count": 2}
SOURCES = """\
[[source]]
name = "bureau"
kind = "http"
url = "https://bureau.example.com/score/{who}?key=${TOKEN}"
headers = { Authorization = "Bearer ${TOKEN}" }
values = { scan = "/data/scan" }
idempotency_header = "Idempotency-Key"
price = 20.0
timeout = 1.5
retries = 2
max_age = 86400

[[source]]
name = "lab"
kind = "sql"
database = "sqlite://"
query = "SELECT :who AS weight, 2 AS count"
features = ["weight", "count"]
price = 8.0

[[source]]
name = "store"
kind = "feature_store"
url = "http://localhost:6566"
references = { grade = "school:grade" }
entity = { person = "{who}" }

[[source]]
name = "register"
kind = "replay"
table = "table.csv"
by = "town"
features = ["size"]

[[source]]
name = "desk"
kind = "person"
features = ["town"]
price = 0.3
timeout = 60
"""


def write_sources(expected: dict[str, Any]) -> None:
    """Write a source of every kind."""
    path = HERE / "sources.toml"
    if path.exists():
        return
    path.write_text(SOURCES)
    read = read_sources(path, {"TOKEN": TOKEN})
    expected["sources.toml"] = [[repr(source), source.terms.price] for source in read]


def sources() -> list[ReplaySource]:
    """Return sources that deliver all that the model asks for."""
    names = ("size", "town", "grade", "scan")
    return [
        ReplaySource("register", ROW, names, max_age=1e12),
        ReplaySource("lab", ROW, ("weight", "count"), sold="together", price=8.0),
    ]


def write_ledger(expected: dict[str, Any]) -> None:
    """Write a ledger with cases that ended, one that did not, and an abandoned purchase."""
    path = HERE / "ledger.sql"
    if path.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/ledger.db"
        # Everything happens at the same moment, long ago.
        with Ledger(SqliteStore(file, 5.0), KEY, clock=lambda: 1.7e9) as ledger:
            with Runtime(load(HERE / "clinic.thrifty"), sources(), ledger) as runtime:
                for k, cap in enumerate((None, 5.0)):
                    runtime.answer(Case(f"case-{k}", subject=f"person-{k}", cap=cap))
            header = ledger.header("case-2", None, runtime.model, "[]")
            ledger.intend(header, [Intent("lab", 8.0)]).result()
            expected["ledger"] = cases_of(ledger)
        connection = sqlite3.connect(file)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        lines = [f"PRAGMA application_id = {application};", *connection.iterdump()]
        connection.close()
    owner = re.escape(socket.gethostname()) + r":\d+:\w+"
    path.write_text(re.sub(owner, "host:1:owner", "\n".join(lines) + "\n"))


def cases_of(ledger: Ledger) -> list[Any]:
    """Return how each case ended, what it cost, and what was bought for it."""
    return [
        [row.ending and [row.ending.stopped, row.ending.answer, row.ending.bill, row.ending.spent],
         [[entry.item, entry.state, entry.charged, entry.values] for entry in entries]]
        for row, entries in ledger.cases()
    ]  # fmt: skip


def main(names: list[str]) -> None:
    """Write what is missing."""
    expected = json.loads(EXPECTED.read_text())
    before = json.dumps(expected, sort_keys=True)
    write_sources(expected)
    write_ledger(expected)
    if json.dumps(expected, sort_keys=True) != before:
        EXPECTED.write_text(json.dumps(expected, sort_keys=True) + "\n")


if __name__ == "__main__":
    main([])
