"""Boosting on a cluster: the model of the same rows in memory, to the byte."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.kernels.splits import COUNT_BITS
from thrifty.learn.boosting import grower as grower_module
from thrifty.learn.boosting.cluster import add_up
from thrifty.learn.cluster.parts import Parts

N = 600
RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.normal(size=(N, 4)).round(2), columns=list("dcba"))
X["s"] = RNG.choice(["x", "y", "zz"], N)
X.loc[::7, "d"] = np.nan
SCORE = (X["a"] + (X["s"] == "x") + X["a"] * X["b"]).to_numpy()
PRICES = Prices({"a": 1, "b": 2, "c": 1, "d": 1, "s": 1}, groups={"g": ["a", "b"]}, shared={"g": 1})
CASES = {
    "two classes": (GreedyMiserClassifier, np.where(SCORE > 0, "ill", "well"), {}),
    "three classes": (
        GreedyMiserClassifier, np.digitize(SCORE, [-0.5, 0.5]),
        {"penalty": 0.003, "prices": PRICES},
    ),
    "hinge": (GreedyMiserClassifier, SCORE > 0.2, {"loss": "squared_hinge"}),
    "numbers": (GreedyMiserRegressor, SCORE, {"max_depth": 2}),
    "too dear": (GreedyMiserRegressor, SCORE, {"penalty": 100.0}),
}  # fmt: skip
# A tenth of the rows has weight 0, and is not even to place a bin.
WEIGHTS = np.where(np.arange(N) % 10 == 3, 0.0, RNG.uniform(0.5, 2.0, N).round(3))
EACH_PAYS = {"charge": "example", "penalty": 0.001, "prices": PRICES}
WEIGHTED = {
    "two classes": {"penalty": 0.003, "prices": PRICES},
    "numbers": {},
    "three classes": {"class_weight": "balanced", **EACH_PAYS},
    "hinge": {"class_weight": {True: 3.0}, "loss": "squared_hinge"},
}


def frame_of(
    target: np.ndarray, weight: np.ndarray | None = None, partitions: int = 5
) -> tuple[dd.DataFrame | dd.Series, ...]:
    frame = dd.from_pandas(X.assign(y=target, w=weight), npartitions=partitions, sort=False)
    series = [frame["y"]] if weight is None else [frame["y"], frame["w"]]
    return frame.drop(columns=["y", "w"]), *series


def saved(model: GreedyMiserClassifier, folder: Path) -> bytes:
    model.save(folder / "model.thrifty")
    return (folder / "model.thrifty").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_the_same_rows_in_memory(case, dask_client, tmp_path):
    estimator, target, settings = CASES[case]
    model = estimator(n_estimators=4, random_state=0, **settings)
    on_cluster = saved(model.fit(*frame_of(target)), tmp_path)
    assert on_cluster == saved(model.fit(X, target), tmp_path)


@pytest.mark.parametrize("case", WEIGHTED)
def test_weights_count_as_in_memory(case, dask_client, tmp_path):
    estimator, target, _ = CASES[case]
    model = estimator(n_estimators=4, random_state=0, **WEIGHTED[case])
    on_cluster = saved(model.fit(*frame_of(target, WEIGHTS)), tmp_path)
    assert on_cluster == saved(model.fit(X, target, WEIGHTS), tmp_path)


@pytest.mark.parametrize("settings", [EACH_PAYS, {"class_weight": "balanced"}])
def test_charges_and_classes_without_weights_count_as_in_memory(settings, dask_client, tmp_path):
    target = CASES["two classes"][1]
    model = GreedyMiserClassifier(n_estimators=4, random_state=0, **settings)
    on_cluster = saved(model.fit(*frame_of(target)), tmp_path)
    assert on_cluster == saved(model.fit(X, target), tmp_path)


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("charge", ["model", "example"])
def test_a_path_is_that_of_the_same_rows_in_memory(charge, weight, dask_client):
    target = CASES["three classes"][1]
    model = GreedyMiserClassifier(PRICES, charge=charge, n_estimators=4, random_state=0)
    found = [
        [
            (point.knob, point.bill, point.quality, point.model.model.values.tobytes())
            for point in model.path(*rows, sample_weight=own, validation=(X, target))
        ]
        for *rows, own in (
            (X, target, weight),
            frame_of(target, weight) if weight is not None else (*frame_of(target), None),
        )
    ]
    assert found[0] == found[1] and len(found[0]) > 4


def test_long_parts_are_cut_into_blocks(dask_client, tmp_path, monkeypatch):
    model = GreedyMiserClassifier(n_estimators=3, random_state=0)
    target = CASES["three classes"][1]
    in_memory = saved(model.fit(X, target), tmp_path)
    monkeypatch.setattr(grower_module, "MAX_PACKED_ROWS", 100)
    monkeypatch.setattr(grower_module, "BLOCK_ROWS", 70)
    assert saved(model.fit(*frame_of(target)), tmp_path) == in_memory


def test_a_validation_set_stops_early(dask_client, tmp_path):
    target = CASES["two classes"][1]
    model = GreedyMiserClassifier(n_estimators=30, max_depth=1, random_state=0)
    held_out = X[:40], target[40:80]  # of other rows: nothing helps
    on_cluster = saved(model.fit(*frame_of(target), validation=held_out), tmp_path)
    assert len(model.model_.roots) < 20
    assert on_cluster == saved(model.fit(X, target, validation=held_out), tmp_path)


def test_a_tree_takes_few_messages(dask_client, monkeypatch):
    parts = []
    start = Parts.__init__
    monkeypatch.setattr(
        Parts, "__init__", lambda self, *args: (start(self, *args), parts.append(self))[0]
    )
    model = GreedyMiserClassifier(n_estimators=5, random_state=0, min_samples_leaf=1)
    model.fit(*frame_of(CASES["two classes"][1]))
    assert len(parts[0]) == 2
    # Three to begin; two for each round; the root, seven splits and the sums for its tree.
    assert parts[0].n_messages <= (3 + 5 * 11) * len(parts[0])


def test_packed_and_wide_histograms_add_up():
    packed = np.array([[[(5 << COUNT_BITS) + 2, (-7 << COUNT_BITS) + 1]]])
    wide = np.array([[[10, 20]], [[3, 4]]])
    assert add_up([packed, wide]).tolist() == [[[15, 13]], [[5, 5]]]


@pytest.fixture
def worker_process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A cluster of two workers, one of which is a process of its own."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
            dashboard_address=":0", silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", tmp_path]
        process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
        try:
            client.wait_for_workers(2, timeout=120)
            yield process
        finally:
            process.kill()
            process.wait()


def test_a_killed_worker_changes_nothing(worker_process, tmp_path, monkeypatch):
    target = CASES["three classes"][1]
    # Weights, and what each row has paid: all that a new part has to know.
    model = GreedyMiserClassifier(n_estimators=3, random_state=0, **EACH_PAYS)
    in_memory = saved(model.fit(X, target, WEIGHTS), tmp_path)
    calls: list[str] = []
    call = Parts.call

    def kill_at_the_second_split_of_the_fifth_tree(self: Parts, name: str, *arguments: object):
        calls.append(name)
        if calls.count("root") == 5 and calls[-2:] == ["split", "split"]:
            assert len(self) == 2
            worker_process.kill()
            worker_process.wait()
            monkeypatch.setattr(Parts, "call", call)
        return call(self, name, *arguments)

    monkeypatch.setattr(Parts, "call", kill_at_the_second_split_of_the_fifth_tree)
    assert saved(model.fit(*frame_of(target, WEIGHTS)), tmp_path) == in_memory
    assert Parts.call is call
