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
- `evidence.py`: `Trace`, the steps of rows under a policy, for any cost weight.
- `fitted.py`: `FittedPolicy`, the policies of all folds, their average and their evidence.
- `table.py`: `PolicyTable`, the training rows.

`fit_policy` calls, in this order: `Items.of`; `draw_states`; `Trainer.fit_predictors` (one for each
fold); `Items.keep` (if there are too many); `Trainer.measure_drops` and `Trainer.fit_values`; then
once more, on states that these policies visit (`visit_states`): `fit_predictors`, `calibrate`,
`measure_drops`, `fit_values`; and `FittedPolicy.choose_first`. Evidence out of fold is in
`FittedPolicy.trace`, the final model in `FittedPolicy.model`.
"""

from __future__ import annotations

from thrifty.learn.policy.classifier import PolicyClassifier
from thrifty.learn.policy.fitted import FittedPolicy
from thrifty.learn.policy.table import PolicyTable
from thrifty.learn.policy.training import PolicySettings, fit_policy

__all__ = ["FittedPolicy", "PolicyClassifier", "PolicySettings", "PolicyTable", "fit_policy"]
