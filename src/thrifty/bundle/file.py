"""The model file: a predictor as a sealed zip of one JSON header and plain arrays.

::

    header.json           format, kind, schema, classes, prices, knob, provenance, arrays, and the
                          decision if there is one
    arrays/<name>.npy     the arrays of the frozen model, and those of the evidence if there is any

A file may come from anyone, so nothing in it is trusted: JSON is read strictly (no duplicate
keys, no NaN, no infinity), every entry has one type and a range, and unknown entries are refused.
Models, prices and schema check the meaning of what they are built from. No step runs code that
the file brings along. A file of several operating points is that of points_file.py.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import archive
from thrifty.bundle.archive import Archive, array_entry, array_size, pack_array
from thrifty.bundle.evidence import Evidence
from thrifty.bundle.predictor import Predictor, build_classes, match_problems, plain_classes
from thrifty.bundle.schema import Schema
from thrifty.costs.bound import BoundPrices
from thrifty.errors import BundleError, DataError, raise_all
from thrifty.files import write_whole
from thrifty.model.decision import Decision
from thrifty.untrusted import allowance, is_count, is_text, parse_json, read_file, shown

__all__ = [
    "HEADER",
    "MAX_HEADER",
    "POINTS_FORMAT",
    "audit_header",
    "build_parts",
    "build_predictor",
    "describe",
    "dump_header",
    "load",
    "max_memory",
    "naming",
    "pack",
    "parse_header",
    "plain_header",
    "read_header",
    "save",
    "unpack",
]

FORMAT = 1
"""The format of a file of one predictor."""

POINTS_FORMAT = 2
"""The format of a file of several operating points, and the newest that this version reads."""

NEEDS = "0.1"
"""The first release that reads these formats, for the error message of an older one."""

HEADER = "header.json"
"""The member of the archive that describes all others."""

MAX_HEADER = 8 * 2**20
HEADER_TYPES: dict[str, tuple[type, ...]] = {
    "thrifty": (int,),
    "needs": (str,),
    "kind": (str,),
    "model": (dict,),
    "schema": (dict,),
    "classes": (dict, type(None)),
    "prices": (dict,),
    "knob": (dict, type(None)),
    "provenance": (dict, type(None)),
    "arrays": (dict,),
}
# Parts that are absent where they are not used.
OPTIONAL_TYPES: dict[str, tuple[type, ...]] = {"decision": (dict,)}
MAX_NAME = 200  # characters of the name of an array or of a kind
# What a model may take of memory beyond its arrays: this many bytes, and so many for each byte of
# its file.
BASE_MEMORY, MEMORY_RATIO = 2**26, 1024
RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}", re.ASCII)
ARRAY_NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*", re.ASCII)


def save(predictor: Predictor, path: str | os.PathLike[str]) -> None:
    """Write a predictor to a model file.

    The file is written under a temporary name and then renamed, so that a reader sees the old
    file or the new one and never a part. The same predictor always gives the same bytes.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file is unchanged.
    """
    write_whole(path, pack(predictor))


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file without building the model.

    All that it says is checked as `load` does it; only the arrays are not read.

    Returns
    -------
    dict
        The header: `kind`, `model`, `schema`, `classes`, `prices`, `knob`, `provenance`, and
        dtype, shape and digest of each of the `arrays`. Of a file of several operating points it
        is that of the default point, with the `metric`, the index of the `default` and `points`: a
        list of `bill`, `quality`, `kind` and `knob`.

    Raises
    ------
    BundleError
        If the file is damaged, malicious or needs a newer version.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema, describe
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> constant = Forest.constant([4.5], "sum", n_features=1)
    >>> predictor = Predictor(constant, Schema.of([[0.0]]), Prices([1.0]).bind(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     predictor.save(f"{folder}/constant.thrifty")
    ...     header = describe(f"{folder}/constant.thrifty")
    >>> header["kind"], header["model"]
    ('forest', {'link': 'sum', 'n_features': 1})
    """
    with naming(path):
        members = Archive(read_file(path, archive.MAX_FILE))
        plain = parse_header(members.read(HEADER, MAX_HEADER))
        if plain["thrifty"] == POINTS_FORMAT:
            from thrifty.bundle.points_file import PointsHeader  # that module imports this one

            return PointsHeader(plain, members).describe()
        header = _read_contents(plain, members)
        build_parts(header)
        return header


