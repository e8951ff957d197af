"""The pool that kernels run on: all work is done, errors come out, a forked child can go on."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from thrifty.kernels import threads as threads_module
from thrifty.kernels.threads import blocks, run, thread_count, threads
from thrifty.learn import GreedyMiserRegressor


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("size", [1, 4, 8, 1000])
def test_blocks_cover_a_range_without_gap_or_overlap(n, size):
    ranges = blocks(n, size)
    assert [i for first, last in ranges for i in range(first, last)] == list(range(n))
    assert all(0 < last - first <= size for first, last in ranges)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_every_range_is_run_once(n, count):
    done = np.zeros(count, dtype=int)

    def task(first, last):
        done[first:last] += 1

    with threads(n):
        run(task, blocks(count, 1))
    assert done.tolist() == [1] * count


def test_more_than_one_thread_works_at_once():
    # Each of three tasks waits for the other two: one thread alone would never pass.
    barrier = threading.Barrier(3, timeout=20)
    with threads(3):
        run(lambda first, last: barrier.wait(), blocks(3, 1))


def test_one_thread_stays_in_the_caller():
    seen = set()
    with threads(1):
        run(lambda first, last: seen.add(threading.get_ident()), blocks(5, 1))
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_an_error_in_any_range_reaches_the_caller(n, bad):
    def task(first, last):
        if first == bad:
            raise ZeroDivisionError(f"range {first}")

    with threads(n), pytest.raises(ZeroDivisionError, match=f"range {bad}"):
        run(task, blocks(5, 1))


@pytest.mark.parametrize("n", [1, 3])
def test_the_pool_works_on_after_an_error(n):
    with threads(n):
        with pytest.raises(ZeroDivisionError):
            run(lambda first, last: 1 // 0, blocks(5, 1))
        test_every_range_is_run_once(n, 30)


def test_no_range_is_still_running_when_an_error_comes_out():
    running = threading.Event()
    ended = threading.Event()

    def task(first, last):
        if first == 0:
            running.wait(20)
            raise ZeroDivisionError
        running.set()
        time.sleep(0.1)
        ended.set()

    with threads(2), pytest.raises(ZeroDivisionError):
        run(task, blocks(2, 1))
    try:
        assert ended.is_set()
    finally:
        ended.wait(20)


NESTED = """
from thrifty.kernels.threads import blocks, run, threads

done = []
with threads(2):
    run(lambda a, b: run(lambda c, d: done.append((a, c)), blocks(4, 1)), blocks(6, 1))
assert sorted(done) == [(a, c) for a in range(6) for c in range(4)], done
"""


def test_a_task_may_itself_run_tasks():
    # In a process of its own: threads that wait for each other cannot be ended from outside.
    subprocess.run([sys.executable, "-c", NESTED], check=True, timeout=60)


def test_several_callers_share_the_pool():
    totals = []

    def caller():
        done = np.zeros(50, dtype=int)

        def task(first, last):
            done[first:last] += 1

        for _ in range(20):
            run(task, blocks(50, 1))
        totals.append(done.tolist())

    with threads(3):
        contexts = [contextvars.copy_context() for _ in range(4)]
        callers = [threading.Thread(target=each.run, args=[caller]) for each in contexts]
        for one in callers:
            one.start()
        for one in callers:
            one.join(timeout=60)
    assert totals == [[20] * 50] * 4


def test_the_limit_holds_inside_the_block_only(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert thread_count() == 7
    with threads(2):
        assert thread_count() == 2
        with threads(5):
            assert thread_count() == 5
        assert thread_count() == 2
    with pytest.raises(KeyError), threads(3):
        raise KeyError
    assert thread_count() == 7


@pytest.mark.parametrize("asked", ["", "0", "many", "-2", "4,2"])
def test_an_environment_that_asks_for_no_number_gets_the_cores(asked, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert thread_count() == os.cpu_count()


@pytest.mark.parametrize("n", [0, -1, 2.5, "2", None, True, float("nan")])
def test_what_is_not_a_number_of_threads_is_refused(n):
    with pytest.raises(ValueError, match=f"at least 1, got {n!r}"), threads(n):
        pass


def test_blocks_of_two_threads_overlap_without_a_leak(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    entered, left, seen = threading.Event(), threading.Event(), {}

    def first():
        with threads(2):
            entered.set()
            left.wait(20)  # until the other block has begun
            seen["first"] = thread_count()
        seen["after first"] = thread_count()

    def second():
        entered.wait(20)
        seen["beside first"] = thread_count()
        with threads(5):
            left.set()
            one.join(20)
            seen["second"] = thread_count()
        seen["after second"] = thread_count()

    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    other.start()
    other.join(20)
    assert seen == {
        "first": 2, "after first": 7, "beside first": 7, "second": 5, "after second": 7
    }  # fmt: skip
    assert thread_count() == 7


def test_tasks_of_asyncio_have_their_own_limits(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")

    async def task(n, pause):
        with threads(n):
            await asyncio.sleep(pause)
            inside = thread_count()
        await asyncio.sleep(0)
        return inside, thread_count()

    async def all_tasks():
        return await asyncio.gather(task(2, 0.02), task(5, 0.01), task(3, 0.03))

    assert asyncio.run(all_tasks()) == [(2, 7), (5, 7), (3, 7)]


def test_blocks_that_are_not_left_in_order_leave_nothing_behind(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    outer, inner = threads(2), threads(5)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert thread_count() == 5
    inner.__exit__(None, None, None)
    assert thread_count() == 7


def test_a_block_that_is_left_in_another_context_is_left(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    block = threads(2)
    block.__enter__()
    assert thread_count() == 2
    contextvars.copy_context().run(block.__exit__, None, None, None)
    assert thread_count() == 7


def test_the_threads_of_the_pool_have_the_limit_of_their_caller(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    seen = []
    for n in (3, 2):
        barrier = threading.Barrier(n, timeout=20)

        def task(first, last, barrier=barrier):
            barrier.wait()  # each thread takes one range
            seen.append((threading.get_ident(), thread_count()))

        with threads(n):
            run(task, blocks(n, 1))
    assert [count for _, count in seen] == [3, 3, 3, 2, 2]
    assert len({ident for ident, _ in seen[:3]}) == 3


def test_work_is_done_while_the_pool_is_busy_for_another_caller():
    release, busy = threading.Event(), threading.Barrier(3, timeout=20)

    def hold(first, last):
        busy.wait()
        release.wait(20)

    def caller():
        with threads(2):
            run(hold, blocks(2, 1))

    other = threading.Thread(target=caller)
    other.start()
    busy.wait()
    done = []
    with threads(2):
        run(lambda first, last: done.append(first), blocks(3, 1))
    assert sorted(done) == [0, 1, 2]
    release.set()
    other.join(20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_fits_after_its_parent_used_the_pool():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    y = X[:, 0]

    def fit():
        return GreedyMiserRegressor(n_estimators=3).fit(X, y).predict(X)

    with threads(2):
        expected = fit()
        assert threads_module._pool is not None
        assert in_child(lambda: np.array_equal(fit(), expected))
        np.testing.assert_array_equal(fit(), expected)


def in_child(question):
    """What a forked child answers; False if it has not done so in 30 seconds."""
    with warnings.catch_warnings():
        # Later Pythons warn of a fork beside threads, which is the very thing tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if question() else 1)
        finally:
            os._exit(2)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
