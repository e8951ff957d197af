"""LightGBM's text model file as a frozen forest; LightGBM itself is not needed.

LightGBM compares doubles, x <= threshold, but it has three notions of what is missing, it reads
numbers within 1e-35 of zero as zero, and where zero is missing a split may send it away from its
neighbors. Such a split becomes a chain of plain ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt.trees import (
    CODES,
    HUGE,
    Source,
    SourceTree,
    check_labels,
    columns_of,
    freeze,
    leaf_means,
    to_count,
)
from thrifty.model.file_checks import MAX_OUTPUTS
from thrifty.untrusted import is_count, is_list, parse_json

__all__ = ["Blob", "cuts", "read_lightgbm", "unfold"]

Blob = Mapping[str, str]
"""A tree as the file has it: values by key."""

Number = TypeVar("Number", int, float)

# Bits of a decision type; the missing type lies above them.
CATEGORICAL, DEFAULT_LEFT = 1, 2
NONE, ZERO, NAN = 0, 1, 2
# LightGBM reads what is no farther from zero as zero.
TINY = float(np.float32(1e-35))
BELOW_TINY = math.nextafter(-TINY, -math.inf)
# Chains copy the subtrees below them; a file that needs more nodes than this is hostile.
MAX_NODES = 1_000_000
# All trees of a file may have so many nodes together.
MIN_NODES, NODES_PER_BYTE = 100_000, 4


def unfold(
    blob: Blob, codes: Mapping[int, Mapping[int, int]], max_nodes: int = MAX_NODES
) -> SourceTree:
    """Read one tree; `codes` maps raw codes to positions, by categorical feature."""
    if blob.get("is_linear", "0") != "0":
        raise DataError(
            "this LightGBM model has linear trees, which are not supported; train it with "
            "linear_tree=False"
        )
    return _Unfolding(blob, codes, max_nodes).tree()


def cuts(
    threshold: float, missing: int, default_left: bool
) -> tuple[list[tuple[float, bool]], bool]:
    """Return a numeric split as upper ends of intervals, with whether each goes left.

    What lies above the last end goes right. Also returns whether a missing value goes left.

    Examples
    --------
    >>> from thrifty.learn.adopt.lightgbm import NAN, ZERO, cuts
    >>> cuts(2.5, NAN, True)
    ([(2.5, True)], True)
    >>> cuts(2.5, ZERO, False)  # zero goes right, away from its neighbors
    ([(-1.0000000180025096e-35, True), (1.0000000180025095e-35, False), (2.5, True)], False)
    """
    threshold = min(threshold, HUGE)
    if -TINY <= threshold <= TINY:
        threshold = TINY if threshold >= 0 else BELOW_TINY
    zero_left = default_left if missing == ZERO else threshold >= 0
    missing_left = default_left if missing == NAN else zero_left
    ends = sorted({threshold, BELOW_TINY, TINY})
    sides = [zero_left if abs(end) <= TINY else end <= threshold for end in ends] + [False]
    kept = [
        (end, side)
        for end, side, after in zip(ends, sides, sides[1:], strict=False)
        if side != after
    ]
    return kept, missing_left


class _Unfolding:
    """Collects the nodes of one tree; a part of the source may be reached more than once."""

    def __init__(self, blob: Blob, codes: Mapping[int, Mapping[int, int]], max_nodes: int) -> None:
        self.codes, self.max_nodes = codes, max_nodes
        self.leaf_value = _numbers(blob, "leaf_value", float)
        self.cover = _numbers(blob, "leaf_count", float) or [1.0] * len(self.leaf_value)
        self.split_feature = _numbers(blob, "split_feature", int)
        self.threshold = _numbers(blob, "threshold", float)
        self.decision = _numbers(blob, "decision_type", int)
        self.children = list(
            zip(_numbers(blob, "left_child", int), _numbers(blob, "right_child", int), strict=True)
        )
        self.bounds = _numbers(blob, "cat_boundaries", int)
        self.words = _numbers(blob, "cat_threshold", int)
        # One row a node: left, right, feature, threshold, missing left, value, cover.
        self.rows: list[list[float]] = []
        self.subsets: dict[int, NDArray[np.bool_]] = {}
        self.open: list[tuple[int, int]] = []

    def tree(self) -> SourceTree:
        """Return the whole tree."""
        self._check_is_tree()
        self._place(0 if self.split_feature else -1)
        while self.open:
            source, node = self.open.pop()
            if source < 0:
                self.rows[node][5:] = self.leaf_value[~source], self.cover[~source]
            elif self.decision[source] & CATEGORICAL:
                self._split_categories(source, node)
            else:
                self._split_numbers(source, node)
        left, right, feature, threshold, missing, value, cover = np.array(self.rows).T
        left, right = left.astype(np.int64), right.astype(np.int64)
        return SourceTree(
            left, right, feature.astype(np.int64), threshold, missing != 0,
            leaf_means(left, right, value[:, np.newaxis], cover), self.subsets,
        )  # fmt: skip

    def _check_is_tree(self) -> None:
        """Raise a DataError unless each split but the first, and each leaf, has one parent."""
        below = sorted(child for pair in self.children for child in pair)
        leaves, splits = len(self.leaf_value), len(self.split_feature)
        if splits and below != [*range(-leaves, 0), *range(1, splits)]:
            raise DataError("the nodes of the model are not trees; the file is damaged")

    def _place(self, source: int) -> int:
        """Add a node, to be filled from `source` later; return its number."""
        if len(self.rows) >= self.max_nodes:
            raise DataError(f"a tree of the LightGBM model has more than {self.max_nodes} nodes")
        self.rows.append([-1, -1, 0, 0.0, 0, 0.0, 1.0])
        self.open.append((source, len(self.rows) - 1))
        return len(self.rows) - 1

    def _split_numbers(self, source: int, node: int) -> None:
        """Fill a node with a numeric split, or with a chain of them."""
        kept, missing_left = cuts(
            self.threshold[source], self.decision[source] >> 2 & 3,
            bool(self.decision[source] & DEFAULT_LEFT),
        )  # fmt: skip
        one, other = self.children[source]
        for k, (end, side) in enumerate(kept):
            # Missing leaves the chain at the first interval that goes where it goes.
            stays = side == missing_left
            left = self._place(one if side else other)
            if k == len(kept) - 1:
                right = self._place(other)
            else:
                right = self._place(source)
                self.open.pop()  # the next link of the chain, filled by the next turn
            self.rows[node][:5] = left, right, self.split_feature[source], end, stays
            node = right

    def _split_categories(self, source: int, node: int) -> None:
        """Fill a node with a split by category."""
        feature, number = self.split_feature[source], self.threshold[source]
        if not 0 <= number < len(self.bounds) - 1:
            raise DataError("a split names a subset that does not exist; the file is damaged")
        subset = int(number)
        words = np.array(self.words[self.bounds[subset] : self.bounds[subset + 1]], dtype="<u4")
        chosen = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        places = self.codes.get(feature, {})
        left = np.zeros(CODES, dtype=bool)
        for raw in chosen.tolist():
            if places.get(raw, CODES) >= CODES - 1:
                raise DataError(
                    f"feature {feature} has more than 255 categories; merge the rare ones"
                )
            left[places[raw]] = True
        self.subsets[node] = left
        one, other = self.children[source]
        # A category that is missing or unknown goes right.
        self.rows[node][:5] = self._place(one), self._place(other), feature, 0.0, False


def _numbers(blob: Blob, name: str, kind: type[Number]) -> list[Number]:
    """Return the numbers of one line of a tree; none if the line is missing."""
    found = [kind(word) for word in blob.get(name, "").split()]
    if kind is int and not all(is_count(number, -(2**31), 2**32 - 1) for number in found):
        raise DataError(f"{name} of the LightGBM model holds a number out of range")
    return found


# Objectives whose prediction is the sum itself.
VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank",
          "rank_xendcg")  # fmt: skip
LINKS = {**dict.fromkeys(VALUES, "sum"), "binary": "sigmoid", "multiclass": "softmax", "": "sum"}


def read_lightgbm(text: str, classes: list[Any] | None = None) -> Source:
    """Read the text of a model file; `classes` are labels that the file does not hold.

    Raises
    ------
    DataError
        If the text is damaged, or the model does what a frozen forest cannot.
    """
    try:
        header, blobs = _parts(text)
        link, scale = _link(header)
        columns = _Columns.of(header, text)
        trees: list[SourceTree] = []
        nodes_left = max(MIN_NODES, NODES_PER_BYTE * len(text))
        for blob in blobs:
            trees.append(unfold(blob, columns.codes, min(nodes_left, MAX_NODES)))
            nodes_left -= len(trees[-1].left)
        rounds, n_outputs = 1, to_count(header["num_class"], "num_class", 1, MAX_OUTPUTS)
        if "average_output" in header:  # a random forest
            rounds = max(len(trees) // n_outputs, 1)
        forest = freeze(
            [tree.scaled(scale / rounds) for tree in trees],
            np.zeros(n_outputs), link, columns.count,
            [k % n_outputs for k in range(len(trees))],
        )  # fmt: skip
        listed = columns_of(columns.names, columns.count, columns.labels)
    except (KeyError, ValueError, IndexError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the LightGBM model is damaged ({type(error).__name__}: {error})"
        ) from error
    return Source(
        forest=forest,
        columns=listed,
        named=columns.names is not None,
        classes=classes,
        origin=f"LightGBM {header.get('objective') or 'custom objective'}",
    )


@dataclass(frozen=True)
class _Columns:
    """Names of the columns; for categorical ones, labels and the position of each raw code."""

    count: int
    names: list[str] | None
    labels: dict[int, tuple[Any, ...]]
    codes: dict[int, dict[int, int]]

    @classmethod
    def of(cls, header: Mapping[str, str], text: str) -> _Columns:
        names, infos = header["feature_names"].split(" "), header["feature_infos"].split(" ")
        nameless = names == [f"Column_{j}" for j in range(len(names))]
        labels = _labels(infos, _pandas_categories(text))
        codes = {j: {int(raw): code for code, raw in enumerate(_seen(infos[j]))} for j in labels}
        if any(isinstance(found, list) for found in labels.values()):
            # pandas counts its categories: the raw code is the place.
            codes = {j: {code: code for code in range(len(found))} for j, found in labels.items()}
        tuples = {j: check_labels(list(found), j) for j, found in labels.items()}
        return cls(len(names), None if nameless else names, tuples, codes)


def _labels(infos: list[str], categories: list[list[Any]] | None) -> dict[int, Any]:
    """Return labels by feature: tuples of raw codes, or lists of pandas categories."""
    found = {j: _seen(info) for j, info in enumerate(infos) if info != "none" and info[0] != "["}
    if not categories:
        return dict(found)
    # A column with one category is of no use to LightGBM, which then forgets its kind.
    none = [j for j, info in enumerate(infos) if info == "none"]
    for columns in (sorted(found), sorted([*found, *none])):
        if len(columns) == len(categories):
            return dict(zip(columns, categories, strict=True))
    raise DataError(
        f"the model has {len(found)} categorical features and the categories of "
        f"{len(categories)} data frame columns; it is unclear which is which"
    )


def _seen(info: str) -> tuple[int, ...]:
    """Return the raw codes seen in training; a negative one stands for missing."""
    return tuple(sorted(code for code in map(int, info.split(":")) if code >= 0))


def _pandas_categories(text: str) -> list[list[Any]] | None:
    """Return the categories of each categorical data frame column, from the last line of the file.

    None if the model was not trained on such columns.
    """
    _, found, tail = text.rpartition("\npandas_categorical:")
    if not found:
        return None
    data, what = tail.split("\n")[0].encode(), "pandas_categorical"
    categories = parse_json(data, max_bytes=len(data), what=what, error=DataError, finite=False)
    if categories is not None and not is_list(categories, lambda each: isinstance(each, list)):
        raise DataError("the categories of the data frame are damaged")
    return categories or None


def _parts(text: str) -> tuple[dict[str, str], list[Blob]]:
    """Split the text into the header and the trees, each a mapping of keys to values."""
    head, *rest = text.replace("\r\n", "\n").split("\nTree=")
    header = _pairs(head)
    if not head.startswith("tree") or "num_tree_per_iteration" not in header:
        raise DataError("this is not a LightGBM model: its header is missing or damaged")
    if rest and "\nend of trees" not in rest[-1]:
        raise DataError("the LightGBM model is cut off in the middle of its trees; save it again")
    return header, [_pairs(block.split("\nend of trees")[0]) for block in rest]


def _pairs(block: str) -> dict[str, str]:
    return {word: rest for word, _, rest in (line.partition("=") for line in block.split("\n"))}


def _link(header: Mapping[str, str]) -> tuple[str, float]:
    """Return the link, and the factor for the sums before it."""
    name, *options = header.get("objective", "").split(" ")
    classes = to_count(header["num_class"], "num_class", 1, MAX_OUTPUTS)
    per_round = to_count(header["num_tree_per_iteration"], "num_tree_per_iteration")
    problems = []
    if name not in LINKS or "sqrt" in options:
        taken = ", ".join([*VALUES, "binary", "multiclass"])
        problems.append(f"objective {' '.join([name, *options])!r} is not one of {taken}")
    elif LINKS[name] != "softmax" and classes != 1:
        problems.append(f"objective {name!r} with {classes} outputs")
    elif per_round != classes:
        problems.append(f"{per_round} trees per round, {classes} classes")
    raise_all(DataError, "this LightGBM model is not supported", problems)
    sigmoid = [float(word.split(":")[1]) for word in options if word.startswith("sigmoid:")]
    return LINKS[name], sigmoid[0] if sigmoid and math.isfinite(sigmoid[0]) else 1.0
