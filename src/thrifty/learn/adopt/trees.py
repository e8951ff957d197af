"""Trees of other libraries, and how they become a frozen forest.

They arrive with their nodes in any order; in a `Forest` the children of a node are adjacent and
come after it. They may come from a file, so it is checked that they are trees.

scikit-learn's trees and XGBoost round a value to single precision before they compare it. Here
x <= threshold compares doubles, so each threshold becomes the largest double that, once rounded
(to nearest, ties to even), still goes left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Column
from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model import Forest
from thrifty.model.file_checks import MAX_COUNT
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, NODE, empty_nodes
from thrifty.untrusted import is_count, is_list, is_number, is_text, shown

__all__ = [
    "CODES",
    "HUGE",
    "Source",
    "SourceTree",
    "at_most",
    "below",
    "check_labels",
    "columns_of",
    "freeze",
    "leaf_means",
    "to_count",
]

CODES = 256
"""Number of codes in a subset."""

Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class SourceTree:
    """One tree, node 0 its root, in the numbering of its source.

    Parameters
    ----------
    left, right : int arrays (m,)
        Children of each node; negative at a leaf.
    feature : int array (m,)
    threshold : array (m,)
        A value x goes left if x <= threshold.
    missing_left : bool array (m,)
        Whether a missing value goes left.
    values : array (m, w)
        What the tree adds at each node.
    subsets : mapping of node to bool array (256,)
        Codes that go left, at the nodes that split by category.
    """

    left: Ints
    right: Ints
    feature: Ints
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    values: NDArray[np.float64]
    subsets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    def scaled(self, factor: float) -> SourceTree:
        """Return the same tree with all values multiplied by `factor`."""
        with np.errstate(over="ignore"):  # `freeze` refuses what is not finite
            return replace(self, values=self.values * factor)


def freeze(
    trees: Sequence[SourceTree],
    base: Sequence[float] | NDArray[np.float64],
    link: str,
    n_features: int,
    outputs: Sequence[int] | None = None,
) -> Forest:
    """Freeze trees into a forest; each adds to one of `outputs` or to all of them.

    Raises
    ------
    DataError
        If the nodes are not trees, or a value is not finite.
    """
    nodes, values, roots, size = [empty_nodes(0)], [], [], 0
    subsets: list[NDArray[np.uint64]] = []
    for tree in trees:
        order, child = _breadth_first(tree.left, tree.right)
        nodes.append(_records(tree, order, child, size, subsets))
        values.append(tree.values[order])
        roots.append(size)
        size += len(order)
    width = values[0].shape[1] if values else 1
    arrays = {
        # As plain bytes: NumPy would compare the fields of every record type with every other.
        "nodes": np.concatenate([part.view(f"V{NODE.itemsize}") for part in nodes]).view(NODE),
        "values": np.concatenate([np.empty((0, width)), *values]),
        "roots": np.array(roots, dtype=np.int64),
        "outputs": np.array(outputs or np.zeros(len(roots)), dtype=np.int64),
        "base": np.array(base, dtype=np.float64),
        "subsets": np.array(subsets, dtype=np.uint64).reshape(-1, 4),
    }
    try:
        forest = Forest.build({"link": link, "n_features": n_features}, arrays)
        raise_all(BundleError, "forest", [*forest.probability_problems()])
        return forest
    except BundleError as error:
        raise DataError(f"the model cannot be adopted: {error}") from error


def leaf_means(
    left: Ints, right: Ints, values: NDArray[np.float64], cover: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values (m, w) in which each inner node has the mean of its leaves, by cover."""
    values = values.astype(np.float64)
    cover = np.maximum(cover.astype(np.float64), np.finfo(np.float64).tiny)
    for level in reversed(_levels(left, right)):
        split = level[left[level] >= 0]
        one, other = left[split], right[split]
        with np.errstate(over="ignore", invalid="ignore"):  # `freeze` refuses what is not finite
            share = (cover[one] / (cover[one] + cover[other]))[:, np.newaxis]
            values[split] = share * values[one] + (1.0 - share) * values[other]
    return values


