"""Files as documents, and documents as files.

`split` reads a sound file into a tree of plain values and arrays; `join` writes any such tree, with
digests, entries of arrays and the seal computed again, so that an edit reaches the checks behind
them. A document may hold what does not belong there: `join` writes something for all of them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np

from fuzz.edits import SET, Edit
from fuzz.values import dump_json, without_raw
from fuzz.zips import propose_quirk, write_zip
from thrifty.bundle.archive import array_entry, pack_array, seal

__all__ = [
    "ArraysFile",
    "CsvFile",
    "CurveFile",
    "Format",
    "GateFile",
    "HttpFile",
    "JsonFile",
    "ModelFile",
    "PointsFile",
    "TomlFile",
    "WordsFile",
    "damaged",
    "members_of",
    "propose_damage",
]

ENTRY_LIES: list[tuple[str, Any]] = [
    *(("shape", value) for value in ([2**40], [10**30], [-1], None, [0] * 9, [True], [1.0], {})),
    *(("dtype", value) for value in ("|O", None, [], [["a", "|O"]], [["a"]], "<U5", {})),
    ("dtype", [["a", "<f8"], ["a", "<f8"]]), ("sha256", "0" * 64), ("sha256", None), ("sha256", 5),
    ("more", 1),
]  # fmt: skip


class Lie(NamedTuple):
    """What the header says wrongly about an array."""

    name: str
    part: str
    value: Any


class Change(NamedTuple):
    """A change of the bytes of a file, at a share of its length."""

    act: str
    share: float
    value: int


class Damage(NamedTuple):
    """The changes of a file, in order. Edits put anything anywhere, so they go by their class."""

    changes: tuple[Change, ...] = ()


class Format(Protocol):
    """A kind of file."""

    suffix: str

    def split(self, data: bytes) -> Any:
        """Return a sound file as a document."""

    def join(self, document: Any) -> bytes:
        """Return a document as a file, sound or not."""


class ModelFile:
    """A sealed zip of a header and arrays."""

    suffix = ".thrifty"

    def split(self, data: bytes) -> Any:
        members = members_of(data)
        header = json.loads(members["header.json"])
        arrays = {name: _array(members[f"arrays/{name}.npy"]) for name in header.pop("arrays")}
        return {"header": header, "arrays": arrays}

    def join(self, document: Any) -> bytes:
        header, arrays = document.get("header"), _arrays(document.get("arrays"))
        entries, members = {}, {}
        for name, array in arrays.items():
            data, entries[name] = _packed(array)
            members[f"arrays/{name}.npy"] = data
        _lie(entries, document.get("lie"))
        if isinstance(header, dict) and "arrays" not in header:
            header = {**header, "arrays": entries}
        return damaged(
            write_zip({"header.json": dump_json(header), **members}, document.get("zip")),
            document.get("damage"),
        )


class PointsFile:
    """A sealed zip of a header of several operating points, and their arrays, which they share."""

    suffix = ".thrifty"

    def split(self, data: bytes) -> Any:
        members = members_of(data)
        header = json.loads(members["header.json"])
        shared = {
            digest: _array(members[f"arrays/{digest}.npy"]) for digest in header.pop("arrays")
        }
        models = [
            {name: shared[digest] for name, digest in point.pop("arrays").items()}
            for point in header["points"]
        ]
        return {"header": header, "models": models}

    def join(self, document: Any) -> bytes:
        header, models = document.get("header"), document.get("models")
        entries, members, named = {}, {}, []
        for model in models if isinstance(models, list) else []:
            named.append({})
            for name, array in _arrays(model).items():
                data, entry = _packed(array)
                digest = entry.pop("sha256")
                named[-1][name], entries[digest] = digest, entry
                members[f"arrays/{digest}.npy"] = data
        _lie(entries, document.get("lie"))
        if isinstance(header, dict):
            header = {"arrays": entries, **header}
            if isinstance(header.get("points"), list):
                header["points"] = [
                    {"arrays": named[k] if k < len(named) else {}, **point}
                    if isinstance(point, dict) else point
                    for k, point in enumerate(header["points"])
                ]  # fmt: skip
        return damaged(
            write_zip({"header.json": dump_json(header), **members}, document.get("zip")),
            document.get("damage"),
        )


class CurveFile:
    """A sealed zip of the figures of a curve, its rows, and its models, which share arrays."""

    suffix = ".curve"

    def split(self, data: bytes) -> Any:
        members = members_of(data)
        figures = json.loads(members["curve.json"])
        arrays = {name: _array(members[f"{name}.npy"]) for name in figures.pop("arrays")}
        shared = {
            digest: _array(members[f"arrays/{digest}.npy"])
            for digest in figures.pop("model_arrays")
        }
        models = []
        for k in range(len(figures["points"])):
            header = json.loads(members[f"models/{k}.json"])
            own = {name: shared[digest] for name, digest in header.pop("arrays").items()}
            models.append({"header": header, "arrays": own})
        return {"figures": figures, "arrays": arrays, "models": models}

    def join(self, document: Any) -> bytes:
        entries, members, shared = {}, {}, {}
        for name, array in _arrays(document.get("arrays")).items():
            members[f"{name}.npy"], entries[name] = _packed(array)
        _lie(entries, document.get("lie"))
        models = document.get("models")
        for k, model in enumerate(models if isinstance(models, list) else []):
            parts = model if isinstance(model, dict) else {}
            header, own = parts.get("header", model), {}
            for name, array in _arrays(parts.get("arrays")).items():
                data, entry = _packed(array)
                digest = entry.pop("sha256")
                own[name], shared[digest] = digest, entry
                members[f"arrays/{digest}.npy"] = data
            if isinstance(header, dict) and "arrays" not in header:
                header = {**header, "arrays": own}
            members[f"models/{k}.json"] = dump_json(header)
        figures = document.get("figures")
        if isinstance(figures, dict):
            figures = {"arrays": entries, "model_arrays": shared, **figures}
        return damaged(
            write_zip({"curve.json": dump_json(figures), **members}, document.get("zip")),
            document.get("damage"),
        )


class GateFile:
    """The state of an online gate: JSON in JSON, with a digest."""

    suffix = ".json"

    def split(self, data: bytes) -> Any:
        return {"state": json.loads(json.loads(data)["state"])}

    def join(self, document: Any) -> bytes:
        body = dump_json(document.get("state")).decode()
        # A digest of what JSON reads from the text, which is what the reader sees.
        digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
        outer = {"state": body, "sha256": digest, **document.get("outer", {})}
        return damaged(dump_json(outer), document.get("damage"))


class JsonFile:
    """Plain JSON."""

    suffix = ".json"

    def split(self, data: bytes) -> Any:
        return {"json": json.loads(data)}

    def join(self, document: Any) -> bytes:
        return damaged(dump_json(document.get("json")), document.get("damage"))


class WordsFile:
    """Lines of ``key=word word ...``, as LightGBM writes its models."""

    suffix = ".txt"

    def split(self, data: bytes) -> Any:
        lines = []
        for line in data.decode().split("\n"):
            key, equals, rest = line.partition("=")
            lines.append([key, *rest.split(" ")] if equals else [line])
        return {"lines": lines}

    def join(self, document: Any) -> bytes:
        lines = document.get("lines")
        text = []
        for line in lines if isinstance(lines, list) else [lines]:
            key, *words = map(_as_text, line if isinstance(line, list) and line else [line])
            text.append(f"{key}={' '.join(words)}" if words else key)
        return damaged("\n".join(text).encode("utf-8", "surrogatepass"), document.get("damage"))


class CsvFile:
    """Rows of cells."""

    suffix = ".csv"

    def split(self, data: bytes) -> Any:
        return {"rows": list(csv.reader(io.StringIO(data.decode(), newline="")))}

    def join(self, document: Any) -> bytes:
        rows = document.get("rows")
        lines = []
        for row in rows if isinstance(rows, list) else [rows]:
            lines.append(",".join(map(_as_text, row if isinstance(row, list) else [row])))
        text = "\n".join(lines) + "\n"
        return damaged(text.encode("utf-8", "surrogatepass"), document.get("damage"))


class TomlFile:
    """Tables of keys."""

    suffix = ".toml"

    def split(self, data: bytes) -> Any:
        import tomllib

        return {"toml": tomllib.loads(data.decode())}

    def join(self, document: Any) -> bytes:
        text = _toml(document.get("toml"))
        return damaged(text.encode("utf-8", "surrogatepass"), document.get("damage"))


class HttpFile:
    """A request or a response: a line of JSON that describes it, and a body of JSON."""

    suffix = ".http"

    def split(self, data: bytes) -> Any:
        head, body = data.split(b"\n", 1)
        return {"head": json.loads(head), "body": json.loads(body)}

    def join(self, document: Any) -> bytes:
        body = damaged(dump_json(document.get("body")), document.get("damage"))
        return dump_json(document.get("head")) + b"\n" + body


class ArraysFile:
    """Arrays by name, in NumPy's own format: what a fitted tree of scikit-learn consists of."""

    suffix = ".npz"

    def split(self, data: bytes) -> Any:
        with np.load(io.BytesIO(data)) as found:
            return {"arrays": dict(found)}

    def join(self, document: Any) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, **_arrays(document.get("arrays")))
        return buffer.getvalue()


