"""An online gate whose state is in the database of a ledger, for several processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, LedgerError
from thrifty.serve.ledger import Ledger
from thrifty.serve.online_gate import Decision, OnlineGate

__all__ = ["LedgerGate"]

T = TypeVar("T")

MAX_TRIES = 100


class LedgerGate:
    """An online gate that several processes use, and that survives their ends.

    Every step reads the state from the database, and writes it back unless another process has
    written meanwhile: then the step is taken again. So a label may be passed in another process
    than the one that asked for it. A step takes two transactions; in an event loop, run it with
    `asyncio.to_thread`.

    Parameters
    ----------
    ledger : Ledger
    name : str
        Of the gate, in the ledger.
    experts : sequence
        Those of `OnlineGate`, the same in all processes.
    **settings
        Further parameters of `OnlineGate`, with which the gate is made if there is none.

    Raises
    ------
    LedgerError
        If the ledger cannot be used, or has a gate of other experts under this name.

    Examples
    --------
    >>> from thrifty.serve import ASK, Ledger, LedgerGate
    >>> experts = [lambda x: "low", lambda x: ASK]
    >>> with Ledger.temporary() as ledger:
    ...     first, second = (
    ...         LedgerGate(ledger, "spam", experts, cost=0.3, random_state=0) for _ in range(2)
    ...     )
    ...     decision = first.decide(3.5)
    ...     estimates = second.feedback("high", decision.key)
    >>> decision.asks, estimates.round(2)
    (True, array([1.01, 0.3 ]))
    """

    def __init__(self, ledger: Ledger, name: str, experts: Sequence[Any], **settings: Any) -> None:
        self._ledger, self._name, self._experts = ledger, f"gate/{name}", experts
        new = OnlineGate(experts, **settings)
        if ledger.state(self._name) is None:
            ledger.swap_state(self._name, 0, new.dump().decode("ascii"))
        self.gate  # noqa: B018 -- refuses the state of other experts

    @property
    def gate(self) -> OnlineGate:
        """The gate as it is now; what is done with it is not written."""
        _, gate = self._read()
        return gate

    def decide(self, x: Any, key: str | None = None) -> Decision:
        """Answer an example, or ask the remote model; see `OnlineGate.decide`."""
        return self._step(lambda gate: gate.decide(x, key))

    def feedback(self, label: Any, key: str | None = None) -> NDArray[np.float64]:
        """Learn from a label; see `OnlineGate.feedback`."""
        return self._step(lambda gate: gate.feedback(label, key))

    def drop(self, key: str | None = None) -> None:
        """Go on without a label; see `OnlineGate.drop`."""
        self._step(lambda gate: gate.drop(key))

    def expire(self, max_age: float) -> int:
        """Go on without labels that are overdue; see `OnlineGate.expire`."""
        return self._step(lambda gate: gate.expire(max_age))

    def _read(self) -> tuple[int, OnlineGate]:
        """Return the version of the state, and the gate."""
        version, body = self._ledger.state(self._name) or (0, "")
        try:
            return version, OnlineGate.restore(body.encode(), self._experts)
        except BundleError as error:
            raise LedgerError(f"{self._ledger!r}, {self._name}: {error}") from error

    def _step(self, act: Callable[[OnlineGate], T]) -> T:
        """Take a step, again as long as others come first."""
        for _ in range(MAX_TRIES):
            version, gate = self._read()
            result = act(gate)
            if self._ledger.swap_state(self._name, version, gate.dump().decode("ascii")):
                return result
        raise LedgerError(f"{self._ledger!r}: {self._name} could not be written")
