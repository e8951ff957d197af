"""The labels of the classes: bool, int, float or text, the types that a model file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError

__all__ = ["build_classes", "plain_classes", "read_classes"]

TYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
    "str": np.str_,
}


def read_classes(classes: ArrayLike) -> NDArray[Any]:
    """Give labels as an array of one of four types; DataError if they are not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.classes import read_classes
    >>> read_classes(np.array(["no", "yes"], dtype=object))
    array(['no', 'yes'], dtype='<U3')
    """
    array = np.asarray(classes)
    labels = array.tolist()
    kind = _type_of(labels) if array.ndim == 1 else None
    if kind is None or len(set(labels)) < len(labels):
        raise DataError("classes: give distinct labels, all bool, int, finite float or str")
    return np.array(labels, dtype=TYPES[kind])


def plain_classes(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    """Give what `read_classes` gave as a plain list and its type."""
    if classes is None:
        return None
    labels = classes.tolist()
    return {"type": _type_of(labels), "labels": labels}


def build_classes(plain: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Build classes from what a model file holds; BundleError if they are not sound."""
    if plain is None:
        return None
    if plain.keys() != {"type", "labels"} or not isinstance(plain["labels"], list):
        raise BundleError("the classes must have a type and a list of labels")
    labels = plain["labels"]
    if _type_of(labels) != plain["type"] or len(set(labels)) < len(labels):
        raise BundleError("the classes must be distinct labels of their type")
    return np.array(labels, dtype=TYPES[plain["type"]])


def _type_of(labels: list[Any]) -> str | None:
    """Name of the one type that all labels have and can be kept as."""
    kinds = {type(label).__name__ for label in labels}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind == "int" and not all(-(2**63) <= label < 2**63 for label in labels):
        return None
    if kind == "float" and not np.isfinite(labels).all():
        return None
    return kind if kind in TYPES else None
