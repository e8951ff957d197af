"""The run of one case: rounds of purchases until the walk is done, the cap or the deadline."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import replace
from math import fsum
from typing import Any

from thrifty.bundle import NamedWalk
from thrifty.bundle.receipt import plain_value
from thrifty.costs.money import money
from thrifty.errors import DataError, LedgerError
from thrifty.serve.ledger.records import CaseRecord, Ending, Entry, Grants, Intent
from thrifty.serve.runtime.account import Account, by_source
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.catalog import Offer
from thrifty.serve.runtime.purchase import Order, Result, buy, settlements
from thrifty.serve.runtime.receipt import CaseReceipt, Charge
from thrifty.serve.runtime.shared import Shared
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.values import check_values, dump_values, load_values

__all__ = ["CaseRun"]

# Seconds by which the lease of an intent outlasts the purchase.
LEASE_MARGIN = 5.0


class CaseRun:
    """Serves one case.

    Parameters
    ----------
    shared : Shared
    case : Case
    """

    def __init__(self, shared: Shared, case: Case) -> None:
        self._shared, self._case = shared, case
        self._catalog, self._ledger = shared.catalog, shared.ledger
        self._schema = shared.predictor.schema
        self._started = time.monotonic()
        self._id = case.id or secrets.token_hex(16)
        self._header = self._ledger.header(self._id, case.subject, shared.model, None)
        self._results: dict[str, Result] = {}  # of items that need not be bought any more
        self._account = Account(shared.catalog, self._schema, case.cap)
        self._kept: dict[str, tuple[Feature, ...]] = {}
        self._late = False
        self._walk: NamedWalk

    async def serve(self) -> CaseReceipt:
        """Walk, buy, answer."""
        ages = [offer.source.terms.max_age for offer in self._catalog.by_item.values()]
        oldest = max([*ages, *self._case.max_age.values()], default=0.0)
        record = await asyncio.wrap_future(self._ledger.find(self._header, oldest))
        self._begin(record)
        try:
            while not self._walk.done:
                if self._shared.reasons:
                    self._walk.why  # noqa: B018 -- reading a reason puts it on the receipt
                if self._left() <= 0 or self._late:
                    self._walk.stop(code="deadline")
                    break
                wanted = self._affordable()
                if not wanted:
                    self._stop_at_cap()
                    break
                await self._round(wanted)
        except LedgerError as error:
            error.receipt = self._receipt()
            raise
        return await self._finish()

    # --- before the first round

    def _begin(self, record: CaseRecord) -> None:
        """Start the walk with what is known, and tell it what earlier runs have bought."""
        case, now = self._case, time.time()
        known: dict[Feature, Any] = {}
        for item, entry in record.kept.items():
            offer = self._catalog.by_item.get(item)
            if offer is None or entry.values is None or item in record.entries:
                continue
            age = now - (entry.settled_at or 0.0)
            fresh = {
                feature: value
                for feature, value in load_values(entry.values).items()
                if feature in offer.features
                and feature not in case.known
                and age <= case.max_age.get(feature, offer.source.terms.max_age)
            }
            usable, _ = check_values(self._schema, fresh)
            if usable:
                known |= usable
                self._kept[item] = tuple(usable)
        known = {**case.known, **known}
        earlier: dict[Feature, Any] = {}
        for item, entry in record.entries.items():
            self._account.paid[item] = entry.charged
            values = self._take(entry)
            earlier |= {f: x for f, x in values.items() if f not in known}
        account = self._account
        self._walk = walk = NamedWalk(
            self._shared.predictor,
            known,
            case.cap,
            lambda walk, names: account.allows(walk, calls=names),
        )
        plain, _ = check_values(self._schema, known)
        self._header = replace(self._header, known=dump_values(plain))
        if case.cap is not None:
            least = fsum([account.calls(walk), walk.evaluation])
            if least > case.cap:
                shown = money(least, self._shared.predictor.prices.unit)
                raise DataError(
                    f"cap: {case.cap!r} is less than the evaluations that come first; raise it to "
                    f"{shown}"
                )
        earlier = self._ready(earlier)
        if earlier:
            if account.allows(walk, told=earlier):
                walk.tell(earlier)
            else:
                self._stop_at_cap()

    def _take(self, entry: Entry) -> dict[Feature, Any]:
        """Note how an item ended that this run did not buy; return its values."""
        offer = self._catalog.by_item.get(entry.item)
        if entry.state == "assumed" and (offer is None or not offer.source.terms.idempotent):
            self._results[entry.item] = Result("assumed", "assumed", paid=entry.charged)
        if entry.state != "settled":
            return {}
        values: dict[Feature, Any] = {}
        if entry.values is not None:
            stored = load_values(entry.values)
            known = {f: x for f, x in stored.items() if f in self._schema.names}
            values, _ = check_values(self._schema, known)
        self._results[entry.item] = Result("earlier", values=values, paid=entry.charged)
        if offer is not None:
            self._account.entered |= self._catalog.groups_of(offer)
        return values

    # --- money and time

    def _left(self) -> float:
        """Return the seconds until the deadline."""
        if self._case.deadline is None:
            return math.inf
        return self._started + self._case.deadline - time.monotonic()

    def _stop_at_cap(self) -> None:
        shown = money(self._case.cap or 0.0, self._shared.predictor.prices.unit)
        self._walk.stop(f"cap of {shown} reached", code="cap")

    def _affordable(self) -> tuple[Feature, ...]:
        """Return what to ask for now, of what fits under the cap together, most useful first.

        Features that are bought together are worth nothing one by one: it is all of them or none.
        What is required counts with what requires it.
        """
        walk = self._walk
        # What is asked for now may be required by what was told, not by what is wanted.
        if self._case.cap is None or self._fits([*walk.bought_with(walk.wants), *walk.asks]):
            return walk.asks
        if walk.wants_together:
            return ()
        chosen: list[Feature] = []
        for feature in walk.wants:
            if self._fits(walk.bought_with([*chosen, feature])):
                chosen.append(feature)
        return tuple(feature for feature in walk.asks if feature in walk.bought_with(chosen))

    def _fits(self, features: Collection[Feature]) -> bool:
        """Return whether these features can be bought, told and evaluated within the cap."""
        walk = self._walk
        at_hand = {*walk.told, *walk.known, *walk.skipped}
        missing = [feature for feature in features if feature not in at_hand]
        offers, _ = self._offers(missing)
        told = {*missing, *(f for offer in offers for f in offer.features)} - at_hand
        return self._account.allows(walk, told, self._account.quotes(offers))

    def _offers(self, features: Collection[Feature]) -> tuple[list[Offer], list[Feature]]:
        """Return what to buy for some features, and the features that cannot be bought."""
        offers: dict[str, Offer] = {}
        lost = []
        for feature in features:
            offer = self._catalog.by_feature.get(feature)
            is_over = offer is None or offer.item in self._results
            if offer is None or is_over or self._shared.breakers[offer.source.terms.name].is_open:
                lost.append(feature)
            else:
                offers[offer.item] = offer
        return list(offers.values()), lost

    # --- one round

    async def _round(self, wanted: Sequence[Feature]) -> None:
        """Buy what is wanted, all at once, and tell the walk."""
        offers, lost = self._offers(wanted)
        for feature in lost:
            offer = self._catalog.by_feature.get(feature)
            if offer is not None and offer.item not in self._results:
                words = f"source {offer.source.terms.name!r} is down"
                self._results[offer.item] = Result("failed", "void", attempts=0, error=words)
        if offers:
            quotes = self._account.quotes(offers)
            grants = await self._intend(offers, quotes)
            if grants is None:
                return
            if grants.over:
                self._account.paid |= {
                    item: entry.charged for item, entry in grants.entries.items()
                }
                self._stop_at_cap()
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
        self._advance(wanted)

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
            evaluation = self._walk.largest_evaluation(features)
            besides = (self._account.calls(self._walk), evaluation)
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
        self._account.paid |= {item: quotes[item] for item in grants.mine}
        return grants

    def _give_back(self, asked: Future[Grants]) -> None:
        """Void the intents that were granted after nobody waited for them any more."""
        if not asked.cancelled() and asked.exception() is None:
            owners = asked.result().mine
            unsent = {item: Result("failed", "void") for item in owners}
            self._ledger.settle(settlements(self._header.case, owners, unsent))

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
            self._results[offer.item] = Result("open", paid=quotes[offer.item])

    async def _purchase(
        self, offers: Sequence[Offer], quotes: dict[str, float], owners: dict[str, str]
    ) -> None:
        """Ask a source, and settle; this goes on when the walk has gone on without it."""
        source, shared = offers[0].source, self._shared
        mine = {offer.item: owners[offer.item] for offer in offers}
        walk = self._walk
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
                result.paid = self._account.charge(offer)
            self._account.paid[offer.item] = result.paid
        self._results |= results
        self._ledger.settle(settlements(self._header.case, mine, results))

    async def _wait_for(self, offer: Offer, entry: Entry) -> None:
        """Use what another run has bought, or wait for it; an abandoned one is asked for again."""
        if entry.state == "intent":
            found = self._ledger.wait(self._header.case, [offer.item])
            task = self._shared.start(found)
            await self._until(task, offer.source.terms.timeout)
            if not task.done():
                task.cancel()
                self._late = self._left() <= 0
                self._account.paid[offer.item] = entry.charged
                self._results[offer.item] = Result("open", paid=entry.charged)
                return
            entry = task.result().get(offer.item, entry)
        self._account.paid[offer.item] = entry.charged
        self._take(entry)

    def _advance(self, wanted: Sequence[Feature]) -> None:
        """Tell the walk what came, and go on without what did not."""
        walk = self._walk
        at_hand = {*walk.told, *walk.known, *walk.skipped}
        values: dict[Feature, Any] = {}
        lost = []
        for feature in wanted:
            offer = self._catalog.by_feature.get(feature)
            result = None if offer is None else self._results.get(offer.item)
            if result is not None:
                values |= {f: x for f, x in result.values.items() if f not in at_hand}
            if (offer is None or result is not None) and feature not in values:
                lost.append(feature)
        values = self._ready(values)
        if values:
            walk.tell(values)
        if self._late:
            return
        for feature in lost:
            if walk.done or feature in walk.skipped or feature in walk.told:
                continue
            gone: Collection[Feature] = [feature]
            structure = self._shared.predictor.prices.structure
            if structure is not None:
                requiring = structure.requiring([self._schema.index(feature)])
                gone = [self._schema.names[j] for j in sorted(requiring)]
            if not self._account.allows(walk, told=gone):
                self._stop_at_cap()
                return
            walk.skip(feature)

    def _ready(self, values: dict[Feature, Any]) -> dict[Feature, Any]:
        """Return the values that need nothing else to be bought first.

        A source may deliver more than was asked for. A value that the walk is told has to be paid
        for with all that it requires, so such a value waits until it is asked for.
        """
        structure = self._shared.predictor.prices.structure
        if structure is None:
            return values
        index, walk = self._schema.index, self._walk
        while True:
            at_hand = {index(f) for f in (*walk.told, *walk.known, *walk.skipped, *values)}
            ready = {f: x for f, x in values.items() if structure.before(index(f)) <= at_hand}
            if len(ready) == len(values):
                return ready
            values = ready

    # --- the end

    async def _finish(self) -> CaseReceipt:
        """Record the end of the case, as long as there is time, and return the receipt."""
        walk, standing = self._walk, self._walk.standing
        stopped, reason = walk.end
        ending = Ending(
            stopped=stopped or "",
            reason=reason,
            answer=json.dumps(plain_value(standing.best)),
            skipped=json.dumps(list(walk.skipped)),
            bill=standing.bill,
            spent=self._account.spent(walk),
            unit=self._shared.predictor.prices.unit,
        )
        written = self._ledger.finish(self._header, ending)
        receipt = self._receipt()  # while it is written
        await self._until(asyncio.wrap_future(written))
        is_recorded = written.done() and written.exception() is None
        seconds = time.monotonic() - self._started
        return replace(receipt, recorded=is_recorded, seconds=seconds)

    def _receipt(self) -> CaseReceipt:
        walk = self._walk
        charges = [
            Charge(item, item.partition("/")[0], features, "kept", 0.0, attempts=0)
            for item, features in self._kept.items()
        ]
        for item, result in self._results.items():
            offer = self._catalog.by_item.get(item)
            features = tuple(result.values) if offer is None else offer.features
            charges.append(
                Charge(
                    item,
                    item.partition("/")[0],
                    features,
                    result.outcome,
                    result.paid,
                    0 if result.outcome == "earlier" else result.attempts,
                    result.error,
                )
            )
        for item, amount in self._account.paid.items():
            if item not in self._results and amount > 0:  # bought by another run at this time
                charges.append(Charge(item, item.partition("/")[0], (), "open", amount, 0))
        return CaseReceipt.of(
            walk.receipt,
            spent=self._account.spent(walk),
            charges=tuple(charges),
            skipped=walk.skipped,
            seconds=time.monotonic() - self._started,
        )
