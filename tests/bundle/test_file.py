"""Model files: written whole, read back to the same bits, described without being built."""

from __future__ import annotations

import io
import json
import math
import os
import stat
import sys
import zipfile

import numpy as np
import pytest

from thrifty.bundle import Column, Schema, describe, load, save
from thrifty.bundle.file import FORMAT, POINTS_FORMAT, audit_header, read_header
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError

TABLE = {"age": [45, 63, 63, None], "chol": [1.0, 1.0, 9.0, None], "sex": ["m", "f", None, "m"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "heart.thrifty"


# --- save and load -----------------------------------------------------------


def test_a_predictor_is_saved_and_loaded_to_the_same_bits(make, path):
    predictor = make(provenance={"rows": 4})
    predictor.save(path)
    again = load(path)
    for face in ("predict", "predict_proba", "used", "evaluations", "bill"):
        old, new = getattr(predictor, face)(TABLE), getattr(again, face)(TABLE)
        assert old.dtype == new.dtype and old.tobytes() == new.tobytes()
    assert again.schema == predictor.schema
    assert again.prices == predictor.prices
    assert (again.knob, again.provenance) == ({"penalty": 0.5}, {"rows": 4})
    for name, array in predictor.model.state()[1].items():
        same = again.model.state()[1][name]
        assert same.dtype == array.dtype and same.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "classes", [[False, True], [3, -4], [0.5, 2.0], ["wéll", "i\nl"], None], ids=ascii
)
def test_classes_of_every_type_survive(make, path, classes):
    make(classes=classes).save(path)
    again = load(path)
    assert again.labels == classes
    if classes is not None:
        assert again.classes.dtype == make(classes=classes).classes.dtype


def test_a_nameless_predictor_survives(make, path):
    make(schema=Schema.of(np.eye(2)), prices=Prices([1.0, 2.0])).save(path)
    assert load(path).bill([[70, 0]]).tolist() == [3.0]


def test_numpy_scalars_in_a_knob_become_plain(make, path):
    make(knob={"penalty": np.float32(0.5), "trees": np.int64(3)}).save(path)
    assert load(path).knob == {"penalty": 0.5, "trees": 3}


def test_the_same_predictor_gives_the_same_bytes(make, tmp_path):
    make().save(tmp_path / "a")
    make().save(tmp_path / "b")
    load(tmp_path / "a").save(str(tmp_path / "c"))
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_any_zip_tool_can_look_inside(predictor, path):
    predictor.save(path)
    with zipfile.ZipFile(path) as zipped:
        assert zipped.testzip() is None
        names = zipped.namelist()
        leaves = np.load(io.BytesIO(zipped.read("arrays/leaves.npy")), allow_pickle=False)
    assert names == ["header.json", "arrays/leaves.npy", "arrays/thresholds.npy"]
    np.testing.assert_array_equal(leaves, predictor.model.leaves)


def test_a_file_is_described_without_building_it(predictor, path, monkeypatch):
    predictor.save(path)
    monkeypatch.setattr(type(predictor.model), "build", None)
    header = describe(path)
    assert (header["thrifty"], header["kind"], header["knob"]) == (
        1,
        "two-questions",
        {"penalty": 0.5},
    )
    assert header["classes"] == {"type": "str", "labels": ["well", "ill"]}
    assert header["schema"]["columns"][2] == {"name": "sex", "categories": ["f", "m"]}
    assert header["prices"]["unit"] == "CAD"
    entry = header["arrays"]["leaves"]
    assert (entry["dtype"], entry["shape"], len(entry["sha256"])) == ("<f8", [3, 2], 64)


def test_models_of_any_size_are_compressed(make, path, monkeypatch):
    stored = sum(array.nbytes for array in make().model.state()[1].values())
    for limit in (2**20, 10):
        monkeypatch.setattr("thrifty.bundle.archive.MAX_DEFLATED", limit)
        make(provenance={"text": "x" * 10_000}).save(path)
        assert path.stat().st_size < stored + 10_000
        assert load(path).labels == ["well", "ill"]


# --- writing -----------------------------------------------------------------


@pytest.mark.parametrize(
    "knob", [{"x": math.inf}, {"x": math.nan}, {"x": object()}, {"x": {1, 2}}, {(1, 2): 3}]
)
def test_what_is_not_plain_is_not_written(make, path, knob):
    with pytest.raises(DataError, match="plain values only"):
        make(knob=knob).save(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["../up", "a//b", "", ".hidden", "a b", "x" * 300, "ä", "a\n"])
def test_arrays_with_odd_names_are_not_written(make, path, monkeypatch, name):
    predictor = make()
    monkeypatch.setattr(predictor.model, "state", lambda: ({}, {name: np.zeros(1)}))
    with pytest.raises(BundleError, match="plain words"):
        predictor.save(path)


def test_a_header_that_could_not_be_read_is_not_written(make, path, monkeypatch):
    monkeypatch.setattr("thrifty.bundle.file.MAX_HEADER", 100)
    with pytest.raises(DataError, match="at most 100 fit"):
        make().save(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(make, path, monkeypatch):
    make().save(path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    for call in ("os.replace", "os.fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(call, fail)
            with pytest.raises(OSError, match="cannot write: No space") as caught:
                make(knob={"penalty": 2.0}).save(path)
        assert caught.value.filename == str(path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


def test_a_path_that_cannot_be_written_is_named(predictor, tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write.*nowhere"):
        save(predictor, tmp_path / "nowhere" / "heart.thrifty")
    with pytest.raises(OSError, match="cannot write"):
        save(predictor, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")
def test_a_saved_file_has_usual_permissions_and_keeps_links(predictor, tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    predictor.save(link)
    other = tmp_path / "other"
    other.touch()
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


# --- reading -----------------------------------------------------------------


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    for read in (load, describe):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")


def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(BundleError, match="not a regular file"):
        load(tmp_path)


def test_an_error_names_the_file(path):
    path.write_bytes(b"hello")
    for read in (load, describe):
        with pytest.raises(BundleError, match=r"heart\.thrifty: this is not a Thrifty model file"):
            read(path)


def test_a_file_that_is_too_large_is_not_read(predictor, path, monkeypatch):
    predictor.save(path)
    monkeypatch.setattr("thrifty.bundle.archive.MAX_FILE", path.stat().st_size - 1)
    with pytest.raises(BundleError, match="the file is larger than"):
        load(path)


# --- the header ---------------------------------------------------------------

ENTRY = {"sha256": "0" * 64, "dtype": "<f8", "shape": [1]}
HEADER = {
    "thrifty": FORMAT,
    "needs": "0.1",
    "kind": "forest",
    "model": {},
    "schema": {},
    "classes": None,
    "prices": {},
    "knob": None,
    "provenance": None,
    "arrays": {"a": ENTRY, "stages/0.values": ENTRY},
}


def test_a_valid_header_is_read():
    assert read_header(json.dumps(HEADER).encode()) == HEADER


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": 1}, "'kind' is of the wrong type"),
        ({"needs": None}, "'needs' is of the wrong type"),
        ({"model": []}, "'model' is of the wrong type"),
        ({"classes": []}, "'classes' is of the wrong type"),
        ({"knob": 3}, "'knob' is of the wrong type"),
        ({"arrays": []}, "'arrays' is of the wrong type"),
        ({"code": "import os"}, "unknown part 'code'"),
        ({"thrifty": True}, "not a Thrifty model file"),
        ({"thrifty": "1"}, "not a Thrifty model file"),
        ({"thrifty": 0}, "no format 0"),
        ({"thrifty": -1}, "no format -1"),
        ({"arrays": {"../a": ENTRY}}, "plain words"),
        ({"arrays": {"/a": ENTRY}}, "plain words"),
        ({"arrays": {"a/..": ENTRY}}, "plain words"),
        ({"arrays": {"a\\b": ENTRY}}, "plain words"),
        ({"arrays": {"a\0": ENTRY}}, "plain words"),
        ({"arrays": {"a": None}}, "sha256, a dtype and a shape"),
        ({"arrays": {"a": ENTRY | {"more": 1}}}, "sha256, a dtype and a shape"),
        ({"arrays": {"a": {"dtype": "<f8"}}}, "sha256, a dtype and a shape"),
    ],
    ids=range(19),
)
def test_an_invalid_header_is_refused(changes, message):
    with pytest.raises(BundleError, match=message):
        audit_header(HEADER | changes)


@pytest.mark.parametrize("plain", [None, [], "header", {}, 1])
def test_what_is_not_a_header_is_refused(plain):
    with pytest.raises(BundleError, match="not a Thrifty model file"):
        audit_header(plain)


@pytest.mark.parametrize("part", sorted(HEADER.keys() - {"thrifty"}))
def test_a_header_needs_all_its_parts(part):
    with pytest.raises(BundleError, match=f"lacks '{part}'"):
        audit_header({key: value for key, value in HEADER.items() if key != part})


def test_a_newer_format_is_refused_with_the_release_it_needs():
    newer = {"thrifty": POINTS_FORMAT + 1, "needs": "3.7", "whatever": 1}
    with pytest.raises(BundleError, match=r"reads up to 2: it needs Thrifty 3\.7 or newer"):
        audit_header(newer)
    for unsafe in (None, "\x1b[31m", "3.7; rm", "9" * 50):
        with pytest.raises(BundleError, match="it needs a newer Thrifty$"):
            audit_header(newer | {"needs": unsafe})


@pytest.mark.parametrize("name", ["\ud800", "x" * 10_001])
def test_a_name_that_could_not_be_read_again_is_not_saved(make, path, name):
    schema = Schema((Column(name), Column("b")), named=True)
    with pytest.raises(DataError, match="cannot be saved: .*(column 0|half a character)"):
        make(schema=schema, prices=Prices({name: 1.0, "b": 1.0})).save(path)
    with pytest.raises(DataError, match="cannot be saved.*unit is not text"):
        make(prices=Prices(unit="\x1b[31m")).save(path)
    assert not path.exists()


def test_a_name_may_have_a_line_break(make, path):
    schema = Schema.of({"Age\n(years)": [1, 2], "b": ["x\ty", "z"]})
    make(schema=schema, prices=Prices({"Age\n(years)": 1.0, "b": 1.0})).save(path)
    assert load(path).schema == schema


def test_a_header_of_many_equal_columns_is_stored_so_that_it_can_be_read(make, path):
    schema = Schema.of(np.ones((2, 3000)))
    provenance = {"log": "x" * 2_000_000}
    predictor = make(schema=schema, prices=Prices(), classes=None, provenance=provenance)
    predictor.save(path)
    assert load(path).provenance == provenance