def load(path: str | os.PathLike[str]) -> Predictor:
    """Read a predictor from a model file; only NumPy is needed.

    Of a file of several operating points it is the predictor of the default one; see
    `thrifty.load_points`.

    Raises
    ------
    BundleError
        If the file is damaged, malicious or needs a newer version.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema, load
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> constant = Forest.constant([4.5], "sum", n_features=1)
    >>> predictor = Predictor(constant, Schema.of([[0.0]]), Prices([1.0]).bind(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     predictor.save(f"{folder}/constant.thrifty")
    ...     load(f"{folder}/constant.thrifty").predict([[1.0], [2.0]])
    array([4.5, 4.5])
    """
    with naming(path):
        return unpack(read_file(path, archive.MAX_FILE))


def pack(predictor: Predictor) -> bytes:
    """Return the bytes of a model file; the same predictor always gives the same bytes.

    Raises
    ------
    DataError
        If the knob or the provenance cannot be written as JSON, or a name or a label is of a kind
        that no model file may have.
    """
    header, arrays = plain_header(predictor)
    entries, members = {}, {}
    for name in sorted(arrays):
        data = pack_array(arrays[name])
        members[f"arrays/{name}.npy"] = data
        entries[name] = array_entry(arrays[name], data)
    text = dump_header({**header, "arrays": entries}, indent=1)
    try:
        build_parts(read_header(text))
    except BundleError as error:
        raise DataError(f"the model cannot be saved: {error}") from error
    return archive.pack_members({HEADER: text, **members})