def propose_damage(document: Any, file_format: Format, random: Random) -> Edit:
    """Draw an edit of the bytes or of the archive, where a format has one."""
    how = random.random()
    has_archive = isinstance(file_format, (ModelFile, PointsFile, CurveFile))
    if has_archive and how < 0.4:
        return Edit(("zip",), SET, propose_quirk(random))
    arrays = document.get("arrays")
    if has_archive and how < 0.7 and isinstance(arrays, dict) and arrays:
        return Edit(("lie",), SET, Lie(random.choice(list(arrays)), *random.choice(ENTRY_LIES)))
    act = random.choice(["flip", "flip", "cut", "insert", "double", "unsealed"])
    old = document.get("damage")
    changes = old.changes if isinstance(old, Damage) else ()
    more = Change(act, random.random(), random.randrange(256))
    return Edit(("damage",), SET, Damage((*changes, more)))


def damaged(data: bytes, damage: Any) -> bytes:
    """Return bytes with some changed; what had a seal is sealed again, unless it shall not be."""
    if not isinstance(damage, Damage) or not data:
        return data
    is_sealed = data.startswith(b"PK")
    for act, share, value in damage.changes:
        at = int(share * len(data))
        if act in ("flip", "unsealed"):
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif act == "cut":
            data = data[:at]
        elif act == "insert":
            data = data[:at] + bytes([value]) * (1 + value % 9) + data[at:]
        else:
            data = data[: at + value] + data[at:]
    stays_broken = any(change.act == "unsealed" for change in damage.changes)
    if is_sealed and len(data) > 100 and not stays_broken:
        return seal(data)
    return data


