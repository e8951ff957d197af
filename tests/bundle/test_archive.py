"""The sealed zip, and arrays as its members: to the same bits and back, or refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from thrifty.bundle import archive
from thrifty.bundle.archive import (
    DTYPES,
    SEAL_SIZE,
    Archive,
    array_entry,
    array_size,
    pack_array,
    pack_members,
    seal,
    unpack_array,
)
from thrifty.errors import BundleError

MEMBERS = {"header.json": b"{}", "arrays/a.npy": b"hello" * 100}
END_SIZE = 22 + SEAL_SIZE


def zipped(entries, method=zipfile.ZIP_DEFLATED, **options) -> bytes:
    """Make a sealed zip by hand."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, **options) as out:
        for name, data in entries:
            out.writestr(name, data)
        out.comment = b"0" * SEAL_SIZE
    return seal(buffer.getvalue())


def refusal(data: bytes) -> str:
    with pytest.raises(BundleError) as caught:
        members = Archive(data)
        for name in members.names or ["header.json"]:
            members.read(name, 10**6)
    return str(caught.value)


# --- members ------------------------------------------------------------------


def test_members_come_back():
    members = Archive(pack_members(MEMBERS))
    assert members.names == MEMBERS.keys()
    for name, data in MEMBERS.items():
        assert members.size(name) == len(data)
        assert members.read(name, len(data)) == data


def test_the_same_members_give_the_same_bytes():
    assert pack_members(MEMBERS) == pack_members(dict(MEMBERS))


def test_a_member_is_read_only_up_to_its_size():
    members = Archive(pack_members(MEMBERS))
    with pytest.raises(BundleError, match="larger than 499"):
        members.read("arrays/a.npy", 499)
    with pytest.raises(BundleError, match="lacks 'b'"):
        members.read("b", 1)


def test_every_flipped_bit_breaks_the_seal():
    data = pack_members(MEMBERS)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        assert refusal(bytes(damaged))


def test_every_truncation_is_refused():
    data = pack_members(MEMBERS)
    for length in range(len(data)):
        assert refusal(data[:length])


