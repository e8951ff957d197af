"""EXP3.G: a gate that learns while it serves (Nan 2018, ch. 6, algorithm 6).

For each example an expert either answers or advises to ask the remote model. Asking costs `cost`
and reveals the label, hence the loss of every expert; a local answer reveals nothing. So the gate
explores: now and then it asks only in order to learn. Otherwise it follows an expert drawn in
proportion to its weight.

Labels may arrive late, in any order, or never. An estimate of a loss is divided by the probability
with which the label was asked for when it was, so that it is unbiased however late it is used.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.serve.experts import ASK, ExpertPanel
from thrifty.serve.gate_file import (
    MAX_FACTOR,
    MAX_OPEN,
    MAX_STATE,
    MIN_COST,
    MIN_FACTOR,
    OpenQuestion,
    dump,
    restore,
)
from thrifty.serve.gate_rates import ETA_FACTOR, Rates, first_horizon
from thrifty.untrusted import is_count, is_number, is_text, read_file, shown

__all__ = ["Decision", "OnlineGate"]

Floats = NDArray[np.float64]

# Labels listed in one error message.
MAX_LISTED = 20
MAX_KEY = 200  # characters


class Decision(NamedTuple):
    """What to do with one example.

    Parameters
    ----------
    asks : bool
        Whether to ask the remote model; its label is then to be passed to `OnlineGate.feedback`.
    answer : label or None
        The local answer; None if `asks`.
    expert : int or None
        Number of the expert that was followed; None if the gate explores.
    key : str or None
        What the label is to be passed with; None unless it `asks`.
    """

    asks: bool
    answer: Any
    expert: int | None
    key: str | None = None


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
    clock : callable
        Returns the time in seconds; see `expire`.
    eta_factor, gamma_factor : float
        Learning rate and exploration rate, as multiples, from 0.001 to 1000, of those of Nan 2018,
        sec. 6.2, which depend on the horizon; `rates` has the rates themselves. By default the gate
        explores half as often as there, unless the horizon is short.

    Attributes
    ----------
    rounds, asked, explored : int
        Number of examples that are done, of those for which the remote model was asked, and of
        those for which it was asked only in order to learn.
    answered, expired : int
        Number of labels that came back, and of those that never did.

    Notes
    -----
    Methods may be called from several threads at once; experts are then consulted in several
    threads. At most 10,000 labels are awaited at a time: beyond that, the oldest one expires.

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
    (array([0., 1., 0.]), 277)
    """

    def __init__(
        self,
        experts: Sequence[Any],
        cost: float,
        horizon: int | None = None,
        changes: int = 0,
        labels: Sequence[Any] | None = None,
        random_state: int | None = None,
        clock: Callable[[], float] = time.time,
        eta_factor: float = ETA_FACTOR,
        gamma_factor: float | None = None,
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
        gamma = 1.0 if gamma_factor is None else gamma_factor
        for name, factor in (("eta_factor", eta_factor), ("gamma_factor", gamma)):
            if not is_number(_plain(factor), MIN_FACTOR, MAX_FACTOR):
                problems.append(
                    f"{name}: {shown(factor)} is not a number from {MIN_FACTOR:g} to {MAX_FACTOR:g}"
                )
        raise_all(DataError, "online gate", problems)
        self._panel = ExpertPanel(experts)
        self.cost, self.changes = float(cost), int(changes)
        self.eta_factor = float(eta_factor)
        self.gamma_factor = None if gamma_factor is None else float(gamma_factor)
        self.horizon = int(horizon or first_horizon(len(self._panel), self.cost))
        self.labels = self._panel.classes if labels is None else [_plain(x) for x in labels]
        self.rounds = self.asked = self.explored = self.answered = self.expired = 0
        self._logits: Floats = np.zeros(len(self._panel))
        self._open: dict[str, OpenQuestion] = {}  # the oldest first
        self._clock, self._lock = clock, threading.RLock()
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
        """Whether any label is awaited."""
        return bool(self._open)

    @property
    def open_keys(self) -> tuple[str, ...]:
        """The keys of the labels that are awaited, the oldest first."""
        with self._lock:
            return tuple(self._open)

    def decide(self, x: Any, key: str | None = None) -> Decision:
        """Answer an example, or ask the remote model about it.

        Parameters
        ----------
        x : object
            The example, as the experts take it.
        key : str, optional
            What the label will be passed with, if the remote model is asked; by default a number.

        Raises
        ------
        DataError
            If a label is awaited under this key already.
        SourceError
            If an expert fails; the round does not count then.
        """
        if key is not None and not (is_text(key, MAX_KEY) and key):
            raise DataError(f"key: {shown(key)} is not a text of 1 to {MAX_KEY} characters")
        expert = None
        with self._lock:
            if key is not None and key in self._open:
                raise DataError(f"key: the label of {shown(key)} is awaited already; pass another")
            gamma, weights = self._rates.gamma, self._weights
            if self._random.random() >= gamma:
                position = self._random.random() * self._cumulative[-1]
                expert = min(bisect_right(self._cumulative, position), len(self._cumulative) - 1)
        # Experts may take their time: others can decide meanwhile.
        if expert is not None:
            advice = self._checked(self._panel.advice(expert, x), expert)
            if advice is not ASK:
                with self._lock:
                    self._end_round()
                return Decision(False, advice, expert)
        said = [self._checked(each, j) for j, each in enumerate(self._panel.all_advice(x))]
        # The label is revealed to all experts or to none, with one probability (eq. 6.5): that of
        # the weights with which this was drawn, whatever they are when it arrives.
        asks = np.array([each is ASK for each in said])
        probability = gamma + (1.0 - gamma) * float(weights[asks].sum())
        with self._lock:
            return self._ask(key, OpenQuestion(said, probability, self._clock()), expert)

    def _ask(self, key: str | None, question: OpenQuestion, expert: int | None) -> Decision:
        """Note that a label is awaited."""
        self.asked += 1
        self.explored += expert is None
        name = str(self.asked) if key is None else key
        while name in self._open:
            name += "'"
        self._open[name] = question
        if len(self._open) > MAX_OPEN:
            self._expire(next(iter(self._open)))
        return Decision(True, None, expert, name)

    def feedback(self, label: Any, key: str | None = None) -> Floats:
        """Learn from a label that the remote model returned.

        Parameters
        ----------
        label : label
        key : str, optional
            That of the decision; it can be left out if only one label is awaited.

        Returns
        -------
        float64 array of shape (K,)
            Unbiased estimate of the loss of each expert in the round of the decision.

        Raises
        ------
        DataError
            If no label is awaited under this key, or the label is not one that may occur.
        """
        with self._lock:
            name = self._awaiting("feedback", key)
            label = _plain(label)
            if label is None or label is ASK or label != label:
                raise DataError(f"label: {label!r} is not a label; call drop if there is no answer")
            if self.labels is not None and label not in self.labels:
                raise DataError(f"label: {label!r} is not one of {self.labels[:MAX_LISTED]}")
            advice, probability, _ = self._open.pop(name)
            losses = [self.cost if said is ASK else float(said != label) for said in advice]
            self.answered += 1
            # A label that never comes back is as one that was not asked for.
            estimates = np.array(losses) / (probability * self.answer_rate)
            self._logits -= self._rates.eta * estimates
            self._update()
            self._end_round()
            return estimates

    @property
    def answer_rate(self) -> float:
        """Share of the labels asked for that came back."""
        return (self.answered + 1) / (self.answered + 1 + self.expired)

    def drop(self, key: str | None = None) -> None:
        """Go on without a label: the remote model did not answer, and nothing is learned.

        Raises
        ------
        DataError
            If no label is awaited under this key.
        """
        with self._lock:
            self._expire(self._awaiting("drop", key))

    def expire(self, max_age: float) -> int:
        """Go on without the labels that were asked for more than `max_age` seconds ago.

        Returns
        -------
        int
            How many these are.
        """
        with self._lock:
            before = self._clock() - max_age
            old = [key for key, question in self._open.items() if question.asked_at < before]
            for key in old:
                self._expire(key)
            return len(old)

    def _expire(self, key: str) -> None:
        del self._open[key]
        self.expired += 1
        self._end_round()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, the random generator included, but not the experts."""
        write_whole(path, self.dump())

    def dump(self) -> bytes:
        """Return the state as bytes; see `save`."""
        with self._lock:
            random: Any = self._random.bit_generator.state
            names = (
                "rounds", "asked", "explored", "answered", "expired", "horizon", "changes", "cost",
                "labels", "eta_factor", "gamma_factor",
            )  # fmt: skip
            return dump(
                {
                    **{name: getattr(self, name) for name in names},
                    "logits": self._logits.tolist(),
                    "open": [
                        [key, [None if said is ASK else said for said in advice], probability, at]
                        for key, (advice, probability, at) in self._open.items()
                    ],
                    "random": {
                        **random["state"], **{k: random[k] for k in ("has_uint32", "uinteger")}
                    },
                }
            )  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str], experts: Sequence[Any]) -> Self:
        """Restore a gate from a file; with the same experts it goes on bit for bit.

        Raises
        ------
        BundleError
            If the file is damaged, or was written with another number of experts.
        """
        try:
            return cls.restore(read_file(path, MAX_STATE), experts)
        except BundleError as error:
            raise BundleError(f"{os.fspath(path)}: {error}") from error

    @classmethod
    def restore(cls, data: bytes, experts: Sequence[Any]) -> Self:
        """Restore a gate from the bytes of `dump`; see `load`."""
        state = restore(data)
        n_experts = len(state["logits"])
        if n_experts != len(experts):
            raise BundleError(f"the state is of {n_experts} experts, {len(experts)} are given")
        settings = ("cost", "horizon", "changes", "labels", "eta_factor", "gamma_factor")
        gate = cls(experts, **{name: state[name] for name in settings})
        for name in ("rounds", "asked", "explored", "answered", "expired", "horizon"):
            setattr(gate, name, state[name])
        gate._logits = np.array(state["logits"], dtype=np.float64)
        gate._random = state["random"]
        gate._update()
        for key, said, probability, at in state["open"]:
            advice = [ASK if each is None else each for each in said]
            if probability is None:  # of an earlier format: of the weights that it still has
                asks = np.array([each is ASK for each in advice])
                gamma = gate._rates.gamma
                probability = gamma + (1.0 - gamma) * float(gate._weights[asks].sum())
            gate._open[key] = OpenQuestion(advice, probability, at)
        return gate

    def __repr__(self) -> str:
        return f"OnlineGate({len(self._panel)} experts, {self.rounds} rounds, {self.asked} asked)"

    def _update(self) -> None:
        """Recompute the rates from the horizon and the weights from their logarithms."""
        self._rates = self._rates_now()
        self._logits -= self._logits.max()
        weights = np.exp(self._logits)
        self._weights: Floats = weights / weights.sum()
        self._cumulative = list(accumulate(self._weights.tolist()))

    def _rates_now(self) -> Rates:
        """Return the rates of the present horizon."""
        return Rates.of(
            len(self._panel), self.cost, self.horizon, self.changes, self.eta_factor,
            self.gamma_factor,
        )  # fmt: skip

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
            if old:
                self._logits *= self._rates_now().eta / old
            self._update()

    def _awaiting(self, method: str, key: str | None) -> str:
        """Return the key of a label that is awaited."""
        if key is None and len(self._open) == 1:
            return next(iter(self._open))
        if key is None and not self._open:
            raise DataError(f"{method}: no label is awaited; only a decision that asks awaits one")
        if key is None:
            raise DataError(
                f"{method}: {len(self._open)} labels are awaited; pass the key of the decision"
            )
        if key not in self._open:
            raise DataError(f"{method}: no label is awaited under {shown(key)}, or it has expired")
        return key

    def _checked(self, advice: Any, expert: int) -> Any:
        """Return the advice of an expert if it is `ASK` or a label that may occur."""
        if advice is not ASK and self.labels is not None and advice not in self.labels:
            labels = self.labels[:MAX_LISTED]
            raise DataError(f"expert {expert} says {advice!r}, which is not one of {labels}")
        return advice


def _plain(label: Any) -> Any:
    """Return a NumPy scalar as a Python value."""
    return label.item() if hasattr(label, "dtype") else label
