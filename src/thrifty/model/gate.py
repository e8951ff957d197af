"""A gate before an expensive model: rows that need it are sent there, the others are answered here.

A row buys what the gate reads. If the gate's value is above the limit, the row goes to the
expensive model, else the local model answers it. An expensive model that gives no answer, because
a call has failed, leaves the row to the local one.

One example before a gate: the walk of the gate, then that of the model that it comes to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.leaf_gate import LeafGate
from thrifty.model.relay import RelayWalk

__all__ = ["Gate", "GateWalk"]


class GateWalk(RelayWalk[Walk]):
    """The walk of a `Gate`.

    Parameters
    ----------
    gate : Frozen or None
        None where the limit alone decides.
    local, expensive : Frozen
    limit : float
    shares_trees : bool
        Whether the gate's evaluations are those of the local model too.
    price : callable or None
    """

    def __init__(
        self,
        gate: Frozen | None,
        local: Frozen,
        expensive: Frozen,
        limit: float,
        shares_trees: bool,
        price: Price | None,
    ) -> None:
        self._local, self._expensive, self._limit = local, expensive, limit
        self._shares_trees, self._price = shares_trees, price
        self._at = gate or (expensive if limit < 0 else local)
        super().__init__(self._at.walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Of the model that answers; before that, the local model's on what has been read."""
        last = self._walks[-1]
        if self._at is self._local or (self._at is self._expensive and not last.asks):
            return last.scores
        aside = self._local.walk(self._price)
        aside.tell({feature: self._told[feature] for feature in self.touched})
        return aside.scores

    @property
    def evaluations(self) -> int:
        """Evaluations of the gate and of what came after it."""
        walks = self._walks
        if self._shares_trees and self._at is self._local:
            walks = walks[:-1]
        return sum(walk.evaluations for walk in walks)

    def _next(self) -> Walk | None:
        scores = self._walks[-1].scores
        if self._at is self._local:
            return None
        if self._at is self._expensive:
            return self._to(self._local) if bool(np.isnan(scores).any()) else None
        return self._to(self._expensive if float(scores[0]) > self._limit else self._local)

    def _to(self, model: Frozen) -> Walk:
        self._at = model
        return model.walk(self._price)


# A model file has no infinity: these stand for limits that send all rows, or none.
WORDS = {"all": -math.inf, "none": math.inf}


class Ways(NamedTuple):
    """Which rows go to the expensive model, and which the local one answers; some see both."""

    sent: NDArray[np.bool_]
    local: NDArray[np.bool_]
    scores: NDArray[np.float64]
    """Of the expensive model, for the rows that are sent."""


