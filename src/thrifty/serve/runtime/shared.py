"""What the runs of one runtime share in one event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from thrifty.bundle import Predictor
from thrifty.serve.ledger import Ledger
from thrifty.serve.ledger.none import NoLedger
from thrifty.serve.runtime.catalog import Catalog, Offer
from thrifty.serve.runtime.pacing import Pacing
from thrifty.serve.sources.breaker import Breaker

if TYPE_CHECKING:
    from thrifty.serve.shadow import Shadow

__all__ = ["Shared"]


@dataclass(eq=False)
class Shared:
    """What the runs of one runtime share in one event loop.

    Parameters
    ----------
    predictor : Predictor
        It makes no calls of other models itself.
    model : str
        Digest of the model.
    catalog : Catalog
    ledger : Ledger or NoLedger
    breakers : dict of str to Breaker
        By source.
    linger : float
        Seconds for which a purchase goes on after its walk went on without it.
    reasons : bool
        Whether receipts say why each feature was bought.
    pacing : Pacing or None
        Chooses the operating point of each case.
    shadow : Shadow or None
        Replays each case on another model.
    spent : dict of str to float
        What was paid since the runtime was made, by source.
    turns : dict of str to Semaphore
        By source: requests at once.
    tasks : set of Task
        What goes on in the background.
    """

    predictor: Predictor
    model: str
    catalog: Catalog
    ledger: Ledger | NoLedger
    breakers: dict[str, Breaker]
    linger: float
    reasons: bool
    pacing: Pacing | None = None
    shadow: Shadow | None = None
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def at_point(self, model: str) -> Self:
        """Return the same with the operating point whose model has a digest.

        Without pacing there is one model: a case of another one goes on with it.

        Raises
        ------
        CaseConflictError
            If no point has it.
        """
        if self.pacing is None or model == self.model:
            return self
        predictor = self.pacing.points.predictors[self.pacing.index_of(model)]
        return replace(self, predictor=predictor, model=model)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start work that goes on even if nobody waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits has seen it; if nobody does, the ledger has the intent

    def is_down(self, offer: Offer) -> bool:
        """Return whether a source is not asked at present, as it has failed too often."""
        return self.breakers[offer.source.terms.name].is_open

    def turn(self, offer: Offer) -> asyncio.Semaphore:
        """Return the semaphore of a source."""
        terms = offer.source.terms
        if terms.name not in self.turns:
            self.turns[terms.name] = asyncio.Semaphore(terms.at_once)
        return self.turns[terms.name]
