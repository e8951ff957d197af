"""The number of threads that kernels may use, and the pool they run on.

Kernels release the GIL, so plain Python threads suffice; OpenMP's would not survive a fork. Work
is always divided so that the result does not depend on the number of threads.

The limit that `threads` sets belongs to a context (`contextvars`): to one thread or one task of
asyncio, and to the threads of the pool while they work for it. It never reaches another one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from operator import index

__all__ = ["blocks", "run", "thread_count", "threads"]

PREFIX = "thrifty-kernels"


class _Inside(threading.local):
    """Whether this thread is at work for a `run`.

    A task that hands out tasks could wait for ever for threads that wait for it: it does the work
    itself.
    """

    run = False


class _Limit:
    """A `threads` block: its number of threads, and whether it has been left."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.is_left = False


_inside = _Inside()
# The blocks that this context is in, the innermost last. One that was left in another context, or
# before a block inside it, is marked and no longer counts.
_limits: ContextVar[tuple[_Limit, ...]] = ContextVar("thrifty_thread_limits", default=())
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def thread_count() -> int:
    """Threads that kernels may use: `threads`, else OMP_NUM_THREADS, else the cores."""
    for limit in reversed(_limits.get()):
        if not limit.is_left:
            return limit.n
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) > 0 else os.cpu_count() or 1


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let the kernels use `n` threads inside a `with` block; results do not depend on it.

    The limit holds for the thread, or the task of asyncio, that is in the block, and for tasks that
    it starts. Other threads have their own: blocks in two of them may overlap in any way. A thread
    started inside the block begins without a limit, unless it runs in a copy of the context.

    Examples
    --------
    >>> from thrifty import threads
    >>> with threads(2):
    ...     pass  # model.fit(X, y)
    """
    if isinstance(n, bool) or not (hasattr(n, "__index__") and n >= 1):
        raise ValueError(f"threads: n must be a whole number, at least 1, got {n!r}")
    limit = _Limit(index(n))
    _limits.set((*_limits.get(), limit))
    try:
        yield
    finally:
        limit.is_left = True
        _limits.set(tuple(other for other in _limits.get() if not other.is_left))


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
    n_helpers = min(thread_count(), len(ranges)) - 1
    pool = _workers(n_helpers)
    jobs = [pool.submit(copy_context().run, work) for _ in range(n_helpers)]
    try:
        work()
    finally:
        # All ranges are taken: what waits behind the work of another caller is not needed.
        begun = [job for job in jobs if not job.cancel()]
        wait(begun)
    for job in begun:
        job.result()


def _workers(n: int) -> ThreadPoolExecutor:
    """Return a pool of at least `n` threads, which all callers share."""
    global _pool, _pool_size
    pool = _pool
    if pool is None or _pool_size < n:
        pool = _pool = ThreadPoolExecutor(n, thread_name_prefix=PREFIX)
        _pool_size = n
    return pool


def _forget_pool() -> None:
    # A forked child inherits the pool object but not its threads: waiting on it would hang.
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
