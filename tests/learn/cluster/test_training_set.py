"""Dask DataFrames: read as the same table in memory, and refused with the partition's number."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from thrifty import (
    DataError,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
)
from thrifty.learn.binned import Binned
from thrifty.learn.cluster import training_set as module
from thrifty.learn.cluster.training_set import ClusterTrainingSet, is_dask
from thrifty.learn.dataset import TrainingSet

N = 400
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["b", "a"])
X["s"] = RNG.choice(["x", "y", "zz"], N)
X["level"] = pd.Categorical(RNG.choice(["low", "high"], N), ["low", "high"])
X.loc[::7, "b"] = np.nan
PRICES = {"a": 2.0, "b": 1.0, "s": 3.0, "level": 0.0}
Y = pd.Series(np.where(X["a"] > 0.3, "ill", "well"), name="y")


def frame_of(rows: pd.DataFrame, partitions: int = 3) -> dd.DataFrame:
    return dd.from_pandas(rows, npartitions=partitions, sort=False)


def test_dask_is_recognized_without_being_imported(modules_after):
    assert is_dask(frame_of(X)) and not is_dask(X) and not is_dask([1])
    code = "import thrifty.learn.boosting, thrifty.cli.fit, thrifty.frontier.jobs"
    found = modules_after("-c", code)
    assert "thrifty.learn.cluster.parts" in found and not {"dask", "distributed"} & found


def test_it_is_the_training_set_of_the_same_rows(dask_client, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 300)
    monkeypatch.setattr("thrifty.learn.binned.SAMPLE", 300)
    frame = frame_of(X.assign(y=Y), 4)
    found = ClusterTrainingSet.read_frame(
        "classification", frame.drop(columns="y"), frame["y"], PRICES, np.random.RandomState(3)
    )
    expected = TrainingSet.read("classification", X, Y, PRICES)
    assert len(found) == N and found.schema == expected.schema
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.class_counts.tolist() == np.bincount(expected.y).tolist()
    assert found.value_ranges() == expected.value_ranges()
    np.testing.assert_array_equal(found.prices.own, expected.prices.own)
    np.testing.assert_array_equal(found.X, expected.X)
    parts = dask_client.gather(dask_client.compute(found.tasks))
    whole = Binned.of(expected.X, expected.categorical, np.random.RandomState(3))
    np.testing.assert_array_equal(np.concatenate([bins for bins, *_ in parts], 1), whole.bins)
    np.testing.assert_array_equal(np.concatenate([target for _, target, _ in parts]), expected.y)
    assert not found.is_weighted and all(weight is None for *_, weight in parts)
    assert all(map(np.array_equal, found.binned.edges, whole.edges))


def test_rows_of_weight_zero_are_left_out(dask_client, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 300)
    monkeypatch.setattr("thrifty.learn.binned.SAMPLE", 300)
    monkeypatch.setattr("thrifty.kernels.binning.MANY_COLUMNS", 3)
    weight = np.where(np.arange(N) % 9 == 2, 0.0, RNG.uniform(0.5, 2.0, N))
    weight[5] = 1e-31  # too small to count
    frame = frame_of(X.assign(y=Y, w=weight), 4)
    found = ClusterTrainingSet.read_frame(
        "classification", frame.drop(columns=["y", "w"]), frame["y"], PRICES,
        np.random.RandomState(3), frame["w"],
    )  # fmt: skip
    expected = TrainingSet.read("classification", X, Y, PRICES, weight)
    assert found.is_weighted and len(found) == len(expected) < N
    assert found.class_counts.tolist() == np.bincount(expected.y).tolist()
    assert found.value_ranges() == expected.value_ranges()
    np.testing.assert_array_equal(found.X, expected.X)
    for k, (low, high) in enumerate(found.weight_range):
        own = expected.weight[expected.y == k]
        assert (low, high) == (own.min(), own.max())
    parts = dask_client.gather(dask_client.compute(found.tasks))
    whole = Binned.of(expected.X, expected.categorical, np.random.RandomState(3))
    np.testing.assert_array_equal(np.concatenate([bins for bins, *_ in parts], 1), whole.bins)
    np.testing.assert_array_equal(np.concatenate([one for *_, one in parts]), expected.weight)
    for class_weight in ("balanced", {"ill": 2.0, "well": 0.5}, {"ill": 2.0}):
        factors = found.with_class_weight(class_weight).class_weight
        balanced = expected.with_class_weight(class_weight)
        np.testing.assert_array_equal(expected.weight * factors[expected.y], balanced.weight)


def test_a_target_with_the_name_of_a_feature_gets_another_one(dask_client):
    rows = X.rename(columns={"b": "target", "a": "y"}).assign(labels=Y)
    frame = frame_of(rows)
    y = frame["labels"].rename("y")
    model = GreedyMiserClassifier(n_estimators=2).fit(frame.drop(columns="labels"), y)
    assert list(model.feature_names_in_) == ["target", "y", "s", "level"]
    assert model.classes_.tolist() == ["ill", "well"]


def test_an_empty_partition_has_no_rows(dask_client):
    frame = dd.concat([frame_of(X[:0].assign(y=Y[:0]), 1), frame_of(X.assign(y=Y), 2)])
    found = ClusterTrainingSet.read_frame(
        "classification", frame.drop(columns="y"), frame["y"], None, np.random.RandomState(0)
    )
    assert len(found) == N and len(found.tasks) == 2


BROKEN = {
    "target": (
        X.assign(y=Y.where(Y.index != 399)),
        "partition 2 of 3: target 'y' has no value in row",
    ),
    "value": (X.assign(b=X["b"].where(X.index != 0, np.inf), y=Y), "partition 0 of 3: .*'b' .*inf"),
    "objects": (X.assign(c=pd.Series(range(N), dtype=object), y=Y), "'c' holds numbers as objects"),
    "classes": (X.assign(y="ill"), "only one class"),
    "rows": (X[:1].assign(y=Y[:1]), "1 rows; give at least 2"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_named(case, dask_client):
    rows, message = BROKEN[case]
    with dask.config.set({"dataframe.convert-string": case != "objects"}):
        frame = frame_of(rows)
    with pytest.raises(DataError, match=message):
        GreedyMiserClassifier().fit(frame.drop(columns="y"), frame["y"])


def test_all_broken_partitions_are_listed_up_to_ten(dask_client):
    frame = frame_of(X.assign(y=Y.where(Y.index % 10 != 0)), 12)
    with pytest.raises(
        DataError, match=r"(?s)partition 0 of 12: .*partition 9 of 12: .*and 2 more"
    ):
        GreedyMiserClassifier().fit(frame.drop(columns="y"), frame["y"])


def test_a_partition_that_cannot_be_read_is_named(dask_client):
    def read(number: int) -> pd.DataFrame:
        if number == 2:
            raise OSError("broken disk")
        return X.assign(y=Y)

    frame = dd.from_map(read, range(3), meta=X[:0].assign(y=Y[:0]))
    with pytest.raises(DataError, match="partition 2 of 3 cannot be read: broken disk"):
        GreedyMiserClassifier().fit(frame.drop(columns="y"), frame["y"])


def test_what_a_cluster_cannot_do_is_refused_before_anything_is_read(dask_client):
    frame, y = frame_of(X), frame_of(X.assign(y=Y))["y"]
    numbered = dd.from_pandas(X.rename(columns={"a": 5}), npartitions=3)
    weights, classes = np.ones(N), frame_of(X.assign(y=Y), 2)["y"]
    weighted = frame_of(X.assign(w=np.where(X.index == 399, -1.0, 1.0)))["w"]
    none = frame_of(X.assign(w=0.0))["w"]
    for model, arguments, message in [
        (LadderClassifier(), (frame, y), "LadderClassifier needs its rows in memory"),
        (GreedyMiserRanker(), (frame, y), "GreedyMiserRanker needs its rows in memory"),
        (GreedyMiserClassifier(), (frame, y, weights), "sample_weight: give a Dask Series"),
        (GreedyMiserClassifier(), (frame, y, classes), "sample_weight: 2 partitions, but 3 of"),
        (
            GreedyMiserClassifier(),
            (frame, y, weighted),
            "partition 2 of 3: column 'w': -1.0 in row 132",
        ),
        (GreedyMiserClassifier(), (frame, y, none), "sample_weight: every weight is zero"),
        (GreedyMiserClassifier(), (frame, Y), "target: give a Dask Series"),
        (GreedyMiserClassifier(), (y, y), "Series; give a Dask DataFrame"),
        (GreedyMiserClassifier(), (frame, classes), "target: 2 partitions, but 3 of the table"),
        (GreedyMiserClassifier(), (numbered, y), "column name 5 is not text"),
        (
            GreedyMiserClassifier(class_weight={"ill": 0.0, "well": 1.0}),
            (frame, y),
            "class_weight: a class has weight 0; drop its rows",
        ),
    ]:
        with pytest.raises(DataError, match=message):
            model.fit(*arguments)


def test_a_target_of_another_length_is_refused(dask_client):
    frame, y = frame_of(X, 2), frame_of(X[:390].assign(y=Y[:390]), 2)["y"]
    with pytest.raises(DataError, match="values for the .* rows of a partition"):
        GreedyMiserClassifier().fit(frame, y)


def test_without_a_cluster_there_is_an_error(monkeypatch):
    def get_client() -> None:
        raise ValueError("No global client found")

    monkeypatch.setattr("distributed.get_client", get_client)
    frame = frame_of(X.assign(y=1.0))
    with pytest.raises(DataError, match="start one, such as by dask.distributed.Client"):
        GreedyMiserRegressor().fit(frame[["a"]], frame["y"])
