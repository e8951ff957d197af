"""Read XGBoost's JSON model file; XGBoost itself is not needed.

XGBoost rounds a value to single precision and sends it left if it is below the threshold; the
thresholds here are adapted to doubles. XGBoost also adds in single precision: its scores and
those of the forest, which adds in double, agree to about seven digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt.trees import (
    CODES,
    Source,
    SourceTree,
    below,
    check_labels,
    columns_of,
    freeze,
    leaf_means,
    to_count,
)
from thrifty.model.file_checks import MAX_OUTPUTS
from thrifty.untrusted import is_count, is_list, parse_json

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
Number = TypeVar("Number", bound=np.generic)

# Largest size of the first outputs, in bytes: they are a text within the file.
MAX_BASE = 2**20


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
        data = text.encode()
        what = "the XGBoost model is damaged: it"
        file = parse_json(data, max_bytes=len(data), what=what, error=DataError, finite=False)
        if "learner" not in file:
            raise DataError(_what_else(file))
        learner: Plain = file["learner"]
        _check_supported(learner)
        model, param = learner["gradient_booster"]["model"], learner["learner_model_param"]
        objective, d = learner["objective"]["name"], to_count(param["num_feature"], "num_feature")
        base = _base(param, LINKS[objective])
        attributes = learner.get("attributes", {})
        if rounds is None and {"scikit_learn", "best_iteration"} <= attributes.keys():
            # The estimators use the best round of early stopping, a bare booster does not.
            rounds = to_count(attributes["best_iteration"], "best_iteration") + 1
        kept = len(model["trees"])
        if rounds is not None:
            found = model["gbtree_model_param"].get("num_parallel_tree", 1)
            parallel = to_count(found, "num_parallel_tree")
            kept = min(rounds * len(base) * max(parallel, 1), kept)
        categories, unlabeled = _categories(learner, model)
        trees = [_tree(tree, categories) for tree in model["trees"][:kept]]
        outputs = _numbers(model["tree_info"][:kept], "tree_info", np.int64)
        forest = freeze(trees, base, LINKS[objective], d, outputs.tolist())
        names = learner.get("feature_names") or None
        columns = columns_of(names, d, categories)
    except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the XGBoost model is damaged ({type(error).__name__}: {error})"
        ) from error
    return Source(
        forest=forest,
        columns=columns,
        named=names is not None,
        classes=classes,
        origin=f"XGBoost {objective}",
        unlabeled=unlabeled,
    )


def _what_else(file: Plain) -> str:
    """Say what a JSON file is that does not hold an XGBoost model, and what to do."""
    if "oblivious_trees" in file or "features_info" in file:
        return (
            "CatBoost models are not supported; train a LightGBM or XGBoost model, "
            "or put this one behind a gate: thrifty gate --expensive URL"
        )
    if "tree_info" in file:
        return "this is a JSON dump of a LightGBM model; save it as text: booster.save_model(path)"
    return "this JSON file is not an XGBoost model: it has no 'learner'"


def _check_supported(learner: Plain) -> None:
    """Raise a DataError that lists everything that a frozen forest cannot do."""
    problems = []
    booster, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if booster != "gbtree":
        problems.append(f"booster {booster!r} is not 'gbtree'")
    if objective not in LINKS:
        problems.append(f"objective {objective!r} is not one of {', '.join(LINKS)}")
    if to_count(learner["learner_model_param"].get("num_target", 1), "num_target") > 1:
        problems.append("it has more than one target")
    trees = [] if problems else learner["gradient_booster"]["model"]["trees"]
    sizes = (tree["tree_param"].get("size_leaf_vector", 0) for tree in trees)
    if any(to_count(size, "size_leaf_vector") > 1 for size in sizes):
        problems.append("its leaves are vectors (multi_strategy='multi_output_tree')")
    raise_all(DataError, "this XGBoost model is not supported", problems)


def _base(param: Plain, link: str) -> NDArray[np.float64]:
    """Return the first outputs; the file has a number, or since XGBoost 3 a list of them."""
    data = param["base_score"].encode()
    score = parse_json(data, max_bytes=MAX_BASE, what="base_score", error=DataError, finite=False)
    base = _numbers(score if isinstance(score, list) else [score], "base_score", np.float32)
    count = max(to_count(param["num_class"], "num_class", most=MAX_OUTPUTS), 1)
    base = np.broadcast_to(base, count) if len(base) == 1 else base
    if len(base) != count:
        raise DataError(f"the XGBoost model has {len(base)} base scores for {count} outputs")
    if link == "sigmoid":
        # Given as a probability; XGBoost takes its logit in single precision.
        with np.errstate(all="ignore"):  # `freeze` refuses what is not finite
            base = -np.log(np.float32(1.0) / base - np.float32(1.0))
    return base.astype(np.float64)


def _tree(tree: Plain, categories: Mapping[int, tuple[Any, ...]]) -> SourceTree:
    """Read one tree; DataError if a split by category does not fit the columns."""
    left, right, feature = (
        _numbers(tree[name], name, np.int64)
        for name in ("left_children", "right_children", "split_indices")
    )
    # A leaf keeps its value where a split keeps its threshold.
    condition = _numbers(tree["split_conditions"], "split_conditions", np.float32)
    cover = _numbers(tree["sum_hessian"], "sum_hessian", np.float64)
    missing_left = _numbers(tree["default_left"], "default_left", np.bool_)
    if len({len(part) for part in (left, right, feature, condition, cover, missing_left)}) > 1:
        raise DataError("the XGBoost model is damaged: the lists of a tree differ in length")
    value = condition.astype(np.float64)[:, np.newaxis]
    # Codes that go left: all but the chosen ones.
    subsets = {}
    columns = (tree.get(f"categories_{part}", ()) for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*columns, strict=True):
        if not (is_count(node, 0, len(feature) - 1) and is_count(start) and is_count(size)):
            raise DataError("the XGBoost model is damaged: a split by category is out of range")
        chosen = tree["categories"][start : start + size]
        if not all(is_count(code, 0, CODES - 2) for code in chosen):
            raise DataError("the XGBoost model has a feature with more than 255 categories")
        if int(feature[node]) not in categories:
            raise DataError(f"feature {feature[node]} of the XGBoost model is not categorical")
        subsets[int(node)] = np.ones(CODES, dtype=bool)
        subsets[int(node)][chosen] = False
    return SourceTree(
        left, right, feature, below(condition), missing_left,
        leaf_means(left, right, value, cover), subsets,
    )  # fmt: skip


def _categories(learner: Plain, model: Plain) -> tuple[dict[int, tuple[Any, ...]], tuple[int, ...]]:
    """Return the labels of the categorical features, and which of them are codes only."""
    kinds = learner.get("feature_types") or []
    known = model.get("cats", {}).get("enc", [])
    labels: dict[int, tuple[Any, ...]] = {}
    unlabeled = []
    for j in (j for j, kind in enumerate(kinds) if kind == "c"):
        found = check_labels(_read_labels(known[j]), j) if j < len(known) else ()
        labels[j] = found or tuple(range(CODES - 1))
        if not found:
            unlabeled.append(j)
    return labels, tuple(unlabeled)


def _read_labels(known: Plain) -> list[Any]:
    """Return labels: integers as they are; text from one byte string and its offsets.

    XGBoost 3 counts characters where it cuts bytes, so labels beyond ASCII come out broken: then
    only the codes are used.
    """
    if "offsets" not in known:
        return list(known["values"])
    if any(value < 0 or value > 127 for value in known["values"]):
        return []
    text = bytes(known["values"]).decode("ascii")
    offsets = _numbers(known["offsets"], "offsets", np.int64).tolist()
    return [text[one:other] for one, other in pairwise(offsets)]


def _numbers(values: Any, what: str, kind: type[Number]) -> NDArray[Number]:
    """Return a list of numbers of a file as an array.

    Raises
    ------
    DataError
        If it is none, or a number is beyond the range of the type.
    """
    if issubclass(kind, np.floating):
        fits = isinstance(values, list) and {type(value) for value in values} <= {int, float}
    elif issubclass(kind, np.bool_):
        fits = is_list(values, lambda value: value in (0, 1))
    else:
        fits = is_list(values, lambda value: is_count(value, -(2**31), 2**31 - 1))
    if not fits:
        raise DataError(f"the XGBoost model is damaged: {what} is not a list of numbers in range")
    with np.errstate(over="ignore"):  # `freeze` refuses what is not finite
        return np.array(values, dtype=np.float64).astype(kind)
