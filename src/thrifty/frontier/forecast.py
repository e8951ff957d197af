"""How long a race would take, from two short ones."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from thrifty.frontier.parts import Rows, take
from thrifty.frontier.race import Track

__all__ = ["forecast"]

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
    >>> from thrifty.frontier.forecast import forecast
    >>> from thrifty.frontier.parts import Rows
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
