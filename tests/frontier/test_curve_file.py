"""Curve files: written, read back to the same bytes, and refused when they are damaged."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from points import MODEL, curve, point

from thrifty.bundle import Predictor
from thrifty.bundle.archive import Archive, array_entry, pack_array, pack_members
from thrifty.errors import BundleError, DataError
from thrifty.frontier.curve_file import pack_curve, unpack_curve
from thrifty.model import Forest, Stages
from thrifty.model.forest.nodes import NODE, empty_nodes


@pytest.mark.parametrize("clusters", [None, np.arange(20) // 2])
def test_a_curve_is_written_and_read_back(clusters) -> None:
    points = [
        point(
            k,
            0.1 * k,
            "x",
            training_bill=(1.0, 0.5),
            neg_brier=np.arange(20.0) - k,
            totals=np.arange(20.0) + k,
            actual_total=9.5 + k,
        )
        for k in range(3)
    ]
    found = curve(*points, data="abc", clusters=clusters)
    data = pack_curve(found, {"name": "hand"})
    again, settings = unpack_curve(data)
    assert settings == {"name": "hand"}
    assert pack_curve(again, settings) == data
    assert repr(again) == repr(found) and again.data == "abc"
    for one, other in zip(again.points, found.points, strict=True):
        assert (one.knob, one.training_bill, one.ceiling) == (
            other.knob,
            other.training_bill,
            other.ceiling,
        )
        np.testing.assert_array_equal(one.neg_brier, other.neg_brier)
        np.testing.assert_array_equal(one.totals, other.totals)
        assert one.actual_total == other.actual_total
        np.testing.assert_array_equal(one.bills, other.bills)
    assert (again.clusters is None) == (clusters is None)


def test_an_interval_without_ends_is_written_and_read_back() -> None:
    found = point(1, 0.5, bill_interval=(-math.inf, math.inf), quality_interval=(-math.inf, 1.0))
    again, _ = unpack_curve(pack_curve(curve(found), {}))
    assert again.points[0].bill_interval == (-math.inf, math.inf)
    assert again.points[0].quality_interval == (-math.inf, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ceiling": math.inf}, "a figure is not a finite number"),
        ({"quality_interval": (math.nan, 1.0)}, "a figure is not a finite number"),
        ({"training_bill": (1.0, math.nan)}, "a figure is not a finite number"),
        ({"gains": np.full(20, -1e200)}, "gains must be finite"),
        ({"bills": np.full(20, np.inf)}, "bills must be finite"),
    ],
)
def test_a_curve_that_could_not_be_read_back_is_not_written(change, words) -> None:
    with pytest.raises(DataError, match=words):
        pack_curve(curve(point(1, 0.5, **change)), {})


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_damaged_curve_is_refused(place) -> None:
    data = bytearray(pack_curve(curve(point(0, 0.5), point(2, 0.9)), {}))
    data[int(place * len(data))] ^= 1
    with pytest.raises(BundleError):
        unpack_curve(bytes(data))


def ladder(*rungs):
    return Predictor(Stages.of(rungs), MODEL.schema, MODEL.prices)


def stump(threshold):
    """A tree of one split."""
    nodes = empty_nodes(3)
    nodes[0] = (threshold, 1, 0)
    values, zero = np.array([[0.0], [-1.0], [1.0]]), np.array([0])
    return Forest(nodes, values, zero, zero, np.zeros(1), "sum", n_features=1)


def unpacked_members(data):
    members = Archive(data)
    return {name: members.read(name, 2**20) for name in sorted(members.names)}


def changed(data, change):
    """Pack a curve again after a change of its members; the seal is right."""
    members = unpacked_members(data)
    change(members)
    return pack_members(members)


def with_figures(change):
    def apply(members):
        figures = json.loads(members["curve.json"])
        change(figures)
        members["curve.json"] = json.dumps(figures).encode()

    return apply


def with_model(change):
    def apply(members):
        header = json.loads(members["models/0.json"])
        change(header)
        members["models/0.json"] = json.dumps(header).encode()

    return apply


def test_rungs_that_points_share_are_stored_once_and_shared_again():
    first, second, third = stump(0.0), stump(1.0), stump(2.0)
    equal = stump(0.0)  # not the same object, only equal
    models = [ladder(first, second), ladder(first, third), ladder(equal, second)]
    found = curve(*(point(k, 0.5, model=model) for k, model in enumerate(models)))
    data = pack_curve(found)
    arrays = [np.load(io.BytesIO(member)) for name, member in unpacked_members(data).items()
              if name.startswith("arrays/")]  # fmt: skip
    assert sum(len(array) == 3 and array.dtype == NODE for array in arrays) == 3
    again = [point.model.model for point in unpack_curve(data)[0].points]
    assert again[0].rungs[0] is again[1].rungs[0] is again[2].rungs[0]
    assert again[0].rungs[1] is again[2].rungs[1] is not again[1].rungs[1]
    assert again[1].rungs[1].nodes["threshold"][0] == 2.0
    assert np.shares_memory(again[1].rungs[1].values, again[0].rungs[0].values)
    assert pack_curve(unpack_curve(data)[0]) == data


def test_a_curve_of_another_format_is_refused() -> None:
    data = changed(pack_curve(curve(point(0, 0.5))), with_figures(lambda f: f.update(thrifty=2)))
    with pytest.raises(BundleError, match="not a curve of format 4"):
        unpack_curve(data)


def entry_of(figures, size):
    return next(e for e in figures["model_arrays"].values() if e["shape"] == [size])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_figures(lambda f: f.pop("settings")), "settings"),
        (with_figures(lambda f: f.update(model_arrays=None)), "do not fit"),
        (with_figures(lambda f: f.update(arrays=5)), "entries of arrays"),
        (with_figures(lambda f: f["arrays"].update(bills=5)), "entries of arrays"),
        (with_figures(lambda f: f["arrays"].pop("gains")), "it has the arrays"),
        (with_figures(lambda f: f.update(points=5)), "not a list of points"),
        (with_figures(lambda f: f.update(points=[])), "not a list of points"),
        (with_figures(lambda f: f["points"][0].pop("bill")), "of point 0"),
        (with_figures(lambda f: f["points"][0].update(bill_interval=[1.0])), "not two numbers"),
        (with_figures(lambda f: f["points"][0].update(quality_interval=None)), "not two numbers"),
        (with_figures(lambda f: f["points"][0].update(training_bill=[1, "x"])), "not two numbers"),
        (with_figures(lambda f: f["points"][0].update(training_bill=[None, 1])), "not two numbers"),
        (with_figures(lambda f: f["points"][0].update(bill=10**400)), "finite number"),
        (with_figures(lambda f: f["points"][0].update(ceiling="5")), "ceiling of point 0"),
        (with_figures(lambda f: f["points"][0].update(knob=5)), "no learner, or no knob"),
        (with_figures(lambda f: f.update(level=2)), "level is 2"),
        (with_figures(lambda f: f.update(task=["ranking"])), "task is"),
        (with_figures(lambda f: f["model_arrays"].update(x=entry_of(f, 3))), "its digest"),
        (with_figures(lambda f: f["model_arrays"].popitem()), "does not list 'arrays/"),
        (with_figures(lambda f: f["model_arrays"].update(x={})), "must have dtype, shape"),
        (with_figures(lambda f: entry_of(f, 3).update(shape=[2**40])), "too large"),
        (with_figures(lambda f: entry_of(f, 3).update(shape=[-3])), "must list at most 8 lengths"),
        (with_figures(lambda f: entry_of(f, 3).update(dtype="|O")), "not allowed"),
        (with_figures(lambda f: f["points"].append(f["points"][0])), "each of the 2 points"),
        (with_figures(lambda f: f["arrays"]["bills"].update(shape=[2**40, 20])), "too large"),
        (with_model(lambda h: h["arrays"].update({"0/nodes": "0" * 64})), "do not fit"),
        (with_model(lambda h: h["arrays"].update({"../x": h["arrays"]["limits"]})), "plain words"),
        (with_model(lambda h: h["arrays"].update(x=h["arrays"]["limits"])), "belong to no part"),
        (with_model(lambda h: h.update(arrays=3)), "do not fit"),
        (with_model(lambda h: h.update(kind="oracle")), "no model of kind 'oracle'"),
        (lambda members: members.update({"models/0.json": b"[]"}), "do not fit"),
        (lambda members: members.pop("models/0.json"), "lacks 'models/0.json'"),
        (lambda members: members.update(extra=b""), "does not list 'extra'"),
    ],
)
def test_a_sealed_curve_that_lies_is_refused(change, words) -> None:
    data = pack_curve(curve(point(0, 0.5, model=ladder(stump(0.0), stump(1.0)))))
    with pytest.raises(BundleError, match=words):
        unpack_curve(changed(data, change))


def test_an_array_under_the_name_of_another_is_refused() -> None:
    def swap(members):
        one, other = [name for name in members if name.startswith("arrays/")
                      and len(members[name]) == len(pack_array(stump(0.0).nodes))][:2]  # fmt: skip
        members[one], members[other] = members[other], members[one]

    data = pack_curve(curve(point(0, 0.5, model=ladder(stump(0.0), stump(1.0)))))
    with pytest.raises(BundleError, match="digest differs"):
        unpack_curve(changed(data, swap))


def test_a_small_file_cannot_describe_endless_models(monkeypatch) -> None:
    # Each ladder has other thresholds, so none is equal to another.
    models = [
        Predictor(Stages.of([stump(0.0)], thresholds=[k]), MODEL.schema, MODEL.prices)
        for k in range(9)
    ]
    data = pack_curve(curve(*(point(k, 0.5, model=model) for k, model in enumerate(models))))
    once = sum(array.nbytes for array in stump(0.0).state()[1].values())
    monkeypatch.setattr("thrifty.frontier.curve_file.MAX_BUILT", once + 9 * 8)
    assert len(unpack_curve(data)[0].points) == 9
    monkeypatch.setattr("thrifty.frontier.curve_file.MAX_BUILT", once + 8 * 8)
    with pytest.raises(BundleError, match="too large together"):
        unpack_curve(data)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("bills", np.zeros((2, 20)), "each of the 1 points"),
        ("gains", np.zeros((1, 0)), "there are no rows"),
        ("neg_brier", np.zeros((1, 7)), "differ in shape"),
        ("gains", np.full((1, 20), np.nan), "gains must be finite"),
        ("bills", np.full((1, 20), np.inf), "bills must be finite"),
        ("clusters", np.full(20, 2**40), "numbers below 20"),
        ("clusters", np.zeros(3, dtype=np.int64), "numbers below 20"),
    ],
)
def test_rows_that_do_not_fit_are_refused(name, array, words) -> None:
    def change(members):
        data = members[f"{name}.npy"] = pack_array(array)
        with_figures(lambda f: f["arrays"].update({name: array_entry(array, data)}))(members)

    data = pack_curve(curve(point(0, 0.5)))
    with pytest.raises(BundleError, match=words):
        unpack_curve(changed(data, change))
