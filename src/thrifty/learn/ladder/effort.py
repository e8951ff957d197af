"""How much work goes into a ladder, by the effort that is asked for and the size of the table.

An effort is a multiple of the time that one plain boosted model with early stopping takes on the
same table: about 5, 30 and 200 of them on small tables, 3, 10 and 60 from 20,000 rows on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thrifty.learn.crossfit import LARGE
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.ladder.rows import REFIT_FROM

__all__ = ["EFFORTS", "RungSettings", "settings_for"]


@dataclass(frozen=True)
class RungSettings:
    """How much work goes into a ladder.

    Parameters
    ----------
    n_rungs : int
        About how many rungs, with prices in geometric progression.
    n_trees : int
        Extra-trees of a rung.
    n_top_trees : int
        Extra-trees of the two top rungs, where the last tenths of a point are made.
    repeats : int
        How often a small table is divided into folds.
    one_fold : bool
        Whether one of the folds is evidence enough: boosted trees are fitted once.
    boosted : bool
        Whether rungs have boosted trees.
    rounds : float
        Share of the usual rounds of boosting.
    n_cost_weights : int
        Cost weights of a path.
    challengers : bool
        Whether branches and policies are tried.
    """

    n_rungs: int
    n_trees: int
    n_top_trees: int
    repeats: int
    one_fold: bool = False
    boosted: bool = True
    rounds: float = 1.0
    n_cost_weights: int = 100
    challengers: bool = True


# Small tables are divided several times over: then the choice of thresholds is less of a lottery,
# and the averages are better. From `REFIT_FROM` rows on, half as often does.
EFFORTS = {
    "fast": RungSettings(
        n_rungs=13, n_trees=40, n_top_trees=80, repeats=1, one_fold=True, n_cost_weights=50,
        challengers=False,
    ),
    "balanced": RungSettings(n_rungs=13, n_trees=100, n_top_trees=150, repeats=2),
    "best": RungSettings(n_rungs=20, n_trees=300, n_top_trees=500, repeats=6),
}  # fmt: skip
# On fewer rows, a fast ladder averages extra-trees and a linear model only. Without boosting there
# are no folds to fit, so that all rows are evidence: as good as boosted trees in three folds.
FEW_ROWS = 1000


def settings_for(effort: str, train: TrainingSet) -> RungSettings:
    """Return the settings of an effort for a table.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.dataset import TrainingSet
    >>> from thrifty.learn.ladder.effort import settings_for
    >>> train = TrainingSet.read("regression", np.zeros((200, 1)), np.arange(200.0))
    >>> settings_for("fast", train).boosted, settings_for("best", train).repeats
    (False, 6)
    """
    settings = EFFORTS[effort]
    if len(train) >= REFIT_FROM:
        settings = replace(settings, repeats=max(1, settings.repeats // 2))
    if effort == "fast" and len(train) < FEW_ROWS and train.task != "ranking":
        settings = replace(
            settings, n_rungs=10, n_trees=30, n_top_trees=60, one_fold=False, boosted=False,
            n_cost_weights=20,
        )  # fmt: skip
    if effort == "fast" and len(train) >= LARGE:
        settings = replace(settings, rounds=0.8)
    return settings
