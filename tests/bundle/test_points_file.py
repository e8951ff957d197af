"""Files of several operating points: arrays are stored once, and every point is checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty.bundle import OperatingPoints, describe, load, load_points, points_file
from thrifty.bundle.file import pack
from thrifty.bundle.points_file import pack_points, unpack_points
from thrifty.errors import BundleError, DataError

TABLE = {"age": [45, 63, 63, None], "chol": [1.0, 1.0, 9.0, None], "sex": ["m", "f", None, "m"]}


@pytest.fixture
def points(make):
    """Three points, two of which have the same arrays."""
    first, second = make(knob={"k": 0}), make(knob={"k": 1}, provenance={"rows": 4})
    other = type(first.model)(np.array([60.0, 1.0]), first.model.leaves, 3)
    third = make(knob={"k": 2}).replace(model=other)
    return OperatingPoints([first, second, third], [0.0, 4.0, 9.0], [0.6, 0.8, 0.85], 1, "accuracy")


@pytest.fixture
def path(tmp_path, points):
    points.save(tmp_path / "points.thrifty")
    return tmp_path / "points.thrifty"


def test_points_are_saved_and_loaded_to_the_same_bits(points, path):
    again = load_points(path)
    assert again.bills == points.bills and again.qualities == points.qualities
    assert (again.default, again.metric) == (1, "accuracy")
    for old, new in zip(points.predictors, again.predictors, strict=True):
        assert pack(old) == pack(new)


def test_the_same_points_give_the_same_bytes(points, path):
    assert pack_points(load_points(path)) == path.read_bytes() == pack_points(points)


def test_loading_gives_the_default_point(points, path):
    assert pack(load(path)) == pack(points.predictor)


def test_a_point_is_chosen_after_loading(path):
    assert load_points(path).at_budget(3).predictor.knob == {"k": 0}


def test_an_array_is_stored_once(path, unpack):
    header, members = unpack(path.read_bytes())
    assert len(members) == len(header["arrays"]) == 3  # thresholds of two models, their leaves
    assert [len(point["arrays"]) for point in header["points"]] == [2, 2, 2]


def test_equal_models_are_built_once(path):
    first, second, third = (each.model for each in load_points(path).predictors)
    assert first is second and third is not first
    assert third.leaves is first.leaves


def test_a_header_describes_the_default_point_and_lists_all(path):
    header = describe(path)
    assert (header["thrifty"], header["knob"], header["provenance"]) == (2, {"k": 1}, {"rows": 4})
    assert (header["metric"], header["default"]) == ("accuracy", 1)
    assert header["points"][2] == {
        "bill": 9.0, "quality": 0.85, "kind": "two-questions", "knob": {"k": 2}
    }  # fmt: skip


def test_a_single_point_is_written_as_a_file_of_one_predictor(make, path):
    single = OperatingPoints([make()], [2.0], [0.9])
    assert pack_points(single) == pack(make())


def test_a_file_of_one_predictor_has_one_point(make, path):
    held_out = {"bill": 2.5, "quality": 0.75}
    make(provenance={"held_out": held_out, "metric": "r2"}).save(path)
    found = load_points(path)
    assert (found.bills, found.qualities, found.metric) == ((2.5,), (0.75,), "r2")
    make(provenance={"held_out": {"bill": "much"}}).save(path)
    found = load_points(path)
    assert (found.bills, found.qualities) == ((found.predictor.ceiling,), (0.0,))


def test_points_that_could_not_be_read_again_are_not_saved(make, monkeypatch):
    several = OperatingPoints([make(), make(knob={"k": 1})], [0.0, 1.0], [0.5, 0.6])
    monkeypatch.setattr(points_file, "MAX_ARRAYS", 1)
    with pytest.raises(DataError, match="2 arrays, at most 1 fit into a file; keep fewer points"):
        pack_points(several)
    monkeypatch.undo()
    monkeypatch.setattr("thrifty.bundle.file.MAX_NAME", 3)
    with pytest.raises(BundleError, match="array name"):
        pack_points(several)


# --- what is refused ---------------------------------------------------------

CHANGES = {
    "the header lacks 'metric'": lambda header: header.pop("metric"),
    "the header has an unknown part 'code'": lambda header: header.update(code="import os"),
    "not a list of 1 to 1024": lambda header: header.update(points=[]),
    "there is no point 3, the default": lambda header: header.update(default=3),
    "there is no point True": lambda header: header.update(default=True),
    "metric is not a name": lambda header: header.update(metric=5),
    "'arrays' is of the wrong type": lambda header: header.update(arrays=[]),
    "point 2 lacks 'kind'": lambda header: header["points"][2].pop("kind"),
    "point 2 has an unknown part 'x'": lambda header: header["points"][2].update(x=1),
    "the bill of point 2 is -1": lambda header: header["points"][2].update(bill=-1),
    "the quality of point 2 is 'a'": lambda header: header["points"][2].update(quality="a"),
    "point 2 names arrays": lambda header: header["points"][2]["arrays"].update(leaves="0" * 64),
    "point 2 names": lambda header: header["points"][2].update(arrays=[]),
    "'knob' is of the wrong type": lambda header: header["points"][2].update(knob=[]),
    "parts of the file do not match": lambda header: header["points"][2].update(
        decision={"costs": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}
    ),
    "belongs to no point": lambda header: header["points"].pop(),
    "must have a dtype and a shape": lambda header: header["arrays"].update({"0" * 64: {}}),
    "is not named by its digest": lambda header: header["arrays"].update(leaves={}),
}


@pytest.mark.parametrize("says", CHANGES)
def test_a_header_that_is_not_sound_is_refused(path, unpack, repack, says):
    header, members = unpack(path.read_bytes())
    header["default"] = min(header["default"], 1)
    CHANGES[says](header)
    path.write_bytes(repack(header, members))
    for read in (load_points, load, describe):
        with pytest.raises(BundleError, match=f"points.thrifty: .*{says}"):
            read(path)


def test_members_that_the_header_does_not_list_are_refused(path, unpack, repack):
    header, members = unpack(path.read_bytes())
    for read in (load_points, load, describe):
        path.write_bytes(repack(header, {**members, "more.npy": b"x"}))
        with pytest.raises(BundleError, match="does not list 'more.npy'"):
            read(path)


def test_an_array_of_another_size_is_refused(path, unpack, repack):
    header, members = unpack(path.read_bytes())
    next(iter(header["arrays"].values()))["shape"] = [1, 1]
    path.write_bytes(repack(header, members))
    for read in (load_points, load, describe):
        with pytest.raises(BundleError, match="has not the dtype and shape of its entry"):
            read(path)


def test_an_array_with_other_bytes_than_its_name_says_is_refused(path, unpack, repack):
    header, members = unpack(path.read_bytes())
    members = {name: data[:-1] + b"\x07" for name, data in members.items()}
    path.write_bytes(repack(header, members))
    for read in (load_points, load):
        with pytest.raises(BundleError, match="is damaged: its digest differs"):
            read(path)


def test_points_that_do_not_make_models_are_refused(path, unpack, repack):
    header, members = unpack(path.read_bytes())
    header["points"][2]["model"]["n_features"] = 7
    path.write_bytes(repack(header, members))
    with pytest.raises(BundleError, match="reads 7 columns"):
        load_points(path)
    assert load(path).knob == {"k": 1}  # the default one is sound


def test_a_small_file_cannot_describe_endless_models(path, monkeypatch):
    data = path.read_bytes()
    monkeypatch.setattr(points_file, "max_memory", lambda size: 2 * 4096)
    with pytest.raises(BundleError, match="memory than its file allows"):
        unpack_points(data)
    monkeypatch.undo()
    monkeypatch.setattr(points_file, "MAX_BUILT", 100)  # a model has 64 bytes of arrays
    with pytest.raises(BundleError, match="too large together"):
        unpack_points(data)


def test_a_points_file_needs_numpy_only():
    corpus = Path(__file__).parents[1] / "corpus" / "points.thrifty"
    code = (
        "import sys; from thrifty import load_points;"
        f"points = load_points({str(corpus)!r});"
        "points.predictor.predict({'size': [1.0], 'weight': [1.0], 'scan': [2.0]});"
        "sys.exit(any(name in sys.modules for name in ('sklearn', 'pandas', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
