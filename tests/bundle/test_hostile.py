"""A model file may come from anywhere: it loads, or it is refused; nothing else happens."""

from __future__ import annotations

import copy
import hashlib
import pickle
import tracemalloc
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import describe, load
from thrifty.bundle.archive import array_entry, pack_array, seal
from thrifty.errors import BundleError

json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**63, -(2**63) - 1, 2**31, 10**30]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def good(make, folder) -> bytes:
    make(provenance={"rows": 4}).save(folder / "good")
    return (folder / "good").read_bytes()


@pytest.fixture(scope="module")
def attempt(folder):
    """Load some bytes: a predictor, or None when they are refused."""
    numbers = count()

    def attempt(data: bytes):
        path = folder / f"{next(numbers)}.thrifty"
        path.write_bytes(data)
        try:
            describe(path)
            return load(path)
        except BundleError as error:
            assert str(error).startswith(str(path))
            return None
        finally:
            path.unlink()

    return attempt


def places(plain, path=()):
    """All paths into a plain value."""
    yield path
    if isinstance(plain, dict | list):
        items = plain.items() if isinstance(plain, dict) else enumerate(plain)
        for key, child in items:
            yield from places(child, (*path, key))


def put(plain, path, value):
    """A copy of a plain value, with another value at a path."""
    if not path:
        return value
    plain = copy.deepcopy(plain)
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return plain


# --- damage ------------------------------------------------------------------


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04"]))
def test_random_bytes_are_refused(attempt, data, start):
    assert attempt(start + data) is None
    assert attempt(seal(start + data + bytes(64))) is None


@given(st.data())
def test_a_truncated_file_is_refused(attempt, good, data):
    length = data.draw(st.integers(0, len(good) - 1))
    assert attempt(good[:length]) is None
    assert attempt(good[length:]) is None or length == 0


@given(st.data())
def test_a_flipped_bit_is_refused(attempt, good, data):
    damaged = bytearray(good)
    damaged[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert attempt(bytes(damaged)) is None


@given(st.data())
def test_a_resealed_change_is_refused_or_changes_nothing(attempt, good, data):
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(good) - 65))] = data.draw(st.integers(0, 255))
    predictor = attempt(seal(bytes(changed)))
    if predictor is not None:  # the change fell on a date or a flag that says nothing
        assert predictor.labels == ["well", "ill"]
        assert predictor.predict({"age": [70], "chol": [1.0], "sex": ["m"]}).tolist() == ["ill"]


# --- malicious headers -------------------------------------------------------


@given(st.data())
def test_a_header_with_any_value_replaced_loads_or_is_refused(attempt, good, unpack, repack, data):
    header, members = unpack(good)
    path = data.draw(st.sampled_from(list(places(header))))
    predictor = attempt(repack(put(header, path, data.draw(json_values)), members))
    if predictor is not None and len(predictor.schema) == 3:
        answers = predictor.predict(np.array([[70, 1, None]], dtype=object))
        assert answers.tolist()[0] in predictor.labels


@given(st.data())
def test_a_header_with_any_part_removed_is_refused(attempt, good, unpack, repack, data):
    header, members = unpack(good)
    header |= {"knob": None, "provenance": None}
    paths = [path for path in places(header) if path and isinstance(path[-1], str)]
    *way, last = data.draw(st.sampled_from(paths))
    place = header
    for key in way:
        place = place[key]
    del place[last]
    assert attempt(repack(header, members)) is None


def test_a_header_that_does_not_match_its_model_is_refused(attempt, good, unpack, repack):
    header, members = unpack(good)
    changes = [
        ("kind", "os.system"),
        ("kind", ""),
        ("classes", None),
        ("classes", {"type": "int", "labels": [1, 2, 3]}),
        ("classes", {"type": "int", "labels": [1, 1]}),
        ("classes", {"type": "int", "labels": [1, 2**63]}),
        ("classes", {"type": "int", "labels": [1, True]}),
        ("classes", {"type": "str", "labels": [1, 2]}),
        ("classes", {"type": "object", "labels": ["a", "b"]}),
        ("classes", {"type": "str", "labels": "ab"}),
        ("classes", {"type": "str", "labels": []}),
        ("classes", {"type": ["str"], "labels": ["a", "b"]}),
        ("classes", {"type": "str", "labels": [["a"], ["b"]]}),
        ("model", {"n_features": 4}),
        ("prices", header["prices"] | {"names": ["a", "b", "c"]}),
        ("schema", {"named": False, "columns": [{"name": 0, "categories": None}]}),
    ]
    for part, value in changes:
        assert attempt(repack(header | {part: value}, members)) is None, (part, value)
    assert attempt(repack(header, members)) is not None


def test_members_and_header_must_agree(attempt, good, unpack, repack):
    header, members = unpack(good)
    assert attempt(repack(header, members | {"arrays/more.npy": b""})) is None
    assert attempt(repack(header, members | {"../../evil.py": b"1"})) is None
    assert attempt(repack(header, {"arrays/leaves.npy": members["arrays/leaves.npy"]})) is None
    swapped = dict(zip(members, reversed(members.values()), strict=True))
    assert attempt(repack(header, swapped)) is None


def test_a_header_that_is_too_large_is_refused(attempt, good, unpack, repack):
    header, members = unpack(good)
    huge = header | {"knob": {"x": "x" * (9 * 2**20)}}
    assert attempt(repack(huge, members)) is None


@pytest.mark.parametrize("shape", [[2**40], [2**33], [10**30], [2**20] * 3, [0, 2**62], [-2]])
def test_a_huge_shape_takes_no_memory(attempt, good, unpack, repack, shape):
    header, members = unpack(good)
    header["arrays"]["thresholds"]["shape"] = shape
    data = repack(header, members)
    tracemalloc.start()
    try:
        assert attempt(data) is None
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_an_object_array_is_refused_unread(attempt, good, unpack, repack):
    header, members = unpack(good)
    payload = pickle.dumps(np.array([print]))
    for dtype in ("|O", "O", [["a", "|O"]]):
        entry = {"dtype": dtype, "shape": [1], "sha256": hashlib.sha256(payload).hexdigest()}
        header["arrays"]["thresholds"] = entry
        assert attempt(repack(header, members | {"arrays/thresholds.npy": payload})) is None


@given(st.data())
def test_arrays_of_other_types_and_shapes_load_or_are_refused(attempt, good, unpack, repack, data):
    header, members = unpack(good)
    name = data.draw(st.sampled_from(["leaves", "thresholds"]))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    array = np.ones(shape, dtype=data.draw(st.sampled_from(["<f8", "<i4", "|b1", "<u8"])))
    members[f"arrays/{name}.npy"] = pack_array(array)
    header["arrays"][name] = array_entry(array, pack_array(array))
    predictor = attempt(repack(header, members))
    fits = {"leaves": array.shape == (3, 2), "thresholds": array.shape == (2,)}[name]
    assert (predictor is not None) == fits
