"""The thread that writes: what arrives while it commits shares the next commit."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import wait

import pytest

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import Header, Intent
from thrifty.serve.ledger.rules import Request
from thrifty.serve.ledger.sqlite import SqliteStore
from thrifty.serve.ledger.writer import Writer


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(str(tmp_path / "ledger.db"), 5.0)
    opened.connect("check")
    yield opened
    opened.close()


@pytest.fixture
def writer(store):
    opened = Writer(store, lambda: 0.0, delay=60.0, patience=0.0)
    yield opened
    opened.close()


def request(number):
    return Request(Header(f"case {number}"), [Intent("x", 1.0)], f"owner {number}")


def test_what_arrives_during_a_commit_shares_the_next_one(writer, store, monkeypatch):
    commits = []
    commit = store.commit
    monkeypatch.setattr(store, "commit", lambda: (commits.append(1), commit()))
    hold, started = threading.Event(), threading.Event()
    first = writer.submit(lambda _: (started.set(), hold.wait()))
    started.wait()
    others = [writer.submit(request(i)) for i in range(20)]
    hold.set()
    wait([first, *others])
    assert len(commits) == 2
    assert all(other.result().mine for other in others)


def test_more_than_a_batch_is_written_in_several(writer, monkeypatch):
    monkeypatch.setattr("thrifty.serve.ledger.writer.MAX_BATCH", 3)
    jobs = [writer.submit(request(i)) for i in range(10)]
    assert all(job.result(timeout=10).mine for job in jobs)


def test_a_task_that_cannot_be_written_does_not_harm_the_others(writer):
    hold, started = threading.Event(), threading.Event()
    writer.submit(lambda _: (started.set(), hold.wait()))
    started.wait()
    good = writer.submit(request(1))
    bad = writer.submit(Request(Header("half a character: \ud800"), [Intent("x", 1.0)], "me"))
    also_good = writer.submit(request(2))
    hold.set()
    assert good.result(timeout=10).mine and also_good.result(timeout=10).mine
    with pytest.raises(LedgerError, match="UnicodeEncodeError"):
        bad.result(timeout=10)


def test_a_transaction_that_fails_leaves_nothing_behind(writer, store):
    def fail(_):
        raise LedgerError("no")

    hold, started = threading.Event(), threading.Event()
    writer.submit(lambda _: (started.set(), hold.wait()))
    started.wait()
    both = [writer.submit(request(1)), writer.submit(fail)]
    hold.set()
    for job in both:
        with pytest.raises(LedgerError, match="no"):
            job.result(timeout=10)
    assert writer.submit(lambda s: s.claim((), ["case 1"], 0.0)).result() == []


# --- callers in an event loop


def test_an_event_loop_is_woken_once_for_all_that_a_commit_brings(writer, monkeypatch):
    async def run() -> int:
        loop = asyncio.get_running_loop()
        hold, started = threading.Event(), threading.Event()
        writer.submit(lambda _: (started.set(), hold.wait()))
        started.wait()
        jobs = [asyncio.wrap_future(writer.submit(request(i))) for i in range(20)]
        wakes, wake = [], loop.call_soon_threadsafe

        def count(*arguments):
            wakes.append(threading.current_thread())
            return wake(*arguments)

        monkeypatch.setattr(loop, "call_soon_threadsafe", count)
        hold.set()
        results = await asyncio.gather(*jobs)
        assert all(result.mine for result in results)
        return sum(thread is not threading.current_thread() for thread in wakes)

    assert asyncio.run(run()) == 1


def test_a_result_can_be_waited_for_in_an_event_loop_that_is_blocked(writer):
    async def run() -> object:
        return writer.submit(request(1)).result(timeout=10)

    assert asyncio.run(run()).mine


def test_what_was_asked_for_in_an_event_loop_that_has_ended_is_called_back(writer):
    hold, called = threading.Event(), threading.Event()

    async def run() -> None:
        writer.submit(lambda _: hold.wait()).add_done_callback(lambda _: called.set())

    asyncio.run(run())
    hold.set()
    assert called.wait(10)


def test_a_callback_that_comes_after_the_result_is_called_at_once(writer):
    async def run() -> list[object]:
        job, called = writer.submit(request(1)), []
        job.result(timeout=10)
        job.add_done_callback(called.append)
        return called

    assert len(asyncio.run(run())) == 1
