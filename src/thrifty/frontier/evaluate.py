"""Measuring the points of a path on held-out rows: bills, qualities, and how sure they are.

A table is encoded once for all points. A path that has followed the rows hands over what it knows;
other models answer once, those of one forest together: measuring costs little beside learning.

Answers of many models about the same rows, with the work that they share done once.

Points of a path are often the first trees of one and the same forest. Such a chain is descended
once; each of its models is met on the way. Ladders that share rungs send all rows through each
rung once; where rows stop is then a matter of looking up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from thrifty.bundle import Predictor, Schema
from thrifty.frontier.choice import undominated
from thrifty.frontier.curve import CurvePoint
from thrifty.frontier.scoring import Quality
from thrifty.frontier.splits import Rows
from thrifty.learn import Point
from thrifty.learn.point import Heard
from thrifty.model import Forest, Frozen, Stages
from thrifty.model.links import apply_link

__all__ = ["Bench", "answers_of", "thin"]

Answer = tuple[int, NDArray[np.float64], NDArray[np.bool_]]


def answers_of(models: Sequence[Frozen], X: NDArray[np.floating]) -> Iterator[Answer]:
    """For each model its position, scores and used features; in the order of the chains.

    They are the same to the bit as those of `score` and `used`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.evaluate import answers_of
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> forest = GreedyMiserRegressor(n_estimators=9).fit(X, X[:, 0]).model_
    >>> models = [forest, forest.prefix(4)]
    >>> all((scores == models[k].score(X)).all() for k, scores, _ in answers_of(models, X))
    True
    """
    chains: dict[object, list[int]] = {}
    for k, model in enumerate(models):
        key = _start(model) if isinstance(model, Forest) else k
        chains.setdefault(key, []).append(k)
    told = _Told(models, X)
    for members in chains.values():
        if len(members) == 1:
            yield members[0], *told(models[members[0]])
        else:
            yield from _along(members, [models[k] for k in members], X)


def _start(forest: Forest) -> object:
    """What the first trees of one forest have in common: where their arrays lie."""
    arrays = (forest.nodes, forest.values, forest.roots, forest.outputs, forest.subsets)
    places = tuple(array.__array_interface__["data"][0] for array in arrays)
    # Arrays without entries may lie anywhere, so the constant is on no chain.
    return (*places, forest.base.tobytes(), forest.link) if len(forest.roots) else id(forest)


class _Told:
    """What models tell all rows; a rung of several ladders is asked once."""

    def __init__(self, models: Sequence[Frozen], X: NDArray[np.floating]) -> None:
        self.X = X
        ladders = [model for model in models if isinstance(model, Stages)]
        rungs = chain.from_iterable((*ladder.rungs, *ladder.doubts) for ladder in ladders)
        self.rungs = {id(rung) for rung in rungs} if len(ladders) > 1 else set()
        self.known: dict[int, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}

    def __call__(self, model: Frozen) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Scores and used features."""
        if id(model) in self.known:
            return self.known[id(model)]
        if isinstance(model, Stages) and self.rungs:
            return self._climbed(model)
        both = getattr(model, "score_and_used", None)
        found = (model.score(self.X), model.used(self.X)) if both is None else both(self.X)
        if id(model) in self.rungs:
            self.known[id(model)] = found
        return found

    def _climbed(self, ladder: Stages) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        scores = self(ladder.rungs[0])[0].copy()
        used = np.zeros((len(self.X), ladder.n_features), dtype=bool)
        rows = np.arange(len(self.X))
        for rung in range(len(ladder.rungs)):
            answers = [self(model) for model in ladder.visited(rung)]
            for _, read in answers:
                used[rows] |= read[rows]
            scores[rows] = answers[0][0][rows]
            rows = rows[ladder.climbs(rung, [told[rows] for told, _ in answers])]
            if not len(rows):
                break
        return scores, used


def _along(
    members: Sequence[int], models: Sequence[Frozen], X: NDArray[np.floating]
) -> Iterator[Answer]:
    """Tree after tree of the longest forest; a stop where a shorter one ends."""
    forests = [model for model in models if isinstance(model, Forest)]
    longest = max(forests, key=lambda forest: len(forest.roots))
    ends: dict[int, list[int]] = {}
    for k, forest in zip(members, forests, strict=True):
        ends.setdefault(len(forest.roots), []).append(k)
    raw = np.tile(longest.base, (len(X), 1))
    words = np.zeros((len(X), longest.paths.shape[1]), dtype=np.uint64)
    addends, single = longest._addends, longest.values.shape[1] == 1
    for tree, leaf in enumerate(longest.leaves(X)):
        if single:
            raw[:, longest.outputs[tree]] += addends[leaf, 0]
        else:
            raw += addends[leaf]
        words |= longest.paths[leaf]
        for k in ends.get(tree + 1, ()):
            mean = raw / (tree + 1) if longest.link in ("mean", "vote") else raw
            yield k, apply_link(longest.link, mean), longest.spread(words)


