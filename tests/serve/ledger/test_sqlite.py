"""A ledger in a file: who may read it, and what happens when it cannot be written."""

from __future__ import annotations

import sqlite3
import stat

import pytest

from thrifty.errors import LedgerError
from thrifty.serve import Ledger
from thrifty.serve.ledger.records import Intent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def intend(ledger, item="blood"):
    header = ledger.header("a", None, "model", None)
    return ledger.intend(header, [Intent(item, 2.0)]).result()


def test_the_file_and_its_key_are_for_their_owner_only(path):
    Ledger.open(path).close()
    for file in (path, path.with_name("ledger.db.key")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_file_may_be_named_by_a_url(path):
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert intend(ledger).mine
    assert path.exists()


def test_a_ledger_survives_being_closed(path):
    with Ledger.open(path) as ledger:
        intend(ledger)
    with Ledger.open(path) as ledger:
        assert [entry.item for entry in ledger.open_purchases()] == ["blood"]


def test_a_commit_waits_for_the_disk(path):
    with Ledger.open(path) as ledger:
        writer = ledger._store._writer
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_ledger_of_a_newer_version_is_refused(path):
    Ledger.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE thrifty_meta SET value = '99' WHERE name = 'version'")
    with pytest.raises(LedgerError, match=r"newer version.*tables 99.*upgrade.*Nothing was bought"):
        Ledger.open(path)


def test_another_database_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    with pytest.raises(LedgerError, match="another database; name a new file"):
        Ledger.open(path)
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert tables == [("customers",)]


def test_a_file_that_is_no_database_is_refused(path):
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(LedgerError, match="not a database"):
        Ledger.open(path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger.open(tmp_path / "missing" / "ledger.db", key_file=_key(tmp_path))


def _key(folder):
    file = folder / "key"
    file.write_text("k" * 40)
    file.chmod(0o600)
    return file


def test_a_locked_ledger_is_refused_after_a_while_and_nothing_is_bought(path):
    with Ledger.open(path, busy=0.1) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked it for more than 0.1 s.*Nothing was bought"):
            intend(ledger)
        other.execute("ROLLBACK")
        other.close()
        assert intend(ledger).mine  # it works again


def test_a_full_disk_is_reported_and_nothing_is_bought(path):
    with Ledger.open(path) as ledger:

        def fill(store):
            (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
            store._writer.execute(f"PRAGMA max_page_count = {pages}")

        ledger._writer.submit(fill).result()
        with pytest.raises(LedgerError, match="disk is full; make room. Nothing was bought"):
            for i in range(200):
                intend(ledger, f"{i}" * 500)
        ledger._writer.submit(
            lambda store: store._writer.execute("PRAGMA max_page_count = 1000000")
        ).result()
        before = len(ledger.open_purchases())
        assert before < 200 and intend(ledger, "room").mine


def test_many_cases_are_read_at_once(path, monkeypatch):
    monkeypatch.setattr("thrifty.serve.ledger.sqlite.MAX_PARAMETERS", 30)
    with Ledger.open(path) as ledger:
        headers = [ledger.header(str(i), None, "", None) for i in range(10)]
        for expected in (1, 0):
            wishes = [ledger.intend(header, [Intent("x", 1.0)]) for header in headers]
            assert all(len(wish.result().mine) == expected for wish in wishes)
