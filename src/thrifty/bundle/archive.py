"""The container of a model file: a sealed zip, and arrays as ``.npy`` members.

The seal is the comment of the zip: the SHA-256 of all bytes before it. A reader checks it first,
so that damage anywhere in the file is reported as damage. The seal does not say who wrote the
file: a file with a correct seal is still checked as if it were malicious.

An array is never parsed. What precedes the data in a ``.npy`` file follows from its dtype and
shape, which the header of the model file states: the first bytes must be exactly these, and the
rest must be exactly as long as they say.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError
from thrifty.untrusted import is_count, is_list, is_text, shown

__all__ = [
    "DTYPES",
    "Archive",
    "array_entry",
    "array_size",
    "pack_array",
    "pack_members",
    "read_array",
    "seal",
    "unpack_array",
]

# Members have at most this size together, or so many times the size of the file; what would be
# compressed to less is stored. A reader can therefore refuse zip bombs by the sizes they claim.
MAX_DEFLATED = 64 * 2**20
MAX_RATIO = 32
# A member of text, which takes far more memory once it is parsed, has at most this size, or so many
# times the size of the file.
MAX_SMALL_TEXT = 2**20
MAX_TEXT_RATIO = 100
# Large members are compressed in a fifth of the time, to a file a third larger.
FAST_LEVEL = 1
MAX_DIRECTORY = 2**20
MAX_FILE = 2**31 - 1
MAX_MEMBERS = 2**16 - 1  # of a zip
TOO_LARGE = "a model file has at most 2 GiB"
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZIP_START = b"PK\x03\x04"
ZIP_END = b"PK\x05\x06"
# The record that ends a zip: mark, disks and counts, size and offset of the directory, length
# of the comment.
END_RECORD = struct.Struct("<4s4H2LH")
ZIP64_LOCATOR = b"PK\x06\x07"
ZIP64_LOCATOR_SIZE = 20
SEAL_SIZE = 64  # hexadecimal digits of a SHA-256

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
MAX_DIMENSIONS = 8
MAX_LENGTH = 2**31 - 1  # the largest file has as many bytes
MAX_FIELDS = 64


def pack_members(members: Mapping[str, bytes]) -> bytes:
    """Write members into a sealed zip; the same members always give the same bytes.

    Examples
    --------
    >>> from thrifty.bundle.archive import Archive, pack_members
    >>> Archive(pack_members({"a.txt": b"hello"})).read("a.txt", 5)
    b'hello'
    """
    total = sum(map(len, members.values()))
    if total > MAX_FILE:
        raise BundleError(TOO_LARGE)
    if len(members) > MAX_MEMBERS:
        raise BundleError(f"a file has at most {MAX_MEMBERS} members, got {len(members)}")
    data = _zip(members, zipfile.ZIP_DEFLATED, None if total <= MAX_DEFLATED else FAST_LEVEL)
    texts = [len(text) for name, text in members.items() if name.endswith(".json")]
    too_small = max(texts, default=0) > max_text(len(data))
    if too_small or total > max(MAX_DEFLATED, MAX_RATIO * len(data)):
        data = _zip(members, zipfile.ZIP_STORED)
    return seal(data)


def max_text(file_size: int) -> int:
    """Return the largest size of a member of text in a file of so many bytes."""
    return max(MAX_SMALL_TEXT, MAX_TEXT_RATIO * file_size)


def _zip(members: Mapping[str, bytes], method: int, level: int | None = None) -> bytes:
    """Write members into a zip, with room for a seal."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, allowZip64=False, compresslevel=level) as zipped:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # dated 1980, not now
            info.create_system = 3  # the same on all systems, so that the bytes agree
            zipped.writestr(info, data, method, level)
        zipped.comment = b"0" * SEAL_SIZE
    return buffer.getvalue()


def seal(data: bytes) -> bytes:
    """Replace the comment at the end of a zip by the digest of all other bytes."""
    return data[:-SEAL_SIZE] + _digest(data)


class Archive:
    """The members of a sealed zip, each read only up to the size that it must have.

    Parameters
    ----------
    data : bytes
        The whole file.
    max_directory : int
        Largest size of the zip's directory, in bytes.

    Raises
    ------
    BundleError
        If `data` is not a sealed zip, is damaged, or would unpack to far more than its size.
    """

    def __init__(self, data: bytes, max_directory: int = MAX_DIRECTORY) -> None:
        if not data.startswith(ZIP_START):
            raise BundleError("this is not a Thrifty model file")
        end = len(data) - END_RECORD.size - SEAL_SIZE
        if end < 0 or not data.startswith(ZIP_END, end):
            raise BundleError("the file is truncated, or a zip without a Thrifty seal")
        if data[-SEAL_SIZE:] != _digest(data):
            raise BundleError("the file is damaged: its digest differs from its seal")
        # A large directory would take zipfile long to read, and a zip64 one may be elsewhere.
        *_, directory_size, _, comment_size = END_RECORD.unpack_from(data, end)
        zip64 = data.startswith(ZIP64_LOCATOR, max(0, end - ZIP64_LOCATOR_SIZE))
        if directory_size > max_directory or comment_size != SEAL_SIZE or zip64:
            raise BundleError("the file's directory is not one that Thrifty writes")
        self._max_text = max_text(len(data))
        with _as_damage():
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        infos = self._zip.infolist()
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) < len(infos):
            raise BundleError("the file holds a member twice")
        if not all(info.compress_type in ZIP_METHODS for info in infos):
            raise BundleError("the file is compressed by a method that Thrifty does not use")
        total = sum(info.file_size for info in infos)
        if total > min(MAX_FILE, max(MAX_DEFLATED, MAX_RATIO * len(data))):
            raise BundleError(f"the file of {len(data)} bytes would unpack to {total} bytes")

    @property
    def names(self) -> frozenset[str]:
        """Names of all members."""
        return frozenset(self._infos)

    def size(self, name: str) -> int:
        """Return the number of bytes that a member claims to have."""
        if name not in self._infos:
            raise BundleError(f"the file lacks {name!r}")
        return self._infos[name].file_size

    def read(self, name: str, max_size: int) -> bytes:
        """Read a member of at most `max_size` bytes; text may have less in a small file."""
        if name.endswith(".json"):
            max_size = min(max_size, self._max_text)
        if self.size(name) > max_size:
            raise BundleError(f"{name!r} is larger than {max_size} bytes")
        with _as_damage(), self._zip.open(self._infos[name]) as member:
            return member.read(max_size + 1)


