"""FMCC, fast margin-based cost-sensitive classification (Nan 2018, ch. 2).

`MarginNeighborsClassifier.fit` calls, in this order:

1. `additive.ScaledTable.of`: measure center and spread of each column.
2. `additive.fit_additive`: fit the classifier that predicts from any subset of the features
   (eq. 2.1): a linear one, or boosted stumps.
3. `classifier.make_neighbors`: freeze it with the training rows and the weighted prices, and order
   the features for the first purchase. The result is a `thrifty.model.Neighbors`, which has
   algorithm 1 itself (eqs. 2.2-2.5): the training rows nearest on the bought features choose the
   next one, and decide when a row stops.
4. `base.SequentialClassifier._stop_early`: set the threshold.

`base` has what all classifiers share that buy one feature at a time; `path` runs the validation set
once and reads from the run where rows stop at any threshold (`base.stops_at_thresholds`).
`thrifty.learn.baselines.feature_order` has the baselines of the paper.
"""

from __future__ import annotations

from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier

__all__ = ["MarginNeighborsClassifier"]
