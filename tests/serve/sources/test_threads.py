"""Blocking functions in threads of their own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from thrifty.serve.sources.threads import in_thread


def test_the_result_and_the_error_come_back():
    assert asyncio.run(in_thread(max, 3, 5)) == 5
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(lambda: 1 / 0))


def test_the_event_loop_goes_on_meanwhile():
    async def both():
        gate = threading.Event()
        waiting = asyncio.create_task(in_thread(gate.wait))
        await asyncio.sleep(0)
        gate.set()
        return await waiting

    assert asyncio.run(both())


def test_what_comes_after_nobody_waits_is_dropped():
    gate, done = threading.Event(), threading.Event()

    def late():
        gate.wait()
        done.set()

    async def impatient(end_first):
        task = asyncio.create_task(in_thread(late))
        await asyncio.sleep(0.01)
        task.cancel()
        if not end_first:
            gate.set()
            await asyncio.to_thread(done.wait)
            await asyncio.sleep(0.01)

    asyncio.run(impatient(end_first=False))
    gate.clear()
    asyncio.run(impatient(end_first=True))
    gate.set()  # its loop is closed by now
    for thread in threading.enumerate():
        if thread.name == "thrifty-source":
            thread.join(timeout=5)
            assert not thread.is_alive()


def test_a_thread_that_hangs_does_not_keep_the_process():
    thread = asyncio.run(in_thread(threading.current_thread))
    assert thread.name == "thrifty-source" and thread.daemon
