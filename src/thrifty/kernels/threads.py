"""The number of threads that kernels may use, and the pool they run on.

Kernels release the GIL, so plain Python threads suffice; OpenMP's would not survive a fork. Work
is always divided so that the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

__all__ = ["blocks", "run", "thread_count", "threads"]

PREFIX = "thrifty-kernels"


class _Inside(threading.local):
    """Whether this thread is at work for a `run`.

    A task that hands out tasks could wait for ever for threads that wait for it: it does the work
    itself.
    """

    run = False


_inside = _Inside()
_limit: int | None = None
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def thread_count() -> int:
    """Threads that kernels may use: `threads`, else OMP_NUM_THREADS, else the cores."""
    if _limit is not None:
        return _limit
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else os.cpu_count() or 1


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let the kernels use `n` threads inside a `with` block; results do not depend on it.

    Examples
    --------
    >>> from thrifty import threads
    >>> with threads(2):
    ...     pass  # model.fit(X, y)
    """
    global _limit
    if n < 1:
        raise ValueError(f"threads: n must be at least 1, got {n}")
    before, _limit = _limit, n
    try:
        yield
    finally:
        _limit = before


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut range(n) into consecutive ranges of at most `size`."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def run(task: Callable[[int, int], object], ranges: Sequence[tuple[int, int]]) -> None:
    """Call `task(first, last)` for every range, on the pool when there is more than one thread."""
    if thread_count() == 1 or len(ranges) < 2 or _inside.run:
        for first, last in ranges:
            task(first, last)
        return
    left = iter(ranges)

    def work() -> None:
        _inside.run = True
        try:
            for first, last in left:
                task(first, last)
        finally:
            _inside.run = False

    # The caller works too: one hand-over less, and no idle thread while it waits.
    jobs = [_workers().submit(work) for _ in range(min(thread_count(), len(ranges)) - 1)]
    try:
        work()
    finally:
        wait(jobs)
    for job in jobs:
        job.result()


def _workers() -> ThreadPoolExecutor:
    global _pool, _pool_size
    size = thread_count()
    if _pool is None or _pool_size != size:
        # One less, as the caller works too.
        _pool, _pool_size = ThreadPoolExecutor(size - 1, thread_name_prefix=PREFIX), size
    return _pool


def _forget_pool() -> None:
    # A forked child inherits the pool object but not its threads: waiting on it would hang.
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
