"""Where a case stands: its walk, its account, and what has come of all that it asked for.

It is made anew from what the ledger has of the case, so that a case can go on in any process.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from math import fsum
from typing import Any

from thrifty.bundle import NamedWalk
from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.serve.interview import Question
from thrifty.serve.ledger.records import STEP_ITEM, CaseRecord, Entry
from thrifty.serve.runtime.account import Account
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.catalog import Offer
from thrifty.serve.runtime.purchase import Result
from thrifty.serve.runtime.receipt import CaseReceipt, Charge
from thrifty.serve.runtime.shared import Shared
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.values import check_values, load_values

__all__ = ["Progress"]


class Progress:
    """Where a case stands.

    Parameters
    ----------
    shared : Shared
    case : Case
    record : CaseRecord
        What the ledger has of it.
    retry : bool
        Whether to ask a source again that has failed before.

    Attributes
    ----------
    walk : NamedWalk
    account : Account
    known : dict
        All values that are free: known beforehand, or reused from other cases.
    results : dict of str to Result
        Items that need not be bought any more.

    Raises
    ------
    DataError
        If a known value is invalid, or the cap is less than the evaluations that come first.
    """

    def __init__(self, shared: Shared, case: Case, record: CaseRecord, retry: bool = True) -> None:
        self._shared, self._case, self._retry = shared, case, retry
        self._catalog, self._schema = shared.catalog, shared.predictor.schema
        self.account = Account(shared.catalog, self._schema, case.cap)
        self.results: dict[str, Result] = {}
        self._kept: dict[str, tuple[Feature, ...]] = {}
        self._early: dict[Feature, Any] = {}  # delivered, but what they require is not there yet
        self.known = {**case.known, **self._reused(record)}
        declined: list[Feature] = []
        free: dict[Feature, Any] = {}
        for item, entry in record.entries.items():
            self.account.paid[item] = entry.charged
            values = self.take(entry)
            if entry.outcome == "known":
                free |= values
            elif entry.outcome == "declined" and (offer := self._catalog.offer(item)) is not None:
                declined += offer.features
            else:
                self._early |= values
        self.walk = NamedWalk(
            shared.predictor,
            {**free, **self.known},
            case.cap,
            lambda walk, names: self.account.allows(walk, calls=names),
        )
        self._check_cap()
        ready = self._ready({})
        if self.account.allows(self.walk, told=ready):
            self._tell(ready)
            self.skip(declined)
        else:
            self.stop_at_cap()
        stop = record.entries.get(STEP_ITEM)
        if stop is not None and stop.state == "settled":
            self.walk.stop(code="expired" if stop.outcome == "expired" else "stopped")

    def _reused(self, record: CaseRecord) -> dict[Feature, Any]:
        """Return values of other cases of the same subject that are fresh enough."""
        case, now = self._case, time.time()
        found: dict[Feature, Any] = {}
        for item, entry in record.kept.items():
            offer = self._catalog.offer(item)
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
                found |= usable
                self._kept[item] = tuple(usable)
        return found

    def _check_cap(self) -> None:
        """Refuse a cap that the evaluations before the first purchase exceed."""
        cap = self._case.cap
        if cap is None:
            return
        least = fsum([self.account.calls(self.walk), self.walk.evaluation])
        if least > cap:
            shown = money(least, self._shared.predictor.prices.unit)
            raise DataError(
                f"cap: {cap!r} is less than the evaluations that come first; raise it to {shown}"
            )

    def take(self, entry: Entry) -> dict[Feature, Any]:
        """Note how an item ended that this run did not buy; return its values."""
        offer = self._catalog.offer(entry.item)
        results = self.results
        if entry.state == "assumed" and (offer is None or not offer.source.terms.idempotent):
            results[entry.item] = Result("assumed", "assumed", paid=entry.charged)
        if entry.state == "void" and entry.outcome == "failed" and not self._retry:
            results[entry.item] = Result("failed", "void", attempts=0, error="failed before")
        if entry.state != "settled" or entry.item == STEP_ITEM:
            return {}
        values: dict[Feature, Any] = {}
        if entry.values is not None:
            stored = load_values(entry.values)
            known = {f: x for f, x in stored.items() if f in self._schema.names}
            values, _ = check_values(self._schema, known)
        outcome: Any = entry.outcome if entry.item.startswith(f"{STEP_ITEM}/") else "earlier"
        results[entry.item] = Result(outcome, values=values, paid=entry.charged)
        if offer is not None and outcome not in ("known", "declined"):
            self.account.entered |= self._catalog.paid_groups(offer, entry.charged)
        return values

    # --- what to get next

    @property
    def values(self) -> dict[Feature, Any]:
        """All values of the case, by feature."""
        return {**self._early, **self.walk.known, **self.walk.told}

    @property
    def at_hand(self) -> set[Feature]:
        """Features that have a value, or were skipped."""
        return {*self.walk.told, *self.walk.known, *self.walk.skipped}

    def affordable(self) -> tuple[Feature, ...]:
        """Return what to ask for now, of what fits under the cap together, most useful first.

        Features that are bought together are worth nothing one by one: it is all of them or none.
        What is required counts with what requires it.
        """
        walk = self.walk
        if walk.done:
            return ()
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
        at_hand = self.at_hand
        missing = [feature for feature in features if feature not in at_hand]
        offers, _ = self.offers(missing)
        told = {*missing, *(f for offer in offers for f in offer.features)} - at_hand
        return self.account.allows(self.walk, told, self.account.quotes(offers))

    def offers(self, features: Collection[Feature]) -> tuple[list[Offer], list[Feature]]:
        """Return what to buy for some features, and the features that cannot be bought."""
        offers: dict[str, Offer] = {}
        lost = []
        for feature in features:
            offer = self._catalog.by_feature.get(feature)
            if offer is None or offer.item in self.results or self._shared.is_down(offer):
                lost.append(feature)
            else:
                offers[offer.item] = offer
        return list(offers.values()), lost

    def from_sources(self, wanted: Collection[Feature]) -> tuple[Feature, ...]:
        """Return what of this is to be got without the client, or gone without."""
        return tuple(feature for feature in wanted if not self._is_asked(feature))

    def questions(self) -> tuple[Question, ...]:
        """Return what the client should get now; nothing while sources have to be asked."""
        walk = self.walk
        asked = self.affordable()
        if self.from_sources(asked):
            return ()
        offers, _ = self.offers(asked)
        quotes, reasons = self.account.quotes(offers), walk.reasons
        return tuple(
            Question(
                feature := offer.features[0],
                quotes[offer.item],
                self._schema.columns[offer.indices[0]].categories,
                str(reasons.get(feature, "")),
            )
            for offer in offers
        )

    def _is_asked(self, feature: Feature) -> bool:
        """Return whether only the client can deliver a feature, and has not answered yet."""
        offer = self._catalog.by_feature.get(feature)
        return (
            offer is not None
            and offer.item.startswith(f"{STEP_ITEM}/")
            and offer.item not in self.results
        )

    # --- going on

    def advance(self, wanted: Sequence[Feature], is_late: bool = False) -> None:
        """Tell the walk what came, and go on without what did not, unless it is too late."""
        values: dict[Feature, Any] = {}
        lost = []
        for feature in wanted:
            offer = self._catalog.by_feature.get(feature)
            result = None if offer is None else self.results.get(offer.item)
            if result is not None:
                values |= result.values
            if (offer is None or result is not None) and feature not in values:
                lost.append(feature)
        self._tell(self._ready(values))
        if not is_late:
            self.skip(lost)

    def _ready(self, values: dict[Feature, Any]) -> dict[Feature, Any]:
        """Return those of these and early values that need nothing else to be bought first.

        A value that the walk is told has to be paid for with all that it requires, so one that was
        delivered before it was asked for waits until that is there.
        """
        index, at_hand = self._schema.index, self.at_hand
        ready = {f: x for f, x in (self._early | values).items() if f not in at_hand}
        structure = self._shared.predictor.prices.structure
        size = None
        while structure is not None and size != len(ready):
            size = len(ready)
            there = {index(feature) for feature in (*at_hand, *ready)}
            ready = {f: x for f, x in ready.items() if structure.before(index(f)) <= there}
        return ready

    def _tell(self, values: dict[Feature, Any]) -> None:
        self._early = {f: x for f, x in self._early.items() if f not in values}
        if values:
            self.walk.tell(values)

    def skip(self, features: Collection[Feature]) -> None:
        """Go on without some features, as far as the cap allows the evaluations that follow."""
        walk, structure = self.walk, self._shared.predictor.prices.structure
        for feature in features:
            if walk.done or feature in self.at_hand:
                continue
            gone: Collection[Feature] = [feature]
            if structure is not None:
                requiring = structure.requiring([self._schema.index(feature)])
                gone = [self._schema.names[j] for j in sorted(requiring)]
            if not self.account.allows(walk, told=gone):
                self.stop_at_cap()
                return
            walk.skip(feature)

    def stop_at_cap(self) -> None:
        """End the walk, as nothing that is left fits under the cap."""
        shown = money(self._case.cap or 0.0, self._shared.predictor.prices.unit)
        self.walk.stop(f"cap of {shown} reached", code="cap")

    def receipt(self, seconds: float) -> CaseReceipt:
        """Return what was bought so far, and what it really cost."""
        walk = self.walk
        charges = [
            Charge(item, item.partition("/")[0], features, "kept", 0.0, attempts=0)
            for item, features in self._kept.items()
        ]
        for item, result in self.results.items():
            offer = self._catalog.offer(item)
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
        for item, amount in self.account.paid.items():
            if item not in self.results and amount > 0:  # bought by another run at this time
                charges.append(Charge(item, item.partition("/")[0], (), "open", amount, 0))
        return CaseReceipt.of(
            walk.receipt,
            spent=self.account.spent(walk),
            charges=tuple(charges),
            skipped=walk.skipped,
            seconds=seconds,
        )
