"""Racing learners: each traces its curve, and those that are beaten on a sample do not start.

On many rows a heat is run first: every learner on a sample. One whose every point lies clearly
under the hull of the others is left out of the final, in which the others learn from all rows.

How long a race would take, from two short ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from thrifty.frontier.curve import Curve
from thrifty.frontier.splits import Rows, hold_out, take
from thrifty.frontier.tracing import trace

__all__ = ["Lap", "Track", "forecast", "race"]

# A heat learns from this many rows and is judged on half as many; it costs a few finals on as
# many rows, so it pays where there are many times more.
HEAT_ROWS = 2000
WORTH_A_HEAT = 10


@dataclass(frozen=True)
class Lap:
    """What became of one learner.

    Parameters
    ----------
    learner : str
    outcome : {"ran", "beaten on a sample", "no time left"}
    seconds : float
        What its final took; 0 if it did not start.
    """

    learner: str
    outcome: str
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Track:
    """What the learners race on.

    Parameters
    ----------
    train, validation : Rows
        Rows to learn from, and rows to be judged on.
    scoring : str or None
        What quality is.
    stratified : bool
        Whether samples keep the shares of the target's values.
    """

    train: Rows
    validation: Rows
    scoring: str | None
    stratified: bool

    def trace(self, name: str, learner: Any) -> Curve:
        """The curve of one learner."""
        rows = self.validation
        held_out = (rows.X, rows.y) if rows.qid is None else (rows.X, rows.y, rows.qid)
        return trace(
            {name: learner},
            self.train.X,
            self.train.y,
            qid=self.train.qid,
            validation=held_out,
            scoring=self.scoring,
        )

    def sample(self, rng: np.random.Generator) -> Track:
        """A shorter track."""
        train = self._sample(self.train, HEAT_ROWS, rng)
        validation = self._sample(self.validation, HEAT_ROWS // 2, rng)
        return Track(train, validation, self.scoring, self.stratified)

    def _sample(self, rows: Rows, size: int, rng: np.random.Generator) -> Rows:
        if len(rows) <= size:
            return rows
        strata = rows.y if self.stratified else np.zeros(len(rows))
        _, taken = hold_out(strata, rows.qid, size / len(rows), rng)
        return take(taken, rows.X, rows.y, rows.qid)


def race(
    learners: Mapping[str, Any],
    track: Track,
    time_limit: float | None,
    rng: np.random.Generator,
) -> tuple[Curve, tuple[Lap, ...]]:
    """Trace the learners in their order, and merge their curves.

    Parameters
    ----------
    learners : mapping of name to estimator
        Cheap ones first.
    track : Track
    time_limit : float or None
        Seconds after which no further learner starts; the first always runs.
    rng : numpy.random.Generator
        Draws the sample of the heat.
    """
    start = monotonic()
    beaten = heat(learners, track, rng) if _is_worth_a_heat(learners, track) else set()
    curves: list[Curve] = []
    laps: list[Lap] = []
    for name, learner in learners.items():
        began = monotonic()
        if name in beaten:
            laps.append(Lap(name, "beaten on a sample"))
        elif curves and time_limit is not None and began - start >= time_limit:
            laps.append(Lap(name, "no time left"))
        else:
            curves.append(track.trace(name, learner))
            laps.append(Lap(name, "ran", monotonic() - began))
    return Curve.merge(curves), tuple(laps)


def heat(learners: Mapping[str, Any], track: Track, rng: np.random.Generator) -> set[str]:
    """Names of the learners that are beaten on a sample."""
    short = track.sample(rng)
    curves = {name: short.trace(name, learner) for name, learner in learners.items()}
    return {name for name in curves if _is_beaten(name, curves)}


def _is_worth_a_heat(learners: Mapping[str, Any], track: Track) -> bool:
    return len(learners) > 1 and len(track.train) > WORTH_A_HEAT * HEAT_ROWS


def _is_beaten(name: str, curves: Mapping[str, Curve]) -> bool:
    """Whether every point but the constant lies clearly under the hull of the others."""
    hull = Curve.merge([curve for other, curve in curves.items() if other != name]).hull
    bills, qualities = [p.bill for p in hull], [p.quality for p in hull]
    points = [point for point in curves[name].points if point.bill > hull[0].bill]
    return all(
        point.quality_interval[1] < np.interp(point.bill, bills, qualities) for point in points
    )


# Training rows of the two samples that are timed; from there on the time is taken to grow in a
# line.
SHORT, LONG = 200, 1500


def forecast(
    learners: Mapping[str, Any], train: Rows, validation: Rows, rng: np.random.Generator
) -> dict[str, float]:
    """Seconds that each learner would take on all rows, roughly.

    Parameters
    ----------
    learners : mapping of name to estimator
    train, validation : Rows
        The rows that the race would be run on.
    rng : numpy.random.Generator
        Draws the samples.

    Raises
    ------
    DataError
        If the rows cannot be learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.race import forecast
    >>> from thrifty.frontier.splits import Rows
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> train, validation = (Rows(i, X[i], X[i, 0]) for i in np.split(np.arange(300), [200]))
    >>> seconds = forecast({"miser": GreedyMiserRegressor(n_estimators=5)}, train, validation, rng)
    >>> list(seconds), seconds["miser"] > 0
    (['miser'], True)
    """
    stratified = all(map(is_classifier, learners.values()))
    sizes = sorted({min(size, len(train)) for size in (SHORT, LONG)})
    tracks = {
        size: Track(*_samples(train, validation, size, stratified, rng), None, stratified)
        for size in sizes
    }
    return {
        name: _line(_timed(name, learner, tracks), len(train)) for name, learner in learners.items()
    }


def _samples(
    train: Rows, validation: Rows, size: int, stratified: bool, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Samples of both parts in proportion."""
    share = size / len(train)
    return (
        _sample(train, share, stratified, rng),
        _sample(validation, share, stratified, rng),
    )


