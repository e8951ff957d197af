"""EXP3.G: a gate that learns while it serves (Nan 2018, ch. 6, algorithm 6).

Each expert answers an example itself or asks the remote model. Asking costs `cost` and reveals the
label, hence what every expert would have lost; a local answer reveals nothing. So the gate asks now
and then only in order to learn, and follows an expert drawn by its weight otherwise.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.serve.experts import ASK, Opinions
from thrifty.serve.gate_file import dump, restore
from thrifty.serve.gate_rates import Rates, first_horizon

__all__ = ["Decision", "OnlineGate"]

Floats = NDArray[np.float64]


class Decision(NamedTuple):
    """What to do with one example.

    `asks` says whether to ask the remote model; then `answer` is None and a label is waited for.
    `expert` is the number of the expert that was followed, None where the gate explores.
    """

    asks: bool
    answer: Any
    expert: int | None


class OnlineGate:
    """Which expert to follow, learnt from the answers of the remote model.

    An expert is a pair of a gate and a local model. A wrong local answer loses 1, asking the remote
    model loses `cost`; the gate does nearly as well as the best of its experts.

    Parameters
    ----------
    experts : sequence
        Functions of an example that give a label or `thrifty.serve.ASK`; pairs (gate, local):
        where the gate is above 0 the remote model is asked; or predictors, such as the points of a
        path: a predictor asks where its walk wants what the example does not hold.
    cost : float
        What asking costs, above 0 and at most 1, where a wrong answer costs 1.
    horizon : int, optional
        Number of examples to come. Left out, or when it is passed, it is doubled time after time;
        what has been learnt is kept.
    changes : int
        How often the best expert may change within the horizon.
    labels : sequence, optional
        Labels that may occur. Left out: those of the predictors, or any.
    random_state : int, optional
        Seed of the lots.

    Attributes
    ----------
    rounds, asked, explored : int
        Examples so far; those of which the remote model was asked; those of which it was asked only
        in order to learn.

    Notes
    -----
    A remote answer counts as the label. An expert is consulted when it is followed; when the remote
    model is asked, all are, as the label judges them all.

    Examples
    --------
    >>> from thrifty.serve import ASK, OnlineGate
    >>> experts = [lambda x: "low", lambda x: "high" if x > 5 else "low", lambda x: ASK]
    >>> gate = OnlineGate(experts, cost=0.3, horizon=2000, random_state=0)
    >>> for t in range(2000):
    ...     decision = gate.decide(t % 10)
    ...     if decision.asks:
    ...         estimates = gate.feedback("high" if t % 10 > 5 else "low")
    >>> gate.weights.argmax().item(), gate.asked < 600
    (1, True)
    """

    def __init__(
        self,
        experts: Sequence[Any],
        cost: float,
        horizon: int | None = None,
        changes: int = 0,
        labels: Sequence[Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        raise_all(DataError, "online gate", _problems(cost, horizon, changes))
        self._panel = Opinions(experts)
        self.cost, self.changes = float(cost), int(changes)
        self.horizon = int(horizon or first_horizon(len(self._panel), self.cost))
        self.labels = self._panel.classes if labels is None else [_plain(x) for x in labels]
        self.rounds = self.asked = self.explored = 0
        self._logits = np.zeros(len(self._panel))
        self._open: list[Any] | None = None
        self._random = np.random.default_rng(random_state)
        self._settle()

    @property
    def weights(self) -> Floats:
        """Chance of each expert to be followed where the gate does not explore (q)."""
        return self._weights.copy()

    @property
    def rates(self) -> Rates:
        """Learning rate, exploration, and share of the weight that is dealt out anew."""
        return self._rates

    @property
    def waits(self) -> bool:
        """Whether the label of the last example is waited for."""
        return self._open is not None

    def decide(self, x: Any) -> Decision:
        """Answer an example, or ask the remote model about it.

        Raises
        ------
        DataError
            If the label of the example before is waited for.
        SourceError
            If an expert fails; the round does not count then.
        """
        if self._open is not None:
            raise DataError(
                "decide: the label of the last example is waited for; give it to feedback, or call "
                "drop if it will not come"
            )
        expert = self._draw()
        if expert is not None:
            said = self._known(self._panel.of(expert, x), expert)
            if said is not ASK:
                self._end_round()
                return Decision(False, said, expert)
        self._open = [self._known(said, j) for j, said in enumerate(self._panel.all(x))]
        self.asked += 1
        self.explored += expert is None
        return Decision(True, None, expert)

    def feedback(self, label: Any) -> Floats:
        """Learn from the label that the remote model gave.

        Returns
        -------
        array (experts,)
            Estimate of what each expert lost in this round; in expectation it is right.

        Raises
        ------
        DataError
            If no question is open, or the label is not one that may occur.
        """
        said = self._asked_for("feedback")
        label = _plain(label)
        self._refuse_label(label)
        asks = np.array([word is ASK for word in said])
        losses = np.array([self.cost if word is ASK else float(word != label) for word in said])
        gamma = self._rates.gamma
        # All see the label or none does, so one chance serves all experts (6.5).
        chance = gamma + (1.0 - gamma) * float(self._weights[asks].sum())
        estimates = losses / chance
        self._logits -= self._rates.eta * estimates
        self._open = None
        self._settle()
        self._end_round()
        return estimates

    def drop(self) -> None:
        """Go on without the label: the remote model did not answer, and nothing is learnt."""
        self._asked_for("drop")
        self._open = None
        self._end_round()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that was learnt, the lots and an open question; the experts are not kept."""
        write_whole(path, dump(self._state()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], experts: Sequence[Any]) -> Self:
        """Go on from a file as if nothing had happened, with the same experts.

        Raises
        ------
        BundleError
            If the file is damaged, or is of another number of experts.
        """
        try:
            state = restore(Path(path).read_bytes())
            if len(state["logits"]) != len(experts):
                count = len(state["logits"])
                raise BundleError(f"it has learnt of {count} experts, {len(experts)} are given")
        except BundleError as error:
            raise BundleError(f"{os.fspath(path)}: {error}") from error
        gate = cls(experts, state["cost"], state["horizon"], state["changes"], state["labels"])
        gate._take(state)
        return gate

    def __repr__(self) -> str:
        return f"OnlineGate({len(self._panel)} experts, {self.rounds} rounds, {self.asked} asked)"

    def _draw(self) -> int | None:
        """The expert to follow; None to explore."""
        if self._random.random() < self._rates.gamma:
            return None
        place = self._random.random() * self._ladder[-1]
        return min(bisect_right(self._ladder, place), len(self._ladder) - 1)

    def _settle(self) -> None:
        """Work out what follows from the log-weights and the horizon."""
        self._rates = Rates.of(len(self._panel), self.cost, self.horizon, self.changes)
        self._logits -= self._logits.max()
        weights = np.exp(self._logits)
        self._weights: Floats = weights / weights.sum()
        self._ladder = list(accumulate(self._weights.tolist()))

    def _end_round(self) -> None:
        self.rounds += 1
        if self._rates.share:
            # Fixed share: whoever was bad for long can come back within reach.
            share = self._rates.share
            self._logits = np.log((1.0 - share) * self._weights + share / len(self._weights))
            self._settle()
        if self.rounds >= self.horizon:
            self._double()

    def _double(self) -> None:
        """A longer horizon wants slower rates; the losses that were learnt of stay."""
        eta = self._rates.eta
        self.horizon *= 2
        slower = Rates.of(len(self._panel), self.cost, self.horizon, self.changes)
        if eta:
            self._logits *= slower.eta / eta
        self._settle()

    def _asked_for(self, what: str) -> list[Any]:
        if self._open is None:
            raise DataError(f"{what}: no question is open; decide first, and only if it asks")
        return self._open

    def _known(self, said: Any, expert: int) -> Any:
        if said is not ASK and self.labels is not None and said not in self.labels:
            raise DataError(f"expert {expert} says {said!r}, which is none of {self.labels[:20]}")
        return said

    def _refuse_label(self, label: Any) -> None:
        if label is None or label is ASK or label != label:
            raise DataError(f"label: {label!r} is no label; call drop if the answer did not come")
        if self.labels is not None and label not in self.labels:
            raise DataError(f"label: {label!r} is none of {self.labels[:20]}")

    def _state(self) -> dict[str, Any]:
        random: Any = self._random.bit_generator.state
        waiting = self._open and [None if word is ASK else word for word in self._open]
        names = ("rounds", "asked", "explored", "horizon", "changes", "cost", "labels")
        return {
            **{name: getattr(self, name) for name in names},
            "logits": self._logits.tolist(),
            "open": waiting,
            "random": {**random["state"], **{k: random[k] for k in ("has_uint32", "uinteger")}},
        }

    def _take(self, state: dict[str, Any]) -> None:
        for name in ("rounds", "asked", "explored", "horizon"):
            setattr(self, name, state[name])
        self._logits = np.array(state["logits"], dtype=np.float64)
        self._open = state["open"] and [ASK if word is None else word for word in state["open"]]
        self._random = state["random"]
        self._settle()


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "dtype") else label


def _problems(cost: Any, horizon: Any, changes: Any) -> list[str]:
    problems = []
    if not isinstance(cost, int | float | np.number) or not 0 < cost <= 1:
        problems.append(
            f"cost: {cost!r} is not above 0 and at most 1, the cost of an error; dearer calls are "
            "never worth it"
        )
    if horizon is not None and not (_is_whole(horizon) and horizon >= 1):
        problems.append(f"horizon: {horizon!r} is not a whole number from 1 up")
    if not (_is_whole(changes) and changes >= 0):
        problems.append(f"changes: {changes!r} is not a whole number from 0 up")
    return problems


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
