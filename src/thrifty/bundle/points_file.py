"""The model file of several operating points: a sealed zip that has each array once.

::

    header.json           schema, classes, prices, metric and default; of each point its bill, its
                          quality, kind, plain values, knob and provenance, and its arrays by digest
    arrays/<digest>.npy   the arrays of all points

The points of a ladder share their rungs, so an array is stored once however many points have it. It
is named by the SHA-256 of its bytes. A reader shares it in memory again, and builds equal parts of
models once. All that file.py checks of one model is checked here of every point.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from thrifty.bundle import archive
from thrifty.bundle.archive import Archive, array_entry, array_size, pack_array, read_array
from thrifty.bundle.file import (
    HEADER,
    MAX_HEADER,
    POINTS_FORMAT,
    audit_header,
    build_parts,
    build_predictor,
    dump_header,
    max_memory,
    naming,
    pack,
    parse_header,
    plain_header,
    unpack,
)
from thrifty.bundle.points import MAX_POINTS, OperatingPoints
from thrifty.bundle.predictor import Predictor
from thrifty.errors import BundleError, DataError
from thrifty.files import write_whole
from thrifty.model.base import shared_parts
from thrifty.untrusted import (
    LARGEST,
    allowance,
    is_count,
    is_list,
    is_number,
    is_text,
    read_file,
    shown,
)

__all__ = [
    "MAX_BUILT",
    "PointsHeader",
    "SharedArrays",
    "array_member",
    "load_points",
    "pack_points",
    "save_points",
    "unpack_points",
]

MAX_BUILT = 2**34
"""Bytes of all arrays that the models of one file are built of: to check so many takes a minute."""

MAX_ARRAYS = 8192  # as many names fit into the directory of the zip
# What all points have in common, what each has, and what some have.
COMMON = ("thrifty", "needs", "schema", "classes", "prices")
OWN = ("kind", "model", "knob", "provenance", "arrays")
OPTIONAL = ("decision",)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class SharedArrays:
    """Collects the arrays of models: each distinct one once, by the digest of its bytes.

    Attributes
    ----------
    entries : dict of str to dict
        Type and shape, by digest.
    members : dict of str to bytes
        The files of the arrays.
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
            self.members[array_member(digest)] = data
        return self._digests[id(array)][0]


def array_member(digest: str) -> str:
    """Return the name of the file of an array that is named by its digest."""
    return f"arrays/{digest}.npy"


def save_points(points: OperatingPoints, path: str | os.PathLike[str]) -> None:
    """Write operating points to a model file; see `OperatingPoints.save`."""
    write_whole(path, pack_points(points))


def load_points(path: str | os.PathLike[str]) -> OperatingPoints:
    """Read all operating points from a model file; only NumPy is needed.

    A file of one predictor has one point. Its bill and its quality are those on test rows, if its
    provenance has them; else the bill is the largest that any row may have, and the quality 0.

    Raises
    ------
    BundleError
        If the file is damaged, malicious or needs a newer version.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from thrifty.bundle import OperatingPoints, Predictor, Schema, load_points
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> schema, prices = Schema.of([[0.0]]), Prices([4.0], unit="EUR").bind(1)
    >>> models = [Forest.constant([value], "sum", n_features=1) for value in (1.0, 2.0)]
    >>> predictors = [Predictor(model, schema, prices) for model in models]
    >>> points = OperatingPoints(predictors, [0.0, 3.5], [0.6, 0.9], default=1, metric="r2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     points.save(f"{folder}/two.thrifty")
    ...     found = load_points(f"{folder}/two.thrifty")
    >>> found
    OperatingPoints(2 points; default: r2 0.9 at EUR 3.50)
    >>> found.at_budget(2.0).predictor.predict([[7.0]])
    array([1.])
    """
    with naming(path):
        return unpack_points(read_file(path, archive.MAX_FILE))


def pack_points(points: OperatingPoints) -> bytes:
    """Return the bytes of a model file; a single point is packed as a file of one predictor.

    Raises
    ------
    DataError
        If there are too many arrays, or something cannot be written as JSON.
    """
    if len(points) == 1:
        return pack(points.predictor)
    arrays = SharedArrays()
    headers = [arrays.add(predictor) for predictor in points.predictors]
    if len(arrays.entries) > MAX_ARRAYS:
        raise DataError(
            f"the model cannot be saved: its points have {len(arrays.entries)} arrays, at most "
            f"{MAX_ARRAYS} fit into a file; keep fewer points"
        )
    plain = {
        **{name: headers[0][name] for name in COMMON},
        "thrifty": POINTS_FORMAT,
        "metric": points.metric,
        "default": points.default,
        "points": [
            {"bill": bill, "quality": quality}
            | {name: header[name] for name in (*OWN, *OPTIONAL) if name in header}
            for bill, quality, header in zip(points.bills, points.qualities, headers, strict=True)
        ],
        "arrays": arrays.entries,
    }
    text = dump_header(plain, indent=1)
    try:
        PointsHeader(parse_header(text))
    except BundleError as error:
        raise DataError(f"the model cannot be saved: {error}") from error
    members = {name: arrays.members[name] for name in sorted(arrays.members)}
    return archive.pack_members({HEADER: text, **members})


def unpack_points(data: bytes) -> OperatingPoints:
    """Check the bytes of a model file and build all its points.

    Raises
    ------
    BundleError
        If they are damaged, malicious or need a newer version.
    """
    members = Archive(data)
    plain = parse_header(members.read(HEADER, MAX_HEADER))
    if plain["thrifty"] != POINTS_FORMAT:
        return _single(unpack(data))
    predictors = PointsHeader(plain, members).build(range(len(plain["points"])), len(data))
    bills, qualities = ([p[name] for p in plain["points"]] for name in ("bill", "quality"))
    return OperatingPoints(predictors, bills, qualities, plain["default"], plain["metric"])