def _sample(rows: Rows, share: float, stratified: bool, rng: np.random.Generator) -> Rows:
    if share >= 1:
        return rows
    if rows.qid is not None:
        taken = _queries(rows.qid, rows.y, share, rng)
    else:
        taken = rng.permutation(len(rows))[: max(1, round(share * len(rows)))]
    if stratified:  # a class that the sample misses could not be learnt
        taken = np.union1d(taken, np.unique(rows.y, return_index=True)[1])
    return take(np.sort(taken), rows.X, rows.y, rows.qid)


def _queries(
    qid: NDArray[Any], y: NDArray[Any], share: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Whole queries, those with a relevant row first: the others tell nothing about an order."""
    names, query = np.unique(qid, return_inverse=True)
    relevant = np.bincount(query, np.asarray(y, dtype=np.float64)) > 0
    shuffled = rng.permutation(len(names))
    order = shuffled[np.argsort(~relevant[shuffled], kind="stable")]
    return np.flatnonzero(np.isin(query, order[: max(1, round(share * len(names)))]))


def _timed(name: str, learner: Any, tracks: Mapping[int, Track]) -> list[tuple[int, float]]:
    next(iter(tracks.values())).trace(name, learner)  # the first time may compile
    return [(size, _seconds(track, name, learner)) for size, track in tracks.items()]


def _seconds(track: Track, name: str, learner: Any) -> float:
    start = perf_counter()
    track.trace(name, learner)
    return perf_counter() - start


def _line(timed: list[tuple[int, float]], rows: int) -> float:
    """Seconds at `rows` on the line through the first and the last; it never falls."""
    (n, seconds), (m, more) = timed[0], timed[-1]
    slope = max(0.0, (more - seconds) / (m - n)) if m > n else 0.0
    return more + slope * (rows - m)
