"""Curve files: written, read back to the same bytes, and refused when they are damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from points import curve, point

from thrifty.bundle.archive import Archive, pack_members
from thrifty.errors import BundleError
from thrifty.frontier.curve_file import pack_curve, unpack_curve


@pytest.mark.parametrize("clusters", [None, np.arange(20) // 2])
def test_a_curve_is_written_and_read_back(clusters) -> None:
    points = [
        point(k, 0.1 * k, "x", training_bill=(1.0, 0.5), neg_brier=np.arange(20.0) - k)
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
        np.testing.assert_array_equal(one.bills, other.bills)
    assert (again.clusters is None) == (clusters is None)


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_damaged_curve_is_refused(place) -> None:
    data = bytearray(pack_curve(curve(point(0, 0.5), point(2, 0.9)), {}))
    data[int(place * len(data))] ^= 1
    with pytest.raises(BundleError):
        unpack_curve(bytes(data))


def test_a_curve_without_settings_is_refused() -> None:
    members = Archive(pack_curve(curve(point(0, 0.5)), {}))
    figures = json.loads(members.read("curve.json", 2**20))
    del figures["settings"]
    model = members.read("models/0.thrifty", 2**20)
    names = [f"{name}.npy" for name in figures["arrays"]]
    rest = {name: members.read(name, 2**20) for name in names}
    data = pack_members(
        {"curve.json": json.dumps(figures).encode(), **rest, "models/0.thrifty": model}
    )
    with pytest.raises(BundleError, match="settings"):
        unpack_curve(data)
