"""The container of a model file: a zip of named members, closed by a seal.

The seal is the zip's comment: the SHA-256 of every byte before it. It is the first thing a
reader checks, so that damage of any kind, anywhere in the file, is told as damage. It does
not prove who wrote the file: a sealed file is still audited as if it were hostile.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from thrifty.errors import BundleError

__all__ = ["Archive", "pack", "seal"]

# Up to this size members are deflated, and above it stored. A reader can therefore ask that
# all members together are no larger than this or than the file: no file unfolds beyond it.
MAX_DEFLATED = 64 * 2**20
MAX_DIRECTORY = 2**20
MAX_FILE = 2**31 - 1
TOO_LARGE = "a model file holds at most 2 GiB"
END = struct.Struct("<4s4H2LH")
ZIP64 = b"PK\x06\x07"
DIGITS = 64
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def pack(members: Mapping[str, bytes]) -> bytes:
    """Write members into a sealed zip; the same members always give the same bytes.

    Examples
    --------
    >>> from thrifty.bundle.archive import Archive, pack
    >>> Archive(pack({"a.txt": b"hello"})).read("a.txt", 5)
    b'hello'
    """
    total = sum(map(len, members.values()))
    if total > MAX_FILE:
        raise BundleError(TOO_LARGE)
    method = zipfile.ZIP_DEFLATED if total <= MAX_DEFLATED else zipfile.ZIP_STORED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, allowZip64=False) as zipped:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # dated 1980, not now
            info.compress_type = method
            info.create_system = 3  # whatever the system, so that the bytes agree
            zipped.writestr(info, data)
        zipped.comment = b"0" * DIGITS
    return seal(buffer.getvalue())


def seal(data: bytes) -> bytes:
    """Put the digest of all other bytes in place of the comment that ends a zip."""
    return data[:-DIGITS] + _digest(data)


class Archive:
    """Members of a sealed zip, each read only up to the size that it must have.

    Parameters
    ----------
    data : bytes
        The whole file.
    """

    def __init__(self, data: bytes) -> None:
        _refuse_strangers(data)
        if data[-DIGITS:] != _digest(data):
            raise BundleError("the file is damaged: its digest differs from its seal")
        _refuse_directory(data)
        with _damage():
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        self._infos = {info.filename: info for info in self._zip.infolist()}
        self._refuse_members(len(data))

    @property
    def names(self) -> frozenset[str]:
        """Names of all members."""
        return frozenset(self._infos)

    def size(self, name: str) -> int:
        """How many bytes a member says it has."""
        if name not in self._infos:
            raise BundleError(f"the file lacks {name!r}")
        return self._infos[name].file_size

    def read(self, name: str, most: int) -> bytes:
        """Read a member, if it has at most `most` bytes."""
        if self.size(name) > most:
            raise BundleError(f"{name!r} is larger than {most} bytes")
        with _damage(), self._zip.open(self._infos[name]) as member:
            return member.read(most + 1)

    def _refuse_members(self, size: int) -> None:
        infos = self._zip.infolist()
        if len(self._infos) < len(infos):
            raise BundleError("the file holds a member twice")
        if not all(info.compress_type in METHODS for info in infos):
            raise BundleError("the file is packed by a method that Thrifty does not use")
        total = sum(info.file_size for info in infos)
        if total > max(size, MAX_DEFLATED):
            raise BundleError(f"the file of {size} bytes would unfold to {total} bytes")


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(memoryview(data)[:-DIGITS]).hexdigest().encode()


def _refuse_strangers(data: bytes) -> None:
    if not data.startswith(b"PK\x03\x04"):
        raise BundleError("this is not a Thrifty model file")
    if len(data) < END.size + DIGITS or _end(data)[0] != b"PK\x05\x06":
        raise BundleError("the file is cut short, or a zip without a Thrifty seal")


def _refuse_directory(data: bytes) -> None:
    """Refuse a directory that zipfile would take long to read, or read elsewhere."""
    *_, size, _offset, comment = _end(data)
    start = len(data) - END.size - DIGITS
    if size > MAX_DIRECTORY or comment != DIGITS or data[start - 20 :].startswith(ZIP64):
        raise BundleError("the file's directory is not one that Thrifty writes")


def _end(data: bytes) -> tuple[bytes, int, int, int, int, int, int, int]:
    return END.unpack_from(data, len(data) - END.size - DIGITS)


@contextmanager
def _damage() -> Iterator[None]:
    """Tell whatever zipfile and zlib stumble over as damage.

    They raise a dozen kinds of errors on hostile bytes; none means anything else here.
    """
    try:
        yield
    except Exception as error:
        raise BundleError(f"the file is damaged ({error})") from error
