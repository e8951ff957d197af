"""Choose how much work fits into a time limit, by timing small models first.

The time of each part of the top rung is measured on two small samples of the rows, with few rounds
and trees, and extrapolated along a straight line; the second sample is as large as a small share of
the time allows. If the ladder would take too long, it gets fewer
divisions into folds first, then fewer trees, and then a sample of the rows to fit on. The evidence
stays what it is: points of a curve must be measured on the same rows whatever the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.ladder.effort import EFFORTS, RungSettings
from thrifty.learn.ladder.pace import Pace, work_below
from thrifty.learn.ladder.parts import (
    BoostedTrees,
    ForestSettings,
    extra_trees,
    fit_boosted,
    fit_forest,
    fit_linear_part,
)
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import has_forests, has_linear_models

__all__ = ["RungTimes", "plan_work", "time_rung"]

Floats = NDArray[np.float64]

# The first timed models are fitted on so many rows, enough for trees of full size, or cells times
# classes; the second ones on up to so many times more, in about this share of the time.
TIMED_ROWS, TIMED_CELLS = 2000, 3e6
TIMES_MORE, TIMING_SHARE = 4.0, 0.05
# With fewer rounds, what a fit takes before its first round would count for too much.
TIMED_ROUNDS, TIMED_TREES = 8, 4
# On fewer rows, models are not worth their features.
FEWEST_ROWS = 300
TINY = 1e-9


class Line(NamedTuple):
    """Seconds as a straight line over the number of rows."""

    rows: float
    seconds: float
    per_row: float

    def at(self, rows: float) -> float:
        """Return the seconds for so many rows."""
        return max(0.0, self.seconds + self.per_row * (rows - self.rows))


class RungTimes(NamedTuple):
    """What the parts of the top rung take, by the number of rows that they are fitted on.

    `boosted` is that of one round of one division, `tree` that of one extra-tree, `linear` that of
    one linear model.
    """

    boosted: Line
    tree: Line
    linear: Line

    def of(self, rows: LadderRows, settings: RungSettings, n_divisions: int, share: float) -> float:
        """Return the seconds of the top rung, if models are fitted on a share of the rows."""
        n_fit = share * len(rows.crossfit.divisions[0].fit)
        seconds = 0.0
        if settings.boosted:
            rounds = settings.rounds * BoostedTrees.suited_to(rows).rounds
            seconds += n_divisions * rounds * self.boosted.at(n_fit)
            if rows.refits:
                seconds += rounds * self.boosted.at(share * rows.n_train)
        n_features = rows.X.shape[1]
        if has_forests(rows):
            n_trees = ForestSettings.suited_to(rows, n_features, settings.n_top_trees).n_trees
            seconds += n_trees * self.tree.at(share * rows.n_train)
        if has_linear_models(rows):
            seconds += (n_divisions + 1) * self.linear.at(n_fit)
        return seconds


def plan_work(
    rows: LadderRows,
    settings: RungSettings,
    pace: Pace,
    seconds: float,
    random: np.random.RandomState,
) -> tuple[LadderRows, RungSettings]:
    """Return the rows and settings of the most work that fits into so many seconds.

    Parameters
    ----------
    rows : LadderRows
    settings : RungSettings
        Those of the effort: the most work that is wanted.
    pace : Pace
        Its clock times the small models.
    seconds : float
        What the rungs of the ladder may take.
    random : RandomState
        Draws samples of the rows.
    """
    before = pace.clock()
    times = time_rung(rows, settings, pace.clock, TIMING_SHARE * seconds, random)
    seconds -= pace.clock() - before
    n_features = rows.X.shape[1]
    whole = 1.0 + work_below(n_features, min(settings.n_rungs, n_features - 1))
    n_all = len(rows.crossfit.divisions)
    fast = EFFORTS["fast"]
    lean = replace(
        settings,
        n_trees=min(settings.n_trees, fast.n_trees),
        n_top_trees=min(settings.n_top_trees, fast.n_top_trees),
    )
    # Divisions of one repeat; fewer would not score all of the evidence.
    n_once = rows.crossfit.n_once
    options = [(settings, n_all, 1.0), (settings, n_once, 1.0)]
    share = 1.0
    while share == 1.0 or share * rows.n_train > FEWEST_ROWS:
        options.append((lean, n_once, share))
        share /= 2
    for chosen, n_divisions, share in options:
        if whole * times.of(rows, chosen, n_divisions, share) <= seconds:
            break
    return rows.thin(n_divisions, share, random), chosen


def time_rung(
    rows: LadderRows,
    settings: RungSettings,
    clock: Callable[[], float],
    seconds: float,
    random: np.random.RandomState,
) -> RungTimes:
    """Time the parts of the top rung on a small sample of the rows, and on a larger one.

    The larger one may take about so many seconds. If they are too few, the time of all parts is
    assumed to be in proportion to the rows.
    """
    n_fit = len(rows.crossfit.divisions[0].fit)
    forests = extra_trees(rows)

    def time_parts(share: float) -> Floats:
        """Return the seconds of a round, a tree, and a linear model on a share of the rows."""
        features = np.arange(rows.X.shape[1])
        sample = rows.thin(1, share, random)
        sample.bins_to_fit  # noqa: B018 -- cached, as all rungs share them
        boosting = replace(BoostedTrees.suited_to(rows), rounds=TIMED_ROUNDS)
        growing = replace(
            ForestSettings.suited_to(sample, len(features), TIMED_TREES), n_trees=TIMED_TREES
        )
        times = [clock()]
        if settings.boosted:
            fit_boosted(sample, features, boosting, random)
        times.append(clock())
        if has_forests(rows):
            fit_forest(sample, forests, features, growing, random)
        times.append(clock())
        if has_linear_models(rows):
            fit_linear_part(sample, features)
        times.append(clock())
        return np.asarray(np.diff(times) / (TIMED_ROUNDS, TIMED_TREES, 2))

    cells_per_row = rows.X.shape[1] * max(rows.n_classes, 1)
    low = min(1.0, min(TIMED_ROWS, TIMED_CELLS / cells_per_row) / n_fit)
    before = clock()
    short = time_parts(low)
    high = min(1.0, low * min(TIMES_MORE, seconds / max(clock() - before, TINY)))
    long, slopes = short, short / low
    if high >= 2 * low:
        long = time_parts(high)
        slopes = np.maximum(long - short, 0.0) / (high - low)
    measured = high if high >= 2 * low else low
    lines = [
        Line(measured * n, float(seconds), float(slope) / n)
        for n, seconds, slope in zip((n_fit, rows.n_train, n_fit), long, slopes, strict=True)
    ]
    return RungTimes(*lines)
