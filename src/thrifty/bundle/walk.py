"""The walk of one example by name.

A walk asks for features by name, takes values as they are in a table and keeps track of what
they cost. Passing one value takes a few microseconds, so `NamedWalk.tell` only fills
dictionaries; names, answers, reasons and receipts are computed when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.latency import Quotes, next_round, walk_rounds
from thrifty.bundle.reason import ENDS, Reason, explain
from thrifty.bundle.receipt import Purchase, Receipt, Standing, Why
from thrifty.costs.money import money
from thrifty.errors import DataError, raise_all
from thrifty.model.motive import Motive

if TYPE_CHECKING:
    from thrifty.bundle.predictor import Predictor

__all__ = ["NamedWalk"]

# Why a caller may stop a walk.
STOPS = ("stopped", "cap", "budget", "deadline", "expired", "source_failed")
# The value of a column that stands for a call of a model in the file: one call.
CALLED = 1


class NamedWalk:
    """One example that asks for features by name.

    Parameters
    ----------
    predictor : Predictor
    known : mapping, optional
        Values known beforehand, by feature; they are free of charge.
    cap : float, optional
        Calls that the predictor makes itself are made only if the bill stays within the cap;
        otherwise the walk stops there.
    allows : function of a walk and a list of features, optional
        Whether the cap allows a call; by default, if the bill stays within it.

    Notes
    -----
    Calls of an expensive model that is part of the predictor, or that it is connected to, are made
    and paid for as soon as the walk needs them; they are never among the features wanted.

    A walk is deterministic. ``walk = predictor.walk(old.known)``, ``walk.tell(old.told)`` and
    ``walk.skip(feature)`` for each of ``old.skipped`` restore the state of `old`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(5)
    >>> nodes[0] = (60.0, 1, 0)  # age <= 60: node 1, else node 2
    >>> nodes[2] = (200.0, 3, 1)  # chol <= 200: node 3, else node 4
    >>> values = np.array([[0.5], [0.1], [0.7], [0.6], [0.9]])
    >>> tree = Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sum", 2)
    >>> schema = Schema.of({"age": [63, 41], "chol": [233, 204]})
    >>> prices = Prices({"age": 1.0, "chol": 7.27}, unit="CAD").bind(["age", "chol"])
    >>> walk = Predictor(tree, schema, prices).walk()
    >>> walk.tell({"age": 70})
    >>> walk.asks, walk.answer, walk.best
    (('chol',), None, 0.7)
    >>> print(walk.why)
    can still move the answer by up to 0.3
    >>> walk.stop("the laboratory is closed")
    >>> walk.answer
    0.7
    >>> print(walk.receipt)
    age = 70      1.00
    total     CAD 1.00  the laboratory is closed
    """

    def __init__(
        self,
        predictor: Predictor,
        known: Mapping[Any, Any] | None = None,
        cap: float | None = None,
        allows: Callable[[NamedWalk, list[str | int]], bool] | None = None,
    ) -> None:
        self._predictor = predictor
        self._cap, self._caller = cap, predictor.caller
        self._allows = allows or (lambda walk, names: walk.largest_bill(names) <= (cap or 0.0))
        self._schema = predictor.schema
        self._calls = self._schema.calls  # columns that are bought by calls made from here
        if self._caller is not None:
            self._calls |= self._caller.columns
        self._prices = predictor.prices
        self._labels = predictor.labels
        self._raw: dict[int, Any] = {}  # values as they were passed, in order of arrival
        self._encoded: dict[int, float] = {}
        self._paid: set[int] = set()
        self._skipped: set[int] = set()
        self._stopped: tuple[str, str] | None = None  # code and words, if it was stopped
        self._late: set[int] = set()  # passed after that: neither used nor charged
        self._reasons: dict[int, Reason] = {}  # those that were read
        self._asks: tuple[str | int, ...] | None = None  # None: to be computed
        self._free: set[int] = set()  # known or skipped: need not be bought
        self._quotes = Quotes(predictor.prices, self._paid, self._free)
        self._model = predictor.model
        self._walk = self._model.walk(self._quotes.__getitem__)
        fresh = self._new_values(known or {})
        self._free.update(fresh)
        self._advance(fresh)

    @property
    def asks(self) -> tuple[str | int, ...]:
        """Features wanted now, the most useful per price first; empty when done.

        A feature that requires others is wanted once these are at hand; a panel is wanted whole.
        """
        if self._asks is None:
            names = self._schema.names
            wanted = next_round(self._prices, self._walk, self._encoded, self._free)
            self._asks = tuple([names[j] for j in wanted])
        return self._asks

    @property
    def wants(self) -> tuple[str | int, ...]:
        """Features that the model waits for: `asks`, or what requires some of these first."""
        if self.done or not self._walk.asks:
            return self.asks
        return tuple(self._schema.names[j] for j in self._walk.asks)

    @property
    def wants_together(self) -> bool:
        """Whether the model can do nothing with a part of what it waits for."""
        return len(self._walk.motive.features) > 1

    def bought_with(self, features: Collection[str | int]) -> tuple[str | int, ...]:
        """Return these features and all that has to be bought for them."""
        wanted = frozenset(self._schema.index(feature) for feature in features)
        if self._prices.structure is not None:
            wanted |= self._prices.structure.closure(wanted, self._free)
        return tuple(self._schema.names[j] for j in sorted(wanted))

    @property
    def done(self) -> bool:
        """Whether no feature is wanted any more."""
        return not self.asks

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Pass values by feature, asked for or not, and advance as far as they allow.

        A value that arrives after the walk is done is kept as unread.

        Raises
        ------
        DataError
            If a feature is unknown, a value is invalid, or another value of the feature was
            passed before; the walk is then unchanged.
        """
        fresh = self._new_values(values)
        if self._stopped is not None:
            self._late.update(fresh)
        self._paid.update(fresh)
        self._quotes.expire(fresh)
        self._advance(fresh)

    def skip(self, feature: str | int) -> None:
        """Go on without a feature, as if its value were missing; it is not charged.

        What requires it cannot be bought either, and is skipped, too.
        """
        fresh = self._new_values({feature: None})
        if self._prices.structure is not None:
            lost = self._prices.structure.requiring(fresh) - self._encoded.keys() - fresh.keys()
            fresh |= self._new_values({self._schema.names[j]: None for j in sorted(lost)})
        self._skipped.update(fresh)
        self._free.update(fresh)
        self._quotes.clear()
        self._advance(fresh)

    def stop(self, reason: str | None = None, code: str = "stopped") -> None:
        """End the walk: the best answer so far becomes the answer.

        Parameters
        ----------
        reason : str, optional
            Why, in words; by default what the code means.
        code : {"stopped", "cap", "budget", "deadline", "expired", "source_failed"}
            Why, as `Receipt.stopped` says it.
        """
        if code not in STOPS:
            raise DataError(f"code: {code!r} is not one of {', '.join(STOPS)}")
        if not self.done:
            self._stopped = code, ENDS[code] if reason is None else reason
            self._asks = ()

    def price(self, feature: str | int) -> float:
        """Return what a feature would cost now; 0 if it is paid, known or skipped already."""
        index = self._schema.index(feature)
        return 0.0 if index in self._encoded else self._quotes[index]

    @property
    def answer(self) -> Any:
        """The predicted label or value; None while the walk is not done."""
        return self.best if self.done else None

    @property
    def best(self) -> Any:
        """The best answer so far."""
        scores = self._walk.scores
        return float(scores[0]) if self._labels is None else self._labels[self._place(scores)]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the best answer so far: class probabilities, or one value."""
        return self._walk.scores

    @property
    def probability(self) -> float | None:
        """Probability of the best answer so far; None for a model that predicts values."""
        scores = self._walk.scores
        return None if self._labels is None else float(scores[self._place(scores)])

    @property
    def standing(self) -> Standing:
        """The best answer so far, its probability and scores, and the bill, read at once.

        It costs a third of reading them one by one, which matters to a server.
        """
        scores = self._walk.scores
        bill = self._bill(self._paid.intersection(self._walk.touched) - self._late)
        if self._labels is None:
            return Standing(float(scores[0]), None, scores, bill)
        place = self._place(scores)
        return Standing(self._labels[place], float(scores[place]), scores, bill)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the probability, or of the value, of the best answer so far.

        It comes from labeled rows that had come as far, with a similar probability. None if the
        model has no such evidence.
        """
        evidence, scores = self._predictor.evidence, self._walk.scores
        if evidence is None:
            return None
        place = None if self._labels is None else self._place(scores)
        is_done = not self._walk.asks  # by itself, not because it was stopped
        return evidence.interval(self._bill(self._walk.touched), scores, is_done, place)

    @property
    def why(self) -> Reason | None:
        """Why the walk asks for what it asks, and the next best; None when it is done.

        The reasons that were read are on the receipt.
        """
        if self.done:
            return None
        walk, evidence, motive = self._walk, self._predictor.evidence, self._walk.motive
        if self._prices.structure is not None:  # what it requires is asked for first
            wanted = next_round(self._prices, walk, self._encoded, self._free)
            motive = motive._replace(features=wanted)
        bill = self._bill(walk.touched)
        cell = None if evidence is None else evidence.find(bill, walk.scores, is_done=False)

        def explained(each: Motive) -> Reason:
            reason = explain(
                each, cell, bill, self._schema.names.__getitem__, self._price, self._prices.unit,
                is_class=self._labels is not None,
            )  # fmt: skip
            self._reasons.update(dict.fromkeys(each.features, reason))
            return reason

        asks = set(walk.asks)
        for features, gain in motive.others:
            if asks.issuperset(features):  # they are asked for at the same time
                explained(motive._replace(features=features, gain=gain, others=()))
        return explained(motive)

    @property
    def reasons(self) -> dict[str | int, Reason]:
        """Why each of the features wanted now is, as far as the model says; see `why`."""
        self.why  # noqa: B018 -- reading it finds them
        found = {self._schema.names[j]: reason for j, reason in self._reasons.items()}
        return {feature: found[feature] for feature in self.asks if feature in found}

    def largest_bill(self, features: Collection[str | int]) -> float:
        """Return the most that the bill can be once these features are bought, whatever they hold.

        All values passed so far count, and the evaluations: the most that the values can lead to.
        """
        new = [self._schema.index(feature) for feature in features]
        evaluations = self._most_evaluations(new)
        bought = frozenset([*self._paid, *new])
        if self._prices.structure is not None:
            bought |= self._prices.structure.closure(bought, self._free)
        return self._bill(bought, evaluations, with_required=False)

    def largest_evaluation(self, features: Collection[str | int] = ()) -> float:
        """Return the most that evaluations cost once these features are told or skipped."""
        new = [self._schema.index(feature) for feature in features]
        return self._prices.evaluation * self._most_evaluations(new)

    @property
    def evaluation(self) -> float:
        """Price of the evaluations made so far."""
        return self._prices.evaluation * self._walk.evaluations

    @property
    def told(self) -> dict[str | int, Any]:
        """Values passed to `tell` so far, by feature."""
        return self._by_name(self._paid)

    @property
    def known(self) -> dict[str | int, Any]:
        """Values known before the walk started, by feature."""
        return self._by_name(self._raw.keys() - self._paid - self._skipped)

    @property
    def skipped(self) -> tuple[str | int, ...]:
        """Features that were skipped."""
        return tuple(self._by_name(self._skipped))

    @property
    def receipt(self) -> Receipt:
        """What was bought so far, and at what price."""
        bought: set[int] = set()
        purchases = []
        used = self._purchases()
        for j, why in used.items():
            price = 0.0
            if why in ("asked", "required"):
                price = self._prices.marginal(j, bought, self._free)
                bought.add(j)
            reason = self._reasons.get(j) if why == "asked" else None
            purchases.append(Purchase(self._schema.names[j], self._raw[j], price, why, reason))
        evaluations = self._walk.evaluations
        rounds, latency = self._rounds()
        code, words = self.end
        return Receipt(
            purchases=tuple(purchases),
            evaluation=self._prices.evaluation * evaluations,
            total=self._bill(bought, evaluations, with_required=False),
            unit=self._prices.unit,
            stopped=code,
            unread=tuple(self._by_name(self._paid.difference(used))),
            reason=words,
            answer=self.best,
            probability=self.probability,
            interval=self.interval,
            rounds=rounds,
            latency=latency,
            delay_unit=self._prices.delay_unit,
        )

    def _rounds(self) -> tuple[tuple[tuple[str | int, ...], ...], float | None]:
        """Return what was bought in each round, and how long that took.

        The walk is walked again: values may have arrived one by one, or before they were asked for.
        What arrived after it was stopped is left out.
        """
        delays = self._prices.delays
        if delays is None:
            return (), None
        values = {j: x for j, x in self._encoded.items() if j not in self._late}
        walked = list(walk_rounds(self._model, self._prices, values, self._free))
        names = self._schema.names
        rounds = tuple(tuple(names[j] for j in now) for now in walked)
        return rounds, float(sum(max(delays[j] for j in now) for now in walked))

    def _purchases(self) -> dict[int, Why]:
        """Return the features used so far, each after what it requires, and why they are."""
        found: dict[int, Why] = {}
        structure, touched = self._prices.structure, self._walk.touched
        paid = self._paid - self._late
        for j in touched:
            if j in paid and structure is not None:
                ordered = structure.in_order(structure.closure([j], self._free), touched)
                fresh = (k for k in ordered if k in paid and k not in found)
                found |= {k: "asked" if k in touched else "required" for k in fresh}
            elif j in self._free:
                found[j] = "skipped" if j in self._skipped else "known"
            else:
                found[j] = "asked"
        if structure is not None:  # bought already for what is wanted now
            ordered = structure.in_order(structure.closure(self._walk.asks, self._free))
            found |= {k: "required" for k in ordered if k in paid and k not in found}
        return found

    def __repr__(self) -> str:
        state = f"answer={self.answer!r}" if self.done else f"asks={self.asks!r}"
        return f"NamedWalk({len(self._raw)} values, {state})"

    def _new_values(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Encode values by index, record them, and return those that the walk did not have.

        Raises a DataError, and records nothing, if one differs from what the walk has.
        """
        encoded = self._schema.encode_values(values)
        if self._encoded.keys().isdisjoint(encoded):
            self._raw.update(zip(encoded, values.values(), strict=True))
            return encoded
        raw = dict(zip(encoded, values.values(), strict=True))
        fresh = {j: x for j, x in encoded.items() if j not in self._encoded}
        problems = []
        for j, x in encoded.items():
            old = self._encoded.get(j, x)
            if x != old and not (x != x and old != old):  # two missing values are the same
                name = self._schema.names[j]
                problems.append(
                    f"{name!r} is {self._raw[j]!r} already; a value cannot be changed, "
                    f"start another walk for {raw[j]!r}"
                )
        raise_all(DataError, "values", problems)
        self._raw.update((j, raw[j]) for j in fresh)
        return fresh

    def _advance(self, fresh: Mapping[int, float]) -> None:
        """Pass new values on to the walk of the model, unless it was stopped."""
        self._encoded.update(fresh)
        if self._stopped is None:
            self._walk.tell(fresh)
            self._asks = None
            self._make_calls()

    def _make_calls(self) -> None:
        """Buy the calls that the model asks for now, as far as they can be made from here."""
        while self._calls and (wanted := self._walk.asks) and self._calls.issuperset(wanted):
            names = [self._schema.names[j] for j in wanted]
            if self._cap is not None and not self._allows(self, names):
                self.stop(f"cap of {money(self._cap, self._prices.unit)} reached", code="cap")
                return
            values: dict[int, Any] = dict.fromkeys(wanted, CALLED)
            if self._caller is not None and self._caller.columns.issuperset(wanted):
                values = self._caller.answer(self._by_name(self._raw.keys()))
            self._raw.update(values)
            self._encoded.update((j, float(x)) for j, x in values.items())
            self._paid.update(values)
            self._quotes.expire(values)
            self._walk.tell({j: float(x) for j, x in values.items()})
            self._asks = None

    @property
    def end(self) -> tuple[str | None, str]:
        """Why the walk ended, as a code and in words; (None, "") if it has not."""
        if self._stopped is not None:
            return self._stopped
        return (self._walk.end, ENDS[self._walk.end]) if self.done else (None, "")

    def _place(self, scores: NDArray[np.float64]) -> int:
        """Return the position of the class that is predicted."""
        return int(self._predictor.decide(scores[np.newaxis])[0])

    def _price(self, features: Collection[int]) -> float:
        """Return what some features would cost now, together."""
        total, bought = 0.0, set(self._paid)
        for j in features:
            if j not in self._encoded:
                total += self._prices.marginal(j, bought, self._free)
                bought.add(j)
        return total

    def _bill(
        self, features: Collection[int], evaluations: int | None = None, with_required: bool = True
    ) -> float:
        """Return the bill of some features; by default with the evaluations made so far.

        What they require is charged, too, unless it is among them already.
        """
        n = self._walk.evaluations if evaluations is None else evaluations
        return self._prices.total(features, n, with_required=with_required)

    def _most_evaluations(self, features: Collection[int]) -> int:
        """Return the most evaluations made once these features have a value."""
        if not self._prices.evaluation:
            return self._walk.evaluations
        most = self._walk.evaluations_after(features)
        return self._predictor.model.most_evaluations if most is None else most

    def _by_name(self, indices: Any) -> dict[str | int, Any]:
        """Return raw values by name, in the order in which they arrived."""
        return {self._schema.names[j]: value for j, value in self._raw.items() if j in indices}
