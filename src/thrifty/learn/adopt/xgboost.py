"""Read XGBoost's JSON model file; XGBoost itself is not needed.

XGBoost rounds a value to single precision and sends it left if it is below the threshold; the
thresholds here are adapted to doubles. XGBoost also adds in single precision: its scores and
those of the forest, which adds in double, agree to about seven digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt.trees import (
    CODES,
    Source,
    SourceTree,
    below,
    columns_of,
    freeze,
    leaf_means,
)

__all__ = ["read_xgboost"]

# Objectives whose prediction is the sum itself.
VALUES = ("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror",
          "reg:quantileerror", "rank:pairwise", "rank:ndcg", "rank:map")  # fmt: skip
LINKS = {
    **dict.fromkeys(VALUES, "sum"),
    "binary:logistic": "sigmoid",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
}

Plain = Mapping[str, Any]


def read_xgboost(text: str, rounds: int | None = None, classes: list[Any] | None = None) -> Source:
    """Read the text of a model file.

    Parameters
    ----------
    text : str
    rounds : int, optional
        Rounds to keep; by default all of them, or those up to the best one if an estimator wrote
        the file after early stopping.
    classes : list, optional
        Labels that the file does not hold.

    Raises
    ------
    DataError
        If the text is damaged, or the model does something that a frozen forest cannot do.
    """
    try:
        file = json.loads(text)
        if "learner" not in file:
            raise DataError(_what_else(file))
        learner: Plain = file["learner"]
        _check_supported(learner)
        model, param = learner["gradient_booster"]["model"], learner["learner_model_param"]
        objective, d = learner["objective"]["name"], int(param["num_feature"])
        base = _base(param, LINKS[objective])
        attributes = learner.get("attributes", {})
        if rounds is None and {"scikit_learn", "best_iteration"} <= attributes.keys():
            # The estimators use the best round of early stopping, a bare booster does not.
            rounds = int(attributes["best_iteration"]) + 1
        kept = len(model["trees"])
        if rounds is not None:
            parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
            kept = min(rounds * len(base) * max(parallel, 1), kept)
        categories, unlabeled = _categories(learner, model)
        trees = [_tree(tree, categories) for tree in model["trees"][:kept]]
        forest = freeze(trees, base, LINKS[objective], d, model["tree_info"][:kept])
    except (KeyError, ValueError, IndexError, TypeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a sound XGBoost model: {type(error).__name__} {error}") from error
    names = learner.get("feature_names") or None
    return Source(
        forest=forest,
        columns=columns_of(names, d, categories),
        named=names is not None,
        classes=classes,
        origin=f"XGBoost {objective}",
        unlabeled=unlabeled,
    )


def _what_else(file: Plain) -> str:
    """Say what a JSON file is that does not hold an XGBoost model, and what to do."""
    if "oblivious_trees" in file or "features_info" in file:
        return (
            "this is a CatBoost model, which cannot be adopted; train a LightGBM or XGBoost model, "
            "or put this one behind a gate: thrifty gate --expensive URL"
        )
    if "tree_info" in file:
        return "this is a JSON dump of LightGBM; save the model as text: booster.save_model(path)"
    return "this JSON file is not an XGBoost model: it has no 'learner'"


def _check_supported(learner: Plain) -> None:
    """Raise a DataError that lists everything that a frozen forest cannot do."""
    problems = []
    booster, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if booster != "gbtree":
        problems.append(f"booster {booster!r} is not 'gbtree'")
    if objective not in LINKS:
        problems.append(f"objective {objective!r} is none of {', '.join(LINKS)}")
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        problems.append("it has more than one target")
    trees = [] if problems else learner["gradient_booster"]["model"]["trees"]
    if any(int(tree["tree_param"].get("size_leaf_vector", 0)) > 1 for tree in trees):
        problems.append("its leaves are vectors (multi_strategy='multi_output_tree')")
    raise_all(DataError, "this XGBoost model cannot be adopted", problems)


def _base(param: Plain, link: str) -> NDArray[np.float64]:
    """Return the first outputs; the file has a number, or since XGBoost 3 a list of them."""
    score = json.loads(param["base_score"])
    base = np.array(score if isinstance(score, list) else [score], dtype=np.float32)
    count = max(int(param["num_class"]), 1)
    base = np.broadcast_to(base, count) if len(base) == 1 else base
    if len(base) != count:
        raise DataError(f"the XGBoost model has {len(base)} base scores for {count} outputs")
    if link == "sigmoid":
        # Given as a probability; XGBoost takes its logit in single precision.
        base = -np.log(np.float32(1.0) / base - np.float32(1.0))
    return base.astype(np.float64)


def _tree(tree: Plain, categories: Mapping[int, tuple[Any, ...]]) -> SourceTree:
    """Read one tree; DataError if a split by category does not fit the columns."""
    left = np.array(tree["left_children"], dtype=np.int64)
    right = np.array(tree["right_children"], dtype=np.int64)
    feature = np.array(tree["split_indices"], dtype=np.int64)
    # A leaf keeps its value where a split keeps its threshold.
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    value = condition.astype(np.float64)[:, np.newaxis]
    # Codes that go left: all but the chosen ones.
    subsets = {}
    columns = (tree.get(f"categories_{part}", ()) for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*columns, strict=True):
        chosen = tree["categories"][start : start + size]
        if not all(0 <= code < CODES - 1 for code in chosen):
            raise DataError("the XGBoost model has a feature with more than 255 categories")
        if int(feature[node]) not in categories:
            raise DataError(f"feature {feature[node]} of the XGBoost model is not categorical")
        subsets[int(node)] = np.ones(CODES, dtype=bool)
        subsets[int(node)][chosen] = False
    return SourceTree(
        left, right, feature, below(condition), np.array(tree["default_left"]).astype(bool),
        leaf_means(left, right, value, cover), subsets,
    )  # fmt: skip


def _categories(learner: Plain, model: Plain) -> tuple[dict[int, tuple[Any, ...]], tuple[int, ...]]:
    """Return the labels of the categorical features, and which of them are codes only."""
    kinds = learner.get("feature_types") or []
    known = model.get("cats", {}).get("enc", [])
    labels: dict[int, tuple[Any, ...]] = {}
    unlabeled = []
    for j in (j for j, kind in enumerate(kinds) if kind == "c"):
        found = _read_labels(known[j]) if j < len(known) else ()
        labels[j] = found or tuple(range(CODES - 1))
        if not found:
            unlabeled.append(j)
    return labels, tuple(unlabeled)


def _read_labels(known: Plain) -> tuple[Any, ...]:
    """Return labels: integers as they are; text from one byte string and its offsets.

    XGBoost 3 counts characters where it cuts bytes, so labels beyond ASCII come out broken: then
    only the codes are used.
    """
    if "offsets" not in known:
        return tuple(known["values"])
    if any(value < 0 or value > 127 for value in known["values"]):
        return ()
    text = bytes(known["values"]).decode("ascii")
    return tuple(text[one:other] for one, other in pairwise(known["offsets"]))
