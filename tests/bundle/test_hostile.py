"""A model file may come from anywhere: it loads, or it is refused; nothing else happens."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_files import SMALL

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


# --- numbers beyond floats -----------------------------------------------------

CORPUS = Path(__file__).parents[1] / "corpus"


def change_entry(plain, name, value):
    """Replace every entry of a name, wherever it is; return how many there were."""
    if isinstance(plain, list):
        return sum(change_entry(each, name, value) for each in plain)
    if not isinstance(plain, dict):
        return 0
    changed = sum(change_entry(each, name, value) for each in plain.values())
    if name in plain:
        plain[name] = value
    return changed + (name in plain)


@pytest.mark.parametrize("value", [10**400, -(10**400), None, "5", True, [], {}, 1e308, -1e308])
@pytest.mark.parametrize(
    ("file", "entry"),
    [
        ("blend", "share"),
        ("leaf_gate", "slope"),
        ("gaussians", "ridge"),
        ("gaussians", "threshold"),
        ("support_set", "gamma"),
        ("branch", "feature"),
        ("policy", "first"),
        ("neighbors", "k"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(attempt, unpack, repack, file, entry, value):
    header, members = unpack((CORPUS / f"{file}.thrifty").read_bytes())
    assert change_entry(header["model"], entry, value)
    predictor = attempt(repack(header, members))
    assert predictor is None or (entry, value) == ("threshold", 1e308)


@pytest.mark.parametrize("value", [10**400, -(10**400), None, "5", True, [], {}])
@pytest.mark.parametrize(
    ("file", "entry"),
    [("gate", "limit"), ("mixture", "limit"), ("short_circuit", "tolerance"),
     ("branch", "threshold"), ("policy", "cost_weight"), ("policy", "cap")],
)  # fmt: skip
def test_what_is_no_number_is_refused(attempt, unpack, repack, file, entry, value):
    header, members = unpack((CORPUS / f"{file}.thrifty").read_bytes())
    assert change_entry(header["model"], entry, value)
    predictor = attempt(repack(header, members))
    assert predictor is None or (entry, value) == ("cap", None)


@pytest.mark.parametrize("value", [10**400, None, "x", [], 1e308, 2**64])
def test_parameters_of_a_polynomial_are_numbers(attempt, unpack, repack, value):
    header, members = unpack((CORPUS / "support_set.thrifty").read_bytes())
    parameters = {"degree": 2, "gamma": 1.0, "coef0": value}
    header["model"] |= {"kernel": "polynomial", "parameters": parameters}
    predictor = attempt(repack(header, members))
    assert (predictor is not None) == (value == 2**64)
    if predictor is not None:
        assert np.isfinite(predictor.model.score(np.zeros((1, len(predictor.schema))))).all()


@pytest.mark.parametrize(
    "file",
    ["forest_classes", "average", "blend", "cascade", "cost_tree", "gate", "gaussians", "leaf_gate",
     "linear_tree", "mixture", "neighbors", "one_vs_rest", "policy", "stages", "support_set"],
)  # fmt: skip
@pytest.mark.parametrize("value", [1.7e308, 1e200, 5e-324])
def test_huge_and_tiny_parameters_are_refused_or_give_probabilities(
    attempt, unpack, repack, file, value
):
    header, members = unpack((CORPUS / f"{file}.thrifty").read_bytes())
    rows = np.array([[0.0], [1e308], [-1e308], [np.nan]]) * np.ones(
        len(header["schema"]["columns"])
    )
    for name, entry in header["arrays"].items():
        if entry["dtype"] != "<f8" or 0 in entry["shape"]:
            continue
        array = np.full(entry["shape"], value)
        data = pack_array(array)
        changed = copy.deepcopy(header)
        changed["arrays"][name] = array_entry(array, data)
        predictor = attempt(repack(changed, {**members, f"arrays/{name}.npy": data}))
        if predictor is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                assert np.isfinite(predictor.model.score(rows)).all(), name


def test_equal_rows_of_a_local_gaussian_have_a_regression(attempt, unpack, repack):
    header, members = unpack((CORPUS / "gaussians.thrifty").read_bytes())
    places = np.full(header["arrays"]["places"]["shape"], 1e9)
    data = pack_array(places)
    header["arrays"]["places"] = array_entry(places, data)
    header["model"] |= {"ridge": 1e-9, "threshold": 2.0}
    predictor = attempt(repack(header, {**members, "arrays/places.npy": data}))
    rows = np.array([[0.0], [1e9], [1e308]]) * np.ones(len(predictor.schema))
    assert np.isfinite(predictor.model.score(rows)).all()


# --- small files ---------------------------------------------------------------


def test_a_small_file_takes_little_time_and_memory(tmp_path):
    paths = []
    for name, (_, make) in SMALL.items():
        data = make()
        assert len(data) < 20_000, name
        paths.append(tmp_path / f"{len(paths)}.thrifty")
        paths[-1].write_bytes(data)
    program = Path(__file__).with_name("small_files.py")
    found = subprocess.run(
        [sys.executable, program, *paths], env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    for (name, (outcome, _)), (became, seconds, megabytes) in zip(
        SMALL.items(), json.loads(found.stdout), strict=True
    ):
        assert became == outcome, name
        # Of the processor; without limits these files take minutes or all memory.
        assert seconds < 1.0 and megabytes < 200, (name, seconds, megabytes)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.thrifty")
    for read in (load, describe):
        with pytest.raises(BundleError, match="not a regular file"):
            read(tmp_path / "pipe.thrifty")


# --- descriptions ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("classes", {}),
        ("classes", {"type": None}),
        ("classes", {"type": "str", "labels": 5}),
        ("classes", {"type": "str", "labels": ["a\0", "a"]}),
        ("schema", {}),
        ("schema", {"named": True, "columns": [{"name": {}, "categories": None}]}),
        ("prices", {}),
        ("decision", {}),
        ("decision", {"costs": [[0, 1], [1]]}),
        ("decision", {"costs": [[0, 1e308], [1, 0]]}),
        ("decision", {"costs": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}),
        ("kind", "\x1b[31m"),
        ("knob", {"\ud800": 1}),
        ("provenance", {"a": ["\udfff"]}),
        ("arrays", {"leaves": {"sha256": "", "dtype": "<f8", "shape": None}}),
        ("arrays", {"leaves": {"sha256": None, "dtype": "<f8", "shape": [3, 2]}}),
        ("arrays", {}),
    ],
)
def test_what_load_refuses_is_not_described(good, unpack, repack, tmp_path, part, value):
    header, members = unpack(good)
    path = tmp_path / "m.thrifty"
    path.write_bytes(repack({**header, part: value}, members))
    for read in (load, describe):
        with pytest.raises(BundleError):
            read(path)


@pytest.mark.parametrize(
    "change", [{"unit": "\x1b[31m"}, {"unit": 5}, {"group_names": ["a\nb"]}, {"own": [1.0]}]
)
def test_prices_that_load_refuses_are_not_described(good, unpack, repack, tmp_path, change):
    header, members = unpack(good)
    header["prices"] |= change
    (tmp_path / "m.thrifty").write_bytes(repack(header, members))
    for read in (load, describe):
        with pytest.raises(BundleError):
            read(tmp_path / "m.thrifty")
