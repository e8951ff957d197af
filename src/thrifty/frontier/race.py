"""Racing learners: each traces its curve, and those that are beaten on a sample do not start.

On many rows a heat is run first: every learner on a sample. One whose every point lies clearly
under the hull of the others is left out of the final, in which the others learn from all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from thrifty.frontier.curve import Curve
from thrifty.frontier.parts import Rows, hold_out, take
from thrifty.frontier.tracing import trace

__all__ = ["Lap", "Track", "race"]

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
