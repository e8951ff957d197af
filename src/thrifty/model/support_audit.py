"""What must hold before arrays from a file become a kernel machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.kernel_functions import build_kernel

__all__ = ["ENCODING", "OWN", "audit_support_set"]

OWN = ("vectors", "coefficients", "intercepts", "slopes")
ENCODING = ("columns", "codes", "centers", "scales", "fills")
WHOLE = ("columns", "codes")
FLAT = dict.fromkeys((*OWN[2:], *ENCODING), 1)
DIMENSIONS = {"vectors": 2, "coefficients": 2, **FLAT}
ENTRIES = {"kernel", "parameters", "n_classes", "n_features"}
MOST = 2**20


def audit_support_set(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `SupportSet` can be built from these and can be read."""
    raise_all(BundleError, "support vectors", list(_layout(plain, arrays)))
    build_kernel(plain["kernel"], plain["parameters"])
    raise_all(BundleError, "support vectors", list(_shapes(plain, arrays)))
    raise_all(BundleError, "support vectors", list(_values(plain, arrays)))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != ENTRIES:
        yield f"expected the entries {sorted(ENTRIES)}, got {sorted(map(str, plain))}"
        return
    for name, least in {"n_classes": 2, "n_features": 1}.items():
        if type(plain[name]) is not int or not least <= plain[name] <= MOST:
            yield f"{name} is {plain[name]!r}"
    if set(arrays) != set(DIMENSIONS):
        yield f"expected the arrays {sorted(DIMENSIONS)}, got {sorted(arrays)}"
        return
    for name, ndim in DIMENSIONS.items():
        dtype = np.dtype("<i8" if name in WHOLE else "<f8")
        if arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    m, q = arrays["vectors"].shape
    pairs = plain["n_classes"] * (plain["n_classes"] - 1) // 2
    due = {"coefficients": (m, pairs), "intercepts": (pairs,), "slopes": (pairs,)}
    due |= dict.fromkeys(ENCODING, (q,))
    for name, shape in due.items():
        if arrays[name].shape != shape:
            yield f"{name} have shape {arrays[name].shape} where {shape} is due"


def _values(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for name in DIMENSIONS:
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    columns, codes = arrays["columns"], arrays["codes"]
    if np.any((columns < 0) | (columns >= plain["n_features"])):
        yield f"a slot reads a column beyond the {plain['n_features']} of the table"
    if np.any(codes < -1):
        yield "a slot stands for a category that does not exist"
    for name in ("scales", "slopes"):
        if np.any(arrays[name] <= 0):
            yield f"{name} must be positive"
