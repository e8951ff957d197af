"""A curve as bytes: a zip archive of JSON figures and plain arrays.

::

    curve.json            what was measured, the figures of each point, and a list of all arrays
    bills.npy ...         the figures by row, a row for each point
    models/<k>.json       the header of the model of point k, which names its arrays by digest
    arrays/<digest>.npy   the arrays of all models

The points of a ladder share their rungs, so an array is stored once however many models have it. It
is named by the SHA-256 of its bytes. A reader shares it in memory again, and builds equal parts of
models once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.bundle.archive import Archive, array_entry, pack_array, pack_members, read_array
from thrifty.bundle.file import (
    MAX_HEADER,
    audit_header,
    build_predictor,
    dump_header,
    max_memory,
)
from thrifty.bundle.points_file import MAX_BUILT, SharedArrays, array_member
from thrifty.errors import BundleError, DataError, raise_all
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.model.base import shared_parts
from thrifty.untrusted import LARGEST, allowance, is_list, is_number, is_text, parse_json, shown

__all__ = ["pack_curve", "unpack_curve"]

FORMAT = 4
FIGURES = "curve.json"
ARRAYS = ("bills", "gains", "neg_brier", "totals")
REQUIRED = ("bills", "gains")
TASKS = ("classification", "regression", "ranking")
SINGLE = ("learner", "knob", "bill", "quality", "ceiling")
INTERVALS = ("bill_interval", "quality_interval")
PAIRS = (*INTERVALS, "training_bill")
# Where errors have costs, with the array of totals.
TOTAL = "actual_total"
CURVE = ("scoring", "task", "unit", "full", "level", "data", "cross_fitted")
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Largest size of the figures, in bytes.
MAX_FIGURES = 2**31 - 1
# Largest directory of the archive, in bytes: as many members as a zip can have.
MAX_DIRECTORY = 2**23


def pack_curve(curve: Curve, settings: Mapping[str, Any] | None = None) -> bytes:
    """Pack a curve and the settings that it was made with; equal curves give equal bytes.

    The chosen point is not kept.

    Raises
    ------
    DataError
        If a figure is not finite: it could not be read back. Only ends of intervals may be
        infinite, as they are where there is one observation.
    """
    columns = {name: [getattr(point, name) for point in curve.points] for name in ARRAYS}
    arrays = {name: None if c[0] is None else np.stack(c) for name, c in columns.items()}
    arrays["clusters"] = curve.clusters
    present = {name: array for name, array in arrays.items() if array is not None}
    data = {name: pack_array(array) for name, array in present.items()}
    models = SharedArrays()
    # With their evidence, which is found by rows that the file does not have.
    headers = {
        _model_name(k): dump_header(models.add(point.predictor()))
        for k, point in enumerate(curve.points)
    }
    figures = {
        "thrifty": FORMAT,
        "settings": settings,
        **{name: getattr(curve, name) for name in CURVE},
        "points": [
            {name: getattr(point, name) for name in (*SINGLE, "training_bill")}
            | {name: _plain_interval(getattr(point, name)) for name in INTERVALS}
            | ({} if point.actual_total is None else {TOTAL: point.actual_total})
            for point in curve.points
        ],
        "arrays": {name: array_entry(present[name], data[name]) for name in present},
        "model_arrays": models.entries,
    }
    try:
        # The names of a knob keep their order, in which they are shown.
        text = json.dumps(figures, indent=1, default=_scalar, allow_nan=False)
    except ValueError:
        raise DataError("the curve cannot be kept: a figure is not a finite number") from None
    problems = [*_array_problems(present, len(curve.points))]
    raise_all(DataError, "the curve cannot be kept; a target on a smaller scale may help", problems)
    members = {FIGURES: text.encode()}
    members |= {f"{name}.npy": data[name] for name in data}
    return pack_members({**members, **headers, **models.members})


def unpack_curve(data: bytes) -> tuple[Curve, Any]:
    """Unpack a curve, without a chosen point, and the settings given to `pack_curve`.

    Raises
    ------
    BundleError
        If the bytes are not those of a curve, of another format, or damaged.
    """
    members = Archive(data, MAX_DIRECTORY)
    figures = parse_json(
        members.read(FIGURES, MAX_FIGURES), max_bytes=MAX_FIGURES, what="the curve"
    )
    if not isinstance(figures, dict) or figures.get("thrifty") != FORMAT:
        raise BundleError(f"this is not a curve of format {FORMAT}")
    heading = "the figures of the curve do not fit"
    raise_all(BundleError, heading, [*_figure_problems(figures)])
    listed = {FIGURES, *(f"{name}.npy" for name in figures["arrays"])}
    listed |= {array_member(digest) for digest in figures["model_arrays"]}
    listed |= {_model_name(k) for k in range(len(figures["points"]))}
    for member in members.names - listed:
        raise BundleError(f"the curve does not list {member[:80]!r}")
    arrays = {
        name: read_array(members, f"{name}.npy", name, entry)
        for name, entry in figures["arrays"].items()
    }
    raise_all(BundleError, heading, [*_array_problems(arrays, len(figures["points"]))])
    with shared_parts(min(MAX_BUILT, max_memory(len(data)))), allowance(max_memory(len(data))):
        models = _read_models(members, len(figures["points"]), figures["model_arrays"])
    points = [
        _point(models[k], plain, {name: arrays[name][k] for name in ARRAYS if name in arrays})
        for k, plain in enumerate(figures["points"])
    ]
    plain = {name: figures[name] for name in CURVE}
    return Curve(tuple(points), **plain, clusters=arrays.get("clusters")), figures["settings"]


def _figure_problems(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what keeps plain values from being the figures of a curve."""
    expected = {"thrifty", "settings", "points", "arrays", "model_arrays", *CURVE}
    if figures.keys() != expected:
        yield f"expected the entries {sorted(expected)}, got {shown(sorted(figures))}"
        return
    fits: dict[str, Callable[[Any], bool]] = {
        "scoring": is_text,
        "task": lambda task: task in TASKS,
        "unit": is_text,
        "full": partial(is_number, low=0),
        "level": partial(is_number, low=0, high=1),
        "data": is_text,
        "cross_fitted": lambda value: type(value) is bool,
    }
    for name in CURVE:
        if not fits[name](figures[name]):
            yield f"{name} is {shown(figures[name])}"
    if not is_list(figures["points"], lambda point: isinstance(point, dict), least=1):
        yield "points is not a list of points"
        return
    for k, point in enumerate(figures["points"]):
        if point.keys() - {TOTAL} != {*SINGLE, *PAIRS}:
            yield f"expected the entries {sorted([*SINGLE, *PAIRS])} of point {k}"
            return
        if not is_text(point["learner"]) or not isinstance(point["knob"], dict):
            yield f"point {k} has no learner, or no knob"
        for name in ("bill", "quality", "ceiling", TOTAL):
            if name in point and not is_number(point[name]):
                yield f"{name} of point {k} is {shown(point[name])}, not a number"
        arrays = figures["arrays"]
        if isinstance(arrays, dict) and (TOTAL in point) != ("totals" in arrays):
            yield f"point {k} has a total without totals of the rows, or these without a total"
        for name in PAIRS:
            fits_end = _is_end if name in INTERVALS else is_number
            absent = name == "training_bill" and point[name] is None
            if not absent and not is_list(point[name], fits_end, 2, 2):
                yield f"{name} of point {k} is {shown(point[name])}, not two numbers"
    entries = {"arrays": {"sha256", "dtype", "shape"}, "model_arrays": {"dtype", "shape"}}
    for field, keys in entries.items():
        listed = figures[field]
        if not isinstance(listed, dict) or not all(
            isinstance(entry, dict) and entry.keys() == keys for entry in listed.values()
        ):
            yield f"the entries of {field} must have {', '.join(sorted(keys))}"
        elif field == "arrays" and not set(REQUIRED) <= listed.keys() <= {*ARRAYS, "clusters"}:
            yield f"it has the arrays {shown(sorted(listed))}"
        elif field == "model_arrays" and not all(map(DIGEST.fullmatch, listed)):
            yield "an array of a model is not named by its digest"


