"""The bundle around a real model, the forest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.bundle.archive import array_entry, pack_array
from thrifty.costs import Prices
from thrifty.errors import BundleError
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT, empty_nodes

HEAVY = {"pandas", "polars", "pyarrow", "scipy", "sklearn"}
LEVELS = ["low", "mid", "high"]
number = st.one_of(st.none(), st.floats(-1, 1))
rows = st.lists(
    st.fixed_dictionaries({"a": number, "b": number, "c": st.sampled_from([*LEVELS, None])}),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def forest() -> Predictor:
    """Two trees: on a, then c; on b."""
    nodes = empty_nodes(8)
    nodes[0] = (0.0, 1, 0 | MISSING_LEFT)
    nodes[1] = (0, 3, 2 | CATEGORICAL)  # codes in subset 0 to node 3
    nodes[5] = (0.5, 6, 1)
    values = np.array([0.1, 0.2, 0.9, -0.8, 0.7, 0.0, -0.3, 0.4])[:, np.newaxis]
    model = Forest(
        nodes, values, np.array([0, 5]), np.array([0, 0]), np.zeros(1), "sigmoid", 3,
        np.array([[0b101, 0, 0, 0]], dtype=np.uint64),
    )  # fmt: skip
    schema = Schema.of({"a": [0.0], "b": [0.0], "c": ["low"]})
    schema = Schema.build(
        schema.plain()
        | {
            "columns": [
                {"name": "a", "categories": None},
                {"name": "b", "categories": None},
                {"name": "c", "categories": LEVELS},
            ]
        }
    )
    prices = Prices([1.0, 0.1, 0.7], groups={"g": ["a", "c"]}, shared={"g": 0.3}, evaluation=0.01)
    return Predictor(model, schema, prices.bind(["a", "b", "c"]), classes=["no", "yes"])


@pytest.fixture(scope="module")
def file(forest, tmp_path_factory):
    path = tmp_path_factory.mktemp("forest") / "forest.thrifty"
    forest.save(path)
    return path


def columns(table):
    return {name: [row[name] for row in table] for name in "abc"}


@given(rows)
def test_a_forest_walks_as_it_predicts_before_and_after_the_file(forest, file, table):
    again = load(file)
    X = columns(table)
    assert again.predict_proba(X).tobytes() == forest.predict_proba(X).tobytes()
    assert again.bill(X).tobytes() == forest.bill(X).tobytes()
    for i, row in enumerate(table):
        walk = again.walk()
        while walk.asks:
            walk.tell({walk.asks[0]: row[walk.asks[0]]})
        assert walk.answer == forest.predict(X)[i]
        assert walk.receipt.total == forest.bill(X)[i]
        assert walk.scores.tobytes() == forest.predict_proba(X)[i].tobytes()
        read = {purchase.feature for purchase in walk.receipt.purchases}
        assert read == {name for name, used in zip("abc", forest.used(X)[i], strict=True) if used}


def test_reading_and_walking_need_only_numpy(file, modules_after):
    code = f"""
from thrifty import load
predictor = load({str(file)!r})
walk = predictor.walk(known={{"b": 0.1}})
walk.tell({{"a": -1.0, "c": "mid"}})
assert walk.answer == "yes", walk
predictor.schema.encode({{"a": [1.0], "b": [None], "c": ["low"]}})
"""
    loaded = {module.split(".")[0] for module in modules_after("-c", code)}
    assert not loaded & HEAVY


@given(st.data())
def test_a_forest_with_any_bytes_changed_loads_or_is_refused(
    forest, file, unpack, repack, tmp_path_factory, data
):
    header, members = unpack(file.read_bytes())
    name = data.draw(st.sampled_from(sorted(header["arrays"])))
    array = forest.model.state()[1][name].copy()
    raw = array.view(np.uint8).reshape(-1)
    for _ in range(data.draw(st.integers(1, 2))):
        raw[data.draw(st.integers(0, raw.size - 1))] = data.draw(st.integers(0, 255))
    members[f"arrays/{name}.npy"] = pack_array(array)
    header["arrays"][name] = array_entry(array, pack_array(array))
    path = tmp_path_factory.mktemp("changed") / "forest.thrifty"
    path.write_bytes(repack(header, members))
    try:
        predictor = load(path)
    except BundleError:
        return
    X = {"a": [-1.0, 1.0, None], "b": [0.1, None, 0.9], "c": ["mid", "low", None]}
    assert np.isfinite(predictor.bill(X)).all()
    assert set(predictor.predict(X)) <= {"no", "yes"}
