"""EXP3.G: a gate that learns while it serves (Nan 2018, ch. 6, algorithm 6).

For each example an expert either answers or advises to ask the remote model. Asking costs `cost`
and reveals the label, hence the loss of every expert; a local answer reveals nothing. So the gate
explores: now and then it asks only in order to learn. Otherwise it follows an expert drawn in
proportion to its weight.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.serve.experts import ASK, ExpertPanel
from thrifty.serve.gate_file import MAX_STATE, MIN_COST, dump, restore
from thrifty.serve.gate_rates import Rates, first_horizon
from thrifty.untrusted import is_count, is_number, read_file, shown

__all__ = ["Decision", "OnlineGate"]

Floats = NDArray[np.float64]

# Labels listed in one error message.
MAX_LISTED = 20


class Decision(NamedTuple):
    """What to do with one example.

    Parameters
    ----------
    asks : bool
        Whether to ask the remote model; its label must then be passed to `OnlineGate.feedback`.
    answer : label or None
        The local answer; None if `asks`.
    expert : int or None
        Number of the expert that was followed; None if the gate explores.
    """

    asks: bool
    answer: Any
    expert: int | None


class OnlineGate:
    """Learn online which expert to follow, from the answers of the remote model alone.

    An expert is a pair of a gate and a local model. A wrong local answer loses 1, asking the
    remote model loses `cost`; the gate does nearly as well as the best of its experts.

    Parameters
    ----------
    experts : sequence
        Functions of an example that return a label or `thrifty.serve.ASK`; pairs (gate, local),
        which ask where the gate is above 0; or predictors, such as the points of a path, which
        ask where their walk wants what the example does not hold.
    cost : float
        Loss of asking the remote model, from 1e-6 to 1; a wrong answer loses 1.
    horizon : int, optional
        Number of examples to come. If it is not given, or once it is exceeded, it is doubled
        again and again; what was learned is kept.
    changes : int
        How often the best expert may change within the horizon.
    labels : sequence, optional
        Labels that may occur. By default those of the predictors, or any.
    random_state : int, optional
        Seed of the random draws.

    Attributes
    ----------
    rounds, asked, explored : int
        Number of examples so far, of those for which the remote model was asked, and of those
        for which it was asked only in order to learn.

    Notes
    -----
    The answer of the remote model counts as the label. An expert is consulted when it is
    followed; when the remote model is asked all experts are, because the label judges them all.

    Examples
    --------
    >>> from thrifty.serve import ASK, OnlineGate
    >>> experts = [lambda x: "low", lambda x: "high" if x > 5 else "low", lambda x: ASK]
    >>> gate = OnlineGate(experts, cost=0.3, horizon=2000, random_state=0)
    >>> for t in range(2000):
    ...     decision = gate.decide(t % 10)
    ...     if decision.asks:
    ...         estimates = gate.feedback("high" if t % 10 > 5 else "low")
    >>> gate.weights.round(2), gate.asked
    (array([0.  , 0.98, 0.02]), 542)
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
        problems = []
        if not is_number(_plain(cost), MIN_COST, 1):
            problems.append(
                f"cost: {shown(cost)} is not from {MIN_COST:g} to 1, the loss of a wrong answer; "
                "a more expensive call is never worth it"
            )
        if horizon is not None and not is_count(_plain(horizon), 1):
            problems.append(f"horizon: {shown(horizon)} is not an integer of at least 1")
        if not is_count(_plain(changes)):
            problems.append(f"changes: {shown(changes)} is not an integer of at least 0")
        raise_all(DataError, "online gate", problems)
        self._panel = ExpertPanel(experts)
        self.cost, self.changes = float(cost), int(changes)
        self.horizon = int(horizon or first_horizon(len(self._panel), self.cost))
        self.labels = self._panel.classes if labels is None else [_plain(x) for x in labels]
        self.rounds = self.asked = self.explored = 0
        self._logits: Floats = np.zeros(len(self._panel))
        self._advice: list[Any] | None = None  # of every expert, while a label is awaited
        self._random = np.random.default_rng(random_state)
        self._update()

    @property
    def weights(self) -> Floats:
        """Probability that each expert is followed when the gate does not explore (q)."""
        return self._weights.copy()

    @property
    def rates(self) -> Rates:
        """Learning rate, exploration rate, and fraction of weight that is redistributed."""
        return self._rates

    @property
    def waits(self) -> bool:
        """Whether the label of the last example is awaited."""
        return self._advice is not None

    def decide(self, x: Any) -> Decision:
        """Answer an example, or ask the remote model about it.

        Raises
        ------
        DataError
            If the label of the previous example is awaited.
        SourceError
            If an expert fails; the round does not count then.
        """
        if self._advice is not None:
            raise DataError(
                "decide: the label of the previous example is awaited; pass it to feedback, or "
                "call drop if it will not come"
            )
        expert = None
        if self._random.random() >= self._rates.gamma:
            position = self._random.random() * self._cumulative[-1]
            expert = min(bisect_right(self._cumulative, position), len(self._cumulative) - 1)
            advice = self._checked(self._panel.advice(expert, x), expert)
            if advice is not ASK:
                self._end_round()
                return Decision(False, advice, expert)
        self._advice = [self._checked(said, j) for j, said in enumerate(self._panel.all_advice(x))]
        self.asked += 1
        self.explored += expert is None
        return Decision(True, None, expert)

    def feedback(self, label: Any) -> Floats:
        """Learn from the label that the remote model returned.

        Returns
        -------
        float64 array of shape (K,)
            Unbiased estimate of the loss of each expert in this round.

        Raises
        ------
        DataError
            If no label is awaited, or the label is not one that may occur.
        """
        advice = self._awaiting("feedback")
        label = _plain(label)
        if label is None or label is ASK or label != label:
            raise DataError(f"label: {label!r} is not a label; call drop if there is no answer")
        if self.labels is not None and label not in self.labels:
            raise DataError(f"label: {label!r} is none of {self.labels[:MAX_LISTED]}")
        asks = np.array([said is ASK for said in advice])
        losses = np.array([self.cost if said is ASK else float(said != label) for said in advice])
        gamma = self._rates.gamma
        # The label is revealed to all experts or to none, with one probability (eq. 6.5).
        probability = gamma + (1.0 - gamma) * float(self._weights[asks].sum())
        estimates = losses / probability
        self._logits -= self._rates.eta * estimates
        self._advice = None
        self._update()
        self._end_round()
        return estimates

    def drop(self) -> None:
        """Go on without the label: the remote model did not answer, and nothing is learned."""
        self._awaiting("drop")
        self._advice = None
        self._end_round()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, the random generator included, but not the experts."""
        random: Any = self._random.bit_generator.state
        advice = self._advice and [None if said is ASK else said for said in self._advice]
        names = ("rounds", "asked", "explored", "horizon", "changes", "cost", "labels")
        state = {
            **{name: getattr(self, name) for name in names},
            "logits": self._logits.tolist(),
            "open": advice,
            "random": {**random["state"], **{k: random[k] for k in ("has_uint32", "uinteger")}},
        }
        write_whole(path, dump(state))

    @classmethod
    def load(cls, path: str | os.PathLike[str], experts: Sequence[Any]) -> Self:
        """Restore a gate from a file; with the same experts it goes on bit for bit.

        Raises
        ------
        BundleError
            If the file is damaged, or was written with another number of experts.
        """
        try:
            state = restore(read_file(path, MAX_STATE))
            n_experts = len(state["logits"])
            if n_experts != len(experts):
                raise BundleError(f"the state is of {n_experts} experts, {len(experts)} are given")
        except BundleError as error:
            raise BundleError(f"{os.fspath(path)}: {error}") from error
        gate = cls(experts, state["cost"], state["horizon"], state["changes"], state["labels"])
        for name in ("rounds", "asked", "explored", "horizon"):
            setattr(gate, name, state[name])
        gate._logits = np.array(state["logits"], dtype=np.float64)
        gate._advice = state["open"] and [ASK if said is None else said for said in state["open"]]
        gate._random = state["random"]
        gate._update()
        return gate

    def __repr__(self) -> str:
        return f"OnlineGate({len(self._panel)} experts, {self.rounds} rounds, {self.asked} asked)"

    def _update(self) -> None:
        """Recompute the rates from the horizon and the weights from their logarithms."""
        self._rates = Rates.of(len(self._panel), self.cost, self.horizon, self.changes)
        self._logits -= self._logits.max()
        weights = np.exp(self._logits)
        self._weights: Floats = weights / weights.sum()
        self._cumulative = list(accumulate(self._weights.tolist()))

    def _end_round(self) -> None:
        """Count the round, redistribute weight, and double the horizon once it is reached."""
        self.rounds += 1
        if self._rates.share:
            # Fixed share: an expert that was bad for long can catch up.
            share = self._rates.share
            self._logits = np.log((1.0 - share) * self._weights + share / len(self._weights))
            self._update()
        if self.rounds >= self.horizon:
            # A longer horizon has slower rates: rescale the weights, as if learned with them.
            old = self._rates.eta
            self.horizon *= 2
            new = Rates.of(len(self._panel), self.cost, self.horizon, self.changes).eta
            if old:
                self._logits *= new / old
            self._update()

    def _awaiting(self, method: str) -> list[Any]:
        """Return the advice of the experts on the example whose label is awaited."""
        if self._advice is None:
            raise DataError(f"{method}: no label is awaited; only a decision that asks awaits one")
        return self._advice

    def _checked(self, advice: Any, expert: int) -> Any:
        """Return the advice of an expert if it is `ASK` or a label that may occur."""
        if advice is not ASK and self.labels is not None and advice not in self.labels:
            labels = self.labels[:MAX_LISTED]
            raise DataError(f"expert {expert} says {advice!r}, which is none of {labels}")
        return advice


def _plain(label: Any) -> Any:
    """Return a NumPy scalar as a Python value."""
    return label.item() if hasattr(label, "dtype") else label
