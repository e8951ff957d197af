"""Tables and small settings for the tests of the anytime classifier."""

from __future__ import annotations

import numpy as np

from thrifty import Prices
from thrifty.learn.anytime.representation import Representation, RowSplit
from thrifty.learn.anytime.trees import DimensionTrees
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.purchases import Purchases

PRICES = Prices([1, 2, 4, 0, 3, 3], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.001)
SMALL = {"dimensions": 3, "n_estimators": 3, "max_depth": 3, "min_samples_leaf": 5}


def draw(seed, n=300, labels=("low", "mid", "top")):
    """Six columns; which of the last two matters depends on the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + X[:, 1] + np.where(X[:, 2] > 0, X[:, 4], X[:, 5])
    cuts = np.quantile(value, np.linspace(0, 1, len(labels) + 1)[1:-1])
    return X, np.array(labels)[np.digitize(value, cuts)]


def split_rows(n=300, sample_weight=None):
    """A split of two classes."""
    X, y = draw(0, n, labels=("no", "yes"))
    train = TrainingSet.read("classification", X, y, PRICES, sample_weight)
    return RowSplit.of(train, seed=0)


def start_trees(split, penalty=0.0):
    """The trees of a split, none so far."""
    binned = Binned.of(split.rows.X, split.rows.categorical, np.random.RandomState(0))
    n = split.growing.stop
    grower = Grower(
        binned.take(np.arange(n)),
        Purchases(split.rows.prices, n, "model"),
        penalty=penalty,
        max_depth=3,
        min_samples_leaf=5,
    )
    stopping_bins = binned.bins[:, split.stopping].copy()
    return DimensionTrees(grower, stopping_bins, 0.1, split.row_hash[split.growing])


def start_representation(penalty=0.0):
    """A representation of two classes that has only the bias so far."""
    split = split_rows()
    return Representation(split, 1, start_trees(split, penalty), first_column=0)
