"""A ladder of models that a row climbs, rung by rung, until it is certain enough to stop.

Every row starts on rung 0 and climbs to the next rung while its uncertainty is above the threshold
of its rung. All rows stop on the last rung. Later rungs usually read more features: a row pays for
what the rungs that it visited have read, each feature once. If a rung starts with the trees of the
rung before it, and only gives them other values, these trees are evaluated once too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, Walk, pack, sealed, unpack
from thrifty.model.decision import Decision
from thrifty.model.forest import Forest
from thrifty.model.motive import End
from thrifty.model.path_bounds import PathBounds, all_of
from thrifty.model.relay import RelayWalk
from thrifty.model.rounds import MAX_PATHS, Path, Round

__all__ = ["Stages", "StagesWalk", "class_uncertainty"]


def class_uncertainty(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one minus the largest class probability of each row of `scores` (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.stages import class_uncertainty
    >>> class_uncertainty(np.array([[0.25, 0.75], [0.5, 0.5]]))
    array([0.25, 0.5 ])
    """
    return np.asarray(1.0 - scores.max(axis=1))


class Visit(NamedTuple):
    """The rows that reach one rung.

    Attributes
    ----------
    rung : int
    rows : int array (m,)
        Positions of the rows in the table.
    scores : array (m, K) or (m,)
        What the rung predicts for them.
    """

    rung: int
    rows: NDArray[np.intp]
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stages(Frozen):
    """Models of the same task, ordered as the rungs of a ladder.

    A threshold of -inf stops no row and one of +inf stops all of them. Neither evaluates the
    uncertainty.

    Parameters
    ----------
    rungs : sequence of Frozen
        At least one; all with the same columns and classes.
    uncertainties : sequence of Frozen or None
        For each rung a model that predicts the uncertainty of a row, or None to take one minus
        the largest class probability of the rung.
    thresholds : array (rungs,) of float64
        A row climbs on if its uncertainty is above the threshold of its rung.
    decision : thrifty.bundle.Decision, optional
        Costs of errors: then the uncertainty of a row, where no model predicts it, is its least
        expected cost.

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
    >>> ladder = Stages.of([stump(0, 1.0), stump(1, 5.0)], thresholds=[0.2, np.inf])
    >>> X = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> ladder.rungs[0].score(X).max(axis=1).round(2)  # only the first row is certain enough
    array([0.88, 0.5 ])
    >>> ladder.rung(X)
    array([0, 1])
    >>> ladder.used(X)
    array([[ True, False],
           [ True,  True]])
    """

    kind: ClassVar[str] = "stages"

    rungs: tuple[Frozen, ...]
    uncertainties: tuple[Frozen | None, ...]
    thresholds: NDArray[np.float64]
    decision: Decision | None = None

    def __post_init__(self) -> None:
        thresholds = np.array(self.thresholds, dtype=np.float64)
        object.__setattr__(self, "thresholds", sealed(thresholds))

    @classmethod
    def of(
        cls,
        rungs: Sequence[Frozen],
        uncertainties: Sequence[Frozen | None] | None = None,
        thresholds: ArrayLike | None = None,
        decision: Decision | None = None,
    ) -> Self:
        """Build a ladder; by default without uncertainty models, and every row reaches the top.

        Raises
        ------
        DataError
            If the rungs do not fit together, or an uncertainty or threshold is missing or unfit.
        """
        models = [None] * len(rungs) if uncertainties is None else uncertainties
        values = np.full(len(rungs), -np.inf) if thresholds is None else thresholds
        values = np.asarray(values, dtype=float)
        raise_all(DataError, "stages", list(_problems(rungs, models, values, decision)))
        return cls(tuple(rungs), tuple(models), values, decision)

    def upto(self, rung: int) -> Self:
        """Return the ladder cut off above `rung`."""
        end = range(len(self.rungs))[rung] + 1
        return type(self)(
            self.rungs[:end], self.uncertainties[:end], self.thresholds[:end], self.decision
        )

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.rungs[0].n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.rungs[0].n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return probabilities (n, K), or values (n,), from the rung where each row stops."""
        visits = self._climb(X)
        scores = next(visits).scores
        for visit in visits:
            scores[visit.rows] = visit.scores
        return scores

    def rung(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the rung where each row stops, (n,)."""
        stop = np.zeros(len(X), dtype=np.int64)
        for visit in self._climb(X):
            stop[visit.rows] = visit.rung
        return stop

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features)."""
        used = np.zeros((len(X), self.n_features), dtype=bool)
        for visit in self._climb(X):
            rows = _take(X, visit.rows)
            for model in self.visited(visit.rung):
                used[visit.rows] |= model.used(rows)
        return used

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of all rungs and uncertainty models that each row visits, (n,)."""
        count = np.zeros(len(X), dtype=np.int64)
        for visit in self._climb(X):
            rows = _take(X, visit.rows)
            count[visit.rows] -= self.shared_trees[visit.rung]
            for model in self.visited(visit.rung):
                count[visit.rows] += model.evaluations(rows)
        return count

    @property
    def support(self) -> NDArray[np.bool_]:
        """Features that some model within reach could read, (n_features,)."""
        return reduce(np.logical_or, [model.support for model in self._reachable()])

    @property
    def most_evaluations(self) -> int:
        """Evaluations of all models within reach together."""
        shared = sum(self.shared_trees[rung] for rung in self._rungs_within_reach())
        return sum(model.most_evaluations for model in self._reachable()) - shared

    @cached_property
    def shared_trees(self) -> list[int]:
        """For each rung, with how many trees of the rung before it starts; all of them, or 0."""
        return [0, *(_shared_trees(one, two) for one, two in pairwise(self.rungs))]

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: a path through each model within reach."""
        used, evaluations = all_of(model.path_bounds() for model in self._reachable())
        shared = sum(self.shared_trees[rung] for rung in self._rungs_within_reach())
        return PathBounds(used, evaluations - shared)

    def rounds(self, X: NDArray[np.floating]) -> Iterator[Round] | None:
        """Return the rounds of each rung that a row visits; None if only walks can tell."""
        models = [model for rung in self._askers for model in rung]
        if any(model.rounds(X[:0]) is None for model in models):
            return None
        return self._rounds(X)

    def longest_paths(self) -> list[Path] | None:
        """Return the rounds of rows that climb to the top; None if only walks can tell."""
        paths: list[Path] = [[]]
        for model in (model for rung in self._askers for model in rung):
            further = model.longest_paths()
            if further is None or len(paths) * len(further) > MAX_PATHS:
                return None
            paths = [[*before, *after] for before in paths for after in further]
        return paths

    def walk(self, price: Price | None = None) -> StagesWalk:
        """Start one example; it requests what its current rung needs."""
        return StagesWalk(self, price)

    def visited(self, rung: int) -> tuple[Frozen, ...]:
        """Return the models that a row on `rung` visits: the rung and, if needed, its uncertainty.

        An uncertainty model is needed where the threshold is finite and a rung follows.
        """
        model = self.uncertainties[rung]
        if model is None or not self.compares(rung):
            return (self.rungs[rung],)
        return self.rungs[rung], model

    def climbs(self, rung: int, scores: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Return which of n rows go on from `rung`, (n,), given the scores of `visited(rung)`."""
        if not self.compares(rung):
            last = rung == len(self.rungs) - 1
            return np.full(len(scores[0]), not last and self.thresholds[rung] < 0)
        if len(scores) == 2:
            uncertainty = scores[1]
        elif self.decision is None:
            uncertainty = class_uncertainty(scores[0])
        else:
            uncertainty = self.decision.least(scores[0])
        return np.asarray(uncertainty > self.thresholds[rung])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: the rungs, then the uncertainty models.

        In the file uncertainties are called "doubts", and thresholds "limits".
        """
        models = [model for model in self.uncertainties if model is not None]
        parts, arrays = pack([*self.rungs, *models])
        plain = {"parts": parts, "doubts": [model is not None for model in self.uncertainties]}
        if self.decision is not None:
            plain["decision"] = self.decision.plain()
        return plain, {**arrays, "limits": self.thresholds}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        raise_all(BundleError, "stages", list(_state_problems(plain, arrays)))
        has_model, thresholds = plain["doubts"], arrays["limits"]
        parts = unpack(plain["parts"], {name: arrays[name] for name in arrays if name != "limits"})
        rungs, models = parts[: len(has_model)], iter(parts[len(has_model) :])
        uncertainties = [next(models) if has else None for has in has_model]
        decision = Decision.build(plain.get("decision"))
        problems = list(_problems(rungs, uncertainties, thresholds, decision))
        raise_all(BundleError, "stages", problems)
        return cls(tuple(rungs), tuple(uncertainties), thresholds, decision)

    def _climb(self, X: NDArray[np.floating]) -> Iterator[Visit]:
        """Score rung after rung, each for the rows that reach it."""
        self.check_columns(X)
        rows = np.arange(len(X))
        for r in range(len(self.rungs)):
            here = _take(X, rows)
            scores = [model.score(here) for model in self.visited(r)]
            climbs = self.climbs(r, scores)
            yield Visit(r, rows, scores[0])
            rows = rows[climbs]
            if not len(rows):
                return

    def _rounds(self, X: NDArray[np.floating]) -> Iterator[Round]:
        """Yield the rounds rung by rung."""
        for visit in self._climb(X):
            for model in self._askers[visit.rung]:
                for each in model.rounds(_take(X, visit.rows)) or ():
                    yield each.of(visit.rows)

    @cached_property
    def _askers(self) -> list[list[Frozen]]:
        """The models of each rung within reach that may ask for what a row does not have yet."""
        askers: list[list[Frozen]] = []
        had = np.zeros(self.n_features, dtype=bool)
        for rung, threshold in enumerate(self.thresholds):
            visited = self.visited(rung)
            askers.append([model for model in visited[:1] if (model.support & ~had).any()])
            if self.rungs[rung].asks_at_once:
                had |= self.rungs[rung].support
            askers[-1] += [model for model in visited[1:] if (model.support & ~had).any()]
            if threshold == np.inf:
                break
        return askers

    def compares(self, rung: int) -> bool:
        """Return whether the uncertainty decides if a row goes on from `rung`."""
        return rung < len(self.rungs) - 1 and math.isfinite(self.thresholds[rung])

    def _rungs_within_reach(self) -> range:
        """The rungs that some row could visit: none lies above a threshold of +inf."""
        last = int(np.argmax(np.append(self.thresholds == np.inf, True)))
        return range(min(last + 1, len(self.rungs)))

    def _reachable(self) -> Iterator[Frozen]:
        """Yield the models that some row could visit."""
        for rung in self._rungs_within_reach():
            yield from self.visited(rung)


class StagesWalk(RelayWalk[Walk]):
    """The walk of a `Stages`: through a rung, its uncertainty model if needed, the next rung."""

    def __init__(self, ladder: Stages, price: Price | None) -> None:
        self._ladder, self._price = ladder, price
        self._rung = 0
        # Scores of the models visited on the current rung, and those of the last complete rung.
        self._outputs: list[NDArray[np.float64]] = []
        self._scores: NDArray[np.float64] | None = None
        super().__init__(ladder.rungs[0].walk(price))

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the last complete rung; before that, the best so far of the first."""
        return self._walks[0].scores if self._scores is None else self._scores

    @property
    def evaluations(self) -> int:
        """Evaluations so far; trees that a rung shares with the one before are evaluated once."""
        return super().evaluations - self._shared_so_far

    def evaluations_after(self, features: Collection[int]) -> int | None:
        """Return the most evaluations made once these features have a value."""
        most = super().evaluations_after(features)
        return None if most is None else most - self._shared_so_far

    @property
    def _shared_so_far(self) -> int:
        return sum(self._ladder.shared_trees[: self._rung + 1])

    @property
    def end(self) -> End:
        """ "sure" on a rung that rows may stop on or not; else that of the rung."""
        return "sure" if self._ladder.compares(self._rung) else self._walks[-1].end

    def _next(self) -> Walk | None:
        """Move on to the next model and return its walk; None if the row stops here."""
        scores, visited = self._walks[-1].scores, self._ladder.visited(self._rung)
        if not self._outputs:
            self._scores = scores
        # As a batch of one row: class probabilities are (1, K), values are (1,).
        self._outputs.append(scores if len(scores) == 1 else scores[np.newaxis])
        if len(self._outputs) < len(visited):
            return visited[1].walk(self._price)
        if not self._ladder.climbs(self._rung, self._outputs)[0]:
            return None
        self._rung, self._outputs = self._rung + 1, []
        return self._ladder.rungs[self._rung].walk(self._price)

    def _paths(self) -> list[Iterator[Walk | None]]:
        """Return one way: the rest of this rung, then all rungs above it."""
        ladder = self._ladder
        models = [*ladder.visited(self._rung)[len(self._outputs) + 1 :]]
        for rung in range(self._rung + 1, len(ladder.rungs)):
            models += ladder.visited(rung)
        return [(model.walk(self._price) for model in models)]


