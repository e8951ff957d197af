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
import re
from collections.abc import Mapping
from dataclasses import replace
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
    parse_json,
    plain_header,
)
from thrifty.errors import BundleError
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.model.base import shared_parts

__all__ = ["pack_curve", "unpack_curve"]

FORMAT = 4
FIGURES = "curve.json"
ARRAYS = ("bills", "gains", "neg_brier", "totals")
SINGLE = ("learner", "knob", "bill", "quality", "ceiling")
PAIRS = ("bill_interval", "quality_interval", "training_bill")
CURVE = ("scoring", "task", "unit", "full", "level", "data", "cross_fitted")
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Largest size of the figures, in bytes.
MAX_FIGURES = 2**31 - 1
# Largest directory of the archive, in bytes: as many members as a zip can have.
MAX_DIRECTORY = 2**23
# Bytes of the arrays of all models that are built: to check this many takes a minute.
MAX_MODELS = 2**34


def pack_curve(curve: Curve, settings: Mapping[str, Any] | None = None) -> bytes:
    """Pack a curve and the settings that it was made with; equal curves give equal bytes.

    The chosen point is not kept.
    """
    columns = {name: [getattr(point, name) for point in curve.points] for name in ARRAYS}
    arrays = {name: None if c[0] is None else np.stack(c) for name, c in columns.items()}
    arrays["clusters"] = curve.clusters
    present = {name: array for name, array in arrays.items() if array is not None}
    data = {name: pack_array(array) for name, array in present.items()}
    models = _ModelArrays()
    headers = {
        _model_name(k): dump_header(models.add(point.model)) for k, point in enumerate(curve.points)
    }
    figures = {
        "thrifty": FORMAT,
        "settings": settings,
        **{name: getattr(curve, name) for name in CURVE},
        "points": [
            {name: getattr(point, name) for name in (*SINGLE, *PAIRS)} for point in curve.points
        ],
        "arrays": {name: array_entry(present[name], data[name]) for name in present},
        "model_arrays": models.entries,
    }
    # The names of a knob keep their order, in which they are shown.
    members = {FIGURES: json.dumps(figures, indent=1, default=_scalar).encode()}
    members |= {f"{name}.npy": data[name] for name in data}
    return pack_members({**members, **headers, **models.members})


class _ModelArrays:
    """Collects the arrays of models: each distinct one once, by the digest of its bytes.

    `entries` says type and shape by digest; `members` are the files.
    """

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.members: dict[str, bytes] = {}
        # Shared arrays are read once. Kept with their ids, so that no other array gets these.
        self._digests: dict[int, tuple[str, NDArray[Any]]] = {}

    def add(self, predictor: Predictor) -> dict[str, Any]:
        """Collect the arrays of a predictor; return its header, which names them by digest."""
        header, arrays = plain_header(predictor)
        return {**header, "arrays": {name: self._digest(array) for name, array in arrays.items()}}

    def _digest(self, array: NDArray[Any]) -> str:
        if id(array) not in self._digests:
            data = pack_array(array)
            entry = array_entry(array, data)
            digest = entry.pop("sha256")
            self._digests[id(array)] = digest, array
            self.entries[digest] = entry
            self.members[_array_name(digest)] = data
        return self._digests[id(array)][0]


def unpack_curve(data: bytes) -> tuple[Curve, Any]:
    """Unpack a curve, without a chosen point, and the settings given to `pack_curve`.

    Raises
    ------
    BundleError
        If the bytes are not those of a curve, of another format, or damaged.
    """
    members = Archive(data, MAX_DIRECTORY)
    figures = parse_json(members.read(FIGURES, MAX_FIGURES))
    if not isinstance(figures, dict) or figures.get("thrifty") != FORMAT:
        raise BundleError(f"this is not a curve of format {FORMAT}")
    try:
        _check_members(members, figures)
        arrays = {
            name: read_array(members, f"{name}.npy", name, entry)
            for name, entry in figures["arrays"].items()
        }
        models = _read_models(members, len(figures["points"]), figures["model_arrays"])
        points = [
            _point(models[k], plain, {name: arrays[name][k] for name in ARRAYS if name in arrays})
            for k, plain in enumerate(figures["points"])
        ]
        curve = Curve(
            tuple(points),
            **{name: figures[name] for name in CURVE},
            clusters=arrays.get("clusters"),
        )
        settings = figures["settings"]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"the figures of the curve do not fit: {error}") from error
    return curve, settings


def _check_members(members: Archive, figures: dict[str, Any]) -> None:
    """Refuse what the figures do not list."""
    listed = {FIGURES, *(f"{name}.npy" for name in figures["arrays"])}
    listed |= {_array_name(digest) for digest in figures["model_arrays"]}
    listed |= {_model_name(k) for k in range(len(figures["points"]))}
    for member in members.names - listed:
        raise BundleError(f"the curve does not list {member[:80]!r}")


def _read_models(members: Archive, count: int, entries: dict[str, Any]) -> list[Predictor]:
    """Build the models of all points; what they have in common is read, checked and built once."""
    arrays = {}
    for digest, entry in entries.items():
        if not DIGEST.fullmatch(digest) or entry.keys() != {"dtype", "shape"}:
            raise BundleError("an array of a model must have a digest, a dtype and a shape")
        entry["sha256"] = digest
        arrays[digest] = read_array(members, _array_name(digest), digest, entry)
    models = []
    with shared_parts(MAX_MODELS):
        for k in range(count):
            plain = parse_json(members.read(_model_name(k), MAX_HEADER))
            digests = plain["arrays"]
            plain["arrays"] = {name: entries[digest] for name, digest in digests.items()}
            own = {name: arrays[digest] for name, digest in digests.items()}
            models.append(build_predictor(audit_header(plain), own))
    return models


def _point(model: Predictor, plain: dict[str, Any], rows: Mapping[str, NDArray[Any]]) -> CurvePoint:
    """Build a point from its model, its plain figures, and its rows of the arrays."""
    pairs = {name: None if plain[name] is None else tuple(plain[name]) for name in PAIRS}
    present = {name: rows.get(name) for name in ARRAYS}
    point = CurvePoint(model=model, **{n: plain[n] for n in SINGLE}, **pairs, **present)  # type: ignore[arg-type]
    return replace(point, knob=dict(point.knob))


def _model_name(k: int) -> str:
    return f"models/{k}.json"


def _array_name(digest: str) -> str:
    return f"arrays/{digest}.npy"


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")
