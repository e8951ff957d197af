"""What must hold before arrays from a file become a tree of linear models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.kernel_machine import ENCODING

__all__ = ["OWN", "audit_linear_tree"]

OWN = ("left", "right", "starts", "slots", "route", "threshold", "weights", "bias")
WHOLE = ("left", "right", "starts", "slots", "columns", "codes")
FLAT = dict.fromkeys((*OWN, *ENCODING), 1)
DIMENSIONS = {**FLAT, "weights": 2, "bias": 2}
ENTRIES = {"link", "n_features", "parts"}
# Outputs that go with each link.
OUTPUTS = {"sum": (1, 1), "sigmoid": (1, 1), "hinge": (1, 2**20), "softmax": (2, 2**20)}
MOST = 2**20
# Numbers reach 1e30 at most (see Encoding): weights up to this never make a sum infinite.
LARGEST = 1e200


def audit_linear_tree(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `LinearTree` can be built from these and can be read.

    The forest that a tree may weigh has an audit of its own.
    """
    for problems in (_layout, _shapes, _nodes, _values):
        raise_all(BundleError, "tree of linear models", list(problems(plain, arrays)))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != ENTRIES:
        yield f"expected the entries {sorted(ENTRIES)}, got {sorted(map(str, plain))}"
        return
    if not isinstance(plain["link"], str) or plain["link"] not in OUTPUTS:
        yield f"unknown link {plain['link']!r}"
    if type(plain["n_features"]) is not int or not 0 < plain["n_features"] <= MOST:
        yield f"n_features is {plain['n_features']!r}"
    if not isinstance(plain["parts"], list) or len(plain["parts"]) > 1:
        yield "the parts must be a list of one forest, or empty"
        return
    names = {*OWN} if plain["parts"] else {*OWN, *ENCODING}
    own = {name for name in arrays if not (plain["parts"] and "/" in name)}
    if own != names:
        yield f"expected the arrays {sorted(names)}, got {sorted(own)}"
        return
    for name in sorted(names):
        dtype = np.dtype("<i8" if name in WHOLE else "<f8")
        if arrays[name].dtype != dtype or arrays[name].ndim != DIMENSIONS[name]:
            yield f"{name} must be {DIMENSIONS[name]}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    nodes, outputs = arrays["bias"].shape
    weighed = len(arrays["slots"])
    due: dict[str, tuple[int, ...]] = dict.fromkeys(("left", "right", "threshold"), (nodes,))
    due |= {"starts": (nodes + 1,), "route": (weighed,), "weights": (weighed, outputs)}
    if "columns" in arrays:
        due |= dict.fromkeys(ENCODING, arrays["columns"].shape)
    for name, shape in due.items():
        if arrays[name].shape != shape:
            yield f"{name} has shape {arrays[name].shape} where {shape} is due"
    fewest, most = OUTPUTS[plain["link"]]
    if not fewest <= outputs <= most:
        yield f"link {plain['link']!r} does not go with {outputs} outputs"
    if not nodes:
        yield "a tree needs a root"


def _nodes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    starts, count = arrays["starts"], len(arrays["left"])
    ends = starts[0] == 0 and starts[-1] == len(arrays["slots"])
    if not ends or np.any(np.diff(starts) < 0):
        yield "starts must go from 0 to the number of slots"
    number = np.arange(count)
    for name in ("left", "right"):
        child = arrays[name]
        if np.any((child < -1) | (child >= count) | ((child >= 0) & (child <= number))):
            yield f"a {name} child lies before its parent or outside the tree"
    children = np.concatenate([arrays["left"], arrays["right"]])
    if not np.array_equal(np.sort(children[children >= 0]), number[1:]):
        yield "every node but the root must have one parent"


def _values(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for name, array in arrays.items():
        if name in DIMENSIONS and not np.isfinite(array).all():
            yield f"{name} must be finite"
    for name in ("route", "weights", "bias"):
        if np.any(np.abs(arrays[name]) > LARGEST):
            yield f"{name} must be at most {LARGEST:g}"
    if "columns" not in arrays:
        return
    columns = arrays["columns"]
    if np.any((arrays["slots"] < 0) | (arrays["slots"] >= len(columns))):
        yield f"a node weighs a slot beyond the {len(columns)} of the encoding"
    if np.any((columns < 0) | (columns >= plain["n_features"])):
        yield f"a slot reads a column beyond the {plain['n_features']} of the table"
    if np.any(arrays["codes"] < -1):
        yield "a slot stands for a category that does not exist"
    if np.any(arrays["scales"] <= 0):
        yield "scales must be positive"
