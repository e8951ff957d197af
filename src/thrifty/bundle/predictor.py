"""A predictor: frozen model, schema, classes and prices, all that reading needs.

The model knows positions and floats, the prices know what a used feature costs, the schema
knows the user's names and values. Here they meet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.bundle.classes import read_classes
from thrifty.bundle.schema import Schema
from thrifty.bundle.walk import NamedWalk
from thrifty.costs.bound import BoundPrices
from thrifty.errors import DataError, raise_all
from thrifty.model.base import Frozen

__all__ = ["Predictor"]


class Predictor:
    """A frozen model in the words of the table that it was trained on.

    Tables may be pandas or polars DataFrames, mappings of columns, arrays or nested lists.

    Parameters
    ----------
    model : Frozen
    schema : Schema
    prices : BoundPrices
        Bound to the columns of `schema`.
    classes : array of shape (K,), optional
        Labels of the classes (bool, int, float or str), in the order of the model's scores;
        None for a model that predicts values.
    knob : dict, optional
        What the training turned, as plain values.
    provenance : dict, optional
        Where the model comes from, as plain values.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(3)
    >>> nodes[0] = (60.0, 1, 0)  # age <= 60: node 1, else node 2
    >>> stump = Forest(nodes, np.array([[0.0], [-2.0], [2.0]]), np.array([0]), np.array([0]),
    ...                np.zeros(1), "sigmoid", n_features=2)
    >>> schema = Schema.of({"age": [63, 41], "chol": [233, 204]})
    >>> prices = Prices({"age": 1.0, "chol": 7.27}, unit="CAD").bind(["age", "chol"])
    >>> predictor = Predictor(stump, schema, prices, classes=np.array(["no", "yes"]))
    >>> predictor.predict({"age": [50, 70], "chol": [None, 240]}).tolist()
    ['no', 'yes']
    >>> walk = predictor.walk()
    >>> walk.asks
    ('age',)
    >>> walk.tell({"age": 70})
    >>> walk.answer, walk.receipt.total
    ('yes', 1.0)
    """

    def __init__(
        self,
        model: Frozen,
        schema: Schema,
        prices: BoundPrices,
        classes: ArrayLike | None = None,
        knob: dict[str, Any] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.schema = schema
        self.prices = prices
        self.classes = None if classes is None else read_classes(classes)
        self.knob = knob
        self.provenance = provenance
        self._refuse_misfits()

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted label of each row, or its value."""
        scores = self._score(X)
        return scores if self.classes is None else self.classes[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of each row, in the order of `classes`."""
        if self.classes is None:
            raise TypeError("this model predicts values, not classes: use predict")
        return self._score(X)

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Which features each row touches, (n, d)."""
        return self.model.used(self.schema.encode(X))

    def evaluations(self, X: Any) -> NDArray[np.int64]:
        """How many evaluations (trees, kernels) each row takes."""
        return self.model.evaluations(self.schema.encode(X))

    @property
    def ceiling(self) -> float:
        """What no example can cost more than: every feature and evaluation that may occur."""
        model = self.model
        return float(self.prices.bill(model.support[np.newaxis], model.most_evaluations)[0])

    def bill(self, X: Any) -> NDArray[np.float64]:
        """What each row pays."""
        encoded = self.schema.encode(X)
        used = self.model.used(encoded)
        evaluations = self.model.evaluations(encoded) if self.prices.evaluation else 0
        return self.prices.bill(used, evaluations)

    def walk(self, known: Mapping[Any, Any] | None = None) -> NamedWalk:
        """Start one example; values in `known` are at hand and free of charge."""
        return NamedWalk(self, known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the predictor to a model file; see `thrifty.bundle.save`."""
        from thrifty.bundle.file import save  # the file knows the predictor, not the reverse

        save(self, path)

    @cached_property
    def labels(self) -> list[Any] | None:
        """The classes as plain Python values."""
        return None if self.classes is None else self.classes.tolist()

    def __repr__(self) -> str:
        answers = "values" if self.classes is None else f"{len(self.classes)} classes"
        return f"Predictor({self.model.kind}, {len(self.schema)} features, {answers})"

    def _score(self, X: Any) -> NDArray[np.float64]:
        return self.model.score(self.schema.encode(X))

    def _refuse_misfits(self) -> None:
        d = len(self.schema)
        problems = []
        if self.model.n_features != d:
            problems.append(f"the model reads {self.model.n_features} columns, the schema has {d}")
        if len(self.prices.own) != d:
            problems.append(f"there are {len(self.prices.own)} prices for {d} columns")
        elif self.prices.names is not None and self.prices.names != self.schema.names:
            problems.append("the prices are bound to other columns than the schema has")
        wanted = 1 if self.classes is None else len(self.classes)
        if self.model.n_scores != wanted:
            problems.append(f"the model has {self.model.n_scores} scores, {wanted} are needed")
        raise_all(DataError, "predictor", problems)
