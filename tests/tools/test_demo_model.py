"""The model that ships with the package is the one that the script trains."""

from __future__ import annotations

from importlib.resources import as_file

import numpy as np
from demo_model import train

from thrifty import load
from thrifty.data import heart, heart_model


def test_the_shipped_model_is_the_one_that_the_script_trains() -> None:
    with as_file(heart_model()) as path:
        shipped = load(path)
    trained, X = train(), heart().X
    np.testing.assert_array_equal(shipped.predict_proba(X), trained.predict_proba(X))
    np.testing.assert_array_equal(shipped.used(X), trained.used(X))


def test_its_patients_take_many_paths_to_all_vendors() -> None:
    with as_file(heart_model()) as path:
        used = load(path).used(heart().X)
    assert len(np.unique(used, axis=0)) > 50
    assert (used.mean(axis=0) > 0.1).all()