def to_count(value: Any, what: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """Read a whole number, which a file may hold as text, before anything is made of that size.

    Raises
    ------
    DataError
        If it is not one from `least` to `most`.
    """
    if is_text(value, most=20) and re.fullmatch("-?[0-9]+", value, re.ASCII):
        value = int(value)
    if not is_count(value, least, most):
        raise DataError(f"{what} is {shown(value)}, expected a number from {least} to {most}")
    return value


def check_labels(labels: Any, feature: int) -> tuple[Any, ...]:
    """Return the categories of a feature, from a file, if they are distinct labels.

    Raises
    ------
    DataError
        If they are not, or too many.
    """
    is_label = partial(is_text, controls=True)
    if not is_list(labels, lambda label: is_number(label) or is_label(label)):
        raise DataError(f"the categories of feature {feature} are neither text nor numbers")
    if len(labels) > CODES - 1:
        raise DataError(f"feature {feature} has more than 255 categories; merge the rare ones")
    if len(set(labels)) < len(labels):
        raise DataError(f"feature {feature} has a category twice")
    return tuple(labels)


def _breadth_first(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the old number of each node in the new order, and its new left child or -1."""
    order = np.concatenate(_levels(left, right))
    split = left[order] >= 0
    child = np.full(len(order), -1, dtype=np.int64)
    # The root is first, then come the children of the splits, in pairs, split by split.
    child[split] = 1 + 2 * np.arange(split.sum())
    return order, child


def _levels(left: Ints, right: Ints) -> list[Ints]:
    """Return the old numbers of the nodes, level by level; DataError if they are not a tree."""
    levels: list[Ints] = [np.zeros(1, dtype=np.int64)]
    count = 1
    while True:
        split = levels[-1][left[levels[-1]] >= 0]
        below = np.column_stack([left[split], right[split]]).ravel().astype(np.int64)
        count += len(below)
        if not len(below):
            return levels
        if count > len(left) or below.min() < 0 or below.max() >= len(left):
            raise DataError("the nodes of the model are not trees; the file is damaged")
        levels.append(below)


def _records(
    tree: SourceTree, order: Ints, child: Ints, start: int, subsets: list[NDArray[np.uint64]]
) -> NDArray[np.void]:
    """Return the nodes of a tree in the new order; append its subsets to `subsets`."""
    nodes = empty_nodes(len(order))
    nodes["child"] += start
    split = np.flatnonzero(child >= 0)
    old = order[split]
    nodes["child"][split] = child[split] + start
    nodes["threshold"][split] = tree.threshold[old]
    nodes["feature"][split] = tree.feature[old] | np.where(tree.missing_left[old], MISSING_LEFT, 0)
    for node in split[np.isin(old, list(tree.subsets))] if tree.subsets else ():
        nodes["feature"][node] |= CATEGORICAL
        nodes["threshold"][node] = len(subsets)
        bits = np.packbits(tree.subsets[int(order[node])], bitorder="little")
        subsets.append(bits.view("<u8").astype(np.uint64))
    return nodes


@dataclass(frozen=True, eq=False)
class Source:
    """A model of another library, as its reader returns it.

    Parameters
    ----------
    forest : Forest
    columns : tuple of Column
        In the order of the model's features.
    named : bool
        Whether the columns have names of their own.
    classes : list or None
        Labels, in the order of the scores; None for a model of values.
    origin : str
        Library and kind of the model, for its provenance.
    unlabeled : tuple of int
        Features whose categories the model knows as codes only.
    """

    forest: Forest
    columns: tuple[Column, ...]
    named: bool
    classes: list[Any] | None
    origin: str
    unlabeled: tuple[int, ...] = ()


def columns_of(
    names: Sequence[str] | None, n_features: int, categories: dict[int, tuple[Any, ...]]
) -> tuple[Column, ...]:
    """Return columns by name, or by position if there are no names.

    Raises
    ------
    DataError
        If the names are not distinct texts, one for each feature.
    """
    is_name = partial(is_text, controls=True)
    if names is not None and not (
        is_list(list(names), is_name, n_features, n_features) and len(set(names)) == n_features
    ):
        raise DataError(f"the model must have {n_features} distinct names, one for each feature")
    features: Sequence[str | int] = range(n_features) if names is None else names
    return tuple(Column(name, categories.get(j)) for j, name in enumerate(features))


HUGE = float(np.finfo(np.float64).max)
"""Every value that a table may hold is at most this."""

# One step above the largest number of single precision.
OVERFLOW = 2.0**128


def at_most(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest double x with float32(x) <= threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.adopt.trees import at_most
    >>> edge = at_most(np.array([0.1]))
    >>> [float(np.float32(x)) <= 0.1 for x in (edge[0], np.nextafter(edge[0], 1))]
    [True, False]
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    return _last_rounded_to(np.where(above, _before(single), single))


def below(threshold: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest double x with float32(x) < threshold."""
    return _last_rounded_to(_before(np.asarray(threshold, dtype=np.float32)))


def _before(single: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.nextafter(single, np.float32(-np.inf))


def _last_rounded_to(single: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest double that rounds to `single` or less."""
    with np.errstate(over="ignore"):
        after = np.nextafter(single, np.float32(np.inf))
    # A number of single precision and its half-way point are doubles, so nothing is rounded here.
    middle = (_wide(single) + _wide(after)) / 2
    even = np.ascontiguousarray(single).view(np.uint32) % 2 == 0
    last = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isposinf(single), HUGE, last)


def _wide(single: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = single.astype(np.float64)
    return np.where(np.isinf(wide), np.copysign(OVERFLOW, wide), wide)