# Points of one learner that are measured; more of them would hardly differ.
MOST_POINTS = 40


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Keep at most `most` points: those that no other beats, and others spread over the bills.

    What the path calls better need not be what is measured later, and on few rows the best are
    the luckiest: so the others are kept too.

    Examples
    --------
    >>> from thrifty import Point
    >>> from thrifty.frontier.evaluate import thin
    >>> points = [Point({}, None, float(bill), quality=bill % 7) for bill in range(100)]
    >>> [int(point.bill) for point in thin(points, 12)]
    [0, 1, 2, 3, 4, 5, 6, 7, 30, 53, 76, 99]
    """
    if len(points) <= most:
        return list(points)
    best = {id(point) for point in undominated(points)}
    chosen = _spread([point for point in points if id(point) in best], most)
    kept = {id(point) for point in chosen}
    others = [point for point in points if id(point) not in kept]
    kept |= {id(point) for point in _spread(others, most - len(chosen))}
    return [point for point in points if id(point) in kept]


def _spread(points: Sequence[Point], most: int) -> list[Point]:
    """The first, the last and others at even steps between them."""
    if len(points) <= most:
        return list(points)
    return [points[k] for k in np.linspace(0, len(points) - 1, most).astype(int)]


class _Answered(Predictor):
    """A predictor that has already answered about the rows it will be asked about."""

    def __init__(self, predictor: Predictor, scores: NDArray[np.float64]) -> None:
        prices = replace(predictor.prices, names=None)
        schema = _nameless(len(predictor.schema))
        super().__init__(predictor.model, schema, prices, predictor.classes)
        self.scores = scores

    def _score(self, X: Any) -> NDArray[np.float64]:
        return self.scores


@lru_cache(maxsize=8)
def _nameless(columns: int) -> Schema:
    return Schema.of(np.zeros((1, columns)))


@dataclass(frozen=True, eq=False)
class Bench:
    """Where points are measured.

    Parameters
    ----------
    rows : Rows
        The held-out rows, encoded.
    quality : Quality
    level : float
        Level of the intervals.
    clusters : int array of shape (n,) or None
        Rows that belong together are one observation.
    training : array of shape (m, d) or None
        Some encoded rows of the training table, to foresee bills on.
    """

    rows: Rows
    quality: Quality
    level: float
    clusters: NDArray[np.int64] | None
    training: NDArray[np.floating] | None = None

    def measure(self, learner: str, points: Sequence[Point]) -> list[CurvePoint]:
        """Figures of some points."""
        models = [point.model.model for point in points]
        found: dict[int, CurvePoint] = {}
        for k, heard in self._heard(points):
            found[k] = self._figures(learner, points[k], heard.scores, heard.bills)
        if self.training is not None:
            for k, _, used in answers_of(models, self.training):
                bills = _bills(points[k].model, used, self.training)
                foreseen = float(bills.mean()), float(bills.std())
                found[k] = replace(found[k], foreseen=foreseen)
        return [found[k] for k in range(len(points))]

    def _heard(self, points: Sequence[Point]) -> Iterator[tuple[int, Heard]]:
        """What each point tells the rows, and charges them."""
        silent = []
        for k, point in enumerate(points):
            if point.heard is None:
                silent.append(k)
            else:
                yield k, point.heard
        models = [points[k].model.model for k in silent]
        for place, scores, used in answers_of(models, self.rows.X):
            k = silent[place]
            yield k, Heard(scores, _bills(points[k].model, used, self.rows.X))

    def _figures(
        self,
        learner: str,
        point: Point,
        scores: NDArray[np.float64],
        bills: NDArray[np.float64],
    ) -> CurvePoint:
        heard = _Answered(point.model, scores)
        value, low, high = self.quality.interval(heard, self.rows, self.level)
        ceiling = point.model.ceiling
        return CurvePoint(
            learner=learner,
            knob=point.knob,
            model=point.model,
            bill=float(bills.mean()),
            quality=value,
            bills=bills,
            bill_interval=interval(bills, self.level, ceiling, self.clusters),
            quality_interval=(low, high),
            ceiling=ceiling,
            gains=self.quality.gains(heard, self.rows),
            clarity=_clarity(heard, self.rows.y) if self.quality.name == "accuracy" else None,
        )


def _bills(
    predictor: Predictor, used: NDArray[np.bool_], rows: NDArray[np.floating]
) -> NDArray[np.float64]:
    prices = predictor.prices
    return prices.bill(used, predictor.model.evaluations(rows) if prices.evaluation else 0)


def interval(
    bills: NDArray[np.float64],
    level: float,
    ceiling: float,
    clusters: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Student's interval of the mean bill, cut to what bills can be.

    Clusters are taken as the observations: the mean is a ratio of their totals, and the interval
    is that of its linear expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.evaluate import interval
    >>> low, high = interval(np.array([1.0, 2.0, 3.0, 2.0]), 0.95, ceiling=3.0)
    >>> round(low, 2), high
    (0.7, 3.0)
    """
    mean, influence = bills.mean(), bills - bills.mean()
    if clusters is not None:
        influence = np.bincount(clusters, influence) * (clusters.max() + 1) / len(bills)
    n = len(influence)
    if n < 2:
        return 0.0, float(ceiling)
    half = stdtrit(n - 1, (1 + level) / 2) * influence.std(ddof=1) / np.sqrt(n)
    return max(0.0, float(mean - half)), max(float(mean), min(float(mean + half), ceiling))


def _clarity(heard: _Answered, y: NDArray[Any]) -> NDArray[np.float64]:
    """Minus the squared distance of the probabilities from the truth."""
    hits = (y[:, np.newaxis] == heard.classes).astype(np.float64)
    return np.asarray(-((heard.scores - hits) ** 2).sum(axis=1))
