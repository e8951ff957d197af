"""A gate in front of an expensive model: rows that need it are sent there, the others stay local.

The frozen form of the systems of Nan and Saligrama 2017: a gate g, a low-cost local model f1 and a
high-accuracy expensive model f0. A row buys the features of the gate. If its gate value is above
the threshold, the expensive model predicts the row, otherwise the local model does. Where the
expensive model has no prediction, because a call failed, the local model steps in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.leaf_gate import LeafGate
from thrifty.model.motive import End, Motive
from thrifty.model.path_bounds import PathBounds
from thrifty.model.relay import RelayWalk
from thrifty.untrusted import is_number, shown

__all__ = ["Gate", "GateWalk"]

# JSON has no infinity: a model file has these words for thresholds that send all rows, or none.
INFINITE_THRESHOLDS = {"all": -math.inf, "none": math.inf}


class Routing(NamedTuple):
    """Where the rows of a batch go; a row whose call failed goes to both models."""

    sent: NDArray[np.bool_]
    """(n,): rows that the expensive model receives."""

    local: NDArray[np.bool_]
    """(n,): rows that the local model predicts."""

    expensive_scores: NDArray[np.float64]
    """Scores of the expensive model for the rows in `sent`; empty if they were not needed."""


@dataclass(frozen=True, eq=False)
class Gate(Frozen):
    """A local and an expensive model, and a gate that decides which of them predicts a row.

    Parameters
    ----------
    gate : Frozen
        Predicts one value: how much a row needs the expensive model.
    local : Frozen
        Predicts the rows that are not sent, and those whose call fails.
    expensive : Frozen
        Reads the same columns and predicts the same classes as `local`. It may be a `Gate` itself.
    threshold : float
        A row is sent if its gate value is above. At infinity no row is sent, at minus infinity
        every row, and the gate is not read.

    Examples
    --------
    The gate reads column 0. Only the second row is above its threshold and pays for column 2, which
    the expensive model reads; the first row pays for column 1 instead.

    >>> import numpy as np
    >>> from thrifty.model import Forest, Gate
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> def stump(feature, link="sigmoid"):
    ...     nodes = empty_nodes(3)
    ...     nodes[0] = (0.0, 1, feature)
    ...     return Forest(nodes, np.array([[0.0], [-1.0], [1.0]]), np.array([0]), np.array([0]),
    ...                   np.zeros(1), link, n_features=3)
    >>> model = Gate.of(stump(0, "sum"), stump(1), stump(2), threshold=0.0)
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
    threshold: float

    @classmethod
    def of(cls, gate: Frozen, local: Frozen, expensive: Frozen, threshold: float) -> Self:
        """Check that the models fit together, and put the gate in front of the expensive one.

        Raises
        ------
        DataError
            If the models differ in columns or classes, or the threshold is not a number.
        """
        threshold = threshold.item() if isinstance(threshold, np.generic) else threshold
        raise_all(DataError, "gate", list(_problems([gate, local, expensive], threshold)))
        return cls(gate, local, expensive, float(threshold))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.local.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.local.n_scores

    @property
    def may_fail(self) -> bool:
        """Whether a row can be left without a prediction: only if the local model can fail."""
        return bool(getattr(self.local, "may_fail", False))

    @property
    def reads_gate(self) -> bool:
        """Whether the gate decides anything, that is, whether the threshold is finite."""
        return math.isfinite(self.threshold)

    @cached_property
    def shares_trees(self) -> bool:
        """Whether the gate has evaluated the trees of the local model already."""
        gate = self.gate
        return self.reads_gate and isinstance(gate, LeafGate) and gate.same_trees(self.local)

    def sends(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which rows go to the expensive model, (n,), without calling it."""
        self.check_columns(X)
        if not self.reads_gate:
            return np.full(len(X), self.threshold < 0)
        return np.asarray(self.gate.score(X) > self.threshold)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return class probabilities (n, K), or values (n,), of the model that each row goes to."""
        routing = self._route(X, need_scores=True)
        shape = (len(X),) if self.n_scores == 1 else (len(X), self.n_scores)
        scores = np.empty(shape)
        scores[routing.sent] = routing.expensive_scores
        if routing.local.any():
            scores[routing.local] = self.local.score(_rows(X, routing.local))
        return scores

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads in the gate and in the models that it goes to."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        if self.reads_gate and len(X):
            used |= self.gate.used(X)
        for model, rows in self._visits(X):
            used[rows] |= model.used(_rows(X, rows))
        return used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations (n,) of the gate and of the models that each row goes to."""
        count = np.zeros(len(X), dtype=np.int64)
        if self.reads_gate and len(X):
            count += self.gate.evaluations(X)
        for model, rows in self._visits(X):
            if model is not self.local or not self.shares_trees:
                count[rows] += model.evaluations(_rows(X, rows))
        return count

    @property
    def support(self) -> NDArray[np.bool_]:
        """Features that the models within reach may read, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        if self.reads_gate:
            support |= self.gate.support
        if self.threshold < math.inf:
            support |= self.expensive.support
        if self.threshold > -math.inf or self._expensive_may_fail:
            support |= self.local.support
        return support

    @property
    def most_evaluations(self) -> int:
        """The evaluations of the gate and of the longer way after it."""
        gate = self.gate.most_evaluations if self.reads_gate else 0
        local = 0 if self.shares_trees else self.local.most_evaluations
        expensive = self.expensive.most_evaluations + (local if self._expensive_may_fail else 0)
        if not self.reads_gate:
            return expensive if self.threshold < 0 else local
        return gate + max(local, expensive)

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: the gate, and a path of the model they go to."""
        local, expensive = self.local.path_bounds(), self.expensive.path_bounds()
        if self.shares_trees:
            local = local._replace(evaluations=np.zeros_like(local.evaluations))
        if self._expensive_may_fail:
            expensive = expensive.both(local)
        if not self.reads_gate:
            return expensive if self.threshold < 0 else local
        return self.gate.path_bounds().both(local.either(expensive))

    def walk(self, price: Price | None = None) -> GateWalk:
        """Start one example: the gate first, then the model that the example goes to."""
        return GateWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps.

        The file calls the threshold "limit"; an infinite one is written as a word, since JSON has
        no infinity.
        """
        parts, arrays = pack([self.gate, self.local, self.expensive])
        words = {value: word for word, value in INFINITE_THRESHOLDS.items()}
        return {"parts": parts, "limit": words.get(self.threshold, self.threshold)}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        if set(plain) != {"parts", "limit"}:
            raise BundleError("gate: expected the entries parts and limit")
        limit = plain["limit"]
        threshold = INFINITE_THRESHOLDS.get(limit) if isinstance(limit, str) else limit
        parts = unpack(plain["parts"], arrays)
        raise_all(BundleError, "gate", list(_problems(parts, threshold)))
        gate, local, expensive = parts
        return cls(gate, local, expensive, float(threshold))  # type: ignore[arg-type]

    @property
    def _expensive_may_fail(self) -> bool:
        return bool(getattr(self.expensive, "may_fail", False))

    def _route(self, X: NDArray[np.floating], need_scores: bool) -> Routing:
        """Return where the rows go; scores the expensive model only if that matters."""
        sent = self.sends(X)
        local = ~sent
        scores = np.empty((0,))
        if sent.any() and (need_scores or self._expensive_may_fail):
            scores = self.expensive.score(_rows(X, sent))
            if self._expensive_may_fail:
                local[sent] = np.isnan(scores).reshape(len(scores), -1).any(axis=1)
        elif need_scores:
            scores = np.empty((0,) if self.n_scores == 1 else (0, self.n_scores))
        return Routing(sent, local, scores)

    def _visits(self, X: NDArray[np.floating]) -> Iterator[tuple[Frozen, NDArray[np.bool_]]]:
        """Yield each model after the gate that has rows to predict, with a mask (n,) of them."""
        routing = self._route(X, need_scores=False)
        for model, rows in ((self.expensive, routing.sent), (self.local, routing.local)):
            if rows.any():
                yield model, rows


class GateWalk(RelayWalk[Walk]):
    """The walk of a `Gate`: that of the gate, then those of the models that the example goes to.

    Parameters
    ----------
    model : Gate
    price : callable or None
        What a feature would cost now.
    """

    def __init__(self, model: Gate, price: Price | None) -> None:
        self._model, self._price = model, price
        without_gate = model.expensive if model.threshold < 0 else model.local
        self._current = model.gate if model.reads_gate else without_gate
        super().__init__(self._current.walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the predicting model; before it is done, the local model's best so far."""
        model, last = self._model, self._walks[-1]
        if self._current is model.local or (self._current is model.expensive and not last.asks):
            return last.scores
        aside = model.local.walk(self._price)
        aside.tell({feature: self._told[feature] for feature in self.touched})
        return aside.scores

    @property
    def evaluations(self) -> int:
        """Evaluations of the gate and of the models after it."""
        walks = self._walks
        if self._model.shares_trees and self._current is self._model.local:
            walks = walks[:-1]
        return sum(walk.evaluations for walk in walks)

    @property
    def motive(self) -> Motive:
        """That of the current model; the gate decides whether the expensive model is asked."""
        model, motive = self._model, super().motive
        if self._current is model.gate:
            return Motive(self.asks, note="it decides whether the expensive model is asked")
        is_sent = self._current is model.expensive and model.reads_gate
        if is_sent and motive.kind == "plan" and not motive.note:
            return motive._replace(note="the gate sends this example to the expensive model")
        return motive

    @property
    def end(self) -> End:
        """ "sure" if the gate found the local model good enough."""
        is_kept = self._model.reads_gate and self._current is self._model.local
        return "sure" if is_kept and len(self._walks) == 2 else super().end

    def _next(self) -> Walk | None:
        """Move on to the model that follows and return its walk; None if the example is done."""
        model, scores = self._model, self._walks[-1].scores
        if self._current is model.local:
            return None
        if self._current is model.expensive:
            if not np.isnan(scores).any():
                return None
            self._current = model.local
        else:
            is_sent = float(scores[0]) > model.threshold
            self._current = model.expensive if is_sent else model.local
        return self._current.walk(self._price)


def _rows(X: NDArray[np.floating], mask: NDArray[np.bool_]) -> NDArray[np.floating]:
    """Return some rows of a table, without a copy if they are all."""
    return X if mask.all() else X[mask]


def _problems(parts: list[Frozen], threshold: Any) -> Iterator[str]:
    """Yield what keeps these from being a gate, a local and an expensive model."""
    if len(parts) != 3:
        yield f"expected three models, got {len(parts)}"
        return
    gate, local, expensive = parts
    if (local.n_features, local.n_scores) != (expensive.n_features, expensive.n_scores):
        yield "the local and the expensive model differ in columns or scores"
    if (gate.n_features, gate.n_scores) != (local.n_features, 1):
        yield "the gate must predict one value from the same columns"
    if not is_number(threshold, -math.inf, math.inf):
        yield f"the threshold must be a number, got {shown(threshold)}"
