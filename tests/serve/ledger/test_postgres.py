"""A ledger in PostgreSQL: addresses, locks, and a server that goes away."""

from __future__ import annotations

import builtins
import os
import tempfile
import threading
from pathlib import Path

import pytest
from postgres_server import PostgresServer

from thrifty.errors import LedgerError
from thrifty.serve import Ledger
from thrifty.serve.ledger.postgres import PostgresStore
from thrifty.serve.ledger.records import Intent, Settlement


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("THRIFTY_LEDGER_KEY", "k" * 40)


@pytest.fixture
def connection(postgres):
    from pg8000 import native

    address = f"{postgres.folder}/.s.PGSQL.5432"
    opened = native.Connection("thrifty", unix_sock=address, database="postgres")
    opened.run("DROP SCHEMA public CASCADE")
    opened.run("CREATE SCHEMA public")
    yield opened
    opened.close()


def intend(ledger, item="blood"):
    header = ledger.header("a", None, "model", None)
    return ledger.intend(header, [Intent(item, 2.0)]).result()


def test_a_ledger_of_a_newer_version_is_refused(postgres, connection):
    Ledger.open(postgres.url()).close()
    connection.run("UPDATE thrifty_meta SET value = '99' WHERE name = 'version'")
    with pytest.raises(LedgerError, match=r"newer version.*tables 99.*upgrade.*Nothing was bought"):
        Ledger.open(postgres.url())


def test_a_locked_ledger_is_refused_after_a_while_and_nothing_is_bought(postgres, connection):
    with Ledger.open(postgres.url(), busy=0.1) as ledger:
        connection.run("BEGIN")
        connection.run("LOCK TABLE thrifty_purchase IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match=r"locked it for more than 0.1 s.*Nothing was bought"):
            intend(ledger)
        connection.run("ROLLBACK")
        assert intend(ledger).mine


def test_a_full_disk_is_reported(postgres, connection):
    with Ledger.open(postgres.url()) as ledger:
        connection.run("""
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$""")
        connection.run("""
            CREATE TRIGGER full_disk BEFORE INSERT ON thrifty_purchase
            FOR EACH ROW EXECUTE FUNCTION fail()""")
        with pytest.raises(LedgerError, match="disk is full; make room. Nothing was bought"):
            intend(ledger)


def test_another_error_of_the_server_is_reported(postgres, connection):
    with Ledger.open(postgres.url()) as ledger:
        connection.run("DROP TABLE thrifty_purchase")
        with pytest.raises(LedgerError, match='"thrifty_purchase" does not exist'):
            intend(ledger)


def test_a_lost_connection_is_made_again(postgres, connection):
    with Ledger.open(postgres.url()) as ledger:
        grants = intend(ledger)
        connection.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        (entry,) = ledger.open_purchases()
        case = ledger.header("a", None, "", None).case
        settlement = Settlement(case, entry.item, grants.mine["blood"], "settled", 2.0, "delivered")
        assert ledger.settle([settlement], hurry=True).result() == [True]


def test_a_server_that_crashes_and_comes_back_is_waited_for(key):
    with tempfile.TemporaryDirectory(prefix="thrifty-pg-") as folder:
        os.chmod(folder, 0o755)
        server = PostgresServer(Path(folder) / "server", "fsync=off")
        server.start()
        with Ledger.open(server.url(), patience=30.0) as ledger:
            intend(ledger, "before")
            server.kill()
            back = threading.Timer(0.3, server.start)
            back.start()
            assert intend(ledger, "after").mine
            assert {entry.item for entry in ledger.open_purchases()} == {"before", "after"}
            back.join()
            server.stop()
            ledger._writer._patience = 0.1
            with pytest.raises(LedgerError, match="Nothing was bought"):
                intend(ledger, "never")


def test_a_server_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(LedgerError, match=r"no connection.*Nothing was bought"):
        Ledger.open(f"postgresql://ann:s3cret@/db?host={tmp_path}", patience=0.0)


def test_no_error_and_no_repr_shows_a_password():
    store = PostgresStore("postgresql://ann:s3cret@db.example:5433/ledger?sslmode=require", 5.0)
    assert "s3cret" not in store.shown and "ann" not in store.shown
    assert store._address["password"] == "s3cret" and store._address["ssl_context"] is True
    assert (store._address["host"], store._address["port"]) == ("db.example", 5433)


def test_an_address_that_is_no_url_is_refused():
    with pytest.raises(LedgerError, match="not a URL of a database"):
        Ledger.open("postgresql://host:port/db")


def test_a_missing_driver_is_named(monkeypatch):
    real = builtins.__import__

    def importing(name, *arguments):
        if name == "pg8000":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(LedgerError, match="pip install 'thrifty\\[serve\\]'"):
        Ledger.open("postgresql://localhost/db")


def test_a_ledger_in_a_database_needs_a_key_that_was_given(monkeypatch):
    monkeypatch.delenv("THRIFTY_LEDGER_KEY")
    with pytest.raises(LedgerError, match="set THRIFTY_LEDGER_KEY"):
        Ledger.open("postgresql://localhost/db")