def _array_problems(arrays: Mapping[str, NDArray[Any]], n_points: int) -> Iterator[str]:
    """Yield what keeps arrays from having a row for each point."""
    for name in arrays.keys() & set(ARRAYS):
        array = arrays[name]
        if array.dtype != np.float64 or array.ndim != 2 or len(array) != n_points:
            yield f"{name} must have a row of numbers for each of the {n_points} points"
            return
        if not (np.abs(array) <= LARGEST).all():
            yield f"{name} must be finite"
    n = arrays["bills"].shape[1]
    if not n or not arrays["gains"].shape[1]:
        yield "there are no rows"
    if "neg_brier" in arrays and arrays["neg_brier"].shape != arrays["gains"].shape:
        yield "neg_brier and gains differ in shape"
    if "totals" in arrays and arrays["totals"].shape[1] != n:
        yield "totals and bills differ in shape"
    clusters = arrays.get("clusters")
    if clusters is not None:
        is_fit = clusters.dtype == np.int64 and clusters.shape == (n,)
        if not is_fit or not np.all((clusters >= 0) & (clusters < n)):
            yield f"clusters must be numbers below {n}, one for each row"


def _read_models(members: Archive, count: int, entries: dict[str, Any]) -> list[Predictor]:
    """Build the models of all points; what they have in common is read, checked and built once."""
    arrays = {
        digest: read_array(members, array_member(digest), digest, {**entry, "sha256": digest})
        for digest, entry in entries.items()
    }
    models = []
    for k in range(count):
        name = _model_name(k)
        data = members.read(name, MAX_HEADER)
        plain = parse_json(data, max_bytes=MAX_HEADER, what=name)
        digests = plain.get("arrays") if isinstance(plain, dict) else None
        known = arrays.keys()
        if not isinstance(digests, dict) or not all(
            type(digest) is str and digest in known for digest in digests.values()
        ):
            raise BundleError(f"{name} names arrays that do not fit the curve")
        listed = {name: {**entries[d], "sha256": d} for name, d in digests.items()}
        own = {name: arrays[digest] for name, digest in digests.items()}
        models.append(build_predictor(audit_header({**plain, "arrays": listed}), own))
    return models


def _point(model: Predictor, plain: dict[str, Any], rows: Mapping[str, NDArray[Any]]) -> CurvePoint:
    """Build a point from its model, its plain figures, and its rows of the arrays."""
    pairs = {name: _as_pair(plain[name]) for name in PAIRS}
    present = {name: rows.get(name) for name in ARRAYS}
    single = {name: plain.get(name) for name in (*SINGLE, TOTAL)}
    return CurvePoint(model=model, **single, **pairs, **present)  # type: ignore[arg-type]


def _plain_interval(interval: tuple[float, float]) -> list[float | None]:
    """Return an interval as JSON; an end that is infinite is null."""
    return [None if math.isinf(end) else end for end in interval]


def _is_end(value: Any) -> bool:
    """Return whether a plain value is an end of an interval."""
    return value is None or is_number(value)


def _as_pair(plain: list[Any] | None) -> tuple[float, float] | None:
    """Return the interval, or the pair of figures, that a file holds."""
    if plain is None:
        return None
    low, high = plain
    return -math.inf if low is None else low, math.inf if high is None else high


def _model_name(k: int) -> str:
    return f"models/{k}.json"


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")
