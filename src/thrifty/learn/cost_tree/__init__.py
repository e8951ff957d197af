"""Cost-sensitive trees and cascades of linear models (Xu 2014, chapter 3: CSTC and CSCC).

`CostTreeClassifier`, `CostTreeRegressor`, `CostTreeRanker` and `CostCascadeClassifier` share `fit`
and `path`, which are in `base`:

1. Read the training set and make one `base.TreeTarget` per tree: one tree for a regression or for
   two classes, one per class, against the rest, for more.
2. `inputs`: compute the inputs of the nodes, either standardized columns or boosted trees
   (sec. 3.6), and `cost_terms`, the prices that go with them (eq. 3.9, 3.12, 3.22, 3.23).
3. `fit.TreeLearner.candidates`, for every depth and each penalty, largest first:

   a. Learn a soft tree: initialize it from the root down, then sweep over its nodes (algorithm 5).
      `soft_tree` has its parameters and routing probabilities (eq. 3.5), `objective` what it
      minimizes (eq. 3.13, 3.21), `leaf_step` the update of a leaf (eq. 3.15 to 3.17), and
      `split_step` that of an inner node (eq. 3.18, 3.19).
   b. Turn it into trees with hard thresholds (`hard_tree`): fit the outputs of the nodes
      (`leaf_fit`, sec. 3.4.4), and drop the inputs and the branches that do not pay by the exact
      objective (eq. 3.11, sec. 3.4.5), node by node (`harden`) and over whole subtrees
      (`elimination`).
4. `fit.TreeLearner.best`: freeze the candidate that is best on the validation set at a penalty, by
   its loss or by a ranking criterion (`criteria`), as a `thrifty.model.LinearTree`.
"""

from __future__ import annotations

from thrifty.learn.cost_tree.estimators import (
    CostCascadeClassifier,
    CostTreeClassifier,
    CostTreeRegressor,
)
from thrifty.learn.cost_tree.ranker import CostTreeRanker

__all__ = ["CostCascadeClassifier", "CostTreeClassifier", "CostTreeRanker", "CostTreeRegressor"]
