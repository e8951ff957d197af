"""Serving cases: walk, buy what the walk asks for, answer in time and within the cap."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import threading
import warnings
import weakref
from collections.abc import Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Self

from thrifty.bundle import Predictor
from thrifty.errors import DataError, LedgerError
from thrifty.serve.ledger import Ledger
from thrifty.serve.ledger.none import NoLedger
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.catalog import Catalog
from thrifty.serve.runtime.pacing import Pacing, digest_of
from thrifty.serve.runtime.receipt import CaseReceipt
from thrifty.serve.runtime.run import CaseRun
from thrifty.serve.runtime.shared import Shared
from thrifty.serve.sources.base import AsyncSource
from thrifty.serve.sources.breaker import Breaker
from thrifty.serve.sources.client import CLIENT
from thrifty.serve.sources.model import ModelSource
from thrifty.serve.sources.rows import Feature

if TYPE_CHECKING:
    from thrifty.serve.shadow import Shadow

__all__ = ["Runtime"]


class Runtime:
    """Predicts cases, fetching from sources only what each prediction asks for.

    - What a walk asks for in one round is fetched at once.
    - The cap bounds what is spent, and is checked before anything is bought, evaluated or called.
    - A source that fails, is slow or is down costs a case the value, not the answer: the walk goes
      on without it, or ends with its best answer so far.
    - With a ledger, nothing is bought twice for a case, by whichever process and however often it
      is sent; without one, nothing is recorded.

    Parameters
    ----------
    predictor : Predictor
        If it is connected to an expensive model (`thrifty.serve.connect`), its calls are purchases
        like all others.
    sources : sequence of AsyncSource
    ledger : Ledger, optional
        It is not closed with the runtime.
    given : collection of str or int
        Features that no source delivers, as they come with the case. One that a case lacks is
        skipped.
    asked : collection of str or int
        Features that no source delivers, as the client is asked for them. A case that needs one
        waits: `serve` returns a receipt whose `stopped` is None. `Cases` goes on with it.
    linger : float
        Seconds for which a purchase may go on after its walk has gone on without it; after that it
        counts as paid.
    reasons : bool
        Whether receipts say why each feature was bought; this takes as long as all the rest.
    pacing : Pacing, optional
        Has an operating point chosen for each case, so that what is spent stays at a budget.
        `predictor` is one of its points.
    shadow : Shadow, optional
        Replays each case on another model, without buying anything.

    Attributes
    ----------
    model : str
        Digest of the model, as the ledger has it.

    Raises
    ------
    DataError
        If a feature that the model reads comes from no source, or from two.

    Warns
    -----
    UserWarning
        If a price of a source differs from the prices that the model was trained with.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import Case, FunctionSource, Runtime
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> lab = FunctionSource("lab", lambda query: {0: 1.5, 1: 0.2, 2: -1.0}, [0, 1, 2])
    >>> with Runtime(model.predictor_, [lab]) as runtime:
    ...     receipt = runtime.answer(Case(cap=5.0, deadline=2.0))
    >>> receipt.answer, receipt.total, receipt.spent
    ('yes', 1.0, 1.0)
    """

    def __init__(
        self,
        predictor: Predictor,
        sources: Sequence[AsyncSource],
        ledger: Ledger | None = None,
        given: Collection[Feature] = (),
        linger: float = 30.0,
        reasons: bool = False,
        asked: Collection[Feature] = (),
        pacing: Pacing | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        self.predictor = predictor
        if predictor.caller is not None:
            sources = [*sources, ModelSource.of(predictor)]
            predictor = copy.copy(predictor)
            predictor.caller = None
        if not linger >= 0:
            raise DataError(f"linger: {linger!r} is not a number of seconds of 0 or more")
        self.model = digest_of(predictor)
        self.sources = tuple(sources)
        self.catalog = Catalog(predictor, sources, given, asked)
        self.ledger = ledger
        self.pacing, self.shadow = pacing, shadow
        if pacing is not None:
            self._start_pacing(pacing, given, asked)
        breakers = {
            source.terms.name: Breaker(source.terms.trips_after, source.terms.rests)
            for source in sources
        }
        breakers[CLIENT] = Breaker(trips_after=1, rests=0.0)  # it is never asked: never fails
        # What belongs to an event loop is made anew for each.
        self._template = Shared(
            predictor, self.model, self.catalog, ledger or NoLedger(), breakers, linger, reasons,
            pacing, shadow,
        )  # fmt: skip
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Shared] = (
            weakref.WeakKeyDictionary()
        )
        self._thread: _LoopThread | None = None
        self._lock = threading.Lock()

    def _start_pacing(
        self, pacing: Pacing, given: Collection[Feature], asked: Collection[Feature]
    ) -> None:
        """Check that the sources serve all points, which then share them and the catalog."""
        if self.model not in pacing.models:
            raise DataError("pacing: the predictor is not one of its operating points")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of prices, which are the same for all
            for predictor in pacing.points.predictors:
                Catalog(predictor, self.sources, given, asked)
        pacing.start(self.catalog, self.ledger)

    def has(self, model: str) -> bool:
        """Return whether a digest is that of the model, or of one of its operating points."""
        return model == self.model or (self.pacing is not None and model in self.pacing.models)

    async def serve(self, case: Case) -> CaseReceipt:
        """Predict a case. The receipt has the answer, the bill and what was spent.

        If it is cancelled, purchases under way go on and are settled; the case can be sent again.

        Raises
        ------
        DataError
            If a known value is invalid, or the cap is less than the evaluations that come first.
        LedgerError
            If the ledger cannot record a purchase: it is not made. The error has the receipt.
        """
        return await CaseRun(self.shared(), case).serve()

    def answer(self, case: Case) -> CaseReceipt:
        """Predict a case, for callers without an event loop; see `serve`.

        It may be called from several threads at once.
        """
        with self._lock:
            if self._thread is None:
                self._thread = _LoopThread()
            thread = self._thread
        receipt: CaseReceipt = thread.run(self.serve(case))
        return receipt

    @property
    def spent(self) -> dict[str, float]:
        """What this runtime has paid since it was made, by source."""
        return dict(self._template.spent)

    @property
    def down(self) -> list[str]:
        """Names of the sources that count as down."""
        return [name for name, breaker in self._template.breakers.items() if breaker.is_open]

    @property
    def open_purchases(self) -> int:
        """Number of purchases, and other writes, under way in all event loops."""
        return sum(len(shared.tasks) for shared in list(self._loops.values()))

    async def aclose(self) -> None:
        """Wait until all purchases under way are settled, then close the sources.

        Raises
        ------
        LedgerError
            If the ledger cannot record the last settlements; the purchases stay open there.
        """
        shared = self.shared()
        try:
            while shared.tasks:
                await asyncio.wait(set(shared.tasks))
            if self.pacing is not None:
                await asyncio.to_thread(self.pacing.exchange, closing=True)
            await asyncio.wrap_future(shared.ledger.flush())
        finally:
            if self.shadow is not None:
                await asyncio.to_thread(self.shadow.close)
            for source in self.sources:
                await source.close()

    def close(self) -> None:
        """Close a runtime whose `answer` was used; see `aclose`."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            try:
                thread.run(self.aclose())
            finally:
                thread.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        # The error that ends the block tells more than that of the ledger on closing.
        with contextlib.suppress(*([] if kind is None else [LedgerError])):
            await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with contextlib.suppress(*([] if kind is None else [LedgerError])):
            self.close()

    def __repr__(self) -> str:
        return f"Runtime({self.predictor!r}, {len(self.sources)} sources)"

    def shared(self) -> Shared:
        """Return what the runs in the current event loop share."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            one = copy.copy(self._template)
            one.turns, one.tasks = {}, set()
            self._loops[loop] = one
        return self._loops[loop]


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="thrifty-runtime", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """End the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
