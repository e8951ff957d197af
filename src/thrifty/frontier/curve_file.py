"""A curve as bytes: a zip archive of JSON figures, plain arrays and the model files of the points.

::

    curve.json            what was measured, and the figures of each point
    bills.npy ...         the figures by row, a row for each point
    models/<k>.thrifty    the model file of point k
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle.archive import (
    Archive,
    array_entry,
    array_size,
    pack_array,
    pack_members,
    unpack_array,
)
from thrifty.bundle.file import pack, parse_json, unpack
from thrifty.errors import BundleError
from thrifty.frontier.curve import Curve, CurvePoint

__all__ = ["pack_curve", "unpack_curve"]

FORMAT = 2
FIGURES = "curve.json"
ARRAYS = ("bills", "gains", "neg_brier")
SINGLE = ("learner", "knob", "bill", "quality", "ceiling")
PAIRS = ("bill_interval", "quality_interval", "training_bill")
CURVE = ("scoring", "task", "unit", "full", "level", "data")
# Largest size of a member, in bytes.
MAX_BYTES = 2**31 - 1


def pack_curve(curve: Curve, settings: Mapping[str, Any] | None = None) -> bytes:
    """Pack a curve and the settings that it was made with; equal curves give equal bytes.

    The chosen point is not kept.
    """
    columns = {name: [getattr(point, name) for point in curve.points] for name in ARRAYS}
    arrays = {name: None if c[0] is None else np.stack(c) for name, c in columns.items()}
    arrays["clusters"] = curve.clusters
    present = {name: array for name, array in arrays.items() if array is not None}
    data = {name: pack_array(array) for name, array in present.items()}
    figures = {
        "thrifty": FORMAT,
        "settings": settings,
        **{name: getattr(curve, name) for name in CURVE},
        "points": [
            {name: getattr(point, name) for name in (*SINGLE, *PAIRS)} for point in curve.points
        ],
        "arrays": {name: array_entry(present[name], data[name]) for name in present},
    }
    members = {FIGURES: json.dumps(figures, sort_keys=True, indent=1, default=_scalar).encode()}
    members |= {f"{name}.npy": data[name] for name in data}
    members |= {_model_name(k): pack(point.model) for k, point in enumerate(curve.points)}
    return pack_members(members)


def unpack_curve(data: bytes) -> tuple[Curve, Any]:
    """Unpack a curve, without a chosen point, and the settings given to `pack_curve`.

    Raises
    ------
    BundleError
        If the bytes are not those of a curve, or damaged.
    """
    members = Archive(data)
    figures = parse_json(members.read(FIGURES, MAX_BYTES))
    if not isinstance(figures, dict) or figures.get("thrifty") != FORMAT:
        raise BundleError(f"this is not a curve of format {FORMAT}")
    try:
        arrays = {
            name: unpack_array(name, e, members.read(f"{name}.npy", array_size(name, e)))
            for name, e in figures["arrays"].items()
        }
        points = [_point(members, k, plain, arrays) for k, plain in enumerate(figures["points"])]
        curve = Curve(
            tuple(points),
            **{name: figures[name] for name in CURVE},
            clusters=arrays.get("clusters"),
        )
        settings = figures["settings"]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BundleError(f"the figures of the curve do not fit: {error}") from error
    return curve, settings


def _point(
    members: Archive, k: int, plain: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> CurvePoint:
    """Build point k from its plain figures, its rows of the arrays, and its model file."""
    pairs = {name: None if plain[name] is None else tuple(plain[name]) for name in PAIRS}
    rows = {name: arrays[name][k] if name in arrays else None for name in ARRAYS}
    model = unpack(members.read(_model_name(k), MAX_BYTES))
    point = CurvePoint(model=model, **{n: plain[n] for n in SINGLE}, **pairs, **rows)  # type: ignore[arg-type]
    return replace(point, knob=dict(point.knob))


def _model_name(k: int) -> str:
    return f"models/{k}.thrifty"


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")
