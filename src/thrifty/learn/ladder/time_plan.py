"""Choose how much work fits into a time limit, by timing small models first.

The time of each part of the top rung is measured on two small samples of the rows, with few rounds
and trees, and extrapolated along a straight line. If the ladder would take too long, it gets fewer
divisions into folds first, then fewer trees, and then a sample of the rows to fit on. The evidence
stays what it is: points of a curve must be measured on the same rows whatever the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

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

# Rows that the timed models are fitted on, and their rounds and trees.
TIMED_ROWS = (500, 2000)
TIMED_ROUNDS, TIMED_TREES = 4, 4
# On fewer rows, models are not worth their features.
FEWEST_ROWS = 300


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
    times = time_rung(rows, settings, pace.clock, random)
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
    random: np.random.RandomState,
) -> RungTimes:
    """Time the parts of the top rung on two small samples of the rows."""
    features = np.arange(rows.X.shape[1])
    boosting = replace(BoostedTrees.suited_to(rows), rounds=TIMED_ROUNDS)
    n_fit = len(rows.crossfit.divisions[0].fit)
    forests = extra_trees(rows)
    measured = []
    for size in TIMED_ROWS:
        share = min(1.0, size / n_fit)
        sample = rows.thin(1, share, random)
        sample.bins_to_fit  # noqa: B018 -- cached, as all rungs share them
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
        measured.append((share, np.diff(times) / (TIMED_ROUNDS, TIMED_TREES, 2)))
    (low, short), (high, long) = measured
    slopes = np.maximum(long - short, 0.0) / max(high - low, 1e-9)
    sizes = n_fit, rows.n_train, n_fit
    lines = [
        Line(high * n, float(seconds), float(slope) / n)
        for n, seconds, slope in zip(sizes, long, slopes, strict=True)
    ]
    return RungTimes(*lines)
