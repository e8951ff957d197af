"""The record of one tree node, 16 bytes, and how to read it.

A split sends a value x to `child` if x <= threshold, else to `child + 1`; on a categorical
feature `threshold` is the number of a subset of codes and x goes to `child` if it is in it. A
missing value goes to `child` if MISSING_LEFT is set. A leaf is its own child.

What must hold before arrays from a file become a forest.

Children after their parent, each with one parent, each tree in its own range: then the nodes are
trees, and no walk can loop or leave the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.links import LINKS

__all__ = ["CATEGORICAL", "INDEX", "MISSING_LEFT", "NODE", "audit_forest", "empty_nodes", "is_leaf"]

NODE = np.dtype([("threshold", "<f8"), ("child", "<i4"), ("feature", "<i4")])

MISSING_LEFT = 1 << 30
CATEGORICAL = 1 << 29
INDEX = CATEGORICAL - 1


def empty_nodes(n: int) -> NDArray[np.void]:
    """`n` leaves. A leaf sends every value, missing or not, to itself: scoring needs no test."""
    nodes = np.empty(n, dtype=NODE)
    nodes["threshold"] = np.inf
    nodes["child"] = np.arange(n)
    nodes["feature"] = MISSING_LEFT
    return nodes


def is_leaf(nodes: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which nodes are leaves."""
    return np.asarray(nodes["child"] == np.arange(len(nodes)))


LAYOUT = {
    "nodes": (NODE, 1),
    "values": (np.dtype("<f8"), 2),
    "roots": (np.dtype("<i8"), 1),
    "outputs": (np.dtype("<i8"), 1),
    "base": (np.dtype("<f8"), 1),
    "subsets": (np.dtype("<u8"), 2),
}


def audit_forest(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless `Forest` can be built from these and is a forest."""
    for problems in (_layout(plain, arrays), _shapes(plain, arrays), _trees(plain, arrays)):
        raise_all(BundleError, "forest", list(problems))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != {"link", "n_features"}:
        yield f"expected the entries link and n_features, got {sorted(map(str, plain))}"
    elif not isinstance(plain["link"], str) or plain["link"] not in LINKS:
        yield f"unknown link {plain['link']!r}"
    elif type(plain["n_features"]) is not int or not 0 < plain["n_features"] <= INDEX:
        yield f"n_features is {plain['n_features']!r}"
    if set(arrays) != set(LAYOUT):
        yield f"expected the arrays {sorted(LAYOUT)}, got {sorted(arrays)}"
        return
    for name, (dtype, ndim) in LAYOUT.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    nodes, values, base = arrays["nodes"], arrays["values"], arrays["base"]
    wide = values.shape[1] == len(base)
    if len(values) != len(nodes) or not (wide or values.shape[1] == 1):
        yield f"values have shape {values.shape} for {len(nodes)} nodes, {len(base)} outputs"
    single = {"sum": True, "sigmoid": True, "hinge": len(base) == 1}.get(plain["link"], False)
    if len(base) < 1 or single != (len(base) == 1):
        yield f"link {plain['link']!r} does not go with {len(base)} outputs"
    if plain["link"] in ("mean", "vote") and not wide:
        yield f"link {plain['link']!r} needs a value for each output"
    if arrays["outputs"].shape != arrays["roots"].shape:
        yield "roots and outputs differ in length"
    elif np.any((arrays["outputs"] < 0) | (arrays["outputs"] > len(base) - values.shape[1])):
        yield "a tree adds to an output that does not exist"
    if arrays["subsets"].shape[1] != 4:
        yield "a subset must have 256 bits"
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        yield "values must be finite"


def _trees(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    nodes, roots = arrays["nodes"], arrays["roots"]
    ends = np.append(roots[1:], len(nodes))
    starts = roots[0] == 0 if len(roots) else len(nodes) == 0
    if not starts or np.any(ends <= roots):
        yield "roots must start at 0 and increase"
        return
    split = np.flatnonzero(~is_leaf(nodes))
    child = nodes["child"][split].astype(np.int64)
    end = ends[np.searchsorted(roots, split, side="right") - 1] if len(split) else child
    if np.any((child <= split) | (child + 1 >= end)):
        yield "a child lies before its parent or outside its tree"
    elif not np.array_equal(
        np.sort(np.concatenate([child, child + 1, roots])), np.arange(len(nodes))
    ):
        yield "every node but a root must have one parent"
    yield from _splits(nodes[split], plain["n_features"], len(arrays["subsets"]))
    leaf = nodes[is_leaf(nodes)]
    if np.any(leaf["feature"] != MISSING_LEFT) or not np.all(np.isposinf(leaf["threshold"])):
        yield "a leaf must not ask for a feature"


def _splits(splits: NDArray[np.void], n_features: int, n_subsets: int) -> Iterator[str]:
    feature, threshold = splits["feature"], splits["threshold"]
    if np.any(feature < 0) or np.any((feature & INDEX) >= n_features):
        yield f"a split reads a feature beyond the {n_features} of the table"
    if not np.isfinite(threshold).all():
        yield "thresholds must be finite"
        return
    subset = threshold[(feature & CATEGORICAL) != 0]
    if np.any((subset != np.floor(subset)) | (subset < 0) | (subset >= n_subsets)):
        yield "a split names a subset that does not exist"
