"""What serving may not load."""

from __future__ import annotations

CODE = """
import numpy as np
from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes
from thrifty.serve import RowSource, answer
nodes = empty_nodes(3)
nodes[0] = (60.0, 1, 0)
stump = Forest(nodes, np.array([[0.0], [-2.0], [2.0]]), np.array([0]), np.array([0]),
               np.zeros(1), "sigmoid", n_features=1)
schema = Schema.of({"age": [63, 41]})
predictor = Predictor(stump, schema, Prices([1.0]).bind(["age"]), classes=["no", "yes"])
assert answer(predictor, RowSource({"age": 70}))[0] == "yes"
"""


def test_a_walk_is_served_with_numpy_alone(modules_after) -> None:
    loaded = {name.split(".")[0] for name in modules_after("-c", CODE)}
    assert "numpy" in loaded
    assert not loaded & {"sklearn", "scipy", "pandas", "polars", "matplotlib"}
