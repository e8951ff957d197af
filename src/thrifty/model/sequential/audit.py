"""What must hold before arrays from a file become neighbors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.sequential.additive_terms import Terms

__all__ = ["audit_neighbors", "layout_problems", "order_problems", "plain_problems"]

Arrays = Mapping[str, NDArray[Any]]

LAYOUT = {
    **{"rows": ("<f8", 2), "labels": ("<i8", 1), "unit": ("<f8", 1), "category": ("|b1", 1)},
    **{"toll": ("<f8", 1), "group": ("<i8", 1), "entry": ("<f8", 1), "order": ("<i8", 1)},
    **{"offset": ("<f8", 1), "center": ("<f8", 1), "slope": ("<f8", 2), "starts": ("<i8", 1)},
    **{"edges": ("<f8", 1), "steps": ("<f8", 2), "absent": ("<f8", 2)},
}


def audit_neighbors(plain: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise `BundleError` unless `Neighbors` can be built from these."""
    raise_all(BundleError, "neighbors", list(layout_problems(arrays, LAYOUT)))
    terms = Terms(**{name: arrays[name] for name in Terms.names()})
    for problems in (terms.problems(), _shapes(terms, arrays), _values(terms, plain, arrays)):
        raise_all(BundleError, "neighbors", list(problems))


def layout_problems(arrays: Arrays, layout: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    """Arrays that are absent, unknown, or of another type than `layout` tells."""
    if set(arrays) != set(layout):
        yield f"expected the arrays {sorted(layout)}, got {sorted(arrays)}"
        return
    for name, (dtype, ndim) in layout.items():
        if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(terms: Terms, arrays: Arrays) -> Iterator[str]:
    n, d = arrays["rows"].shape
    if n < 1 or d != terms.n_features:
        yield f"{n} rows of {d} columns for terms of {terms.n_features}"
    if arrays["labels"].shape != (n,):
        yield f"{len(arrays['labels'])} labels for {n} rows"
    for name in ("unit", "category", "toll", "group"):
        if arrays[name].shape != (terms.n_features,):
            yield f"{name} has {len(arrays[name])} entries for {terms.n_features} features"


def _values(terms: Terms, plain: Mapping[str, Any], arrays: Arrays) -> Iterator[str]:
    labels, rows, category = arrays["labels"], arrays["rows"], arrays["category"]
    if np.any((labels < 0) | (labels >= terms.n_classes)):
        yield f"a label is not one of the {terms.n_classes} classes"
    yield from order_problems(arrays, terms.n_features)
    if not arrays["unit"][category].all():
        yield "unequal categories must be apart"
    if np.isinf(rows).any():
        yield "rows must be finite or missing"
    codes = rows[:, category][~np.isnan(rows[:, category])]
    if np.any(codes != np.clip(np.floor(codes), 0, 255)):
        yield "a category must be a code"
    if {"k", "adaptive"} <= set(plain):
        yield from _near_problems(plain, len(labels))
    yield from plain_problems(plain, ("k", "threshold", "adaptive"))


def order_problems(arrays: Arrays, d: int) -> Iterator[str]:
    """What is wrong with the order, the tolls and the groups of d features."""
    order, group = arrays["order"], arrays["group"]
    if np.any((order < 0) | (order >= d)) or len(np.unique(order)) < len(order):
        yield f"the order must have each of its features once, of {d}"
    if np.any((group < -1) | (group >= len(arrays["entry"]))):
        yield "a feature is in a group that does not exist"
    for name in ("unit", "toll", "entry"):
        if not (np.isfinite(arrays[name]) & (arrays[name] >= 0)).all():
            yield f"{name} must be finite and not negative"


def plain_problems(plain: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with the plain entries, which must be `names`; floats must be sound."""
    if set(plain) != set(names):
        yield f"expected the entries {sorted(names)}, got {sorted(map(str, plain))}"
        return
    for name in {"threshold", "ridge"} & set(names):
        value = plain[name]
        if type(value) is not float or not 0 <= value < math.inf:
            yield f"{name} is {value!r}"


def _near_problems(plain: Mapping[str, Any], n: int) -> Iterator[str]:
    if type(plain["k"]) is not int or not 1 <= plain["k"] <= n:
        yield f"k is {plain['k']!r} for {n} rows"
    if type(plain["adaptive"]) is not bool:
        yield f"adaptive is {plain['adaptive']!r}"