def plain_header(predictor: Predictor) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of a model file without its list of arrays, and the arrays by name."""
    plain, arrays = predictor.model.state()
    if predictor.evidence is not None:
        arrays = {**arrays, **predictor.evidence.arrays()}
    for name in arrays:
        _check_array_name(name)
    header = {
        "thrifty": FORMAT,
        "needs": NEEDS,
        "kind": predictor.model.kind,
        "model": plain,
        "schema": predictor.schema.plain(),
        "classes": plain_classes(predictor.classes),
        "prices": predictor.prices.plain(),
        "knob": predictor.knob,
        "provenance": predictor.provenance,
    }
    if predictor.decision is not None:
        header["decision"] = predictor.decision.plain()
    return header, {name: np.asarray(array) for name, array in arrays.items()}


def dump_header(header: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Write a header as JSON.

    Raises
    ------
    DataError
        If it holds what JSON cannot express, or is too large to be read again.
    """

    def as_scalar(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{value!r} is of type {type(value).__name__}")

    try:
        text = json.dumps(header, sort_keys=True, allow_nan=False, indent=indent, default=as_scalar)
    except (TypeError, ValueError) as error:
        raise DataError(f"a model file holds plain values only: {error}") from error
    if len(text) > MAX_HEADER:
        raise DataError(f"the header has {len(text)} bytes, at most {MAX_HEADER} fit")
    return text.encode("ascii")


def unpack(data: bytes) -> Predictor:
    """Check the bytes of a model file and build the predictor.

    Raises
    ------
    BundleError
        If they are damaged, malicious or need a newer version.
    """
    members = Archive(data)
    plain = parse_header(members.read(HEADER, MAX_HEADER))
    if plain["thrifty"] == POINTS_FORMAT:
        from thrifty.bundle.points_file import PointsHeader  # that module imports this one

        return PointsHeader(plain, members).build([plain["default"]], len(data))[0]
    header = _read_contents(plain, members)
    arrays = {}
    for name, entry in header["arrays"].items():
        arrays[name] = archive.read_array(members, _member(name), name, entry)
    with allowance(max_memory(len(data))):
        return build_predictor(header, arrays)


def max_memory(file_size: int) -> int:
    """Return how much memory a model may take beyond its arrays, by the size of its file."""
    return BASE_MEMORY + MEMORY_RATIO * file_size


def parse_header(data: bytes) -> dict[str, Any]:
    """Read the JSON of a header, whose format is one that this version reads."""
    plain: dict[str, Any] = parse_json(data, max_bytes=MAX_HEADER)
    _check_format(plain)
    return plain


def read_header(data: bytes) -> dict[str, Any]:
    """Read a header: JSON that has all its parts, each of the right type, and no other."""
    return audit_header(parse_header(data))


def _read_contents(plain: dict[str, Any], members: Archive) -> dict[str, Any]:
    """Audit the header of an archive, and check that it describes all other members."""
    header = audit_header(plain)
    for member in members.names - {*map(_member, header["arrays"]), HEADER}:
        raise BundleError(f"the header does not list {member[:MAX_NAME]!r}")
    for name, entry in header["arrays"].items():
        if members.size(_member(name)) != array_size(name, entry):
            raise BundleError(f"array {name!r} does not have the dtype and shape of its entry")
    return header


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def build_predictor(
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    parts: Mapping[str, Any] | None = None,
) -> Predictor:
    """Build the predictor that an audited header and its arrays describe.

    `parts` are those of `build_parts`, if they were built before.

    Raises
    ------
    BundleError
        If they do not make a model, or their parts do not match.
    """
    from thrifty.model.base import build_part  # imported here because `describe` needs no model

    evidence, own = Evidence.take(arrays)
    model = build_part(header["kind"], header["model"], own)
    parts = build_parts(header) if parts is None else parts
    knob, provenance = header["knob"], header["provenance"]
    try:
        return Predictor(model, **parts, knob=knob, provenance=provenance, evidence=evidence)
    except DataError as error:
        raise BundleError(f"the parts of the file do not match: {error}") from error


def build_parts(header: Mapping[str, Any], like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Check and build all that an audited header describes but the model: what `inspect` shows.

    Only the decision is built if `like` has the parts of a header that differs in nothing else.

    Raises
    ------
    BundleError
        If a part is not sound, or they do not match.
    """
    parts = like or {
        "schema": Schema.build(header["schema"]),
        "prices": BoundPrices.build(header["prices"]),
        "classes": build_classes(header["classes"]),
    }
    found = {**parts, "decision": Decision.build(header.get("decision"))}
    problems = [*match_problems(**found)]
    raise_all(BundleError, "the parts of the file do not match", problems)
    return found


def _check_format(plain: Any) -> None:
    """Refuse a header without a format, or with one that this version does not know."""
    if not isinstance(plain, dict) or not is_count(plain.get("thrifty"), -(2**62)):
        raise BundleError("the header does not state its format; this is not a Thrifty model file")
    number, needs = plain["thrifty"], plain.get("needs")
    if number > POINTS_FORMAT:
        is_release = isinstance(needs, str) and RELEASE.fullmatch(needs) is not None
        release = f"Thrifty {needs} or newer" if is_release else "a newer Thrifty"
        raise BundleError(
            f"the file has format {number}, this version reads up to {POINTS_FORMAT}: it needs "
            f"{release}"
        )
    if number < 1:
        raise BundleError(f"there is no format {number}")


def audit_header(plain: Any) -> dict[str, Any]:
    """Return a header if it has all its parts, each of the right type, and no other."""
    _check_format(plain)
    header: dict[str, Any] = plain
    types_of = {**HEADER_TYPES, **OPTIONAL_TYPES}
    for part in (header.keys() - types_of.keys()) | (HEADER_TYPES.keys() - header.keys()):
        fault = "lacks" if part in HEADER_TYPES else "has an unknown part"
        raise BundleError(f"the header {fault} {shown(part)}")
    for part in header:
        if type(header[part]) not in types_of[part]:
            raise BundleError(f"the header's {part!r} is of the wrong type")
    if not is_text(header["kind"], MAX_NAME):
        raise BundleError(f"there is no model of kind {shown(header['kind'])}")
    for name, entry in header["arrays"].items():
        _check_array_name(name)
        if not isinstance(entry, dict) or entry.keys() != {"sha256", "dtype", "shape"}:
            raise BundleError(f"array {name!r} must have a sha256, a dtype and a shape")
    return header


def _check_array_name(name: str) -> None:
    """Refuse a name that could lead out of the folder ``arrays/``."""
    if len(name) > MAX_NAME or not ARRAY_NAME.fullmatch(name):
        raise BundleError(f"array name {name[:MAX_NAME]!r} is not made of plain words")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to the message of a BundleError."""
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{os.fspath(path)}: {error}") from error
