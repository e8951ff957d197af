"""What a model file may not hold in place of neighbors or local Gaussians."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sequential_models import damaged, draw_gaussians, draw_neighbors

from thrifty.errors import BundleError
from thrifty.model import LocalGaussians, Neighbors
from thrifty.model.sequential.audit import audit_local_gaussians, audit_neighbors

NEIGHBOR_DAMAGES = {
    "k of no row": ("k", 0),
    "k beyond the rows": ("k", 26),
    "k as a float": ("k", 3.0),
    "a threshold of text": ("threshold", "0.8"),
    "a threshold that is not a number": ("threshold", math.nan),
    "adaptive as a number": ("adaptive", 1),
    "a label too large": ("labels", lambda a: a + 1),
    "a label below 0": ("labels", lambda a: a - 1),
    "fewer labels": ("labels", lambda a: a[1:]),
    "no rows": ("rows", lambda a: a[:0]),
    "another width": ("rows", lambda a: a[:, 1:]),
    "infinite rows": ("rows", lambda a: np.where(a > 0, np.inf, a)),
    "a category between codes": ("rows", lambda a: a + 0.5),
    "a negative unit": ("unit", lambda a: -a),
    "categories without distance": ("unit", lambda a: 0 * a),
    "rows of integers": ("rows", lambda a: np.nan_to_num(a).astype(np.int64)),
    "a feature twice": ("order", lambda a: np.append(a, a[:1])),
    "a feature beyond the table": ("order", lambda a: a + 1),
    "a group that does not exist": ("group", lambda a: a + 1),
    "a negative price": ("toll", lambda a: a - 1.0),
    "an infinite group price": ("entry", lambda a: a + np.inf),
    "decreasing edges": ("edges", lambda a: -a),
    "decreasing starts": ("starts", lambda a: a[::-1]),
    "a step too few": ("steps", lambda a: a[1:]),
    "a slope that is not a number": ("slope", lambda a: a * np.nan),
    "two scores": ("offset", lambda a: np.append(a, a)),
}
GAUSSIAN_DAMAGES = {
    "a negative ridge": ("ridge", -1.0),
    "a threshold of text": ("threshold", "0.8"),
    "one class": ("labels", lambda a: a * 0),
    "no class 0": ("labels", lambda a: a + 1),
    "fewer labels": ("labels", lambda a: a[1:]),
    "scores that are not numbers": ("places", lambda a: a * np.nan),
    "a feature beyond the table": ("order", lambda a: a + 1),
    "a center too few": ("center", lambda a: a[1:]),
    "a negative price": ("toll", lambda a: a - 1.0),
    "a group that does not exist": ("group", lambda a: a + 1),
}


def test_sound_states_pass():
    audit_neighbors(*draw_neighbors(6)[0].state())
    audit_local_gaussians(*draw_gaussians(6)[0].state())


@pytest.mark.parametrize("name", NEIGHBOR_DAMAGES)
def test_damaged_neighbors_are_refused(name):
    with pytest.raises(BundleError, match="neighbors"):
        Neighbors.build(*damaged(draw_neighbors(6)[0], *NEIGHBOR_DAMAGES[name]))


@pytest.mark.parametrize("name", GAUSSIAN_DAMAGES)
def test_damaged_local_gaussians_are_refused(name):
    with pytest.raises(BundleError, match="local gaussians"):
        LocalGaussians.build(*damaged(draw_gaussians(6)[0], *GAUSSIAN_DAMAGES[name]))


@pytest.mark.parametrize("part", ["k", "rows", "edges"])
def test_a_missing_part_is_refused(part):
    plain, arrays = draw_neighbors(6)[0].state()
    plain.pop(part, None)
    arrays.pop(part, None)
    with pytest.raises(BundleError, match="expected the"):
        Neighbors.build(plain, arrays)
