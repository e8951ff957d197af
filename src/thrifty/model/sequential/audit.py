"""Checks of the entries and arrays of model files with `Neighbors` or `LocalGaussians`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.file_checks import (
    entry_problems,
    finite_problems,
    layout_problems,
    magnitude_problems,
    number_problems,
    shape_problems,
)
from thrifty.model.sequential.additive_terms import AdditiveTerms
from thrifty.untrusted import LARGEST, claim, is_count, is_number, shown

__all__ = ["audit_local_gaussians", "audit_neighbors", "purchase_problems", "work_problems"]

Arrays = Mapping[str, NDArray[Any]]

# By the names in a model file: "toll" and "entry" are the weighted prices of features and groups.
PURCHASE_LAYOUT = {
    "unit": ("<f8", 1),
    "toll": ("<f8", 1),
    "group": ("<i8", 1),
    "entry": ("<f8", 1),
    "order": ("<i8", 1),
}
TERMS_LAYOUT = {
    "offset": ("<f8", 1),
    "center": ("<f8", 1),
    "slope": ("<f8", 2),
    "starts": ("<i8", 1),
    "edges": ("<f8", 1),
    "steps": ("<f8", 2),
    "absent": ("<f8", 2),
}
NEIGHBORS_LAYOUT = {
    "rows": ("<f8", 2),
    "labels": ("<i8", 1),
    "category": ("|b1", 1),
    **PURCHASE_LAYOUT,
    **TERMS_LAYOUT,
}
GAUSSIANS_LAYOUT = {
    "places": ("<f8", 2),
    "labels": ("<i8", 1),
    "center": ("<f8", 1),
    **PURCHASE_LAYOUT,
}
# Categories are codes of one byte.
MAX_CODE = 255
# Of `LocalGaussians`: what a row takes grows with the square of the classes, and with the fourth
# power of the features. With more than these, one row takes minutes.
MAX_CLASSES, MAX_FEATURES, MAX_PRODUCT = 512, 128, 2048
MAX_STANDARD_SCORE = 1e9
MIN_RIDGE = 1e-9


def audit_neighbors(plain: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise `BundleError` unless `Neighbors` can be built from these and be scored."""
    heading = "neighbors"
    problems = [*entry_problems(plain, ("k", "threshold", "adaptive"))]
    raise_all(BundleError, heading, [*problems, *layout_problems(arrays, NEIGHBORS_LAYOUT)])
    terms = AdditiveTerms(**{field.name: arrays[field.name] for field in fields(AdditiveTerms)})
    raise_all(BundleError, heading, [*terms.problems()])

    rows, labels, category = arrays["rows"], arrays["labels"], arrays["category"]
    n, d = rows.shape
    problems = [] if n else ["there must be at least one training row"]
    shapes = {"rows": (n, terms.n_features), "labels": (n,)}
    shapes |= dict.fromkeys(("unit", "category", "toll", "group"), (terms.n_features,))
    raise_all(BundleError, heading, [*problems, *shape_problems(arrays, shapes)])

    problems = [*purchase_problems(plain, arrays, d)]
    if np.any((labels < 0) | (labels >= terms.n_classes)):
        problems.append(f"a label is not one of the {terms.n_classes} classes")
    if not arrays["unit"][category].all():
        problems.append("unequal categories must have a positive distance")
    if np.isinf(rows).any():
        problems.append("rows must be finite or missing")
    codes = rows[:, category][~np.isnan(rows[:, category])]
    if np.any(codes != np.clip(np.floor(codes), 0, MAX_CODE)):
        problems.append(f"categories must be codes from 0 to {MAX_CODE}")
    if not is_count(plain["k"], 1, n):
        problems.append(f"k is {shown(plain['k'])}, expected a whole number from 1 to {n}")
    if type(plain["adaptive"]) is not bool:
        problems.append(f"adaptive is {shown(plain['adaptive'])}, expected true or false")
    raise_all(BundleError, heading, problems)
    claim(8 * rows.size * len(terms.offset), "the terms of the training rows")


def audit_local_gaussians(plain: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise `BundleError` unless `LocalGaussians` can be built from these and be scored."""
    heading = "local gaussians"
    problems = [*entry_problems(plain, ("ridge", "threshold"))]
    raise_all(BundleError, heading, [*problems, *layout_problems(arrays, GAUSSIANS_LAYOUT)])

    n, d = arrays["places"].shape
    shapes = dict.fromkeys(("center", "unit", "toll", "group"), (d,))
    problems = [*shape_problems(arrays, {**shapes, "labels": (n,)})]
    raise_all(BundleError, heading, problems)

    problems = [*finite_problems(arrays, ("places", "center"))]
    problems += magnitude_problems(arrays, ["places"], MAX_STANDARD_SCORE)
    # Without a ridge, a feature that is constant around a row has no regression.
    problems += number_problems(plain, {"ridge": (MIN_RIDGE, LARGEST)})
    problems += purchase_problems(plain, arrays, d)
    classes = np.unique(arrays["labels"])
    problems += work_problems(len(classes), len(arrays["order"]))
    if len(classes) < 2 or not np.array_equal(classes, np.arange(len(classes))):
        problems.append("the labels must be classes from 0 on, two at least, each with a row")
    raise_all(BundleError, heading, problems)


def work_problems(n_classes: int, n_buyable: int) -> Iterator[str]:
    """Yield why `LocalGaussians` with so many classes and features would take too long for a row.

    Examples
    --------
    >>> from thrifty.model.sequential.audit import work_problems
    >>> list(work_problems(26, 16)), len(list(work_problems(500, 40)))
    ([], 1)
    """
    is_large = n_classes > MAX_CLASSES or n_buyable > MAX_FEATURES
    if is_large or n_classes * n_buyable > MAX_PRODUCT:
        yield (
            f"there are {n_classes} classes and {n_buyable} features; at most {MAX_CLASSES} "
            f"classes and {MAX_FEATURES} features are possible, and a product of {MAX_PRODUCT}"
        )


def purchase_problems(plain: Mapping[str, Any], arrays: Arrays, d: int) -> Iterator[str]:
    """Yield what is wrong with the order, the weighted prices and the thresholds of d features."""
    order, group = arrays["order"], arrays["group"]
    if np.any((order < 0) | (order >= d)) or len(np.unique(order)) < len(order):
        yield f"order must name features from 0 to {d - 1}, each at most once"
    if np.any((group < -1) | (group >= len(arrays["entry"]))):
        yield "a feature is in a group that does not exist"
    for name in ("unit", "toll", "entry"):
        if not ((arrays[name] >= 0) & (arrays[name] <= LARGEST)).all():
            yield f"{name} must be finite and not negative"
    yield from magnitude_problems(arrays, ["center"], LARGEST)
    if type(plain["threshold"]) is not float or not is_number(plain["threshold"], 0):
        yield f"threshold is {shown(plain['threshold'])}, expected a number from 0 up"
