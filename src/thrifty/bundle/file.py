"""The model file: a predictor as a sealed zip of one JSON header and plain arrays.

::

    header.json           format, kind, schema, classes, prices, knob, provenance, arrays, and the
                          decision if there is one
    arrays/<name>.npy     the arrays of the frozen model, and those of the evidence if there is any

A file may come from anyone, so nothing in it is trusted: JSON is read strictly (no duplicate
keys, no NaN, no infinity), every entry has one type and a range, and unknown entries are refused.
Models, prices and schema check the meaning of what they are built from. No step runs code that
the file brings along.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import archive
from thrifty.bundle.archive import Archive, array_entry, pack_array
from thrifty.bundle.evidence import Evidence
from thrifty.bundle.predictor import Predictor, build_classes, plain_classes
from thrifty.bundle.schema import Schema
from thrifty.costs.bound import BoundPrices
from thrifty.errors import BundleError, DataError
from thrifty.files import write_whole
from thrifty.model.decision import Decision

__all__ = [
    "MAX_HEADER",
    "audit_header",
    "build_predictor",
    "describe",
    "dump_header",
    "load",
    "pack",
    "parse_json",
    "plain_header",
    "save",
    "unpack",
]

FORMAT = 1
"""The format that this version writes, and the newest that it reads."""

NEEDS = "0.1"
"""The first release that reads this format, for the error message of an older one."""

HEADER = "header.json"
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
MAX_DEPTH = 64
MAX_NAME = 200  # characters of the name of an array, and of anything quoted in a message
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

    Returns
    -------
    dict
        The header: `kind`, `model`, `schema`, `classes`, `prices`, `knob`, `provenance`, and
        dtype, shape and digest of each of the `arrays`.

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
    with _naming(path):
        members = Archive(_read_bytes(path))
        return audit_header(parse_json(members.read(HEADER, MAX_HEADER)))


def load(path: str | os.PathLike[str]) -> Predictor:
    """Read a predictor from a model file; only NumPy is needed.

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
    with _naming(path):
        return unpack(_read_bytes(path))


def pack(predictor: Predictor) -> bytes:
    """Return the bytes of a model file; the same predictor always gives the same bytes.

    Raises
    ------
    DataError
        If the knob or the provenance cannot be written as JSON.
    """
    header, arrays = plain_header(predictor)
    entries, members = {}, {}
    for name in sorted(arrays):
        data = pack_array(arrays[name])
        members[f"arrays/{name}.npy"] = data
        entries[name] = array_entry(arrays[name], data)
    text = dump_header({**header, "arrays": entries}, indent=1)
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
    header = audit_header(parse_json(members.read(HEADER, MAX_HEADER)))
    member_of = {name: f"arrays/{name}.npy" for name in header["arrays"]}
    for member in members.names - {*member_of.values(), HEADER}:
        raise BundleError(f"the header does not list {member[:MAX_NAME]!r}")
    arrays = {}
    for name, entry in header["arrays"].items():
        arrays[name] = archive.read_array(members, member_of[name], name, entry)
    return build_predictor(header, arrays)


def build_predictor(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Predictor:
    """Build the predictor that an audited header and its arrays describe.

    Raises
    ------
    BundleError
        If they do not make a model, or their parts do not match.
    """
    from thrifty.model.base import build_part  # imported here because `describe` needs no model

    evidence, own = Evidence.take(arrays)
    model = build_part(header["kind"], header["model"], own)
    schema, prices = Schema.build(header["schema"]), BoundPrices.build(header["prices"])
    classes, decision = build_classes(header["classes"]), Decision.build(header.get("decision"))
    knob, provenance = header["knob"], header["provenance"]
    try:
        return Predictor(model, schema, prices, classes, knob, provenance, decision, evidence)
    except DataError as error:
        raise BundleError(f"the parts of the file do not match: {error}") from error


def parse_json(data: bytes) -> Any:
    """Read JSON strictly.

    Raises
    ------
    BundleError
        If it is not JSON, has a key twice, a number that is not finite or too large for a float, or
        too many levels.

    Examples
    --------
    >>> from thrifty.bundle.file import parse_json
    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    thrifty.errors.BundleError: the header has the key 'a' twice
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) < len(pairs):
            key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise BundleError(f"the header has the key {key[:MAX_NAME]!r} twice")
        return plain

    def finite(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise BundleError(f"the header holds {text[:20]}, which is not a finite number")
        return value

    def integer(text: str) -> int:
        finite(text)  # what is computed with it later must fit into a float
        return int(text)

    try:
        text = data.decode("utf-8")
        plain = json.loads(
            text,
            object_pairs_hook=unique,
            parse_float=finite,
            parse_int=integer,
            parse_constant=finite,
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"the header is not valid JSON ({type(error).__name__})") from None
    level = [plain]
    for _ in range(MAX_DEPTH):
        parents = [value for value in level if isinstance(value, (dict, list))]
        level = [c for p in parents for c in (p.values() if isinstance(p, dict) else p)]
    if level:
        raise BundleError(f"the header has more than {MAX_DEPTH} levels")
    return plain


def audit_header(plain: Any) -> dict[str, Any]:
    """Return a header if it has all its parts, each of the right type, and no other."""
    if not isinstance(plain, dict) or type(plain.get("thrifty")) is not int:
        raise BundleError("the header does not state its format; this is not a Thrifty model file")
    number, needs = plain["thrifty"], plain.get("needs")
    if number > FORMAT:
        is_release = isinstance(needs, str) and RELEASE.fullmatch(needs) is not None
        release = f"Thrifty {needs} or newer" if is_release else "a newer Thrifty"
        raise BundleError(
            f"the file has format {number}, this version reads up to {FORMAT}: it needs {release}"
        )
    if number < 1:
        raise BundleError(f"there is no format {number}")
    types_of = {**HEADER_TYPES, **OPTIONAL_TYPES}
    for part in (plain.keys() - types_of.keys()) | (HEADER_TYPES.keys() - plain.keys()):
        fault = "lacks" if part in HEADER_TYPES else "has an unknown part"
        raise BundleError(f"the header {fault} {part!r}")
    for part in plain:
        if type(plain[part]) not in types_of[part]:
            raise BundleError(f"the header's {part!r} is of the wrong type")
    for name, entry in plain["arrays"].items():
        _check_array_name(name)
        if not isinstance(entry, dict) or entry.keys() != {"sha256", "dtype", "shape"}:
            raise BundleError(f"array {name!r} must have a sha256, a dtype and a shape")
    return plain


def _check_array_name(name: str) -> None:
    """Refuse a name that could lead out of the folder ``arrays/``."""
    if len(name) > MAX_NAME or not ARRAY_NAME.fullmatch(name):
        raise BundleError(f"array name {name[:MAX_NAME]!r} is not made of plain words")


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a model file; BundleError if it is not a regular file, or too large."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise BundleError("this is not a regular file")  # reading a pipe would never end
    if os.path.getsize(path) > archive.MAX_FILE:
        raise BundleError(archive.TOO_LARGE)
    return Path(path).read_bytes()


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path to the message of a BundleError."""
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{os.fspath(path)}: {error}") from error
