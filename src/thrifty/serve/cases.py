"""Cases that people lead: they wait for answers, go on when these come, and survive a restart."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import weakref
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from thrifty.bundle.reason import ENDS
from thrifty.errors import CaseConflictError, CaseNotFoundError, DataError, LedgerError
from thrifty.serve.case_state import CaseState, CaseSummary
from thrifty.serve.ledger import Ledger
from thrifty.serve.ledger.records import STEP_ITEM, CaseRecord, CaseRow, Ending, Entry, Header
from thrifty.serve.runtime.answers import (
    Answer,
    Answers,
    check_answers,
    next_number,
    price_answers,
    withdraw_last,
)
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.receipt import CaseReceipt
from thrifty.serve.runtime.run import CaseRun
from thrifty.serve.runtime.runtime import Runtime
from thrifty.serve.sources.values import load_values

__all__ = ["CaseExpiredError", "Cases", "TooManyCasesError"]

T = TypeVar("T")

# Seconds within which a ledger answers if it can serve.
READY_WITHIN = 5.0
HANDLE = re.compile("[0-9a-f]{64}")
# Most cases that one call of `Cases.expire` ends.
MAX_EXPIRED = 1000


class TooManyCasesError(CaseConflictError):
    """As many cases are open as may be."""


class CaseExpiredError(CaseConflictError):
    """A case has ended because its client did not answer in time."""


class Cases:
    """Cases whose features come from sources and, where there is none, from the client.

    Sources are asked first. A case waits when all that is left to ask comes from the client, in
    the ledger: any process that has the ledger can go on with it. The steps of one case are taken
    one after the other; everything is checked before anything is recorded or bought.

    Parameters
    ----------
    runtime : Runtime
        With a ledger. Its features `asked` are those that clients are asked for; they may answer
        any other, too.
    max_open : int
        Most cases that may be open at a time.
    expire_days : float
        Days without an answer or a purchase after which `expire` ends a case.

    Attributes
    ----------
    ended : Counter
        Cases that ended here, by why they stopped.
    billed : float
        The sum of their bills.

    Examples
    --------
    >>> import asyncio
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import Case, Cases, Ledger, Runtime
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> async def lead(cases):
    ...     state = await cases.create(Case("visit-17", cap=5.0))
    ...     print([(question.feature, question.price) for question in state.asks])
    ...     return await cases.tell(state.handle, {0: 1.5})
    >>> with Ledger.temporary() as ledger:
    ...     cases = Cases(Runtime(model.predictor_, [], ledger, asked=[0, 1, 2]))
    ...     state = asyncio.run(lead(cases))
    [(0, 1.0)]
    >>> state.done, state.receipt.answer, state.receipt.spent, state.left
    (True, 'yes', 1.0, 4.0)
    """

    def __init__(self, runtime: Runtime, max_open: int = 10_000, expire_days: float = 7.0) -> None:
        if runtime.ledger is None:
            raise DataError(
                "cases wait in a ledger: pass Runtime(..., ledger=Ledger.open(...)), or "
                "Ledger.temporary()"
            )
        self.runtime, self._max_open, self._expire_days = runtime, max_open, expire_days
        self._ledger: Ledger = runtime.ledger
        self.ended: Counter[str] = Counter()
        self.billed = 0.0
        self._of_clients = 0.0
        # Contexts are not stored; the oldest is forgotten first.
        self._contexts: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def create(self, case: Case) -> CaseState:
        """Start a case; with the id of one that exists, go on where it was.

        Raises
        ------
        DataError
            If a known value is invalid, or the cap is less than the evaluations that come first.
        CaseConflictError
            If the case exists with another cap, or with other values.
        CaseExpiredError
            If it exists and has expired.
        TooManyCasesError
        """
        if case.id is None:
            case = replace(case, id=secrets.token_hex(16))
        run = CaseRun(self.runtime.shared(), case)
        return await self._alone(run.handle, lambda: self._create(run, case))

    async def get(self, handle: str) -> CaseState:
        """Return where a case stands; nothing is bought.

        Raises
        ------
        CaseNotFoundError
        """
        record = await self._find(handle)
        return self._view(record)

    async def tell(
        self,
        handle: str,
        values: Mapping[Any, Any],
        known: Mapping[Any, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> CaseState:
        """Take values that the client has bought; they are charged at their prices.

        Parameters
        ----------
        handle : str
        values : mapping
            By feature, asked for or not. None is a value that came back empty.
        known : mapping, optional
            Values that the client had already; they are free.
        context : mapping, optional
            Identifiers for the sources, if the process that created the case is gone.

        Raises
        ------
        CaseNotFoundError
        DataError
            If a feature is unknown or a value invalid; nothing is recorded.
        CaseConflictError
            If a feature has another value already, the cap does not allow the values, the case has
            ended, or a source has to be asked and the context is gone; nothing is recorded.
        CaseExpiredError
            If it has ended because nobody answered in time.
        """
        return await self._take(handle, Answers(values, known or {}), context)

    async def know(
        self, handle: str, values: Mapping[Any, Any], context: Mapping[str, Any] | None = None
    ) -> CaseState:
        """Take values that the client had already; they are free. See `tell`."""
        return await self._take(handle, Answers(known=values), context)

    async def skip(
        self, handle: str, features: Collection[Any], context: Mapping[str, Any] | None = None
    ) -> CaseState:
        """Go on without some features, as they cannot be had. See `tell`."""
        return await self._take(handle, Answers(declined=tuple(features)), context)

    async def stop(self, handle: str) -> CaseState:
        """End a case: its best answer so far is the answer."""
        return await self._take(handle, Answers(stop=True), None)

    async def back(self, handle: str) -> CaseState:
        """Take back the client's last step, be it one that ended the case.

        What sources have delivered since stays paid.

        Raises
        ------
        CaseConflictError
            If there is none.
        CaseExpiredError
            If the case has ended because nobody answered in time.
        """
        return await self._alone(handle, lambda: self._back(handle))

    async def expire(self) -> int:
        """End cases that nobody answers any more, each with its best answer so far.

        These are the cases without an answer or a purchase for `expire_days`. A server calls this
        once a minute.

        Returns
        -------
        int
            How many have ended: at most 1000 at a time, the oldest first.
        """
        idle = self._ledger.idle_cases(self._expire_days, MAX_EXPIRED)
        ended = 0
        for row, entries in await asyncio.wrap_future(idle):
            record = CaseRecord(row, {entry.item: entry for entry in entries})
            ended += await self._alone(row.header.case, partial(self._expire, record, row))
        return ended

    async def open_cases(self, limit: int = 100) -> list[CaseSummary]:
        """Return cases that have not ended, the oldest first."""
        found = await asyncio.wrap_future(self._ledger.open_cases(limit))
        return [
            CaseSummary(
                row.header.case,
                row.started_at,
                sum(entry.charged for entry in entries),
                sum(e.item.startswith(f"{STEP_ITEM}/") and e.state == "settled" for e in entries),
            )
            for row, entries in found
        ]

    async def count_open(self) -> int:
        """Return how many cases have not ended."""
        return await asyncio.wrap_future(self._ledger.count_open())

    async def spent_since(self, time: float) -> float:
        """Return what was charged since a time, in seconds since 1970, by whichever process.

        Evaluations and calls of models in the file are no charges; they are on the receipts.
        """
        return await asyncio.wrap_future(self._ledger.spent_since(time))

    @property
    def spent(self) -> dict[str, float]:
        """What was paid here since the start, by source; ``client`` is what clients have bought.

        What clients took back is not subtracted.
        """
        return {**self.runtime.spent, STEP_ITEM: self._of_clients}

    async def check(self) -> None:
        """Raise a `LedgerError` if the ledger cannot be read and written."""
        try:
            async with asyncio.timeout(READY_WITHIN):
                await self.count_open()
                await asyncio.wrap_future(self._ledger.flush())
        except TimeoutError:
            raise LedgerError(f"the ledger has not answered within {READY_WITHIN:g} s") from None

    async def aclose(self) -> None:
        """Wait for the steps under way, and close the runtime, once its purchases are settled."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self.runtime.aclose()

    # --- steps

    async def _alone(self, handle: str, work: Callable[[], Awaitable[T]]) -> T:
        """Take one step of a case at a time; it goes on if the caller does not wait for it."""
        lock = self._locks.setdefault(handle, asyncio.Lock())

        async def step() -> T:
            async with lock:
                return await work()

        task = asyncio.create_task(step())
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return await asyncio.shield(task)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits has seen it

    async def _create(self, run: CaseRun, case: Case) -> CaseState:
        record = await run.find()
        if record.row is not None:
            return await self._resume(record, record.row, case)
        if await self.count_open() >= self._max_open:
            await self.expire()
        if await self.count_open() >= self._max_open:
            raise TooManyCasesError(
                f"{self._max_open} cases are open; end some, or try again later"
            )
        self._remember(run.handle, case.context)
        await run.choose_point(record)
        run.begin(record)
        return self._state(run, await run.go_on(), record)

    async def _resume(self, record: CaseRecord, row: CaseRow, case: Case) -> CaseState:
        """Go on with a case that was sent again, with what it knows now."""
        cap = row.header.cap
        # Pacing may have lowered it.
        is_lowered = self.runtime.pacing is not None and cap is not None and cap < (case.cap or 0)
        if case.cap is not None and case.cap != cap and not is_lowered:
            raise CaseConflictError(f"cap: the case has another one, {cap}")
        known = check_answers(self.runtime.predictor.schema, Answers(known=case.known))
        return await self._step(row.header.case, known, case.context, case.deadline, retry=True)

    async def _take(
        self, handle: str, answers: Answers, context: Mapping[str, Any] | None
    ) -> CaseState:
        checked = check_answers(self.runtime.predictor.schema, answers)
        return await self._alone(handle, lambda: self._step(handle, checked, context))

    async def _step(
        self,
        handle: str,
        answers: Answers,
        context: Mapping[str, Any] | None,
        deadline: float | None = None,
        retry: bool = False,
    ) -> CaseState:
        """Record what the client answers, and go on."""
        while True:
            record = await self._find(handle)
            assert record.row is not None
            _check_not_expired(record.row)
            if context:
                self._remember(handle, context)
            run = self._run(record.row, deadline)
            run.begin(record, retry)
            found = price_answers(self.runtime.shared(), run.progress, record, answers)
            is_over = run.progress.walk.done or _has_ended(record.row)
            if is_over and found:
                raise CaseConflictError("the case has ended; go back, or start another one")
            if is_over and record.row.ending is not None and not retry:
                return self._view(record)
            entries = self._draft(record, found)
            if found:
                run = self._run(record.row, deadline)
                run.begin(_with(record, entries), retry)
            self._check_context(run, record.row)
            if not entries or await asyncio.wrap_future(self._ledger.take_step(record, entries)):
                break
        self._of_clients += sum(entry.charged for entry in entries)
        return self._state(run, await run.go_on(buying=not answers.stop), record)

    async def _back(self, handle: str) -> CaseState:
        while True:
            record = await self._find(handle)
            assert record.row is not None
            _check_not_expired(record.row)
            entries = self._draft(record, withdraw_last(record))
            run = self._run(record.row)
            run.begin(_with(record, entries), retry=False)
            if await asyncio.wrap_future(self._ledger.take_step(record, entries)):
                return self._state(run, await run.go_on(buying=False), record)

    async def _expire(self, record: CaseRecord, row: CaseRow) -> bool:
        """End an idle case; False if somebody has answered it since the record was read."""
        entries = self._draft(record, [(STEP_ITEM, 0.0, "expired", None)])
        run: CaseRun | None = None
        try:
            run = self._run(row)
            run.begin(_with(record, entries), retry=False)
        except DataError:  # it began with another model, which this one cannot go on from
            run = None
        if not await asyncio.wrap_future(self._ledger.take_step(record, entries)):
            return False
        if run is not None:
            self._state(run, await run.go_on(buying=False), record)
            return True
        spent = sum(entry.charged for entry in record.entries.values())
        unit = self.runtime.predictor.prices.unit
        ending = Ending("expired", ENDS["expired"], None, "[]", spent, spent, unit)
        await asyncio.wrap_future(self._ledger.finish(row.header, ending))
        self.ended["expired"] += 1
        return True

    def _draft(self, record: CaseRecord, found: list[Answer]) -> tuple[Entry, ...]:
        assert record.row is not None
        return self._ledger.draft(record.row.header, next_number(record), found)

    # --- where a case stands

    async def _find(self, handle: str) -> CaseRecord:
        if not HANDLE.fullmatch(handle):
            raise CaseNotFoundError("a case goes by 64 hexadecimal digits; this is none")
        record = await asyncio.wrap_future(self._ledger.find(Header(handle), 0.0))
        row = record.row
        if row is None:
            raise CaseNotFoundError(f"the ledger has no case {handle[:8]}...")
        if row.ending is not None and row.ending.answer is None:
            _check_not_expired(row)
            raise CaseNotFoundError(f"the values of the case {handle[:8]}... were erased")
        if row.ending is not None and not self.runtime.has(row.header.model):
            raise CaseConflictError(f"another model has answered the case {handle[:8]}...")
        return record

    def _run(self, row: CaseRow, deadline: float | None = None) -> CaseRun:
        """Return the run of a case as the ledger has it."""
        header = row.header
        known = load_values(header.known) if header.known is not None else {}
        context = self._contexts.get(header.case, {})
        case = Case(known=known, context=context, cap=header.cap, deadline=deadline)
        shared = self.runtime.shared().at_point(header.model)
        return CaseRun(shared, case, replace(header, model=shared.model))

    def _view(self, record: CaseRecord) -> CaseState:
        """Return where a case stands, without going on."""
        row = record.row
        assert row is not None
        run = self._run(row)
        run.begin(record, retry=False)
        progress, ending = run.progress, row.ending
        if ending is not None:
            progress.skip(json.loads(ending.skipped))
            if not progress.walk.done:
                progress.walk.stop(ending.reason, code=ending.stopped)
        return self._state(run, replace(progress.receipt(0.0), recorded=True))

    def _state(
        self, run: CaseRun, receipt: CaseReceipt, record: CaseRecord | None = None
    ) -> CaseState:
        """Return the state of a case after a run; with a record, one that ended is counted."""
        progress, cap = run.progress, run.progress.account.cap
        is_done = progress.walk.done
        if record is not None and is_done and (record.row is None or record.row.ending is None):
            self.ended[receipt.stopped or ""] += 1
            self.billed += receipt.total
        if is_done:
            self._contexts.pop(run.handle, None)
        left = None if cap is None else max(cap - receipt.spent, 0.0)
        return CaseState(run.handle, is_done, progress.questions(), receipt, left)

    def _check_context(self, run: CaseRun, row: CaseRow) -> None:
        """Refuse to ask a source without the identifiers that the case came with."""
        names = json.loads(row.header.context or "[]")
        lacking = [name for name in names if name not in self._contexts.get(run.handle, {})]
        wanted = run.progress.from_sources(run.progress.affordable()) if lacking else ()
        if wanted:
            raise CaseConflictError(
                f"context: {', '.join(map(repr, wanted))} comes from a source, and the server "
                f"has been restarted since; send {', '.join(map(repr, lacking))} again"
            )

    def _remember(self, handle: str, context: Mapping[str, Any]) -> None:
        """Keep the context of a case, in place of one that came before."""
        if context:
            self._contexts[handle] = {**self._contexts.pop(handle, {}), **context}
            if len(self._contexts) > self._max_open:
                self._contexts.popitem(last=False)


def _has_ended(row: CaseRow) -> bool:
    """Return whether a case is over: one that was late can go on."""
    return row.ending is not None and row.ending.stopped != "deadline"


def _check_not_expired(row: CaseRow) -> None:
    """Refuse to go on with a case that has expired."""
    if row.ending is not None and row.ending.stopped == "expired":
        raise CaseExpiredError(
            f"the case {row.header.case[:8]}... has expired: it was not answered in time; "
            "start another one"
        )


def _with(record: CaseRecord, entries: tuple[Entry, ...]) -> CaseRecord:
    """Return a record with some more entries."""
    return replace(record, entries={**record.entries, **{e.item: e for e in entries}})
