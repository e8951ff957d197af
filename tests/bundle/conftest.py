"""A toy model of two questions, so that the bundle can be tested by itself.

Also lets the tests of this folder import `small_files`.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thrifty.model
from thrifty.bundle import Predictor, Schema
from thrifty.bundle.archive import pack_members
from thrifty.costs import Prices
from thrifty.errors import BundleError
from thrifty.model.base import Frozen, Walk

sys.path.insert(0, str(Path(__file__).parent))

TABLE = {"age": [63, 41, None, 30], "chol": [2.5, None, 1.0, 9.0], "sex": ["m", "f", "m", None]}


@dataclass(eq=False)
class TwoQuestions(Frozen):
    """Reads the first column; unless it is small, reads the second, never any other."""

    thresholds: np.ndarray
    leaves: np.ndarray
    n_features: int
    kind = "two-questions"

    @property
    def n_scores(self):
        return self.leaves.shape[1]

    def leaf(self, X):
        goes_on = ~(X[:, 0] <= self.thresholds[0])
        return np.where(goes_on, np.where(X[:, 1] <= self.thresholds[1], 1, 2), 0)

    def score(self, X):
        scores = self.leaves[self.leaf(X)]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def used(self, X):
        used = np.zeros(X.shape, dtype=bool)
        used[:, 0] = True
        used[:, 1] = self.leaf(X) > 0
        return used

    def evaluations(self, X):
        return self.used(X).sum(axis=1)

    @property
    def support(self):
        return np.arange(self.n_features) < 2

    @property
    def most_evaluations(self):
        return 2

    def walk(self, price=None):
        return TwoQuestionsWalk(self)

    def state(self):
        arrays = {"thresholds": self.thresholds, "leaves": self.leaves}
        return {"n_features": self.n_features}, arrays

    @classmethod
    def build(cls, plain, arrays):
        if plain.keys() != {"n_features"} or type(plain["n_features"]) is not int:
            raise BundleError("two questions need a number of features")
        if arrays.keys() != {"thresholds", "leaves"} or arrays["thresholds"].shape != (2,):
            raise BundleError("two questions need two thresholds")
        if arrays["leaves"].ndim != 2 or len(arrays["leaves"]) != 3 or not arrays["leaves"].size:
            raise BundleError("two questions have three leaves")
        return cls(arrays["thresholds"], arrays["leaves"], plain["n_features"])


class TwoQuestionsWalk(Walk):
    def __init__(self, model):
        self.model = model
        self.values = {}

    @property
    def path(self):
        """Features on the path, as far as it is known."""
        x = self.values.get(0)
        return (0,) if x is None or x <= self.model.thresholds[0] else (0, 1)

    @property
    def asks(self):
        return tuple(j for j in self.path if j not in self.values)

    def tell(self, values):
        self.values.update(values)

    @property
    def touched(self):
        return tuple(j for j in self.path if j in self.values)

    @property
    def scores(self):
        # A value of the path that has not arrived yet counts as large.
        row = [[self.values.get(j, np.inf) for j in range(self.model.n_features)]]
        return np.atleast_1d(self.model.score(np.array(row))[0])

    @property
    def evaluations(self):
        return len(self.touched)


@pytest.fixture(scope="module", autouse=True)
def two_questions() -> Iterator[type[Frozen]]:
    """Register the toy model with the loader."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(thrifty.model.KINDS, TwoQuestions.kind, TwoQuestions)
        yield TwoQuestions


@pytest.fixture(scope="module")
def make(two_questions) -> Callable[..., Predictor]:
    """Return a function that makes a predictor around the toy model; keywords replace its parts."""

    def make(**parts: Any) -> Predictor:
        schema = parts.pop("schema", None) or Schema.of(TABLE)
        prices = parts.pop("prices", None) or Prices(
            {"age": 1.0, "chol": 7.27, "sex": 0.1},
            groups={"blood": ["chol", "sex"]},
            shared={"blood": 2.1},
            evaluation=0.01,
            unit="CAD",
        )
        width = 1 if parts.get("classes", 0) is None else 2
        leaves = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])[:, -width:]
        model = two_questions(np.array([50.0, 2.0]), leaves, len(schema))
        names = list(schema.names) if schema.named else len(schema)
        parts = {"classes": np.array(["well", "ill"]), "knob": {"penalty": 0.5}} | parts
        return Predictor(model, schema, prices.bind(names), **parts)

    return make


@pytest.fixture(scope="module")
def predictor(make) -> Predictor:
    return make()


@pytest.fixture(scope="session")
def unpack() -> Callable[[bytes], tuple[dict[str, Any], dict[str, bytes]]]:
    """Return a function that splits a model file into its header and its other members."""

    def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            members = {name: zipped.read(name) for name in zipped.namelist()}
        return json.loads(members.pop("header.json")), members

    return unpack


@pytest.fixture(scope="session")
def repack() -> Callable[[Any, Mapping[str, bytes]], bytes]:
    """Return a function that packs a header and members into a sealed file, valid or not."""

    def repack(header: Any, members: Mapping[str, bytes]) -> bytes:
        data = header if isinstance(header, bytes) else json.dumps(header).encode()
        return pack_members({"header.json": data, **members})

    return repack
