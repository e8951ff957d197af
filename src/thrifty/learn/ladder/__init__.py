"""Ladders: models on nested sets of features, climbed one row at a time.

A row starts with the constant and goes on to models on more and more features, until it is sure
enough that the next one would not be worth its price. Ladders are a method of this library. The
parts are known: recursive feature elimination (Guyon et al. 2002), gradient boosting, extra-trees
(Geurts et al. 2006), stacking by cross-fitted weights (Wolpert 1992), temperature scaling (Guo et
al. 2017), and early exits with thresholds from dynamic programming.

What is where:

- `base.py`: `Ladder`, every step of `fit` and `path`.
- `classifier.py`, `regressor.py`, `ranker.py`: the estimators.
- `rows.py`: the rows, encoded, binned, and divided for cross-fitting (`thrifty.learn.crossfit`).
- `parts.py`: the models that a rung averages: boosted trees, extra-trees, a linear model.
- `mixture.py`: their temperatures and weights.
- `rungs.py`: the rungs, from all features down.
- `feature_order.py`: the nested sets of features, by gain per price or by trial.
- `uncertainty.py`: for values, models of what climbing saves.
- `stopping.py`: the thresholds for a cost weight, and the frozen model that they lead to.
- `branching.py`: a split on a feature whose value says which others are worth buying.
- `small_trees.py`: where errors have costs, small trees as challengers.
- `policies.py`: policies (`thrifty.learn.policy`) as challengers of the ladder.

`fit` calls, in this order: `TrainingSet.read` (encode); `CrossFit.draw` and `LadderRows.of` (divide
and bin); `fit_rungs`, for each rung `fit_boosted`, `fit_forest`, `fit_linear_part`, `mix_parts` and
`drop_features`; `fit_uncertainty`, for values; `StoppingEvidence` (what each row loses and pays on
each rung). If `find_split` finds a split, all of this is repeated on each side, at most twice
(`FittedBranches`). `fit_policies` compares a small policy with the ladder and, if it is ahead at
two bills, fits a full one. All of them are a `Planner`: `plan` gives the frozen model at a cost
weight, with its scores and bills of the evidence; a ladder finds its thresholds by dynamic
programming. `fit` takes the plan of the least cost; `path` has the plans of 100 cost weights and
three rungs to start on, every rung by itself, and up to 40 cost weights of the policies.
"""

from __future__ import annotations

from thrifty.learn.ladder.base import EFFORTS
from thrifty.learn.ladder.classifier import LadderClassifier
from thrifty.learn.ladder.ranker import LadderRanker
from thrifty.learn.ladder.regressor import LadderRegressor

__all__ = ["EFFORTS", "LadderClassifier", "LadderRanker", "LadderRegressor"]
