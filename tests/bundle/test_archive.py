from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import pytest

from thrifty.bundle import archive
from thrifty.bundle.archive import DIGITS, Archive, pack, seal
from thrifty.errors import BundleError

MEMBERS = {"header.json": b"{}", "arrays/a.npy": b"hello" * 100}
END = 22 + DIGITS


def zipped(entries, method=zipfile.ZIP_DEFLATED, **options) -> bytes:
    """A sealed zip, made by hand."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, **options) as out:
        for name, data in entries:
            out.writestr(name, data)
        out.comment = b"0" * DIGITS
    return seal(buffer.getvalue())


def refusal(data: bytes) -> str:
    with pytest.raises(BundleError) as caught:
        members = Archive(data)
        for name in members.names or ["header.json"]:
            members.read(name, 10**6)
    return str(caught.value)


def test_members_come_back():
    members = Archive(pack(MEMBERS))
    assert members.names == MEMBERS.keys()
    for name, data in MEMBERS.items():
        assert members.size(name) == len(data)
        assert members.read(name, len(data)) == data


def test_the_same_members_give_the_same_bytes():
    assert pack(MEMBERS) == pack(dict(MEMBERS))


def test_a_member_is_read_only_up_to_its_size():
    members = Archive(pack(MEMBERS))
    with pytest.raises(BundleError, match="larger than 499"):
        members.read("arrays/a.npy", 499)
    with pytest.raises(BundleError, match="lacks 'b'"):
        members.read("b", 1)


def test_every_flipped_bit_breaks_the_seal():
    data = pack(MEMBERS)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        assert refusal(bytes(damaged))


def test_every_truncation_is_refused():
    data = pack(MEMBERS)
    for length in range(len(data)):
        assert refusal(data[:length])


def test_a_zip_without_a_seal_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("header.json", "{}" * 100)
    assert "without a Thrifty seal" in refusal(buffer.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused():
    assert "twice" in refusal(zipped([("a", b"1"), ("a", b"2")]))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method):
    assert "method" in refusal(zipped([("a", b"1")], method))


def test_a_bomb_is_refused_before_it_unfolds():
    bomb = zipped([(f"a{i}", bytes(archive.MAX_DEFLATED // 4)) for i in range(5)])
    tracemalloc.start()
    try:
        assert "would unfold to" in refusal(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_member_that_is_longer_than_it_says_is_cut_and_refused():
    data = bytearray(zipped([("a", bytes(10**6))]))
    directory = data.rindex(b"PK\x01\x02")
    for offset in (22, directory + 24):  # its size, in the local header and in the directory
        data[offset : offset + 4] = struct.pack("<L", 10)
    assert "damaged" in refusal(seal(bytes(data)))


def test_an_encrypted_member_is_refused():
    data = bytearray(zipped([("a", b"1")]))
    directory = data.rindex(b"PK\x01\x02")
    data[6] |= 1
    data[directory + 8] |= 1
    assert "damaged" in refusal(seal(bytes(data)))


@pytest.mark.parametrize(
    "offset, value",
    [(12, 2**21), (12, 2**32 - 1), (12, 0), (12, 47), (16, 2**32 - 1), (16, 5)],
)
def test_a_directory_elsewhere_or_of_another_size_is_refused(offset, value):
    data = bytearray(pack(MEMBERS))
    start = len(data) - END
    data[start + offset : start + offset + 4] = struct.pack("<L", value)
    assert refusal(seal(bytes(data)))


def test_a_directory_for_huge_files_is_refused():
    data = pack(MEMBERS)
    start = len(data) - END
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    assert "directory" in refusal(seal(data[:start] + locator + data[start:]))


def test_too_much_is_not_packed(monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE", 400)
    with pytest.raises(BundleError, match="at most 2 GiB"):
        pack(MEMBERS)
