"""Serving cases: walk, buy what the walk asks for, answer in time and within the cap."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Self

from thrifty.bundle import Predictor
from thrifty.serve.ledger import Ledger
from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.receipt import CaseReceipt
from thrifty.serve.sources.base import AsyncSource
from thrifty.serve.sources.rows import Feature

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
    linger : float
        Seconds for which a purchase may go on after its walk has gone on without it; after that it
        counts as paid.

    Raises
    ------
    DataError
        If a feature that the model reads comes from no source, or from two.

    Warns
    -----
    UserWarning
        If a price of a source differs from the prices that the model was trained with.
    """

    def __init__(
        self,
        predictor: Predictor,
        sources: Sequence[AsyncSource],
        ledger: Ledger | None = None,
        given: Collection[Feature] = (),
        linger: float = 30.0,
    ) -> None:
        raise NotImplementedError

    async def serve(self, case: Case) -> CaseReceipt:
        """Predict a case. The receipt has the answer, the bill and what was spent.

        Raises
        ------
        DataError
            If a known value is invalid, or the cap is less than the evaluations that come first.
        LedgerError
            If the ledger cannot record a purchase: it is not made. The error has the receipt.
        """
        raise NotImplementedError

    def answer(self, case: Case) -> CaseReceipt:
        """Predict a case, for callers without an event loop; see `serve`."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Wait until all purchases under way are settled, then close the sources."""
        raise NotImplementedError

    def close(self) -> None:
        """Close a runtime whose `answer` was used; see `aclose`."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
