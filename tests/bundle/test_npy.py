from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from thrifty.bundle.npy import DTYPES, entry_of, pack, size_of, unpack
from thrifty.errors import BundleError

RECORD = np.dtype([("threshold", "<f8"), ("child", "<i4"), ("feature", "<i4")])
plain = st.sampled_from([*DTYPES, RECORD]).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
)


def entry(array, **changes):
    return entry_of(array, pack(array)) | changes


@given(plain)
def test_arrays_come_back_to_the_same_bits(array):
    data = pack(array)
    again = unpack("a", entry_of(array, data), data)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()
    assert again.flags.c_contiguous and again.flags.aligned


@given(plain)
def test_numpy_writes_the_same_bytes_and_reads_ours(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), (1, 0))
    written = np.load(io.BytesIO(pack(array)), allow_pickle=False)
    assert written.dtype == array.dtype and written.tobytes() == array.tobytes()
    if array.ndim and array.dtype.names is None:
        # NumPy leaves room for the first length to grow; the data is the same.
        assert buffer.getvalue()[128:] == pack(array)[128:]


def test_order_and_byte_order_do_not_matter():
    array = np.arange(6).reshape(2, 3)
    for same in (np.asfortranarray(array), array.astype(">i8"), array[::-1][::-1]):
        assert pack(same) == pack(array)
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
        pack(array)


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
        size_of("a", false)
        unpack("a", false, pack(ARRAY))


def test_data_that_does_not_fit_its_entry_is_refused():
    data = pack(ARRAY)
    for false in (data[:-1], data + b"\0", b"", data.replace(b"NUMPY", b"PICKL")):
        with pytest.raises(BundleError, match="type and shape of its entry"):
            unpack("a", entry(ARRAY), false)
    with pytest.raises(BundleError, match="its digest differs"):
        unpack("a", entry(ARRAY), data[:-1] + b"\1")


def test_a_boolean_is_true_or_false():
    array = np.array([True, False])
    data = pack(array)[:-1] + b"\7"
    with pytest.raises(BundleError, match="neither true nor false"):
        unpack("a", entry_of(array, data), data)