def test_a_zip_without_a_seal_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("header.json", "{}" * 100)
    assert "without a Thrifty seal" in refusal(buffer.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_occurs_twice_is_refused():
    assert "twice" in refusal(zipped([("a", b"1"), ("a", b"2")]))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(method):
    assert "method" in refusal(zipped([("a", b"1")], method))


def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = zipped([(f"a{i}", bytes(archive.MAX_DEFLATED // 4)) for i in range(5)])
    tracemalloc.start()
    try:
        assert "would unpack to" in refusal(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_what_would_be_compressed_too_well_is_stored(monkeypatch):
    monkeypatch.setattr(archive, "MAX_DEFLATED", 1000)
    noise = np.random.default_rng(0).bytes(2000)
    for data, most in ((noise + bytes(20_000), 4000), (noise + bytes(200_000), 300_000)):
        packed = pack_members({"a": data})
        assert most / 3 < len(packed) < most
        assert Archive(packed).read("a", len(data)) == data


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
    data = bytearray(pack_members(MEMBERS))
    start = len(data) - END_SIZE
    data[start + offset : start + offset + 4] = struct.pack("<L", value)
    assert refusal(seal(bytes(data)))


def test_a_directory_for_huge_files_is_refused():
    data = pack_members(MEMBERS)
    start = len(data) - END_SIZE
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    assert "directory" in refusal(seal(data[:start] + locator + data[start:]))


def test_too_much_is_not_packed(monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE", 400)
    with pytest.raises(BundleError, match="at most 2 GiB"):
        pack_members(MEMBERS)


# --- arrays -------------------------------------------------------------------

RECORD = np.dtype([("threshold", "<f8"), ("child", "<i4"), ("feature", "<i4")])
plain_arrays = st.sampled_from([*DTYPES, RECORD]).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
)


def entry(array, **changes):
    return array_entry(array, pack_array(array)) | changes


@given(plain_arrays)
def test_arrays_come_back_to_the_same_bits(array):
    data = pack_array(array)
    again = unpack_array("a", array_entry(array, data), data)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()
    assert again.flags.c_contiguous and again.flags.aligned


@given(plain_arrays)
def test_numpy_writes_the_same_bytes_and_reads_ours(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), (1, 0))
    written = np.load(io.BytesIO(pack_array(array)), allow_pickle=False)
    assert written.dtype == array.dtype and written.tobytes() == array.tobytes()
    if array.ndim and array.dtype.names is None:
        # NumPy leaves room for the first length to grow; the data is the same.
        assert buffer.getvalue()[128:] == pack_array(array)[128:]


def test_order_and_byte_order_do_not_matter():
    array = np.arange(6).reshape(2, 3)
    for same in (np.asfortranarray(array), array.astype(">i8"), array[::-1][::-1]):
        assert pack_array(same) == pack_array(array)
        assert entry(same) == entry(array)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.array([b"a"]),
        np.array([None]),
        np.array([1j]),
        np.array(["2024"], dtype="M8[D]"),
        np.zeros(1, dtype=np.float16),
        np.zeros(1, dtype=np.longdouble),
        np.zeros(1, dtype=[("a", "f8", (2,))]),
        np.zeros(1, dtype=[("a", [("b", "f8")])]),
        np.zeros(1, dtype=[("a", "O")]),
        np.zeros(1, dtype=[("a", "?")]),
        np.zeros(1, dtype=[("ä", "f8")]),
        np.zeros(1, dtype=[("a", "f8"), ("b", "i1")]).view(
            np.dtype({"names": ["a"], "formats": ["f8"], "itemsize": 9})
        ),
    ],
    ids=lambda array: str(array.dtype),
)
def test_other_types_are_not_written(array):
    with pytest.raises(BundleError, match="numbers and booleans"):
        pack_array(array)


ARRAY = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "<f4"},
        {"dtype": ">f8"},
        {"dtype": "|O"},
        {"dtype": "O"},
        {"dtype": "f8"},
        {"dtype": None},
        {"dtype": ["<f8"]},
        {"dtype": {"a": 1}},
        {"dtype": [["a", "<f4"], ["a", "<f4"]]},
        {"dtype": [["a", "|O"]]},
        {"dtype": [["a", "|b1"]]},
        {"dtype": [["a", ["<f8"]]]},
        {"dtype": [[["a"], "<f8"]]},
        {"dtype": [["'", "<f8"]]},
        {"dtype": [["a", "<f8", 2]]},
        {"dtype": [[f"f{i}", "|i1"] for i in range(65)]},
        {"dtype": []},
        {"shape": [3, 2]},
        {"shape": [6]},
        {"shape": [2, 3, 10**18]},
        {"shape": [2**40] * 8},
        {"shape": [-1, -6]},
        {"shape": [2.0, 3]},
        {"shape": [True, 6]},
        {"shape": [1] * 9},
        {"shape": None},
        {"shape": "23"},
        {"shape": {"0": 2}},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"sha256": []},
    ],
    ids=str,
)
def test_an_entry_that_does_not_fit_is_refused(changes):
    false = entry(ARRAY, **changes)
    with pytest.raises(BundleError, match="array 'a'"):
        array_size("a", false)
        unpack_array("a", false, pack_array(ARRAY))


def test_data_that_does_not_fit_its_entry_is_refused():
    data = pack_array(ARRAY)
    for false in (data[:-1], data + b"\0", b"", data.replace(b"NUMPY", b"PICKL")):
        with pytest.raises(BundleError, match="dtype and shape of its entry"):
            unpack_array("a", entry(ARRAY), false)
    with pytest.raises(BundleError, match="its digest differs"):
        unpack_array("a", entry(ARRAY), data[:-1] + b"\1")


def test_a_boolean_is_true_or_false():
    array = np.array([True, False])
    data = pack_array(array)[:-1] + b"\7"
    with pytest.raises(BundleError, match="neither true nor false"):
        unpack_array("a", array_entry(array, data), data)
