"""Read fitted trees, forests and boosted trees of scikit-learn.

Forests of classifiers average the distributions of their leaves, boosted trees add theirs, in the
order of scikit-learn, so that scores agree to the bit or to the last few.

Histogram-based boosting has node records of its own and compares in double precision, as a `Forest`
does. It moves categorical columns to the front; here every feature goes back to its position in the
table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from thrifty.errors import DataError
from thrifty.learn.adopt.trees import (
    CODES,
    HUGE,
    Source,
    SourceTree,
    at_most,
    columns_of,
    freeze,
    leaf_means,
)
from thrifty.model import Forest

__all__ = ["KINDS", "read_hist_boosting", "read_scikit_learn"]

# Losses whose prediction is the sum itself; the others put it through an exponential.
VALUES = ("squared_error", "absolute_error", "quantile")


def read_hist_boosting(estimator: Any) -> tuple[Forest, dict[int, Any]]:
    """Read a HistGradientBoosting estimator; return the forest and its categories by feature."""
    base = np.ravel(estimator._baseline_prediction)
    if hasattr(estimator, "classes_"):
        link = "sigmoid" if len(base) == 1 else "softmax"
    elif estimator.loss in VALUES:
        link = "sum"
    else:
        raise DataError(
            f"this {type(estimator).__name__} has the loss {estimator.loss!r}, whose predictions "
            f"are exponentials; adopt takes {', '.join(VALUES)}"
        )
    places, categories = _columns(estimator)
    trees = [_tree(grown, places) for round_ in estimator._predictors for grown in round_]
    outputs = np.tile(np.arange(len(base)), len(estimator._predictors)).tolist()
    return freeze(trees, base, link, estimator.n_features_in_, outputs), categories


def _columns(estimator: Any) -> tuple[NDArray[np.int64], dict[int, Any]]:
    """Return the position in the table of each feature of the trees, and labels of categories."""
    if estimator.is_categorical_ is None:
        return np.arange(estimator.n_features_in_), {}
    front = np.flatnonzero(estimator.is_categorical_)
    places = np.concatenate([front, np.flatnonzero(~estimator.is_categorical_)])
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    # What was missing in training stands last, and is not a category.
    labels = [
        tuple(label for label in found.tolist() if label is not None and label == label)
        for found in encoder.categories_
    ]
    return places, dict(zip(front.tolist(), labels, strict=True))


def _tree(grown: Any, places: NDArray[np.int64]) -> SourceTree:
    """Read one tree of histogram-based boosting."""
    nodes, leaf = grown.nodes, grown.nodes["is_leaf"].astype(bool)
    left = np.where(leaf, -1, nodes["left"].astype(np.int64))
    right = np.where(leaf, -1, nodes["right"].astype(np.int64))
    values = leaf_means(left, right, nodes["value"][:, np.newaxis], nodes["count"])
    missing_left = nodes["missing_go_to_left"].astype(bool)
    categorical = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    return SourceTree(
        left=left,
        right=right,
        feature=places[nodes["feature_idx"]],
        # An infinite threshold separates missing values from all others.
        threshold=np.minimum(nodes["num_threshold"], HUGE),
        missing_left=missing_left,
        values=values,
        subsets={
            int(node): np.unpackbits(
                grown.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype("<u4").view(np.uint8),
                bitorder="little",
                count=CODES,
            ).astype(bool)
            for node in categorical
        },
    )


def read_scikit_learn(estimator: Any) -> Source:
    """Return the forest, columns and classes of a fitted estimator, one of `KINDS`.

    Raises
    ------
    DataError
        If it is not fitted, predicts several outputs, or has a loss that a `Forest` cannot express.
    """
    name = type(estimator).__name__
    try:
        check_is_fitted(estimator)
    except ValueError:
        raise DataError(f"this {name} is not fitted; call fit first") from None
    if getattr(estimator, "n_outputs_", 1) > 1:
        raise DataError(f"this {name} predicts {estimator.n_outputs_} outputs; adopt takes one")
    kind = next(kind for kind in READERS if isinstance(estimator, kind))
    forest, categories = READERS[kind](estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return Source(
        forest=forest,
        columns=columns_of(names, estimator.n_features_in_, categories),
        named=names is not None,
        classes=getattr(estimator, "classes_", np.empty(0)).tolist() or None,
        origin=f"scikit-learn {name}",
    )


def _read_tree(estimator: Any) -> tuple[Forest, dict[int, Any]]:
    """Read a single decision tree."""
    return _averaged(estimator, [estimator]), {}


def _read_forest(estimator: Any) -> tuple[Forest, dict[int, Any]]:
    """Read a forest whose trees are averaged."""
    return _averaged(estimator, estimator.estimators_), {}


def _read_boosting(estimator: Any) -> tuple[Forest, dict[int, Any]]:
    """Read gradient boosting: the sum of its trees, from the initial estimator on."""
    scale = estimator.learning_rate
    trees = [_boosted(tree.tree_, scale) for tree in estimator.estimators_.ravel()]
    base = _start(estimator)
    if getattr(estimator, "loss", "") == "exponential":
        # Its probability is the sigmoid of twice the sum; doubling rounds nothing.
        trees = [tree.scaled(2.0) for tree in trees]
        base = 2.0 * base
    link = "sum"
    if hasattr(estimator, "classes_"):
        link = "sigmoid" if len(base) == 1 else "softmax"
    outputs = np.tile(np.arange(len(base)), len(estimator.estimators_)).tolist()
    return freeze(trees, base, link, estimator.n_features_in_, outputs), {}


def _averaged(estimator: Any, members: list[Any]) -> Forest:
    """Freeze trees that are averaged: class shares, or values as a sum of shares."""
    d = estimator.n_features_in_
    trees = [_plain(member.tree_) for member in members]
    if hasattr(estimator, "classes_"):
        if len(estimator.classes_) < 2:
            raise DataError(f"this {type(estimator).__name__} knows one class only; adopt needs 2")
        return freeze(trees, np.zeros(len(estimator.classes_)), "mean", d)
    # A mean of values is a sum of shares: equal to theirs but for the last bits.
    return freeze([tree.scaled(1.0 / len(trees)) for tree in trees], [0.0], "sum", d)


def _start(estimator: Any) -> NDArray[np.float64]:
    """Return the first outputs: those of the initial estimator, which must be constant."""
    constant = isinstance(estimator.init_, DummyClassifier | DummyRegressor)
    if not constant and estimator.init_ != "zero":
        raise DataError(
            f"this {type(estimator).__name__} starts from a {type(estimator.init_).__name__}; "
            "adopt takes init=None and init='zero'"
        )
    row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    return np.asarray(estimator._raw_predict_init(row)[0], dtype=np.float64)


def _plain(tree: Any) -> SourceTree:
    """Read one tree of scikit-learn, with thresholds for doubles."""
    return SourceTree(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=at_most(tree.threshold),
        missing_left=tree.missing_go_to_left.astype(bool),
        values=tree.value[:, 0, :],
    )


def _boosted(tree: Any, scale: float) -> SourceTree:
    # Boosting changes the leaves after the tree has grown, so the inner values are stale.
    plain = _plain(tree).scaled(scale)
    values = leaf_means(plain.left, plain.right, plain.values, tree.weighted_n_node_samples)
    return replace(plain, values=values)


READERS: dict[type, Callable[[Any], tuple[Forest, dict[int, Any]]]] = {
    DecisionTreeClassifier: _read_tree,
    DecisionTreeRegressor: _read_tree,
    RandomForestClassifier: _read_forest,
    RandomForestRegressor: _read_forest,
    ExtraTreesClassifier: _read_forest,
    ExtraTreesRegressor: _read_forest,
    GradientBoostingClassifier: _read_boosting,
    GradientBoostingRegressor: _read_boosting,
    HistGradientBoostingClassifier: read_hist_boosting,
    HistGradientBoostingRegressor: read_hist_boosting,
}
KINDS = tuple(READERS)