@dataclass(frozen=True, eq=False)
class Gate(Frozen):
    """Two models, and a third that says which of them answers a row.

    Parameters
    ----------
    gate : Frozen
        A model of values: how much a row needs the expensive model.
    local : Frozen
        Answers the rows that are not sent, and those whose call fails.
    expensive : Frozen
        Of the same columns and scores; it may be a `Gate` itself.
    limit : float
        A row is sent if its gate value is above. At infinity no row is, at minus infinity every
        row, and the gate is not read.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest, Gate
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> def stump(feature, link="sigmoid"):
    ...     nodes = empty_nodes(3)
    ...     nodes[0] = (0.0, 1, feature)
    ...     return Forest(nodes, np.array([[0.0], [-1.0], [1.0]]), np.array([0]), np.array([0]),
    ...                   np.zeros(1), link, n_features=3)
    >>> model = Gate.of(stump(0, "sum"), stump(1), stump(2), limit=0.0)
    >>> X = np.array([[-1.0, 5.0, -5.0], [1.0, 5.0, -5.0]])
    >>> model.sends(X)
    array([False,  True])
    >>> model.used(X)
    array([[ True,  True, False],
           [ True, False,  True]])
    """

    kind: ClassVar[str] = "gate"

    gate: Frozen
    local: Frozen
    expensive: Frozen
    limit: float

    @classmethod
    def of(cls, gate: Frozen, local: Frozen, expensive: Frozen, limit: float) -> Self:
        """Put a gate before an expensive model.

        Raises
        ------
        DataError
            If the models do not go together, or the limit is no number.
        """
        raise_all(DataError, "gate", list(_problems([gate, local, expensive], limit)))
        return cls(gate, local, expensive, float(limit))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.local.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model of values."""
        return self.local.n_scores

    @property
    def may_fail(self) -> bool:
        """Whether a row can be left without an answer: only if the local model has none."""
        return bool(getattr(self.local, "may_fail", False))

    def sends(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which rows are sent to the expensive model, (n,); it is not asked."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        if not self.asks_gate:
            return np.full(len(X), self.limit < 0)
        return np.asarray(self.gate.score(X) > self.limit)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,), of the model that each row comes to."""
        ways = self._ways(X, scores=True)
        shape = (len(X),) if self.n_scores == 1 else (len(X), self.n_scores)
        scores = np.empty(shape)
        scores[ways.sent] = ways.scores
        if ways.local.any():
            scores[ways.local] = self.local.score(_taken(X, ways.local))
        return scores

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """What the gate reads, and the model, or models, that the row comes to."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        if self.asks_gate and len(X):
            used |= self.gate.used(X)
        for model, rows in self._visits(X):
            used[rows] |= model.used(_taken(X, rows))
        return used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Those of the gate and of what the row comes to."""
        count = np.zeros(len(X), dtype=np.int64)
        if self.asks_gate and len(X):
            count += self.gate.evaluations(X)
        for model, rows in self._visits(X):
            if model is not self.local or not self.shares_trees:
                count[rows] += model.evaluations(_taken(X, rows))
        return count

    @property
    def support(self) -> NDArray[np.bool_]:
        """What the models within reach may read."""
        support = np.zeros(self.n_features, dtype=bool)
        for model in self._within_reach():
            support |= model.support
        return support

    @property
    def most_evaluations(self) -> int:
        """The gate's, and those of the longer way."""
        gate = self.gate.most_evaluations if self.asks_gate else 0
        local = 0 if self.shares_trees else self.local.most_evaluations
        expensive = self.expensive.most_evaluations + (local if self._fails else 0)
        if not self.asks_gate:
            return expensive if self.limit < 0 else local
        return gate + max(local, expensive)

    @property
    def asks_gate(self) -> bool:
        """Whether the gate decides anything."""
        return math.isfinite(self.limit)

    @cached_property
    def shares_trees(self) -> bool:
        """Whether the gate has been down the trees of the local model already."""
        gate = self.gate
        return self.asks_gate and isinstance(gate, LeafGate) and gate.same_trees(self.local)

    def walk(self, price: Price | None = None) -> GateWalk:
        """Start one example: the gate, then the model that it comes to."""
        gate = self.gate if self.asks_gate else None
        return GateWalk(gate, self.local, self.expensive, self.limit, self.shares_trees, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        parts, arrays = pack([self.gate, self.local, self.expensive])
        word = next((word for word, limit in WORDS.items() if limit == self.limit), self.limit)
        return {"parts": parts, "limit": word}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if set(plain) != {"parts", "limit"}:
            raise BundleError("gate: expected the entries parts and limit")
        word = plain["limit"]
        limit = WORDS.get(word) if isinstance(word, str) else word
        parts = unpack(plain["parts"], arrays)
        raise_all(BundleError, "gate", list(_problems(parts, limit)))
        gate, local, expensive = parts
        return cls(gate, local, expensive, float(limit))  # type: ignore[arg-type]

    @property
    def _fails(self) -> bool:
        return bool(getattr(self.expensive, "may_fail", False))

    def _ways(self, X: NDArray[np.floating], scores: bool) -> Ways:
        """Where the rows go; the expensive model is asked if its answers matter."""
        sent = self.sends(X)
        local = ~sent
        found = np.empty((0,))
        if sent.any() and (scores or self._fails):
            found = self.expensive.score(_taken(X, sent))
            if self._fails:
                local[sent] = np.isnan(found).reshape(len(found), -1).any(axis=1)
        elif scores:
            found = np.empty((0,) if self.n_scores == 1 else (0, self.n_scores))
        return Ways(sent, local, found)

    def _visits(self, X: NDArray[np.floating]) -> Iterator[tuple[Frozen, NDArray[np.bool_]]]:
        ways = self._ways(X, scores=False)
        for model, rows in ((self.expensive, ways.sent), (self.local, ways.local)):
            if rows.any():
                yield model, rows

    def _within_reach(self) -> Iterator[Frozen]:
        if self.asks_gate:
            yield self.gate
        if self.limit < math.inf:
            yield self.expensive
        if self.limit > -math.inf or self._fails:
            yield self.local


def _taken(X: NDArray[np.floating], rows: NDArray[np.bool_]) -> NDArray[np.floating]:
    return X if rows.all() else X[rows]


def _problems(parts: list[Frozen], limit: Any) -> Iterator[str]:
    """What keeps these from being a gate, a local and an expensive model."""
    if len(parts) != 3:
        yield f"three models are needed, there are {len(parts)}"
        return
    gate, local, expensive = parts
    if (local.n_features, local.n_scores) != (expensive.n_features, expensive.n_scores):
        yield "the local and the expensive model differ in columns or scores"
    if (gate.n_features, gate.n_scores) != (local.n_features, 1):
        yield "the gate must be a model of values of the same columns"
    if isinstance(limit, bool) or not isinstance(limit, int | float) or math.isnan(limit):
        yield f"the limit must be a number, got {limit!r}"