def _shared_trees(one: Frozen, two: Frozen) -> int:
    """Return the number of trees of a forest if another starts with them, whatever their values."""
    if not isinstance(one, Forest) or not isinstance(two, Forest):
        return 0
    nodes, roots = two.nodes[: len(one.nodes)], two.roots[: len(one.roots)]
    same = np.array_equal(one.nodes, nodes) and np.array_equal(one.roots, roots)
    same &= np.array_equal(one.subsets, two.subsets[: len(one.subsets)])
    return len(one.roots) if same else 0


def _take(X: NDArray[np.floating], rows: NDArray[np.intp]) -> NDArray[np.floating]:
    """Return some rows of X, without a copy if they are all rows."""
    return X if len(rows) == len(X) else X[rows]


def _problems(
    rungs: Sequence[Frozen],
    uncertainties: Sequence[Frozen | None],
    thresholds: NDArray[Any],
    decision: Decision | None,
) -> Iterator[str]:
    """Yield what keeps these from being a ladder."""
    if not rungs:
        yield "a ladder needs a rung"
        return
    if len({(rung.n_features, rung.n_scores) for rung in rungs}) > 1:
        yield "the rungs differ in columns or scores"
    if decision is not None and decision.n_classes != rungs[0].n_scores:
        yield f"the decision is for {decision.n_classes} classes, not {rungs[0].n_scores}"
    numbers = thresholds.dtype == np.float64 and not np.isnan(thresholds).any()
    if not numbers or thresholds.shape != (len(rungs),):
        yield f"there must be one threshold, a number, for each of the {len(rungs)} rungs"
        return
    if len(uncertainties) != len(rungs):
        yield (
            f"{len(uncertainties)} uncertainties for {len(rungs)} rungs; "
            "give None where there is no model"
        )
        return
    for r, (rung, model) in enumerate(zip(rungs, uncertainties, strict=True)):
        if model is not None and (model.n_features, model.n_scores) != (rung.n_features, 1):
            yield f"the uncertainty of rung {r} must be a model of values of the same columns"
        compares = np.isfinite(thresholds[r]) and r < len(rungs) - 1
        if model is None and rung.n_scores == 1 and compares:
            yield f"rung {r} predicts values: a finite threshold needs a model of its uncertainty"


def _state_problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield what is not where `Stages.state` puts it."""
    if plain.keys() - {"decision"} != {"parts", "doubts"}:
        yield f"expected the entries doubts and parts, got {sorted(map(str, plain))}"
        return
    if not isinstance(plain.get("decision", {}), dict):
        yield "the entry decision must hold costs"
    has_model, parts = plain["doubts"], plain["parts"]
    if not isinstance(has_model, list) or not all(type(has) is bool for has in has_model):
        yield "the entry doubts must say for each rung whether it has an uncertainty model"
    elif not isinstance(parts, list) or len(parts) != len(has_model) + sum(has_model):
        yield (
            f"the parts do not fit {len(has_model)} rungs and {sum(has_model)} uncertainty models"
        )
    if "limits" not in arrays:
        yield "the array limits, one threshold for each rung, is absent"
