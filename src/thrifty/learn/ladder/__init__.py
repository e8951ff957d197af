"""Ladders: boosted models on nested sets of features, climbed one row at a time.

A row starts with the constant and goes on to models on more and more features, until it is sure
enough that the next one would not be worth its price. Ladders are a method of this library. The
parts are known: recursive feature elimination (Guyon et al. 2002), gradient boosting, temperature
scaling (Guo et al. 2017), and early exits with thresholds from dynamic programming.

What is where:

- `base.py`: the estimator: `fit`, `path`, and every step of both in `Ladder._fit_rungs`.
- `classifier.py`, `regressor.py`: the losses; for regression, the uncertainty models.
- `rungs.py`: fits the rungs, scores training rows out of fold, calibrates.
- `feature_order.py`: the nested sets of features, by gain per price or by trial of groups.
- `stopping.py`: the thresholds for a cost weight, and the frozen model that they lead to.

`fit` calls, in this order: `TrainingSet.read` (encode); `Ladder._split` (bin, and draw all random
numbers); `RungTrainer.order_groups`, if everything is sold in groups; `RungTrainer.fit_rungs` (from
all features down); `RungTrainer.score_out_of_fold`, for regression and for tiny validation sets;
`RungTrainer.calibrate`, for classification; `LadderRegressor._uncertainty_models`;
`RungOutputs.of` and `StoppingEvidence` (what each row loses and pays on each rung);
`FittedLadder.thresholds` (dynamic programming) and `FittedLadder.model`. `path` does the last step
for 25 cost weights, and adds every rung by itself.
"""

from __future__ import annotations

from thrifty.learn.ladder.classifier import LadderClassifier
from thrifty.learn.ladder.regressor import LadderRegressor

__all__ = ["LadderClassifier", "LadderRegressor"]