def members_of(data: bytes) -> dict[str, bytes]:
    """Return the members of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def _array(data: bytes) -> Any:
    return np.load(io.BytesIO(data))


def _arrays(arrays: Any) -> dict[str, Any]:
    """Return the arrays of a document, and what stands in their place as arrays where possible."""
    if not isinstance(arrays, dict):
        return {}
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


_PACKED: dict[int, tuple[Any, bytes, dict[str, Any]]] = {}


def _packed(array: Any) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes and the entry of an array; kept, as documents share most arrays."""
    found = _PACKED.get(id(array))
    if found is None:
        data = pack_array(array)
        found = array, data, array_entry(array, data)
        if len(_PACKED) > 5000:
            _PACKED.clear()
        _PACKED[id(array)] = found
    return found[1], dict(found[2])


def _lie(entries: dict[str, Any], lie: Any) -> None:
    """Let the header say something else about one array."""
    if isinstance(lie, Lie) and lie.name in entries:
        entries[lie.name] = {**entries[lie.name], lie.part: lie.value}


def _as_text(value: Any) -> str:
    """Return a plain value as a text file would hold it."""
    if isinstance(value, str):
        return without_raw(value)
    return repr(value) if isinstance(value, float) else str(value)


def _toml(plain: Any, path: str = "") -> str:
    """Return a mapping as TOML; what is none, as a value of a key."""
    if not isinstance(plain, Mapping):
        return f"value = {_toml_value(plain)}\n"
    tables = {key: value for key, value in plain.items() if isinstance(value, Mapping) and value}
    lines = [
        f"{_toml_key(key)} = {_toml_value(value)}\n"
        for key, value in plain.items()
        if key not in tables
    ]
    for key, value in tables.items():
        name = f"{path}.{_toml_key(key)}" if path else _toml_key(key)
        lines.append(f"\n[{name}]\n{_toml(value, name)}")
    return "".join(lines)


def _toml_key(key: Any) -> str:
    text = str(key)
    return text if text.isascii() and text.isalnum() else _toml_value(text)


def _toml_value(value: Any) -> str:
    if isinstance(value, str) and value != without_raw(value):
        return without_raw(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
        return "{" + inner + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return "nan" if value is None else dump_json(value).decode()
