"""Submodular trees of linear models: ASTC (Kusner et al. 2014).

`SubmodularTreeClassifier` and `SubmodularTreeRegressor` share `fit`, `fit_each` and `path`, which
are in `base`:

1. Read the training set; `grower.DesignMatrix` has its rows as inputs and targets of least
   squares. The rows of a `Table` stay in a memory map (`inputs.StoredInputs`).
2. `gram.Gram`: sum the products of inputs and targets over the rows, once for all trees.
3. `grower.TreeGrower.grow` (algorithm 1), from the root down. At each node:

   a. `forward_selection.Buyer` buys the features that explain the most variance per price, until
      the budget of the node is spent (eq. 7 and 11).
   b. `least_squares.least_squares` fits the node to what it bought.
   c. The half of the rows with the larger values goes right, the other half goes left.

4. `grower.freeze_tree` makes a `thrifty.model.LinearTree`, with Platt scaling for classes.
"""

from __future__ import annotations

from thrifty.learn.submodular_tree.estimators import (
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)

__all__ = ["SubmodularTreeClassifier", "SubmodularTreeRegressor"]