def pack_array(array: NDArray[Any]) -> bytes:
    """Write an array as ``.npy`` bytes.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from thrifty.bundle.archive import pack_array
    >>> np.load(io.BytesIO(pack_array(np.arange(3))))
    array([0, 1, 2])
    """
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    descr = _describe_dtype(array.dtype)
    if not _is_allowed(descr) or np.dtype(_as_dtype(descr)) != array.dtype:
        raise BundleError(f"a model file holds numbers and booleans, not {array.dtype}")
    return _npy_prefix(descr, array.shape) + array.tobytes(order="C")


def array_entry(array: NDArray[Any], data: bytes) -> dict[str, Any]:
    """Return how a header describes an array and its ``.npy`` bytes."""
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "dtype": _describe_dtype(array.dtype.newbyteorder("<")),
        "shape": list(array.shape),
    }


def array_size(name: str, entry: dict[str, Any]) -> int:
    """Check the entry of an array in a header; return the size of its ``.npy`` file in bytes."""
    dtype, shape = entry["dtype"], entry["shape"]
    if not _is_allowed(dtype):
        raise BundleError(f"array {name!r}: dtype {shown(dtype)} is not allowed")
    if not is_list(shape, is_count, most=MAX_DIMENSIONS):
        raise BundleError(f"array {name!r}: the shape must list at most {MAX_DIMENSIONS} lengths")
    # Also if another length is 0, and no byte is stored.
    if math.prod(max(n, 1) for n in shape) > MAX_LENGTH:
        raise BundleError(f"array {name!r}: the shape {shape} is too large")
    if not is_text(entry["sha256"]):
        raise BundleError(f"array {name!r}: the sha256 is not text")
    itemsize: int = np.dtype(_as_dtype(dtype)).itemsize
    size: int = math.prod(shape) * itemsize
    return len(_npy_prefix(dtype, tuple(shape))) + size


def unpack_array(name: str, entry: dict[str, Any], data: bytes) -> NDArray[Any]:
    """Build the array that `entry` describes from its ``.npy`` bytes, if they match."""
    dtype, shape = entry["dtype"], tuple(entry["shape"])
    if len(data) != array_size(name, entry) or not data.startswith(_npy_prefix(dtype, shape)):
        raise BundleError(f"array {name!r} does not have the dtype and shape of its entry")
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise BundleError(f"array {name!r} is damaged: its digest differs")
    offset = len(_npy_prefix(dtype, shape))
    array = np.frombuffer(data, dtype=_as_dtype(dtype), offset=offset).reshape(shape).copy()
    if dtype == "|b1" and array.size and array.view(np.uint8).max() > 1:
        raise BundleError(f"array {name!r} holds a boolean that is neither true nor false")
    return array


def read_array(members: Archive, member: str, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    """Read the array that `entry` describes, after its size; messages call it `name`."""
    size = array_size(name, entry)
    if members.size(member) != size:
        raise BundleError(f"array {name!r} does not have the dtype and shape of its entry")
    return unpack_array(name, entry, members.read(member, size))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(memoryview(data)[:-SEAL_SIZE]).hexdigest().encode()


@contextmanager
def _as_damage() -> Iterator[None]:
    """Report any error of zipfile and zlib as damage.

    They raise a dozen kinds of errors on malicious bytes; here all mean the same.
    """
    try:
        yield
    except Exception as error:
        raise BundleError(f"the file is damaged ({error})") from error


def _describe_dtype(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as JSON: its type string such as "<f8", or [field, type] pairs."""
    if dtype.fields is None:
        return dtype.str
    return [[field, dtype.fields[field][0].str] for field in dtype.names or ()]


def _as_dtype(descr: Any) -> Any:
    """Return what `_describe_dtype` returned in the form that NumPy takes."""
    return descr if isinstance(descr, str) else [(field, name) for field, name in descr]


def _is_allowed(descr: Any) -> bool:
    """Return whether `descr` describes a dtype of `DTYPES`, or a flat structure of them."""
    if isinstance(descr, str):
        return descr in DTYPES
    if not isinstance(descr, list) or not 1 <= len(descr) <= MAX_FIELDS:
        return False
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in descr):
        return False
    for field, name in descr:
        if not isinstance(field, str) or len(field) > 64:
            return False
        if not (field.isascii() and field.isidentifier()):
            return False
        if not isinstance(name, str) or name not in DTYPES or name == "|b1":
            return False
    return len({field for field, _ in descr}) == len(descr)


def _npy_prefix(descr: Any, shape: tuple[int, ...]) -> bytes:
    """Return what precedes the data of a ``.npy`` file of version 1.0, aligned to 64 bytes."""
    text = f"{{'descr': {_as_dtype(descr)!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    length = -(10 + len(text) + 1) % 64 + len(text) + 1
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"