def _single(predictor: Predictor) -> OperatingPoints:
    """Return one predictor as the only point of its model."""
    origin = predictor.provenance or {}
    found = origin.get("held_out")
    figures: dict[str, Any] = found if isinstance(found, dict) else {}
    bill: Any = figures.get("bill")
    quality: Any = figures.get("quality")
    metric = origin.get("metric")
    return OperatingPoints(
        [predictor],
        [bill if is_number(bill, 0, LARGEST) else min(predictor.ceiling, LARGEST)],
        [quality if is_number(quality, -LARGEST, LARGEST) else 0.0],
        metric=metric if is_text(metric) else "quality",
    )


class PointsHeader:
    """The header of a file of several points, checked as that of each single point would be.

    Parameters
    ----------
    plain : dict
        What the JSON holds.
    members : Archive, optional
        The file, to check that it has all arrays, in their sizes, and nothing else.

    Attributes
    ----------
    headers : list of dict
        For each point, the header that a file of it alone would have.
    parts : list of dict
        For each point, its schema, prices, classes and decision; all but the last are the same.

    Raises
    ------
    BundleError
    """

    def __init__(self, plain: Mapping[str, Any], members: Archive | None = None) -> None:
        self._plain, self._members = plain, members
        expected = {*COMMON, "metric", "default", "points", "arrays"}
        for part in plain.keys() ^ expected:
            fault = "lacks" if part in expected else "has an unknown part"
            raise BundleError(f"the header {fault} {shown(part)}")
        points, entries = plain["points"], plain["arrays"]
        if not is_list(points, lambda point: isinstance(point, dict), 1, MAX_POINTS):
            raise BundleError(f"the header's points are not a list of 1 to {MAX_POINTS} points")
        if not is_count(plain["default"], most=len(points) - 1):
            raise BundleError(f"there is no point {shown(plain['default'])}, the default")
        if not is_text(plain["metric"]):
            raise BundleError("the header's metric is not a name")
        self._entries = self._check_arrays(entries)
        self.headers = [self._header(plain, k) for k in range(len(points))]
        used = {digest for point in points for digest in point["arrays"].values()}
        for digest in entries.keys() - used:
            raise BundleError(f"array {digest!r} belongs to no point")
        self.parts = [build_parts(self.headers[0])]
        for header in self.headers[1:]:
            self.parts.append(build_parts(header, like=self.parts[0]))

    def _check_arrays(self, entries: Any) -> dict[str, dict[str, Any]]:
        """Check types and shapes of all arrays, and the members of the file if there is one."""
        if not isinstance(entries, dict):
            raise BundleError("the header's 'arrays' is of the wrong type")
        found = {}
        for digest, entry in entries.items():
            if not DIGEST.fullmatch(digest):
                raise BundleError(f"array {shown(digest)} is not named by its digest")
            if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape"}:
                raise BundleError(f"array {digest!r} must have a dtype and a shape")
            found[digest] = {**entry, "sha256": digest}
            size = array_size(digest, found[digest])
            if self._members is not None and self._members.size(array_member(digest)) != size:
                raise BundleError(f"array {digest!r} has not the dtype and shape of its entry")
        if self._members is not None:
            for member in self._members.names - {HEADER, *map(array_member, found)}:
                raise BundleError(f"the header does not list {member[:80]!r}")
        return found

    def _header(self, plain: Mapping[str, Any], k: int) -> dict[str, Any]:
        """Return the header of point k, as a file of it alone would have it."""
        point = plain["points"][k]
        for part in ({*OWN, "bill", "quality"} ^ point.keys()) - {*OPTIONAL}:
            fault = "has an unknown part" if part in point else "lacks"
            raise BundleError(f"point {k} {fault} {shown(part)}")
        if not is_number(point["bill"], 0, LARGEST):
            raise BundleError(f"the bill of point {k} is {shown(point['bill'])}")
        if not is_number(point["quality"], -LARGEST, LARGEST):
            raise BundleError(f"the quality of point {k} is {shown(point['quality'])}")
        named = point["arrays"]
        if not isinstance(named, dict) or not all(
            type(digest) is str and digest in self._entries for digest in named.values()
        ):
            raise BundleError(f"point {k} names arrays that the header does not list")
        own = {name: point[name] for name in (*OWN, *OPTIONAL) if name in point}
        arrays = {name: self._entries[digest] for name, digest in named.items()}
        common = {name: plain[name] for name in COMMON}
        return audit_header({**common, **own, "arrays": arrays})

    def describe(self) -> dict[str, Any]:
        """Return the header of the default point, with the figures of all; see `file.describe`."""
        shown_of_point = ("bill", "quality", "kind", "knob")
        plain = self._plain
        points = [{name: point[name] for name in shown_of_point} for point in plain["points"]]
        figures = {name: plain[name] for name in ("metric", "default")}
        return {**self.headers[plain["default"]], **figures, "points": points}

    def build(self, wanted: Iterable[int], file_size: int) -> list[Predictor]:
        """Build the predictors of some points; what they have in common is read and built once."""
        assert self._members is not None
        predictors, arrays, most = [], dict[str, NDArray[Any]](), max_memory(file_size)
        with shared_parts(min(MAX_BUILT, most)), allowance(most):
            for k in wanted:
                own = {}
                for name, entry in self.headers[k]["arrays"].items():
                    digest = entry["sha256"]
                    if digest not in arrays:
                        member = array_member(digest)
                        arrays[digest] = read_array(self._members, member, digest, entry)
                    own[name] = arrays[digest]
                predictors.append(build_predictor(self.headers[k], own, self.parts[k]))
        return predictors
