"""scikit-learn's histogram-based boosting: its own node records, and categories.

It compares in double precision, as a `Forest` does. Where there are categories, it encodes them
and moves their columns to the front; here every feature goes back to its place in the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.learn.adopt.thresholds import HUGE
from thrifty.learn.adopt.trees import CODES, SourceTree, freeze, leaf_means
from thrifty.model import Forest

__all__ = ["read_hist_boosting"]

# Losses whose prediction is the sum itself; the others put it through an exponential.
VALUES = ("squared_error", "absolute_error", "quantile")


def read_hist_boosting(estimator: Any) -> tuple[Forest, dict[int, Any]]:
    """The forest of a fitted estimator, and the categories of its features by position."""
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
    """Place in the table of each feature of the trees, and labels of the categorical ones."""
    if estimator.is_categorical_ is None:
        return np.arange(estimator.n_features_in_), {}
    front = np.flatnonzero(estimator.is_categorical_)
    places = np.concatenate([front, np.flatnonzero(~estimator.is_categorical_)])
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    labels = [_labels(found.tolist()) for found in encoder.categories_]
    return places, dict(zip(front.tolist(), labels, strict=True))


def _labels(found: list[Any]) -> tuple[Any, ...]:
    # What was missing in training stands last, and is no category.
    return tuple(label for label in found if label is not None and label == label)


def _tree(grown: Any, places: NDArray[np.int64]) -> SourceTree:
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
        # An infinite threshold parts what is missing from all that is not.
        threshold=np.minimum(nodes["num_threshold"], HUGE),
        missing_left=missing_left,
        values=values,
        subsets={
            int(node): _codes(grown.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
            for node in categorical
        },
    )


def _codes(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little", count=CODES)
    return bits.astype(bool)
