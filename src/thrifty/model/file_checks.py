"""Checks that the entries and arrays of a model file pass before a model is built from them.

Each ``*_problems`` function yields one sentence for each problem that it finds. The `build` method
of a model collects them and raises a single `BundleError`. The models that encode their columns
(`KernelMachine`, `EdgeCloud`, `LinearTree`) also share how an `Encoding` becomes arrays and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import sealed
from thrifty.model.encoding import MAX_ABS, Encoding
from thrifty.untrusted import LARGEST, is_count, is_number, shown

__all__ = [
    "ENCODING_LAYOUT",
    "MAX_COUNT",
    "MAX_OUTPUTS",
    "Layout",
    "count_problems",
    "encoding_arrays",
    "encoding_problems",
    "entry_problems",
    "finite_problems",
    "layout_problems",
    "magnitude_problems",
    "number_problems",
    "output_problems",
    "prior_problems",
    "sealed_encoding",
    "shape_problems",
]

Arrays = Mapping[str, NDArray[Any]]
Layout = Mapping[str, tuple[str | np.dtype[Any], int]]
"""Data type and number of dimensions of each array, by its name in the file."""

# No table has more columns; a larger number in a file is damage, and would make the model allocate
# memory for nothing.
MAX_COUNT = 2**20
MAX_OUTPUTS = 2**14
"""Most classes, or outputs, of a model: what a row takes in memory grows with them."""

# How far the probabilities of a prior may be from a sum of 1: they are computed by divisions.
PRIOR_TOL = 1e-6

ENCODING_LAYOUT: Layout = {
    "columns": ("<i8", 1),
    "codes": ("<i8", 1),
    "centers": ("<f8", 1),
    "scales": ("<f8", 1),
    "fills": ("<f8", 1),
}


def encoding_arrays(encoding: Encoding) -> dict[str, NDArray[Any]]:
    """Return the arrays of an encoding by their names in a model file."""
    return {name: getattr(encoding, name) for name in ENCODING_LAYOUT}


def sealed_encoding(arrays: Arrays) -> Encoding:
    """Build an encoding with read-only arrays; other entries of `arrays` are ignored."""
    return Encoding(**{name: sealed(arrays[name]) for name in ENCODING_LAYOUT})


def entry_problems(plain: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield a problem unless the plain entries of a file are exactly `names`."""
    if set(plain) != set(names):
        yield f"expected the entries {sorted(names)}, got {shown(sorted(map(str, plain)))}"


def number_problems(
    plain: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]
) -> Iterator[str]:
    """Yield a problem for each entry that is not a finite number within its range.

    Examples
    --------
    >>> from thrifty.model.file_checks import number_problems
    >>> list(number_problems({"share": 10**400, "slope": 2}, {"share": (0, 1), "slope": (-9, 9)}))
    ['share is 100000000000000000...0000000000000000000, expected a number from 0 to 1']
    """
    for name, (low, high) in ranges.items():
        if not is_number(plain[name], low, high):
            yield f"{name} is {shown(plain[name])}, expected a number from {low:g} to {high:g}"


def output_problems(n_outputs: int) -> Iterator[str]:
    """Yield a problem if a model has too many classes or outputs."""
    if n_outputs > MAX_OUTPUTS:
        yield f"there are {n_outputs} outputs, at most {MAX_OUTPUTS} are possible"


def count_problems(plain: Mapping[str, Any], smallest: Mapping[str, int]) -> Iterator[str]:
    """Yield a problem for each entry that is not a whole number from its smallest value up."""
    for name, least in smallest.items():
        if not is_count(plain[name], least, MAX_COUNT):
            found = shown(plain[name])
            yield f"{name} is {found}, expected a whole number from {least} to {MAX_COUNT}"


def layout_problems(arrays: Arrays, layout: Layout) -> Iterator[str]:
    """Yield a problem for each array that is missing, unknown, or of the wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.file_checks import layout_problems
    >>> list(layout_problems({"order": np.array([0.5])}, {"order": ("<i8", 1)}))
    ['order must be 1-d of int64']
    """
    if set(arrays) != set(layout):
        yield f"expected the arrays {sorted(layout)}, got {shown(sorted(arrays))}"
        return
    for name, (dtype, ndim) in layout.items():
        if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {np.dtype(dtype)}"


def shape_problems(arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Yield a problem for each array whose shape is not the expected one."""
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            yield f"{name} has shape {arrays[name].shape}, expected {shape}"


def finite_problems(arrays: Arrays, names: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each array that holds NaN or infinity."""
    for name in names:
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"


def magnitude_problems(arrays: Arrays, names: Iterable[str], largest: float) -> Iterator[str]:
    """Yield a problem for each array with an entry beyond `largest` in absolute value."""
    for name in names:
        if np.any(np.abs(arrays[name]) > largest):
            yield f"{name} must be at most {largest:g}"


def prior_problems(prior: NDArray[Any], n_scores: int) -> Iterator[str]:
    """Yield what keeps an array from being scores (n_scores,) of a model: its start of a walk.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.file_checks import prior_problems
    >>> list(prior_problems(np.array([0.5, 0.6]), n_scores=2))
    ['prior must be class probabilities: not negative, with a sum of 1']
    """
    if prior.dtype != np.float64 or prior.shape != (n_scores,) or not np.isfinite(prior).all():
        yield f"prior must be {n_scores} finite numbers of type float64"
    elif n_scores > 1 and not (
        np.all((prior >= 0) & (prior <= 1 + PRIOR_TOL)) and abs(prior.sum() - 1.0) <= PRIOR_TOL
    ):
        yield "prior must be class probabilities: not negative, with a sum of 1"


def encoding_problems(arrays: Arrays, n_features: int) -> Iterator[str]:
    """Yield what is wrong with the arrays of an encoding for a table of `n_features` columns."""
    columns = arrays["columns"]
    if np.any((columns < 0) | (columns >= n_features)):
        yield f"an encoded column reads beyond the {n_features} columns of the table"
    if np.any(arrays["codes"] < -1):
        yield "an encoded column stands for a category that does not exist"
    if np.any(arrays["scales"] <= 0):
        yield "scales must be positive"
    yield from magnitude_problems(arrays, ["centers"], LARGEST)
    yield from magnitude_problems(arrays, ["fills"], MAX_ABS)
