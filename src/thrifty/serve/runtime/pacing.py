"""Pacing in a runtime: the operating point of each case is chosen so that the budget is held.

All processes that share a ledger pace together. They meet in one state of the ledger: about once a
second each adds what its cases have cost, and gets its grants of the ceilings. A case goes on with
the point that it began with, in whichever process.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np

from thrifty.bundle import OperatingPoints, Predictor
from thrifty.bundle.file import pack
from thrifty.errors import CaseConflictError, DataError, LedgerError
from thrifty.serve.ledger import Ledger
from thrifty.serve.pacer import OperatingPoint, Pacer, Ticket
from thrifty.serve.runtime.catalog import Catalog
from thrifty.untrusted import parse_json

__all__ = ["Pacing", "digest_of"]

WRITE_SECONDS = 1.0
"""How often the state in the ledger is written at most, except for grants."""

MAX_CASES = 100_000
"""Cases that are remembered. An open one that is forgotten counts as it was expected."""

MAX_STATE = 2**20
MAX_TRIES = 20


def digest_of(predictor: Predictor) -> str:
    """Return the digest of a model, as ledgers have it."""
    return hashlib.sha256(pack(predictor)).hexdigest()


class Pacing:
    """Holds what cases spend on average at a budget, by choosing an operating point for each.

    Parameters
    ----------
    points : OperatingPoints
        At least two; see `thrifty.load_points`.
    budget : float
        What a case may spend on average.
    per_minute, per_day : float, optional
        What the cases that begin in one minute, or one day (UTC), may spend together. They hold for
        all processes that share a ledger. Each such case has a cap, which it keeps when it is
        resumed; once nothing is left, cases get the answer that needs no purchase.

    Raises
    ------
    DataError
        If there is one point only, or the budget is below the cheapest one.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetClassifier, GreedyMiserClassifier, Prices
    >>> from thrifty.frontier.operating_points import operating_points
    >>> from thrifty.serve import Case, FunctionSource, Pacing, Runtime
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X.sum(axis=1) > 0, "yes", "no")
    >>> learner = GreedyMiserClassifier(n_estimators=20)
    >>> prices = Prices([1, 2, 4])
    >>> model = BudgetClassifier(prices, 3, learners=[learner], random_state=0).fit(X, y)
    >>> points = operating_points(model.frontier_, model.predictor_)
    >>> lab = FunctionSource("lab", lambda query: dict(enumerate([1.5, 0.2, -1.0])), [0, 1, 2])
    >>> with Runtime(points.predictor, [lab], pacing=Pacing(points, budget=10)) as runtime:
    ...     receipts = [runtime.answer(Case()) for _ in range(20)]
    >>> runtime.pacing.metrics()["mean_spent"]
    7.0
    """

    def __init__(
        self,
        points: OperatingPoints,
        budget: float,
        per_minute: float | None = None,
        per_day: float | None = None,
    ) -> None:
        if len(points) < 2:
            raise DataError(
                "budget: the model has one operating point, so there is nothing to choose from; "
                "save it with BudgetClassifier.save or thrifty fit, which keep several"
            )
        self.points = points
        self.models = tuple(map(digest_of, points.predictors))
        """The digest of the model of each point."""
        self._limits = {"budget": budget, "per_minute": per_minute, "per_day": per_day}
        self._pacer = self._make_pacer([math.inf] * len(points), is_shared=False)
        self._ledger: Ledger | None = None
        name = hashlib.sha256("".join(self.models).encode()).hexdigest()
        self._name = f"pacer/{name[:32]}"
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._spent: OrderedDict[str, float] = OrderedDict()  # of cases that have ended
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one exchange with the ledger at a time
        self._written = -math.inf

    def _make_pacer(self, largest: Sequence[float], is_shared: bool) -> Pacer:
        points = [
            OperatingPoint(*each)
            for each in zip(self.points.bills, self.points.qualities, largest, strict=True)
        ]
        return Pacer(points, **self._limits, shared=is_shared)  # type: ignore[arg-type]

    def start(self, catalog: Catalog, ledger: Ledger | None) -> None:
        """Pace with the sources of a catalog; go on from the state in the ledger, if there is one.

        Raises
        ------
        LedgerError
            If the ledger cannot be read, or its state is not one of a pacer.
        DataError
            If there are ceilings, and evaluations have a price.
        """
        largest = [_largest_bill(predictor, catalog) for predictor in self.points.predictors]
        has_ceilings = self._limits["per_minute"] is not None or self._limits["per_day"] is not None
        if has_ceilings and self.points.predictor.prices.evaluation:
            raise DataError(
                "per_minute, per_day: evaluations have a price, so that no answer is free once a "
                "ceiling is reached; leave them out"
            )
        if not has_ceilings:  # then no case needs a cap
            largest = [math.inf] * len(largest)
        self._pacer = self._make_pacer(largest, ledger is not None)
        self._ledger = ledger
        self.exchange()

    # --- cases

    def index_of(self, model: str) -> int:
        """Return the operating point of a case by the digest of its model.

        Raises
        ------
        CaseConflictError
            If no point has it.
        """
        if model not in self.models:
            raise CaseConflictError(
                "the case began with another model; serve that one again, or start a new case"
            )
        return self.models.index(model)

    async def choose(self, handle: str, cap: float | None) -> Ticket:
        """Return the operating point of a new case, and what it may spend at most.

        Runs of one case at the same time, and one that failed before, have one ticket.
        """
        if handle not in self._tickets:
            if self._pacer.lacks_grants:
                await asyncio.to_thread(self.exchange, if_needed=True)
            with self._lock:
                if handle not in self._tickets:
                    self._tickets[handle] = self._pacer.choose(math.inf if cap is None else cap)
                    _bound(self._tickets)
        return self._tickets[handle]

    def cancel(self, handle: str) -> None:
        """Undo `choose` for a case that was refused."""
        with self._lock:
            ticket = self._tickets.pop(handle, None)
        if ticket is not None:
            self._pacer.cancel(ticket)

    def ended(
        self, handle: str, model: str, spent: float, earlier: float | None, may_go_on: bool = False
    ) -> None:
        """Record what a case has spent in all.

        Parameters
        ----------
        handle, model : str
            The case, and the digest of its model.
        spent : float
        earlier : float or None
            What it had spent when it ended before, so that only the difference counts.
        may_go_on : bool
            Whether it buys more if it is sent again.
        """
        with self._lock:
            counted = self._spent.pop(handle, earlier)
            self._spent[handle] = spent
            _bound(self._spent)
            ticket = self._tickets.pop(handle, None)
        if counted is not None:
            self._pacer.correct(spent - counted)
        else:
            ticket = ticket or self._pacer.ticket(self.index_of(model))
            self._pacer.settle(ticket, spent, may_go_on)

    def reopened(self, handle: str, model: str, spent: float) -> None:
        """Record that a case which had ended goes on: it counts as expected again."""
        with self._lock:
            counted = self._spent.pop(handle, spent)
        self._pacer.reopen(self.index_of(model), counted)

    def metrics(self) -> dict[str, Any]:
        """Return what was spent against what was expected; see `Pacer.metrics`."""
        return self._pacer.metrics()

    # --- the state that processes share

    @property
    def is_due(self) -> bool:
        """Whether it is time to write the state again."""
        return self._ledger is not None and time.monotonic() - self._written > WRITE_SECONDS

    def exchange(self, if_needed: bool = False, closing: bool = False) -> None:
        """Add what this process has done to the state in the ledger, and go on from there.

        It blocks until the ledger has answered. Without a ledger it does nothing.

        Raises
        ------
        LedgerError
            If the ledger cannot be used, or its state is not one of a pacer.
        """
        ledger = self._ledger
        if ledger is None:
            return
        with self._turn:
            if if_needed and not self._pacer.lacks_grants:
                return  # somebody else has asked meanwhile
            self._written = time.monotonic()
            for _ in range(MAX_TRIES):
                version, body = ledger.state(self._name) or (0, None)
                try:
                    shared = None if body is None else parse_json(
                        body.encode(), max_bytes=MAX_STATE, what="the state of the pacer",
                        error=DataError,
                    )  # fmt: skip
                    state, changes = self._pacer.merge(shared, closing)
                except DataError as error:
                    raise LedgerError(f"{ledger!r}, {self._name}: {error}") from error
                if ledger.swap_state(self._name, version, json.dumps(state)):
                    self._pacer.adopt(state, changes)
                    return
            raise LedgerError(f"{ledger!r}: the state of the pacer could not be written")


def _bound(cases: OrderedDict[str, Any]) -> None:
    """Forget the oldest case if there are too many."""
    if len(cases) > MAX_CASES:
        cases.popitem(last=False)


def _largest_bill(predictor: Predictor, catalog: Catalog) -> float:
    """Return what a case may cost at most: everything that the model may ask for, at its source."""
    reads = set(np.flatnonzero(predictor.reads).tolist())
    prices, schema = predictor.prices, predictor.schema
    if prices.structure is not None:
        reads = set(prices.structure.closure(reads))
    offers = {
        offer.item: offer
        for offer in map(catalog.by_feature.get, (schema.names[j] for j in reads))
        if offer is not None
    }
    # Each group counts as often as it is sold: sources may charge it one by one.
    quotes = [quote for offer in offers.values() for quote in catalog.quote([offer], ())]
    return fsum([*quotes, catalog.bill(reads & schema.calls)])
