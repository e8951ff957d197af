"""Arrays as ``.npy`` bytes, for a few plain types, records of them, and no other.

What precedes an array's data in a ``.npy`` file follows from its type and shape alone. So a
file is not parsed: its first bytes must be the ones that the audited type and shape call
for, and the rest must be exactly as long as they say.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError

__all__ = ["DTYPES", "entry_of", "pack", "size_of", "unpack"]

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
MAX_DIMENSIONS = 8
MAX_EXTENT = 2**40
MAX_FIELDS = 64


def pack(array: NDArray[Any]) -> bytes:
    """Write an array as ``.npy`` bytes.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from thrifty.bundle.npy import pack
    >>> np.load(io.BytesIO(pack(np.arange(3))))
    array([0, 1, 2])
    """
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    descr = _descr(array.dtype)
    if not _is_plain(descr) or np.dtype(_spec(descr)) != array.dtype:
        raise BundleError(f"a model file keeps numbers and booleans, not {array.dtype}")
    return _prefix(descr, array.shape) + array.tobytes(order="C")


def entry_of(array: NDArray[Any], data: bytes) -> dict[str, Any]:
    """Describe an array and its ``.npy`` bytes, as the header of a model file does."""
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "dtype": _descr(array.dtype.newbyteorder("<")),
        "shape": list(array.shape),
    }


def size_of(name: str, entry: dict[str, Any]) -> int:
    """Audit an array's entry; give how many bytes its ``.npy`` file must have."""
    dtype, shape = entry["dtype"], entry["shape"]
    if not _is_plain(dtype):
        raise BundleError(f"array {name!r}: type {str(dtype)[:20]!r} is not allowed")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise BundleError(f"array {name!r}: the shape must be a list of a few lengths")
    if not all(type(n) is int and 0 <= n <= MAX_EXTENT for n in shape):
        raise BundleError(f"array {name!r}: the shape holds a length out of range")
    itemsize: int = np.dtype(_spec(dtype)).itemsize
    return len(_prefix(dtype, tuple(shape))) + math.prod(shape) * itemsize


def unpack(name: str, entry: dict[str, Any], data: bytes) -> NDArray[Any]:
    """Build the array that `entry` describes, if `data` is what it says."""
    dtype, shape = entry["dtype"], tuple(entry["shape"])
    prefix = _prefix(dtype, shape)
    if len(data) != size_of(name, entry) or not data.startswith(prefix):
        raise BundleError(f"array {name!r} does not have the type and shape of its entry")
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise BundleError(f"array {name!r} is damaged: its digest differs")
    array = np.frombuffer(data, dtype=_spec(dtype), offset=len(prefix)).reshape(shape).copy()
    if dtype == "|b1" and array.size and array.view(np.uint8).max() > 1:
        raise BundleError(f"array {name!r} holds a boolean that is neither true nor false")
    return array


def _descr(dtype: np.dtype[Any]) -> Any:
    """A type as JSON has it: its name, or [field, name] pairs for a record."""
    if dtype.fields is None:
        return dtype.str
    return [[field, dtype.fields[field][0].str] for field in dtype.names or ()]


def _spec(descr: Any) -> Any:
    """The same as NumPy has it."""
    return descr if isinstance(descr, str) else [(field, name) for field, name in descr]


def _is_plain(descr: Any) -> bool:
    if isinstance(descr, str):
        return descr in DTYPES
    if not isinstance(descr, list) or not 1 <= len(descr) <= MAX_FIELDS:
        return False
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in descr):
        return False
    fields = [field for field, _ in descr]
    return (
        all(map(_is_field, fields))
        and len(set(fields)) == len(fields)
        and all(isinstance(name, str) and name in DTYPES and name != "|b1" for _, name in descr)
    )


def _is_field(name: Any) -> bool:
    return isinstance(name, str) and len(name) <= 64 and name.isascii() and name.isidentifier()


def _prefix(descr: Any, shape: tuple[int, ...]) -> bytes:
    """Magic, version 1.0, length and text, padded so that the data is aligned to 64 bytes."""
    text = f"{{'descr': {_spec(descr)!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    length = -(10 + len(text) + 1) % 64 + len(text) + 1
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"
