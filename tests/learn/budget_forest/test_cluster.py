"""Forests on a cluster: those of the same rows in memory, to the byte."""

from __future__ import annotations

from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from thrifty import BudgetForestClassifier, DataError

N = 300
RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.normal(size=(N, 3)).round(2), columns=list("cba"))
X["s"] = RNG.choice(["x", "y", "zz"], N)
X.loc[::7, "b"] = np.nan
Y = np.digitize(X["a"] + (X["s"] == "x"), [0.0, 0.8])
WEIGHTS = np.where(np.arange(N) % 10 == 3, 0.0, RNG.uniform(0.5, 2.0, N).round(3))
PRICES = {"a": 1, "b": 2, "c": 1, "s": 3}


def frame_of(weight: np.ndarray | None) -> tuple[dd.DataFrame | dd.Series | None, ...]:
    frame = dd.from_pandas(X.assign(y=Y, w=weight), npartitions=4, sort=False)
    return frame.drop(columns=["y", "w"]), frame["y"], None if weight is None else frame["w"]


def saved(model: BudgetForestClassifier, folder: Path) -> bytes:
    model.save(folder / "model.thrifty")
    return (folder / "model.thrifty").read_bytes()


@pytest.mark.parametrize(
    ("weight", "settings"),
    [
        (None, {}),
        (WEIGHTS, {"bootstrap": False}),
        (WEIGHTS, {"budget": 4.5, "class_weight": "balanced"}),
        (WEIGHTS, {"budget": 0.0, "class_weight": "balanced"}),
    ],
)
@pytest.mark.filterwarnings("ignore:budget 0.0")
def test_the_forest_is_that_of_the_same_rows_in_memory(weight, settings, dask_client, tmp_path):
    model = BudgetForestClassifier(PRICES, n_estimators=5, random_state=0, **settings)
    held_out = (X, Y) if "budget" in settings else None
    on_cluster = saved(model.fit(*frame_of(weight), validation=held_out), tmp_path)
    assert on_cluster == saved(model.fit(X, Y, weight, validation=held_out), tmp_path)


def test_a_path_is_that_of_the_same_rows_in_memory(dask_client):
    model = BudgetForestClassifier(PRICES, n_estimators=3, random_state=0)
    frame, y, _ = frame_of(None)
    found = [
        [(p.knob, p.bill, p.quality) for p in model.path(*rows, validation=(X, Y), alphas=[0, 4])]
        for rows in ((X, Y), (frame, y))
    ]
    assert found[0] == found[1] and len(found[0]) > 2


def test_a_budget_needs_rows_to_be_measured_on(dask_client):
    with pytest.raises(DataError, match="budget: give a validation set"):
        BudgetForestClassifier(budget=1.0).fit(*frame_of(None))
