"""The thread that writes a ledger: what arrives while it commits shares the next commit.

Durability costs one wait for the disk a commit, however much is in it. So requests are collected
and written together. What nobody waits for, the settlement of a purchase, is not in a hurry: it
joins the next commit, or has its own a moment later.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from thrifty.errors import LedgerError
from thrifty.serve.ledger.records import CaseRow, Entry, Settlement
from thrifty.serve.ledger.rules import Request, Step, grant, settle, take_step
from thrifty.serve.ledger.store import Store, keep_trying

__all__ = ["Task", "Writer"]

Task = Request | Step | tuple[Settlement, ...] | CaseRow | Callable[[Store], Any]
"""Something to write: intents, a client's step, settlements, the end of a case, any change."""

MAX_BATCH = 512
GATHER_SHARE, LONGEST_GATHER = 0.3, 0.002


class _Result(Future[Any]):
    """A result whose callbacks run in the event loop that has asked for it.

    A loop is woken once for all that it gets from a commit. Woken for each, it would take the
    interpreter's lock from the writer as often, which costs more than the work of the commit.

    Parameters
    ----------
    writer : Writer
    """

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer
        self._loop: asyncio.AbstractEventLoop | None = None
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Have a function called when there is a result; now, if there is one."""
        loop, writer = self._loop, self._writer

        def call(future: Future[Any]) -> None:
            if loop is not None and writer.is_current:
                writer.callbacks[loop].append(partial(fn, future))
            else:
                fn(future)

        super().add_done_callback(call)


@dataclass(slots=True)
class _Job:
    task: Task
    result: _Result


class Writer:
    """Writes to a store from one thread, many tasks a commit.

    Parameters
    ----------
    store : Store
        Connected.
    clock : function
        Returns the time in seconds since 1970.
    delay : float
        Seconds that a task which is not in a hurry may wait for company.
    patience : float
        Seconds for which a lost connection is tried again before the tasks fail.

    Attributes
    ----------
    callbacks : dict
        What is to be called in each event loop once a batch has been delivered.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], delay: float, patience: float
    ) -> None:
        self._store, self._clock = store, clock
        self._delay, self._patience = delay, patience
        self._jobs: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._due: float | None = None  # when what waits must be written
        self._crowd, self._took = 1, 0.0  # tasks and seconds of the last commit
        self._closed = False
        self.callbacks: dict[asyncio.AbstractEventLoop, list[Callable[[], object]]] = defaultdict(
            list
        )
        self._thread = threading.Thread(target=self._run, name="thrifty-ledger", daemon=True)
        self._thread.start()

    def submit(self, task: Task, hurry: bool = True) -> Future[Any]:
        """Queue a task; the future has its result once it survives a crash.

        The result is `Grants` for a request, whether it was taken for a step, whether each holds
        for settlements, None for the end of a case, and what the function returns for a function.
        """
        job = _Job(task, _Result(self))
        with self._wake:
            if self._closed:
                raise LedgerError("the ledger is closed; open it again")
            self._jobs.append(job)
            due = time.monotonic() + (0.0 if hurry else self._delay)
            is_first = self._due is None or due < self._due
            if is_first:
                self._due = due
            if is_first or len(self._jobs) >= self._crowd:
                self._wake.notify()
        return job.result

    @property
    def is_current(self) -> bool:
        """Whether the caller is the thread that writes."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            batch = self._next_batch()
            if batch:
                self._deliver(batch)
                self._call_back()
            elif self._closed:
                return

    def _deliver(self, batch: list[_Job]) -> None:
        """Write a batch and hand out the results."""
        try:
            results = self._write(batch)
        except LedgerError as error:
            for job in batch:
                job.result.set_exception(error)
        except Exception as error:  # a task that cannot be written: the others must not suffer
            if len(batch) > 1:
                for job in batch:
                    self._deliver([job])
                return
            words = f"{self._store.shown}: {type(error).__name__}: {error}"
            batch[0].result.set_exception(LedgerError(words))
        else:
            for job, result in zip(batch, results, strict=True):
                job.result.set_result(result)

    def _call_back(self) -> None:
        """Run the callbacks of what was delivered, each in its event loop."""
        for loop, callbacks in self.callbacks.items():
            try:
                loop.call_soon_threadsafe(_run_all, callbacks)
            except RuntimeError:  # the loop is closed: nobody waits there any more
                _run_all(callbacks)
        self.callbacks.clear()

    def _next_batch(self) -> list[_Job]:
        """Wait until something is due; return it with all that waits. Empty when closed."""
        with self._wake:
            while not self._closed:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._wake.wait(left)
            self._gather()
            batch: list[_Job] = []
            while self._jobs and len(batch) < MAX_BATCH:
                job = self._jobs.popleft()
                if job.result.set_running_or_notify_cancel():  # False: nobody wants it any more
                    batch.append(job)
            self._due = time.monotonic() if self._jobs else None
            return batch

    def _gather(self) -> None:
        """Wait a little for those who shared the last commit: they come back one by one.

        Whoever is alone does not wait. With others, a fraction of what a commit takes is waited.
        """
        until = time.monotonic() + min(GATHER_SHARE * self._took, LONGEST_GATHER)
        while not self._closed and len(self._jobs) < self._crowd:
            left = until - time.monotonic()
            if left <= 0:
                break
            self._wake.wait(left)

    def _write(self, batch: list[_Job]) -> list[Any]:
        """Write a batch in one transaction; after a lost connection, write it again.

        Writing twice what was written already changes nothing: a request has its own owner.
        """
        tasks, start = [job.task for job in batch], time.monotonic()
        try:
            return keep_trying(
                lambda: self._transaction(tasks), self._store.connect, self._patience
            )
        finally:
            self._crowd, self._took = len(batch), time.monotonic() - start

    def _transaction(self, tasks: list[Task]) -> list[Any]:
        now = self._clock()
        store = self._store
        asking = [task for task in tasks if isinstance(task, Request | Step)]
        headers = {task.header.case: task.header for task in asking}
        headers |= {task.header.case: task.header for task in tasks if isinstance(task, CaseRow)}
        settled = (each for task in tasks if isinstance(task, tuple) for each in task)
        cases = {settlement.case for settlement in settled} | headers.keys()
        store.begin()
        try:
            found = store.claim(headers.values(), cases, now) if cases else []
            entries: dict[str, dict[str, Entry]] = {case: {} for case in cases}
            for entry in found:
                entries[entry.case][entry.item] = entry
            changed: dict[tuple[str, str], Entry] = {}
            results: list[Any] = [None] * len(tasks)
            # A settlement frees what its intent had reserved: it comes before new intents.
            for i, task in enumerate(tasks):
                if isinstance(task, tuple):
                    results[i] = []
                    for each in task:
                        holds, entry_or_none = settle(each, entries[each.case].get(each.item), now)
                        results[i].append(holds)
                        if entry_or_none is not None:
                            entries[each.case][each.item] = entry_or_none
                            changed[each.case, each.item] = entry_or_none
            for i, task in enumerate(tasks):
                if isinstance(task, Request | Step):
                    of_case = entries[task.header.case]
                    if isinstance(task, Request):
                        results[i], new = grant(task, of_case, now)
                    else:
                        results[i], new = take_step(task, of_case)
                    for entry in new:
                        entries[entry.case][entry.item] = entry
                        changed[entry.case, entry.item] = entry
            if changed:
                store.put(list(changed.values()))
            rows = {task.header.case: task for task in tasks if isinstance(task, CaseRow)}
            if rows:
                store.end(list(rows.values()))
            for i, task in enumerate(tasks):
                if callable(task):
                    results[i] = task(store)
            store.commit()
        except BaseException:
            store.rollback()
            raise
        return results


def _run_all(callbacks: list[Callable[[], object]]) -> None:
    for callback in callbacks:
        callback()
