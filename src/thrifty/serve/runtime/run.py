"""The run of one case: rounds of purchases until the walk is done, the cap or the deadline."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from thrifty.bundle.receipt import plain_value
from thrifty.errors import DataError, LedgerError
from thrifty.serve.ledger.records import (
    CaseRecord,
    CaseRow,
    Ending,
    Entry,
    Grants,
    Header,
    Intent,
    Settlement,
)
from thrifty.serve.runtime.account import by_source
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.catalog import Offer
from thrifty.serve.runtime.progress import Progress
from thrifty.serve.runtime.purchase import Order, Result, buy, settlements
from thrifty.serve.runtime.receipt import CaseReceipt
from thrifty.serve.runtime.shared import Shared
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.values import check_values, dump_values

__all__ = ["CaseRun"]

# Seconds by which the lease of an intent outlasts the purchase.
LEASE_MARGIN = 5.0


class CaseRun:
    """Serves one case.

    Parameters
    ----------
    shared : Shared
    case : Case
    header : Header, optional
        How the ledger identifies it; by default by its id.
    """

    def __init__(self, shared: Shared, case: Case, header: Header | None = None) -> None:
        self._shared, self._case = shared, case
        self._catalog, self._ledger = shared.catalog, shared.ledger
        self._schema = shared.predictor.schema
        self._started = time.monotonic()
        self._header = header or self._ledger.header(
            case.id or secrets.token_hex(16),
            case.subject,
            shared.model,
            known=None,
            cap=case.cap,
            context=json.dumps(sorted(case.context)),
        )
        self._late = False
        self._row: CaseRow | None = None
        self._settled: float | None = None  # what the pacing knows to be spent, once it is over
        self._settlements: list[Future[list[bool]]] = []
        self.progress: Progress

    @property
    def handle(self) -> str:
        """The keyed hash of the id of the case."""
        return self._header.case

    async def serve(self) -> CaseReceipt:
        """Walk, buy, answer."""
        record = await self.find()
        await self.choose_point(record)
        self.begin(record)
        return await self.go_on()

    async def find(self) -> CaseRecord:
        """Return what the ledger has of the case, and values that it may reuse."""
        oldest = max([self._catalog.max_age, *self._case.max_age.values()])
        found: CaseRecord = await asyncio.wrap_future(self._ledger.find(self._header, oldest))
        return found

    async def choose_point(self, record: CaseRecord) -> None:
        """Take the operating point that the case began with; for a new one, choose it.

        Raises
        ------
        CaseConflictError
            If it began with another model.
        """
        pacing, caps = self._shared.pacing, [self._case.cap]
        if pacing is None:
            return
        if record.row is not None:
            model = record.row.header.model
            caps.append(record.row.header.cap)
        else:
            ticket = await pacing.choose(self.handle, self._case.cap)
            model = pacing.models[ticket.index]
            caps.append(None if ticket.cap == math.inf else ticket.cap)
        cap = min((each for each in caps if each is not None), default=None)
        self._shared, self._case = self._shared.at_point(model), replace(self._case, cap=cap)
        self._header = replace(self._header, model=model, cap=cap)

    def begin(self, record: CaseRecord, retry: bool = True) -> None:
        """Start the walk with what is known, and tell it what earlier runs have bought."""
        self._row = record.row
        try:
            self.progress = Progress(self._shared, self._case, record, retry)
        except DataError:
            if self._shared.pacing is not None and record.row is None:
                self._shared.pacing.cancel(self.handle)
            raise
        plain, _ = check_values(self._schema, self.progress.known)
        self._header = replace(self._header, known=dump_values(plain))

    async def go_on(self, buying: bool = True) -> CaseReceipt:
        """Buy what the walk asks for until it is done, or until only the client can go on."""
        progress, walk = self.progress, self.progress.walk
        try:
            while not walk.done:
                if self._shared.reasons:
                    walk.why  # noqa: B018 -- reading a reason puts it on the receipt
                if self._left() <= 0 or self._late:
                    walk.stop(code="deadline")
                    break
                wanted = progress.affordable()
                if not wanted:
                    progress.stop_at_cap()
                    break
                from_sources = progress.from_sources(wanted)
                if not from_sources or not buying:
                    break
                await self._round(from_sources)
            return await self._finish()
        except LedgerError as error:
            error.receipt = self._receipt()
            raise

    def _left(self) -> float:
        """Return the seconds until the deadline."""
        if self._case.deadline is None:
            return math.inf
        return self._started + self._case.deadline - time.monotonic()

    # --- one round

    async def _round(self, wanted: Sequence[Feature]) -> None:
        """Buy what is wanted, all at once, and tell the walk."""
        offers, lost = self.progress.offers(wanted)
        for feature in lost:
            offer = self._catalog.by_feature.get(feature)
            if offer is not None and offer.item not in self.progress.results:
                words = f"source {offer.source.terms.name!r} is down"
                down = Result("failed", "void", attempts=0, error=words)
                self.progress.results[offer.item] = down
        if offers:
            quotes = self.progress.account.quotes(offers)
            grants = await self._intend(offers, quotes)
            if grants is None:
                return
            if grants.over:
                self.progress.account.paid |= {
                    item: entry.charged for item, entry in grants.entries.items()
                }
                self.progress.stop_at_cap()
                return
            jobs = []
            for group in by_source(offers):
                mine = [offer for offer in group if offer.item in grants.mine]
                if mine:
                    jobs.append(self._buy(mine, quotes, grants.mine))
                jobs += [self._wait_for(o, grants.entries[o.item]) for o in group if o not in mine]
            if len(jobs) == 1:
                await jobs[0]
            else:
                await asyncio.gather(*jobs)
        self.progress.advance(wanted, self._late)

    async def _intend(self, offers: Sequence[Offer], quotes: dict[str, float]) -> Grants | None:
        """Commit the intents of a round; None if the deadline passes first."""
        intents = []
        for offer in offers:
            terms = offer.source.terms
            lease = terms.timeout + self._shared.linger + LEASE_MARGIN
            intents.append(Intent(offer.item, quotes[offer.item], lease, terms.idempotent))
        besides: tuple[float, ...] = ()
        if self._case.cap is not None:
            features = [feature for offer in offers for feature in offer.features]
            evaluation = self.progress.walk.largest_evaluation(features)
            besides = (self.progress.account.calls(self.progress.walk), evaluation)
        asked = self._ledger.intend(self._header, intents, self._case.cap, besides)
        answer = asyncio.wrap_future(asked)
        try:
            await self._until(answer)
        finally:
            if not answer.done():  # too late: what is granted now is given back
                asked.add_done_callback(self._give_back)
        if not answer.done():
            self._late = True
            return None
        grants: Grants = answer.result()
        self.progress.account.paid |= {item: quotes[item] for item in grants.mine}
        return grants

    def _give_back(self, asked: Future[Grants]) -> None:
        """Void the intents that were granted after nobody waited for them any more."""
        if not asked.cancelled() and asked.exception() is None:
            case, owners = self._header.case, asked.result().mine
            # "unsent", not "failed": the next step may ask the source.
            self._ledger.settle(
                [Settlement(case, i, owner, "void", 0.0, "unsent") for i, owner in owners.items()]
            )

    async def _until(self, work: asyncio.Future[Any], timeout: float = math.inf) -> None:
        """Wait for something, at most until the deadline; it goes on."""
        if not work.done():
            left = min(timeout, self._left())
            await asyncio.wait({work}, timeout=None if left == math.inf else max(left, 0.0))

    async def _buy(
        self, offers: Sequence[Offer], quotes: dict[str, float], owners: dict[str, str]
    ) -> None:
        """Buy from one source, and wait as long as its terms and the deadline say."""
        terms = offers[0].source.terms
        task = self._shared.start(self._purchase(offers, quotes, owners))
        await self._until(task, terms.timeout)
        if task.done():
            task.result()
            return
        self._late = self._left() <= 0
        if not self._late:
            self._shared.breakers[terms.name].failed()
        for offer in offers:
            self.progress.results[offer.item] = Result("open", paid=quotes[offer.item])

    async def _purchase(
        self, offers: Sequence[Offer], quotes: dict[str, float], owners: dict[str, str]
    ) -> None:
        """Ask a source, and settle; this goes on when the walk has gone on without it."""
        source, shared = offers[0].source, self._shared
        mine = {offer.item: owners[offer.item] for offer in offers}
        walk = self.progress.walk
        order = Order(
            source=source,
            offers=tuple(offers),
            quotes={item: quotes[item] for item in mine},
            keys={item: self._ledger.idempotency_key(self._header, item) for item in mine},
            values={**walk.known, **walk.told},
            context=self._case.context,
            patience=source.terms.timeout + shared.linger,
        )
        turn = shared.turn(offers[0])
        try:
            results = await buy(order, self._schema, shared.breakers[source.terms.name], turn)
        except BaseException:  # the event loop ends: nobody will know
            lost = {i: Result("assumed", "assumed", paid=quotes[i]) for i in mine}
            self._ledger.settle(settlements(self._header.case, mine, lost))
            raise
        for offer in offers:
            result = results[offer.item]
            if result.state == "assumed":
                result.paid = quotes[offer.item]
            elif result.state == "settled":
                result.paid = self.progress.account.charge(offer)
            self.progress.account.paid[offer.item] = result.paid
            shared.spent[source.terms.name] += result.paid
        self.progress.results |= results
        self._settlements.append(self._ledger.settle(settlements(self._header.case, mine, results)))
        if self._settled is not None and shared.pacing is not None:  # it came too late
            spent, model = self.progress.account.spent(walk), self._header.model
            shared.pacing.ended(self.handle, model, spent, self._settled)
            self._settled = spent

    async def _wait_for(self, offer: Offer, entry: Entry) -> None:
        """Use what another run has bought, or wait for it; an abandoned one is asked for again."""
        if entry.state == "intent":
            found = self._ledger.wait(self._header.case, [offer.item])
            task = self._shared.start(found)
            await self._until(task, offer.source.terms.timeout)
            if not task.done():
                task.cancel()
                self._late = self._left() <= 0
                self.progress.account.paid[offer.item] = entry.charged
                self.progress.results[offer.item] = Result("open", paid=entry.charged)
                return
            entry = task.result().get(offer.item, entry)
        self.progress.account.paid[offer.item] = entry.charged
        self.progress.take(entry)

    # --- the end

    async def _finish(self) -> CaseReceipt:
        """Record the end of the case, as long as there is time, and return the receipt."""
        walk = self.progress.walk
        if not walk.done:
            return await self._pause()
        standing, (stopped, reason) = walk.standing, walk.end
        ending = Ending(
            stopped=stopped or "",
            reason=reason,
            answer=json.dumps(plain_value(standing.best)),
            skipped=json.dumps(list(walk.skipped)),
            bill=standing.bill,
            spent=self.progress.account.spent(walk),
            unit=self._shared.predictor.prices.unit,
        )
        written = self._ledger.finish(self._header, ending)
        self._settle(ending)
        if self._shared.shadow is not None:
            known, values = walk.known, self.progress.values
            bought = {f: x for f, x in values.items() if f not in known}
            self._shared.shadow.submit(known, bought, standing.best, standing.bill)
        receipt = self._receipt()  # while it is written
        is_recorded = await self._are_written([*self._settlements, written])
        seconds = time.monotonic() - self._started
        return replace(receipt, recorded=is_recorded, seconds=seconds)

    async def _are_written(self, writes: Sequence[Future[Any]]) -> bool:
        """Wait for some writes, at most until the deadline; return whether all of them hold.

        A settlement does not hold if its purchase was assumed to be paid, or taken over by another
        process, before it could be written.
        """
        waiting = [asyncio.wrap_future(write) for write in writes]
        await self._until(asyncio.gather(*waiting, return_exceptions=True))
        return all(
            write.done() and write.exception() is None and all(write.result() or ())
            for write in waiting
        )

    def _settle(self, ending: Ending) -> None:
        """Tell the pacing what the case has spent, and let it write if it is time."""
        pacing = self._shared.pacing
        if pacing is None:
            return
        before = None if self._row is None else self._row.ending
        earlier = None if before is None else before.spent
        may_go_on = ending.stopped == "deadline"  # sent again, it buys what it lacks
        pacing.ended(self.handle, self._header.model, ending.spent, earlier, may_go_on)
        self._settled = ending.spent
        if pacing.is_due:
            self._shared.start(asyncio.to_thread(pacing.exchange))

    async def _pause(self) -> CaseReceipt:
        """Record that the case waits for the client, unless the ledger has it, and return so far.

        Whoever gets the receipt will come back: the case must be there then.
        """
        row, pacing = self._row, self._shared.pacing
        if pacing is not None and row is not None and row.ending is not None:
            pacing.reopened(self.handle, self._header.model, row.ending.spent)
        if row is None or row.ending is not None or row.header != self._header:
            await asyncio.wrap_future(self._ledger.finish(self._header, None))
        return replace(self._receipt(), recorded=await self._are_written(self._settlements))

    def _receipt(self) -> CaseReceipt:
        return self.progress.receipt(time.monotonic() - self._started)
