"""Policies: every row chooses its next feature from the values that it has seen so far.

Active feature acquisition by estimated reduction of the loss, with boosted trees in the place of
the neural networks of Covert et al. 2023 (greedy dynamic feature selection) and Gadgil et al. 2024
(conditional mutual information). Trees with a vector in each leaf, grown on random projections of
the gradients (Joly et al. 2014; Iosipoi and Vakhrushev 2022), predict all classes, and the value of
all features, at the cost of one output.

What is where:

- `classifier.py`: the estimator: `PolicyClassifier`.
- `training.py`: `fit_policy`, every step of the training in order, and its settings.
- `items.py`: what can be bought at once, and at what price.
- `states.py`: rows of which only some items are bought, drawn at random or visited by a policy.
- `vector_trees.py`: boosting with a vector in each leaf, and averages of such forests.
- `evidence.py`: the training rows under policies that have not seen them, for any cost weight.

`fit_policy` calls, in this order: `Items.of`; `draw_states`; `Trainer.fit_predictors` (one for each
fold); `Items.keep` (if there are too many); `Trainer.measure_drops` and `Trainer.fit_values`; then
once more on states that the policies themselves visit: `visit_states`, `fit_predictors`,
`calibrate`, `measure_drops`, `fit_values`. `FittedPolicy` averages the models of the folds, and
`trace` follows the training rows out of fold.
"""

from __future__ import annotations

from thrifty.learn.policy.classifier import PolicyClassifier
from thrifty.learn.policy.training import FittedPolicy, PolicySettings, fit_policy

__all__ = ["FittedPolicy", "PolicyClassifier", "PolicySettings", "fit_policy"]
