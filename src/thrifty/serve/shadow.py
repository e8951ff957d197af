"""Shadow mode: what another model would have answered, case by case, without buying anything."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from thrifty.bundle import Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.serve.past_cases import MissingValueError, replay
from thrifty.serve.sources.rows import Feature

__all__ = ["Shadow"]

MAX_WAITING = 1000
"""Cases that wait to be replayed; more are dropped, and counted."""


class Shadow:
    """Replays every case of a runtime on another model, in a thread of its own.

    It sees the values that the case had, buys nothing, and can neither slow down nor fail the case.
    A case for which the other model asks for more is counted as incomplete, with what it lacks.

    Parameters
    ----------
    predictor : Predictor
        The other model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import Case, FunctionSource, Runtime, Shadow
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> models = [GreedyMiserClassifier(Prices([1, 9]), penalty=p).fit(X, y) for p in (0.01, 1.0)]
    >>> lab = FunctionSource("lab", lambda query: {0: 1.5, 1: 0.2}, [0, 1])
    >>> shadow = Shadow(models[1].predictor_)
    >>> with Runtime(models[0].predictor_, [lab], shadow=shadow) as runtime:
    ...     receipt = runtime.answer(Case())
    >>> shadow.metrics()["replayed"], shadow.metrics()["billed"]
    (1, 0.0)
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self._lock = threading.Lock()
        self._waiting, self._is_closed = 0, False
        self._counts: Counter[str] = Counter()
        self._lacking: Counter[Feature] = Counter()
        self._billed = self._served = self._difference = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="thrifty-shadow")

    def submit(
        self, known: Mapping[Feature, Any], bought: Mapping[Feature, Any], answer: Any, bill: float
    ) -> None:
        """Queue a case that has ended, with its values, its answer and its bill."""
        with self._lock:
            if self._waiting >= MAX_WAITING or self._is_closed:
                self._counts["dropped"] += 1
                return
            self._waiting += 1
            self._thread.submit(self._replay, dict(known), dict(bought), answer, bill)

    def _replay(
        self, known: dict[Feature, Any], bought: dict[Feature, Any], answer: Any, bill: float
    ) -> None:
        outcome, lacking, billed, difference = "failed", None, 0.0, 0.0
        try:
            label, receipt = replay(self.predictor, known, bought)
            billed = receipt.total
            if self.predictor.classes is None:
                difference = abs(float(label) - float(answer))
                outcome = "agreed" if difference == 0 else "changed"
            else:
                outcome = "agreed" if plain_value(label) == plain_value(answer) else "changed"
        except MissingValueError as error:
            outcome, lacking = "incomplete", error.feature
        except Exception:  # whatever it is, it is not the case's fault: it is counted
            outcome = "failed"
        with self._lock:
            self._waiting -= 1
            self._counts[outcome] += 1
            if lacking is not None:
                self._lacking[lacking] += 1
            if outcome in ("agreed", "changed"):
                self._billed += billed
                self._served += bill
                self._difference += difference

    def metrics(self) -> dict[str, Any]:
        """Return how the other model compares.

        Returns
        -------
        dict
            `replayed` (cases), of these `agreed` and `changed` (other answers); `billed` and
            `served_bill`, what the replayed cases cost with the other model and with the one that
            served them; `difference`, the sum of absolute differences of values; `incomplete`
            (cases for which it asks for more), `lacking` (what, by feature), `failed` and `dropped`
            (as too many were waiting).
        """
        with self._lock:
            counts = {
                name: self._counts[name]
                for name in ("agreed", "changed", "incomplete", "failed", "dropped")
            }
            return {
                "replayed": counts["agreed"] + counts["changed"],
                **counts,
                "billed": self._billed,
                "served_bill": self._served,
                "difference": self._difference,
                "lacking": dict(self._lacking),
            }

    def close(self) -> None:
        """Wait for the cases that are queued; later ones are dropped."""
        with self._lock:
            self._is_closed = True
        self._thread.shutdown()
