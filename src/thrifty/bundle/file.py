"""The model file: a predictor as a sealed zip of one JSON header and plain arrays.

::

    header.json           format, kind, schema, classes, prices, knob, provenance, arrays
    arrays/<name>.npy     the arrays of the frozen model

A file is described, then audited, then built; no step runs code that the file brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import archive, npy
from thrifty.bundle.archive import Archive
from thrifty.bundle.audit import (
    FORMAT,
    NEEDS,
    audit_header,
    audit_name,
    parse,
)
from thrifty.bundle.classes import build_classes, plain_classes
from thrifty.bundle.predictor import Predictor
from thrifty.bundle.schema import Schema
from thrifty.costs.bound import BoundPrices
from thrifty.errors import BundleError, DataError
from thrifty.files import write_whole

__all__ = ["describe", "load", "pack", "save", "unpack"]

HEADER = "header.json"
MAX_HEADER = 8 * 2**20


def save(predictor: Predictor, path: str | os.PathLike[str]) -> None:
    """Write a predictor to a model file.

    The file is written beside and then put in place, so that a reader sees the old file or
    the new one and never a part. The same predictor always gives the same bytes.

    Raises
    ------
    OSError
        If the file cannot be written; an old file is then as it was.
    """
    write_whole(path, pack(predictor))


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file and build nothing.

    Returns
    -------
    dict
        The header: `kind`, `model`, `schema`, `classes`, `prices`, `knob`, `provenance`, and
        type, shape and digest of each of the `arrays`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema, describe
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> constant = Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([4.5]), "sum", 1)
    >>> predictor = Predictor(constant, Schema.of([[0.0]]), Prices([1.0]).bind(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     predictor.save(f"{folder}/constant.thrifty")
    ...     header = describe(f"{folder}/constant.thrifty")
    >>> header["kind"], header["model"]
    ('forest', {'link': 'sum', 'n_features': 1})
    """
    try:
        return _header(Archive(_read(path)))
    except BundleError as error:
        raise _named(path, error) from error


def load(path: str | os.PathLike[str]) -> Predictor:
    """Read a predictor from a model file; this takes NumPy only.

    Raises
    ------
    BundleError
        If the file is damaged, hostile or needs a newer version.
    OSError
        If there is no such file, or it may not be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema, load
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> constant = Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([4.5]), "sum", 1)
    >>> predictor = Predictor(constant, Schema.of([[0.0]]), Prices([1.0]).bind(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     predictor.save(f"{folder}/constant.thrifty")
    ...     load(f"{folder}/constant.thrifty").predict([[1.0], [2.0]])
    array([4.5, 4.5])
    """
    try:
        return unpack(_read(path))
    except BundleError as error:
        raise _named(path, error) from error


def unpack(data: bytes) -> Predictor:
    """Audit the bytes of a model file and build the predictor.

    Raises
    ------
    BundleError
        If they are damaged, hostile or need a newer version.
    """
    members = Archive(data)
    header = _header(members)
    return _build(header, _arrays(members, header["arrays"]))


def pack(predictor: Predictor) -> bytes:
    """The bytes of a model file; the same predictor always gives the same."""
    plain, arrays = predictor.model.state()
    entries, members = {}, {}
    for name in sorted(arrays):
        audit_name(name)
        array = np.asarray(arrays[name])
        members[_member(name)] = data = npy.pack(array)
        entries[name] = npy.entry_of(array, data)
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
        "arrays": entries,
    }
    return archive.pack({HEADER: _dump(header), **members})


def _dump(header: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(header, sort_keys=True, allow_nan=False, indent=1, default=_scalar)
    except (TypeError, ValueError) as error:
        raise DataError(f"the model file keeps plain values only: {error}") from error
    if len(text) > MAX_HEADER:
        raise DataError(f"the header has {len(text)} bytes, at most {MAX_HEADER} fit")
    return text.encode("ascii")


def _scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")


def _read(path: str | os.PathLike[str]) -> bytes:
    if os.path.exists(path) and not os.path.isfile(path):
        raise BundleError("this is not a regular file")  # a pipe would never end
    if os.path.getsize(path) > archive.MAX_FILE:
        raise BundleError(archive.TOO_LARGE)
    return Path(path).read_bytes()


def _header(members: Archive) -> dict[str, Any]:
    return audit_header(parse(members.read(HEADER, MAX_HEADER)))


def _arrays(members: Archive, entries: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    listed = {_member(name) for name in entries} | {HEADER}
    for name in members.names - listed:
        raise BundleError(f"the header does not list {name[:200]!r}")
    return {name: _array(members, name, entry) for name, entry in entries.items()}


def _array(members: Archive, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    size = npy.size_of(name, entry)
    if members.size(_member(name)) != size:
        raise BundleError(f"array {name!r} does not have the type and shape of its entry")
    return npy.unpack(name, entry, members.read(_member(name), size))


def _build(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Predictor:
    from thrifty.model import KINDS  # here, so that describe needs no model

    kind = header["kind"]
    if kind not in KINDS:
        raise BundleError(f"there is no model of kind {kind[:200]!r}; known are {sorted(KINDS)}")
    model = KINDS[kind].build(header["model"], arrays)
    schema, prices = Schema.build(header["schema"]), BoundPrices.build(header["prices"])
    classes = build_classes(header["classes"])
    try:
        return Predictor(model, schema, prices, classes, header["knob"], header["provenance"])
    except DataError as error:
        raise BundleError(f"the parts of the file do not fit: {error}") from error


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def _named(path: str | os.PathLike[str], error: BundleError) -> BundleError:
    return BundleError(f"{os.fspath(path)}: {error}")
