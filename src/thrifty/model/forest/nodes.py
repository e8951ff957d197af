"""The record of one tree node, 16 bytes, and the checks before a file's arrays become a forest.

A split sends a value x to node `child` if x <= threshold, else to `child + 1`. On a categorical
feature, `threshold` is the number of a subset of codes, and x goes to `child` if it is in the
subset. A missing value goes to `child` if MISSING_LEFT is set. A leaf is its own child.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.file_checks import (
    Layout,
    count_problems,
    entry_problems,
    layout_problems,
    output_problems,
)
from thrifty.model.links import LINKS
from thrifty.untrusted import LARGEST, claim, shown

__all__ = ["CATEGORICAL", "INDEX", "MISSING_LEFT", "NODE", "audit_forest", "empty_nodes", "is_leaf"]

NODE = np.dtype([("threshold", "<f8"), ("child", "<i4"), ("feature", "<i4")])

# The field `feature` holds two flags, and the index of the column in the bits below them.
MISSING_LEFT = 1 << 30
CATEGORICAL = 1 << 29
INDEX = CATEGORICAL - 1

# What a walk takes for a node and for a subset, as Python objects.
NODE_BYTES, SUBSET_BYTES = 256, 16_384

LAYOUT: Layout = {
    "nodes": (NODE, 1),
    "values": ("<f8", 2),
    "roots": ("<i8", 1),
    "outputs": ("<i8", 1),
    "base": ("<f8", 1),
    "subsets": ("<u8", 2),
}


def empty_nodes(n: int) -> NDArray[np.void]:
    """Return `n` leaves. A leaf sends every value, missing or not, to itself.

    Examples
    --------
    >>> from thrifty.model.forest.nodes import empty_nodes, is_leaf
    >>> nodes = empty_nodes(3)
    >>> nodes[0] = (2.5, 1, 4)  # feature 4: values up to 2.5 go to node 1, others to node 2
    >>> is_leaf(nodes)
    array([False,  True,  True])
    """
    nodes = np.empty(n, dtype=NODE)
    nodes["threshold"] = np.inf
    nodes["child"] = np.arange(n)
    nodes["feature"] = MISSING_LEFT
    return nodes


def is_leaf(nodes: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return which nodes are leaves, (n,)."""
    return np.asarray(nodes["child"] == np.arange(len(nodes)))


def audit_forest(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `Forest` can be built from these.

    Children come after their parent, every node but a root has one parent, and a tree keeps to
    its own range of nodes. So the nodes are trees, and no row can loop or leave the arrays.
    """
    raise_all(BundleError, "forest", _array_problems(plain, arrays))
    raise_all(BundleError, "forest", list(_tree_problems(plain, arrays)))
    nodes = arrays["nodes"]
    split = nodes["feature"][~is_leaf(nodes)]
    n_read = int(np.count_nonzero(np.bincount(split & INDEX)))
    claim(len(nodes) * (n_read // 8 + NODE_BYTES), "the paths of a forest")
    n_subsets = len(np.unique(nodes["threshold"][~is_leaf(nodes)][(split & CATEGORICAL) != 0]))
    claim(n_subsets * SUBSET_BYTES, "the subsets of a forest")


def _array_problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return what is wrong with the entries and arrays of a forest, apart from the trees.

    Names, types and shapes are checked first; if these are right, also that link, outputs and
    values fit together and are finite.
    """
    problems = [*entry_problems(plain, ("link", "n_features"))]
    if not problems:
        if not isinstance(plain["link"], str) or plain["link"] not in LINKS:
            problems.append(f"unknown link {shown(plain['link'])}")
        problems += count_problems(plain, {"n_features": 1})
    problems += layout_problems(arrays, LAYOUT)
    if problems:
        return problems
    link, nodes, values, base = plain["link"], arrays["nodes"], arrays["values"], arrays["base"]
    wide = values.shape[1] == len(base)
    if len(values) != len(nodes) or not (wide or values.shape[1] == 1):
        problems.append(
            f"values have shape {values.shape} for {len(nodes)} nodes, {len(base)} outputs"
        )
    single = {"sum": True, "sigmoid": True, "hinge": len(base) == 1}.get(link, False)
    if len(base) < 1 or single != (len(base) == 1):
        problems.append(f"link {link!r} does not go with {len(base)} outputs")
    if link in ("mean", "vote") and not wide:
        problems.append(f"link {link!r} needs a value for each output")
    if arrays["outputs"].shape != arrays["roots"].shape:
        problems.append("roots and outputs differ in length")
    elif np.any((arrays["outputs"] < 0) | (arrays["outputs"] > len(base) - values.shape[1])):
        problems.append("a tree adds to an output that does not exist")
    if arrays["subsets"].shape[1] != 4:
        problems.append("a subset must have 256 bits")
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        problems.append("values must be finite")
    return [*problems, *output_problems(len(base))]


def _tree_problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield what keeps nodes of the right types from being trees that read this table."""
    nodes, roots, n_features = arrays["nodes"], arrays["roots"], plain["n_features"]
    ends = np.append(roots[1:], len(nodes))
    starts_at_0 = roots[0] == 0 if len(roots) else len(nodes) == 0
    if not starts_at_0 or np.any(ends <= roots):
        yield "roots must start at 0 and increase"
        return
    leaf = is_leaf(nodes)
    split = np.flatnonzero(~leaf)
    child = nodes["child"][split].astype(np.int64)
    end = ends[np.searchsorted(roots, split, side="right") - 1] if len(split) else child
    if np.any((child <= split) | (child + 1 >= end)):
        yield "a child lies before its parent or outside its tree"
    elif not np.array_equal(
        np.sort(np.concatenate([child, child + 1, roots])), np.arange(len(nodes))
    ):
        yield "every node but a root must have one parent"
    feature, threshold = nodes["feature"][split], nodes["threshold"][split]
    if np.any(feature < 0) or np.any((feature & INDEX) >= n_features):
        yield f"a split reads a feature beyond the {n_features} of the table"
    subset = threshold[(feature & CATEGORICAL) != 0]
    if not np.isfinite(threshold).all():
        yield "thresholds must be finite"
    elif np.any((subset != np.floor(subset)) | (subset < 0) | (subset >= len(arrays["subsets"]))):
        yield "a split names a subset that does not exist"
    # The largest value of each tree: sums of them must not overflow, as differences of infinite
    # sums are no numbers.
    sizes = np.abs(arrays["values"]).max(axis=1, initial=0.0)
    largest = np.maximum.reduceat(sizes, roots) if len(roots) else sizes
    if not (largest / LARGEST).sum() + np.abs(arrays["base"] / LARGEST).max() <= 1.0:
        yield f"the values of the trees must not add up to more than {LARGEST:g}"
    is_plain = (nodes["feature"] == MISSING_LEFT) & np.isposinf(nodes["threshold"])
    if not np.all(is_plain[leaf]):
        yield "a leaf must not ask for a feature"
