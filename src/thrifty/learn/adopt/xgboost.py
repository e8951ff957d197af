"""XGBoost's JSON model file as a frozen forest; XGBoost itself is not needed.

XGBoost rounds a value to single precision and sends it left if it is below the threshold; the
thresholds here say the same of doubles. It also adds in single precision: its scores and those
of the forest, which adds in double, agree to about seven digits.
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
        Rounds to keep; all of them when left out, or those up to the best one where an estimator
        wrote the file after an early stop.
    classes : list, optional
        Labels that the file does not hold.

    Raises
    ------
    DataError
        If the text is damaged, or the model does what a frozen forest cannot.
    """
    try:
        learner: Plain = json.loads(text)["learner"]
        _refuse(learner)
        return _source(learner, _best(learner) if rounds is None else rounds, classes)
    except (KeyError, ValueError, IndexError, TypeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a sound XGBoost model: {type(error).__name__} {error}") from error


def _source(learner: Plain, rounds: int | None, classes: list[Any] | None) -> Source:
    model = learner["gradient_booster"]["model"]
    objective = learner["objective"]["name"]
    base = _base(learner["learner_model_param"], LINKS[objective])
    kept = _kept(model, rounds, len(base))
    categories, unlabeled = _categories(learner, model)
    d = int(learner["learner_model_param"]["num_feature"])
    forest = freeze(
        [_tree(tree, categories) for tree in model["trees"][:kept]],
        base, LINKS[objective], d, model["tree_info"][:kept],
    )  # fmt: skip
    names = learner.get("feature_names") or None
    return Source(
        forest=forest,
        columns=columns_of(names, d, categories),
        named=names is not None,
        classes=classes,
        origin=f"XGBoost {objective}",
        unlabeled=unlabeled,
    )


def _refuse(learner: Plain) -> None:
    problems = []
    booster, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if booster != "gbtree":
        problems.append(f"booster {booster!r} is not 'gbtree'")
    if objective not in LINKS:
        problems.append(f"objective {objective!r} is none of {', '.join(LINKS)}")
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        problems.append("it has more than one target")
    if not problems and any(
        _is_vector(tree) for tree in learner["gradient_booster"]["model"]["trees"]
    ):
        problems.append("its leaves are vectors (multi_strategy='multi_output_tree')")
    raise_all(DataError, "this XGBoost model cannot be adopted", problems)


def _is_vector(tree: Plain) -> bool:
    return int(tree["tree_param"].get("size_leaf_vector", 0)) > 1


def _best(learner: Plain) -> int | None:
    """The estimators of XGBoost stop at the best round of an early stop, its boosters do not."""
    attributes = learner.get("attributes", {})
    if "scikit_learn" not in attributes or "best_iteration" not in attributes:
        return None
    return int(attributes["best_iteration"]) + 1


def _kept(model: Plain, rounds: int | None, outputs: int) -> int:
    """How many trees the first `rounds` have."""
    trees = len(model["trees"])
    if rounds is None:
        return trees
    parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
    return min(rounds * outputs * max(parallel, 1), trees)


def _base(param: Plain, link: str) -> NDArray[np.float64]:
    """Where the sums start; a number, or since XGBoost 3 a list of them."""
    told = json.loads(param["base_score"])
    base = np.array(told if isinstance(told, list) else [told], dtype=np.float32)
    count = max(int(param["num_class"]), 1)
    base = np.broadcast_to(base, count) if len(base) == 1 else base
    if len(base) != count:
        raise DataError(f"the XGBoost model has {len(base)} base scores for {count} outputs")
    if link == "sigmoid":
        # Told as a probability; XGBoost takes its logit in single precision.
        base = -np.log(np.float32(1.0) / base - np.float32(1.0))
    return base.astype(np.float64)


def _tree(tree: Plain, categories: Mapping[int, tuple[Any, ...]]) -> SourceTree:
    left = np.array(tree["left_children"], dtype=np.int64)
    right = np.array(tree["right_children"], dtype=np.int64)
    feature = np.array(tree["split_indices"], dtype=np.int64)
    # A leaf keeps its value where a split keeps its threshold.
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    value = condition.astype(np.float64)[:, np.newaxis]
    subsets = _subsets(tree)
    for node in subsets:
        if int(feature[node]) not in categories:
            raise DataError(f"feature {feature[node]} of the XGBoost model is not categorical")
    return SourceTree(
        left, right, feature, below(condition), np.array(tree["default_left"]).astype(bool),
        leaf_means(left, right, value, cover), subsets,
    )  # fmt: skip


def _subsets(tree: Plain) -> dict[int, NDArray[np.bool_]]:
    """Codes that go left: all but the chosen ones, which go right."""
    found = {}
    columns = (tree.get(f"categories_{part}", ()) for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*columns, strict=True):
        chosen = tree["categories"][start : start + size]
        if not all(0 <= code < CODES - 1 for code in chosen):
            raise DataError("the XGBoost model has a feature with more than 255 categories")
        found[int(node)] = np.ones(CODES, dtype=bool)
        found[int(node)][chosen] = False
    return found


def _categories(learner: Plain, model: Plain) -> tuple[dict[int, tuple[Any, ...]], tuple[int, ...]]:
    """Labels of the categorical features; and which of them are bare codes."""
    kinds = learner.get("feature_types") or []
    known = model.get("cats", {}).get("enc", [])
    labels: dict[int, tuple[Any, ...]] = {}
    bare = []
    for j in (j for j, kind in enumerate(kinds) if kind == "c"):
        found = _labels(known[j]) if j < len(known) else ()
        labels[j] = found or tuple(range(CODES - 1))
        if not found:
            bare.append(j)
    return labels, tuple(bare)


def _labels(known: Plain) -> tuple[Any, ...]:
    """Integers as they are; text as bytes of one string, and where each label begins.

    XGBoost 3 counts characters where it cuts bytes, so that labels beyond ASCII come out maimed:
    then the codes stay bare.
    """
    if "offsets" not in known:
        return tuple(known["values"])
    if any(value < 0 or value > 127 for value in known["values"]):
        return ()
    text = bytes(known["values"]).decode("ascii")
    return tuple(text[one:other] for one, other in pairwise(known["offsets"]))
