"""A real server and vendors that misbehave, over sockets: nothing is lost or bought twice."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from thrifty.client import AsyncClient, Client, RequestError
from thrifty.serve import Ledger

SOURCES = """
[[source]]
name = "vendor"
kind = "http"
url = "{url}/{{patient}}"
values = {{ {values} }}
sold = "each"
timeout = 60
retries = 1
pause = 0.01
trips_after = 1000
"""


class Vendor(ThreadingHTTPServer):
    """Answers with one row, or does what `behave` says; counts what it was asked.

    "hang" and "late" go on when `release` is set.
    """

    daemon_threads = True

    def __init__(self, row: dict) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.row, self.behave, self.asked = row, "well", Counter()
        self.release = Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Say nothing: connections are meant to break here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        status, body = 200, json.dumps(self.server.row).encode()
        match self.server.behave:
            case "late":
                self.server.release.wait()
            case "hang" | "close" as how:
                if how == "hang":
                    self.server.release.wait()
                self.hang_up()
                return
            case "garbage":
                body = b"<html>out of order"
            case "half":
                self.send_response(200)
                self.send_header("content-length", "5000")
                self.end_headers()
                self.wfile.write(body[:20])
                self.hang_up()
                return
            case int(number):
                status, body = number, b"{}"
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def vendor(heart_table) -> Iterator[Vendor]:
    row = json.loads(heart_table.iloc[[3]].to_json(orient="records"))[0]
    with Vendor(row) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, predictor, vendor, heart_table) -> Path:
    path = tmp_path_factory.mktemp("sockets")
    predictor.save(path / "heart.thrifty")
    values = ", ".join(f'{name} = "/{name}"' for name in heart_table.columns)
    (path / "sources.toml").write_text(SOURCES.format(url=vendor.url, values=values))
    return path


@contextmanager
def serving(folder: Path, ledger: str, limit: int | None = None) -> Iterator[str]:
    """Run a server on a free port, one that can write no file beyond a limit; yield its URL."""
    command = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0",
               "--sources", "sources.toml", "--ledger", ledger]  # fmt: skip
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            if limit is not None:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
            yield found[0]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def url(folder) -> Iterator[str]:
    with serving(folder, "purchases.db") as found:
        yield found


@pytest.mark.parametrize(
    ("behave", "outcomes", "is_paid"),
    [
        ("well", {"delivered"}, True),
        ("hang", {"open"}, True),
        ("late", {"open"}, True),
        ("close", {"assumed"}, True),
        ("half", {"assumed"}, True),
        ("garbage", {"invalid"}, True),
        (429, {"failed"}, False),
        (500, {"failed"}, False),
        (404, {"failed"}, False),
    ],
)
def test_every_case_ends_in_time_with_a_true_receipt(url, vendor, behave, outcomes, is_paid):
    vendor.behave = behave
    vendor.release.clear()
    # A busy machine may not ask the vendor before the deadline: then again, with more time.
    deadlines = (0.5, 5.0, 50.0) if behave in ("hang", "late") else (60.0,)
    try:
        with Client(url) as client:
            for deadline in deadlines:
                case = client.case(context={"patient": f"p-{behave}"}, deadline=deadline)
                if case.state.charges:
                    break
    finally:
        vendor.behave = "well"
        vendor.release.set()
    assert case.done and case.answer in ("no", "yes")
    state = case.state
    assert {charge.outcome for charge in state.charges} <= outcomes
    assert state.charges
    assert state.spent == pytest.approx(sum(charge.paid for charge in state.charges))
    assert (state.spent > 0) == is_paid
    assert (state.total > 0) == (behave == "well")


def test_sixteen_clients_on_one_case_buy_each_thing_once(folder, vendor, predictor, heart_table):
    vendor.behave = "well"
    vendor.asked.clear()

    async def lead_all(url: str) -> list:
        async with AsyncClient(url) as client:

            async def lead():
                return await client.case("one for all", context={"patient": "shared"})

            return await asyncio.gather(*(lead() for _ in range(16)))

    with serving(folder, "shared.db") as url:
        cases = asyncio.run(lead_all(url))
    bill = predictor.bill(heart_table.iloc[[3]])[0]
    assert {case.answer for case in cases} == {predictor.predict(heart_table.iloc[[3]])[0]}
    assert {round(case.spent, 6) for case in cases} == {round(bill, 6)}
    with Ledger.open(folder / "shared.db") as ledger:
        ((_, entries),) = ledger.cases()
    assert sum(entry.charged for entry in entries) == pytest.approx(bill)
    assert 1 <= vendor.asked["/shared"] <= len(entries)


@pytest.mark.slow
def test_a_locked_ledger_is_a_clear_503_and_nothing_is_bought(folder, vendor):
    vendor.behave = "well"
    vendor.asked.clear()
    with serving(folder, "locked.db") as url:
        with closing(sqlite3.connect(folder / "locked.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with Client(url) as client, pytest.raises(RequestError, match="locked") as caught:
                client.case(context={"patient": "locked"})
            other.execute("ROLLBACK")
        assert caught.value.status == 503
        assert vendor.asked["/locked"] == 0
        with Client(url) as client:
            assert client.case(context={"patient": "locked"}).done


def test_a_full_disk_is_a_clear_503_and_nothing_is_bought(folder, vendor):
    vendor.behave = "well"
    vendor.asked.clear()
    with serving(folder, "full.db", limit=1) as url, Client(url) as client:
        with pytest.raises(RequestError, match="Nothing was bought") as caught:
            client.case(context={"patient": "full"})
        assert caught.value.status == 503
        assert vendor.asked["/full"] == 0
        assert client.next().asks  # what needs no ledger still works


def test_a_ledger_of_a_newer_version_is_refused_at_the_start(folder):
    Ledger.open(folder / "newer.db").close()
    with closing(sqlite3.connect(folder / "newer.db")) as database, database:
        database.execute("UPDATE thrifty_meta SET value = '99' WHERE name = 'version'")
    command = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0",
               "--ledger", "newer.db"]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "newer" in done.stderr and "Traceback" not in done.stderr
