"""Checks that the entries and arrays of a model file pass before they become a `LinearTree`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.file_checks import (
    ENCODING_LAYOUT,
    MAX_OUTPUTS,
    count_problems,
    encoding_problems,
    entry_problems,
    finite_problems,
    layout_problems,
    magnitude_problems,
    shape_problems,
)
from thrifty.untrusted import claim, shown

__all__ = ["FILE_ARRAYS", "audit_linear_tree"]

# Fields of a `LinearTree` that are arrays, and what a model file calls them.
FILE_ARRAYS = {
    "left": "left",
    "right": "right",
    "starts": "starts",
    "inputs": "slots",
    "route": "route",
    "threshold": "threshold",
    "weights": "weights",
    "bias": "bias",
}
LAYOUT = {
    "left": ("<i8", 1),
    "right": ("<i8", 1),
    "starts": ("<i8", 1),
    "slots": ("<i8", 1),
    "route": ("<f8", 1),
    "threshold": ("<f8", 1),
    "weights": ("<f8", 2),
    "bias": ("<f8", 2),
}
# Fewest and most outputs that go with each link.
OUTPUTS = {"sum": (1, 1), "sigmoid": (1, 1), "hinge": (1, MAX_OUTPUTS), "softmax": (2, MAX_OUTPUTS)}
# Encoded numbers are at most 1e30 (see `Encoding`), so with weights up to this no sum overflows.
LARGEST_WEIGHT = 1e200
# What a node takes as a Python object.
NODE_BYTES = 4096


def audit_linear_tree(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `LinearTree` can be built from these and be scored.

    The forest whose trees may be the inputs is not checked here but when it is built.
    """
    heading = "linear tree"
    raise_all(BundleError, heading, [*entry_problems(plain, ("link", "n_features", "parts"))])
    problems = [*count_problems(plain, {"n_features": 1})]
    if not isinstance(plain["link"], str) or plain["link"] not in OUTPUTS:
        problems.append(f"unknown link {shown(plain['link'])}")
    has_forest = bool(plain["parts"])
    if not isinstance(plain["parts"], list) or len(plain["parts"]) > 1:
        problems.append("the parts must be a list of one forest, or empty")
    else:
        own = {name: a for name, a in arrays.items() if not (has_forest and "/" in name)}
        problems += layout_problems(own, LAYOUT if has_forest else {**LAYOUT, **ENCODING_LAYOUT})
    raise_all(BundleError, heading, problems)

    (nodes, outputs), m = arrays["bias"].shape, len(arrays["slots"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("left", "right", "threshold"), (nodes,))
    shapes |= {"starts": (nodes + 1,), "route": (m,), "weights": (m, outputs)}
    if not has_forest:
        shapes |= dict.fromkeys(ENCODING_LAYOUT, arrays["columns"].shape)
    problems = [*shape_problems(arrays, shapes)]
    fewest, most = OUTPUTS[plain["link"]]
    if not fewest <= outputs <= most:
        problems.append(f"link {plain['link']!r} does not go with {outputs} outputs")
    if not nodes:
        problems.append("a tree needs a root")
    raise_all(BundleError, heading, problems)

    _check_nodes(heading, arrays)

    problems = [*finite_problems(arrays, own)]
    problems += magnitude_problems(arrays, ("route", "weights", "bias"), LARGEST_WEIGHT)
    if not has_forest:
        q = len(arrays["columns"])
        if np.any((arrays["slots"] < 0) | (arrays["slots"] >= q)):
            problems.append(f"a node reads beyond the {q} encoded columns")
        problems += encoding_problems(arrays, plain["n_features"])
    raise_all(BundleError, heading, problems)
    claim(nodes * (plain["n_features"] + NODE_BYTES), "the nodes of a linear tree")


def _check_nodes(heading: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless the nodes form one tree, parents before children."""
    starts, count, problems = arrays["starts"], len(arrays["left"]), []
    if starts[0] != 0 or starts[-1] != len(arrays["slots"]) or np.any(np.diff(starts) < 0):
        problems.append("starts must increase from 0 to the number of inputs")
    number = np.arange(count)
    for name in ("left", "right"):
        child = arrays[name]
        if np.any((child < -1) | (child >= count) | ((child >= 0) & (child <= number))):
            problems.append(f"a {name} child lies before its parent or outside the tree")
    children = np.concatenate([arrays["left"], arrays["right"]])
    if not np.array_equal(np.sort(children[children >= 0]), number[1:]):
        problems.append("every node but the root must have one parent")
    raise_all(BundleError, heading, problems)
