"""AFR, anytime feature representations (Xu 2014, sec. 2.2): one classifier for every budget.

`AnytimeClassifier.fit` calls, in this order:

1. `representation.RowSplit.of`: split the rows 50/40/10 into training, validation and early
   stopping rows, by hash.
2. `training.penalty_schedule`: from the penalty at which the first feature is worth its price,
   down to 0 (algorithm 4, lines 1 and 15).
3. `training.train_representations`: at each penalty and for each class,
   `Representation.add_dimensions` runs GreedyMiser, whose trees start new dimensions (line 3), and
   `Representation.refine` adds trees along the gradient of the validation error (lines 5-13). The
   best state with each set of bought features is kept as a checkpoint.
4. `stages.freeze_stage`: each checkpoint becomes a forest with calibrated outputs. The stages make
   up a `thrifty.model.Stages`, from the constant (`stages.constant_stage`).

`hinge_svm` has the SVM on a representation (eqs. 2.21 and 2.26), its closed form and the
derivatives through it (eqs. 2.25, 2.28-2.33); `trees` grows the trees of eqs. 2.24 and 2.27 for all
representations. With a budget, `stages.affordable_stage` says how far each row may go.
"""

from __future__ import annotations

from thrifty.learn.anytime.classifier import AnytimeClassifier

__all__ = ["AnytimeClassifier"]
