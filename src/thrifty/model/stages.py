"""A ladder of models: a row climbs from rung to rung until its doubt is small enough.

A row starts on rung 0, is answered by it, and climbs to the next rung while its doubt is above
the limit of the rung where it stands. The last rung always stops. Later rungs usually read
more: what a row pays is what the rungs that it visited have read, each feature once.

One example climbing a ladder: the walk of the rung where it stands, then the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.relay import RelayWalk

__all__ = ["Stages", "StagesWalk", "doubt_of"]


def doubt_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the largest class probability of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.stages import doubt_of
    >>> doubt_of(np.array([[0.25, 0.75], [0.5, 0.5]]))
    array([0.25, 0.5 ])
    """
    return np.asarray(1.0 - scores.max(axis=1))


class StagesWalk(RelayWalk[Walk]):
    """The walk of a `Stages`."""

    def __init__(
        self,
        rungs: Sequence[Frozen],
        doubts: Sequence[Frozen | None],
        limits: Sequence[float],
        price: Price | None,
    ) -> None:
        self._rungs, self._doubts, self._limits = rungs, doubts, limits
        self._price = price
        self._rung = 0
        self._in_doubt = False
        self._scores: NDArray[np.float64] | None = None
        super().__init__(rungs[0].walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last complete rung; before that, the best of the first."""
        return self._walks[0].scores if self._scores is None else self._scores

    def _next(self) -> Walk | None:
        scores, limit = self._walks[-1].scores, self._limits[self._rung]
        if self._in_doubt:
            return self._above(float(scores[0]) > limit)
        self._scores = scores
        last = self._rung == len(self._rungs) - 1
        if last or not math.isfinite(limit):
            return self._above(not last and limit < 0)
        doubt = self._doubts[self._rung]
        if doubt is None:
            return self._above(bool(doubt_of(scores[np.newaxis])[0] > limit))
        self._in_doubt = True
        return doubt.walk(self._price)

    def _above(self, climbs: bool) -> Walk | None:
        if not climbs:
            return None
        self._rung, self._in_doubt = self._rung + 1, False
        return self._rungs[self._rung].walk(self._price)


class Visit(NamedTuple):
    """Rows that come to one rung, and its scores of them."""

    rung: int
    rows: NDArray[np.intp]
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stages(Frozen):
    """Models of one task that a row climbs until it is sure enough.

    The doubt of a rung is consulted where its limit is finite and a rung follows: a limit of
    -inf never stops a row, +inf always does.

    Parameters
    ----------
    rungs : sequence of Frozen
        At least one; all of the same columns and scores.
    doubts : sequence of Frozen or None
        How much a row on each rung is in doubt: a model of values, or None for one minus the
        largest class probability of the rung.
    limits : array (rungs,)
        A row climbs on if its doubt is above the limit of its rung.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest, Stages
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> def stump(feature, size):
    ...     nodes = empty_nodes(3)
    ...     nodes[0] = (0.0, 1, feature)
    ...     return Forest(nodes, np.array([[0.0], [-size], [size]]), np.array([0]), np.array([0]),
    ...                   np.array([1.0]), "sigmoid", 2)
    >>> ladder = Stages.of([stump(0, 1.0), stump(1, 5.0)], limits=[0.2, np.inf])
    >>> X = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> ladder.rung(X), ladder.used(X).sum(axis=1)  # the first row is sure enough
    (array([0, 1]), array([1, 2]))
    """

    kind: ClassVar[str] = "stages"

    rungs: tuple[Frozen, ...]
    doubts: tuple[Frozen | None, ...]
    limits: NDArray[np.float64]

    def __post_init__(self) -> None:
        limits = np.array(self.limits, dtype=np.float64)
        limits.setflags(write=False)
        object.__setattr__(self, "limits", limits)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its limits are read-only too.
        return type(self), tuple(getattr(self, name.name) for name in fields(self))

    @classmethod
    def of(
        cls,
        rungs: Sequence[Frozen],
        doubts: Sequence[Frozen | None] | None = None,
        limits: ArrayLike | None = None,
    ) -> Self:
        """A ladder of `rungs`; without doubts, those of the classes; without limits, no stops.

        Raises
        ------
        DataError
            If the rungs do not go together, or a doubt or limit is missing or unfit.
        """
        doubts = [None] * len(rungs) if doubts is None else doubts
        found = np.full(len(rungs), -np.inf) if limits is None else np.asarray(limits, dtype=float)
        raise_all(DataError, "stages", list(_problems(rungs, doubts, found)))
        return cls(tuple(rungs), tuple(doubts), found)

    def upto(self, rung: int) -> Self:
        """The ladder cut off after `rung`."""
        end = range(len(self.rungs))[rung] + 1
        return type(self)(self.rungs[:end], self.doubts[:end], self.limits[:end])

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.rungs[0].n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model of values."""
        return self.rungs[0].n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,), of the last rung that each row visits."""
        scores: NDArray[np.float64] | None = None
        for visit in self._climb(X):
            if scores is None:
                scores = visit.scores
            else:
                scores[visit.rows] = visit.scores
        assert scores is not None
        return scores

    def rung(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Where each row stops, (n,)."""
        stop = np.zeros(len(X), dtype=np.int64)
        for visit in self._climb(X):
            stop[visit.rows] = visit.rung
        return stop

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        for visit in self._climb(X):
            rows = _taken(X, visit.rows)
            for model in self.visited(visit.rung):
                used[visit.rows] |= model.used(rows)
        return used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Evaluations of all rungs, and doubts, that each row visits."""
        count = np.zeros(len(X), dtype=np.int64)
        for visit in self._climb(X):
            rows = _taken(X, visit.rows)
            for model in self.visited(visit.rung):
                count[visit.rows] += model.evaluations(rows)
        return count

    @property
    def support(self) -> NDArray[np.bool_]:
        """What the rungs within reach, and their doubts, may read."""
        return reduce(np.logical_or, [model.support for model in self._within_reach()])

    @property
    def most_evaluations(self) -> int:
        """Those of all rungs within reach, and their doubts."""
        return sum(model.most_evaluations for model in self._within_reach())

    def walk(self, price: Price | None = None) -> StagesWalk:
        """Start one example; it asks for what the rung where it stands asks for."""
        return StagesWalk(self.rungs, self.doubts, self.limits.tolist(), price)

    def visited(self, rung: int) -> tuple[Frozen, ...]:
        """Models that a row on `rung` is sent through: the rung, and its doubt if consulted."""
        doubt = self.doubts[rung]
        if doubt is None or not self._asks_doubt(rung):
            return (self.rungs[rung],)
        return self.rungs[rung], doubt

    def climbs(self, rung: int, scores: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Which rows go on from `rung`, by what the models of `visited` told them there."""
        if not self._asks_doubt(rung):
            last = rung == len(self.rungs) - 1
            return np.full(len(scores[0]), not last and self.limits[rung] < 0)
        values = doubt_of(scores[0]) if len(scores) == 1 else scores[1]
        return np.asarray(values > self.limits[rung])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps: the rungs, then the doubts that are models."""
        models = [doubt for doubt in self.doubts if doubt is not None]
        parts, arrays = pack([*self.rungs, *models])
        plain = {"parts": parts, "doubts": [doubt is not None for doubt in self.doubts]}
        return plain, {**arrays, "limits": self.limits}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        raise_all(BundleError, "stages", list(_misplaced(plain, arrays)))
        has_doubt, limits = plain["doubts"], arrays["limits"]
        parts = unpack(plain["parts"], {name: arrays[name] for name in arrays if name != "limits"})
        count = len(has_doubt)
        models = iter(parts[count:])
        doubts = [next(models) if has else None for has in has_doubt]
        raise_all(BundleError, "stages", list(_problems(parts[:count], doubts, limits)))
        return cls(tuple(parts[:count]), tuple(doubts), limits)

    def _climb(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Rung after rung, with the rows that come to it."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        rows = np.arange(len(X))
        for r in range(len(self.rungs)):
            here = _taken(X, rows)
            scores = [model.score(here) for model in self.visited(r)]
            climbs = self.climbs(r, scores)
            yield Visit(r, rows, scores[0])
            rows = rows[climbs]
            if not len(rows):
                return

    def _asks_doubt(self, rung: int) -> bool:
        return rung < len(self.rungs) - 1 and bool(np.isfinite(self.limits[rung]))

    def _within_reach(self) -> Iterator[Frozen]:
        """Models that some row may visit: nothing is above a limit of +inf."""
        for rung, limit in enumerate(self.limits):
            yield from self.visited(rung)
            if limit == np.inf:
                return


def _taken(X: NDArray[np.floating], rows: NDArray[np.intp]) -> NDArray[np.floating]:
    return X if len(rows) == len(X) else X[rows]


def _problems(
    rungs: Sequence[Frozen], doubts: Sequence[Frozen | None], limits: NDArray[Any]
) -> Iterator[str]:
    """What keeps these from being a ladder."""
    if not rungs:
        yield "a ladder needs a rung"
        return
    if len({(rung.n_features, rung.n_scores) for rung in rungs}) > 1:
        yield "the rungs differ in columns or scores"
    if limits.dtype != np.float64 or limits.shape != (len(rungs),) or np.isnan(limits).any():
        yield f"there must be one limit, a number, for each of the {len(rungs)} rungs"
        return
    if len(doubts) != len(rungs):
        yield f"{len(doubts)} doubts for {len(rungs)} rungs; give None where there is no model"
        return
    for r, (rung, doubt) in enumerate(zip(rungs, doubts, strict=True)):
        if doubt is not None and (doubt.n_features, doubt.n_scores) != (rung.n_features, 1):
            yield f"the doubt of rung {r} must be a model of values of the same columns"
        stops = np.isfinite(limits[r]) and r < len(rungs) - 1
        if doubt is None and rung.n_scores == 1 and stops:
            yield f"rung {r} predicts values: a finite limit needs a model of its doubt"


def _misplaced(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """What is not where `state` puts it."""
    if plain.keys() != {"parts", "doubts"}:
        yield f"expected the entries doubts and parts, got {sorted(map(str, plain))}"
        return
    doubts, parts = plain["doubts"], plain["parts"]
    if not isinstance(doubts, list) or not all(type(has) is bool for has in doubts):
        yield "doubts must say for each rung whether it has a model of its doubt"
    elif not isinstance(parts, list) or len(parts) != len(doubts) + sum(doubts):
        yield f"the parts do not go with {len(doubts)} rungs and {sum(doubts)} doubts"
    if "limits" not in arrays:
        yield "the limits are absent"
