"""What must hold before arrays from a file become a mixture of devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.activations import ACTIVATIONS
from thrifty.model.support_audit import ENCODING

__all__ = ["OWN", "audit_mixture"]

OWN = ("starts", "gate", "offsets", "weights", "bias", "base")
WHOLE = ("starts", "columns", "codes")
DIMENSIONS = {**dict.fromkeys((*OWN, *ENCODING), 1), "weights": 2, "bias": 2}
ENTRIES = {"activation", "limit", "n_features"}
MOST = 2**20
# Numbers reach 1e30 at most (see Encoding): a gate's value times an answer stays finite.
LARGEST = 1e100


def audit_mixture(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `Mixture` can be built from these and can be read."""
    for problems in (_layout, _shapes, _values):
        raise_all(BundleError, "mixture of devices", list(problems(plain, arrays)))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != ENTRIES:
        yield f"expected the entries {sorted(ENTRIES)}, got {sorted(map(str, plain))}"
        return
    if not isinstance(plain["activation"], str) or plain["activation"] not in ACTIVATIONS:
        yield f"unknown activation {plain['activation']!r}"
    if type(plain["limit"]) not in (int, float) or not math.isfinite(plain["limit"]):
        yield f"limit is {plain['limit']!r}"
    if type(plain["n_features"]) is not int or not 0 < plain["n_features"] <= MOST:
        yield f"n_features is {plain['n_features']!r}"
    if set(arrays) != set(DIMENSIONS):
        yield f"expected the arrays {sorted(DIMENSIONS)}, got {sorted(arrays)}"
        return
    for name, ndim in DIMENSIONS.items():
        dtype = np.dtype("<i8" if name in WHOLE else "<f8")
        if arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    devices, classes, slots = len(arrays["offsets"]), len(arrays["base"]), len(arrays["gate"])
    due: dict[str, tuple[int, ...]] = dict.fromkeys(ENCODING, (slots,))
    due |= {"starts": (devices + 1,), "weights": (slots, classes), "bias": (devices, classes)}
    for name, shape in due.items():
        if arrays[name].shape != shape:
            yield f"{name} has shape {arrays[name].shape} where {shape} is due"
    if classes < 2:
        yield "there must be at least two classes"


def _values(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for name in DIMENSIONS:
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    for name in ("gate", "offsets", "weights", "bias", "base"):
        if np.any(np.abs(arrays[name]) > LARGEST):
            yield f"{name} must be at most {LARGEST:g}"
    starts, columns = arrays["starts"], arrays["columns"]
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 1):
        yield "every device must read a slot, and every slot belong to a device"
        return
    if np.any((columns < 0) | (columns >= plain["n_features"])):
        yield f"a slot reads a column beyond the {plain['n_features']} of the table"
    device = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    readers = {*zip(columns.tolist(), device.tolist(), strict=True)}
    if len(readers) > len(np.unique(columns)):
        yield "a column is read by two devices"
    if np.any(arrays["codes"] < -1):
        yield "a slot stands for a category that does not exist"
    if np.any(arrays["scales"] <= 0):
        yield "scales must be positive"
