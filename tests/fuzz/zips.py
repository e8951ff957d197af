"""Write zip archives quickly, and wrongly on request."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from thrifty.bundle.archive import seal

__all__ = ["Quirk", "propose_quirk", "write_zip"]

DATE = 0x21  # 1980-01-01, as Thrifty writes it
SEAL_SIZE = 64
METHODS = (0, 8, 8, 1, 12, 99)
QUIRKS = ("method", "flags", "crc", "size", "packed", "offset", "twice", "count", "name", "tail")


class Quirk(NamedTuple):
    """Something that is wrong with one member of a zip."""

    what: str
    which: int
    amount: int


def write_zip(members: Mapping[str, bytes], quirk: Any = None) -> bytes:
    """Return a sealed zip of stored members, with a `Quirk` if there is one."""
    what, which, amount = quirk if isinstance(quirk, Quirk) else (None, -1, 0)
    files = [(name.encode("utf-8", "replace"), data) for name, data in members.items()]
    if what == "twice" and files:
        files.append(files[which % len(files)])
    out, directory = bytearray(), bytearray()
    for k, (name, data) in enumerate(files):
        is_odd = files and k == which % len(files)
        flags, method, crc = 0, 0, zlib.crc32(data)
        packed, size, offset = data, len(data), len(out)
        if is_odd and what == "method":
            method = METHODS[amount % len(METHODS)]
            if method == 8:
                packed = zlib.compress(data)[2:-4]
        if is_odd:
            flags = amount & 0xFFFF if what == "flags" else flags
            crc = (crc ^ amount) & 0xFFFFFFFF if what == "crc" else crc
            size = amount & 0xFFFFFFFF if what == "size" else size
            offset = amount & 0xFFFFFFFF if what == "offset" else offset
            name = (
                (b"\xff", b"", b"/", name + b"\0x", b"a" * 3000)[amount % 5]
                if what == "name"
                else name
            )
        n_packed = amount & 0xFFFFFFFF if is_odd and what == "packed" else len(packed)
        fields = (20, flags, method, 0, DATE, crc, n_packed, size, len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 788) + struct.pack("<5H3L2H", *fields)
        directory += struct.pack("<3H2L", 0, 0, 0, 0o600 << 16, offset) + name
        out += b"PK\x03\x04" + struct.pack("<5H3L2H", *fields) + name + packed
    start, count = len(out), len(files)
    out += directory
    if what == "tail":
        out += b"\0" * (amount % 100)
    if what == "count":
        count = amount & 0xFFFF
    ends = struct.pack("<4H2LH", 0, 0, count, count, len(directory), start, SEAL_SIZE)
    return seal(bytes(out) + b"PK\x05\x06" + ends + b"0" * SEAL_SIZE)


def propose_quirk(random: Random) -> Quirk:
    """Draw something to be wrong with one member of a zip."""
    amount = random.choice(
        [0, 1, 5, 64, 1000, 2**16 - 1, 2**31 - 1, 2**32 - 1, random.getrandbits(32)]
    )
    return Quirk(random.choice(QUIRKS), random.randrange(100), amount)
