"""A predictor: a frozen model with the schema, classes and prices that its use requires.

The model knows column indices and floats, the prices know what a used feature costs, the schema
knows the user's names and values. The predictor puts them together.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.bundle.evidence import Evidence
from thrifty.bundle.latency import latencies
from thrifty.bundle.schema import Schema
from thrifty.bundle.walk import NamedWalk
from thrifty.costs.bound import BoundPrices
from thrifty.costs.money import as_float
from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen
from thrifty.model.decision import Decision
from thrifty.model.file_checks import MAX_OUTPUTS
from thrifty.untrusted import is_number, is_text

__all__ = [
    "Caller",
    "Predictor",
    "bill_ceiling",
    "build_classes",
    "match_problems",
    "plain_classes",
    "read_classes",
]

# The types of class labels that a model file can hold, by their names there.
LABEL_TYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
    "str": np.str_,
}
# Of all labels of a model, if they were as long as the longest.
MAX_CHARACTERS = 2**24


class Caller(Protocol):
    """Makes the calls of a model whose expensive part is not in its file."""

    columns: frozenset[int]
    """Columns of the schema that hold the results."""

    def answer(self, values: Mapping[Any, Any]) -> dict[int, float]:
        """Make the call for one example, whose values are by name; NaN if it fails."""

    def complete(self, table: Any) -> Any:
        """Return a table with the columns of the results, by calls for the rows that need them."""


class Predictor:
    """A frozen model that speaks the language of the table that it was trained on.

    Tables may be pandas or polars DataFrames, mappings of columns, arrays or nested lists.

    Parameters
    ----------
    model : Frozen
    schema : Schema
        The columns, in the order of the model's features: sorted by name, if they have names.
    prices : BoundPrices
        Prices of the columns of `schema`, in its order.
    classes : array of shape (K,), optional
        Labels of the classes (bool, int, float or str), in the order of the model's scores;
        None for a model that predicts values.
    knob : dict, optional
        The value of the hyperparameter that trades cost for quality, as plain values.
    provenance : dict, optional
        Where the model comes from, as plain values.
    decision : thrifty.bundle.Decision, optional
        The costs of errors, by which labels are predicted; by default the most probable class.
    evidence : Evidence, optional
        How often it was right on labeled rows, for explanations and intervals.

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
    >>> table = {"age": [50, 70], "chol": [None, 240]}
    >>> predictor.predict(table).tolist()
    ['no', 'yes']
    >>> predictor.bill(table)  # the tree never looks at chol
    array([1., 1.])
    """

    caller: Caller | None = None
    """Makes the calls that the model needs; see `connect`. A model file does not keep it."""

    def __init__(
        self,
        model: Frozen,
        schema: Schema,
        prices: BoundPrices,
        classes: ArrayLike | None = None,
        knob: dict[str, Any] | None = None,
        provenance: dict[str, Any] | None = None,
        decision: Decision | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.model = model
        self.schema = schema
        self.prices = prices
        self.classes = None if classes is None else read_classes(classes)
        self.knob = knob
        self.provenance = provenance
        self.decision = decision
        self.evidence = evidence

        d = len(schema)
        n_scores = 1 if self.classes is None else len(self.classes)
        problems = [*match_problems(schema, prices, self.classes, decision)]
        if model.n_features != d:
            problems.append(f"the model reads {model.n_features} columns, the schema has {d}")
        if model.n_scores != n_scores:
            problems.append(f"the model has {model.n_scores} scores, {n_scores} are needed")
        if evidence is not None and self.classes is not None and not evidence.is_of_classes:
            problems.append("the evidence is that of a model of values")
        raise_all(DataError, "predictor", problems)

    @cached_property
    def reads(self) -> NDArray[np.bool_]:
        """Which columns the model may read, (d,); a table with names may lack the others."""
        return self.model.support

    def encode(self, X: Any) -> NDArray[Any]:
        """Encode a table as the model reads it, after making the calls whose results it lacks.

        Columns that the model never reads may be missing.
        """
        table = X if self.caller is None else self.caller.complete(X)
        return self.schema.encode(table, self.reads)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row, or its value."""
        scores = self.model.score(self.encode(X))
        return scores if self.classes is None else self.classes[self.decide(scores)]

    def decide(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the code of the class to predict for each row of class probabilities (n, K)."""
        if self.decision is None:
            return np.asarray(scores.argmax(axis=1))
        return self.decision.decide(scores)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the class probabilities of each row, in the order of `classes`."""
        if self.classes is None:
            raise TypeError("this model predicts values, not classes: use predict")
        return self.model.score(self.encode(X))

    def used(self, X: Any) -> NDArray[np.bool_]:
        """Return which features each row uses, as an array of shape (n, d).

        The features are in the order of the training table, `Schema.table_names`.
        """
        return self.schema.to_table_order(self.model.used(self.encode(X)))

    def evaluations(self, X: Any) -> NDArray[np.int64]:
        """Return the number of evaluations (of trees, of kernels) of each row."""
        return self.model.evaluations(self.encode(X))

    @property
    def ceiling(self) -> float:
        """Upper bound on any bill: the price of the dearest path that a row may take."""
        return bill_ceiling(self.model, self.prices)

    def bill(self, X: Any) -> NDArray[np.float64]:
        """Compute what each row pays."""
        encoded = self.encode(X)
        used = self.model.used(encoded)
        evaluations = self.model.evaluations(encoded) if self.prices.evaluation else 0
        return self.prices.bill(used, evaluations)

    def bills(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Compute what each row pays in each currency, by name, the main one first."""
        encoded = self.encode(X)
        used, evaluations = self.model.used(encoded), self.model.evaluations(encoded)
        currencies = self.prices.currencies.items()
        return {name: prices.bill(used, evaluations) for name, prices in currencies}

    def latency(self, X: Any) -> NDArray[np.float64]:
        """Compute how long each row waits: the sum over its rounds of the slowest delay.

        Raises
        ------
        DataError
            If the prices have no delays.
        """
        return latencies(self.model, self.prices, self.encode(X))

    def with_prices(self, prices: BoundPrices) -> Self:
        """Return the same predictor with other prices of the same columns."""
        other = copy.copy(self)
        other.prices = prices
        return other

    def walk(self, known: Mapping[Any, Any] | None = None, cap: float | None = None) -> NamedWalk:
        """Start the walk of one example; the values in `known` are free of charge.

        With a `cap`, calls that the predictor makes itself stay within it.
        """
        limit = as_float(cap)
        if cap is not None and not (isinstance(limit, float) and limit >= 0):
            raise DataError(f"cap: {cap!r} is not a number of 0 or more")
        return NamedWalk(self, known, cap)

    def connect(self, caller: Caller) -> Self:
        """Return the same predictor, with calls made by `caller`; see `thrifty.serve.connect`."""
        other = copy.copy(self)
        other.caller = caller
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the predictor to a model file; see `thrifty.bundle.save`."""
        from thrifty.bundle.file import save  # that module imports this one

        save(self, path)

    def replace(self, **changes: Any) -> Predictor:
        """Return a copy with other values for some of the parameters."""
        parts = {
            "model": self.model,
            "schema": self.schema,
            "prices": self.prices,
            "classes": self.classes,
            "knob": self.knob,
            "provenance": self.provenance,
            "decision": self.decision,
            "evidence": self.evidence,
        }
        other = Predictor(**{**parts, **changes})
        other.caller = self.caller
        return other

    @cached_property
    def labels(self) -> list[Any] | None:
        """The classes as Python values."""
        return None if self.classes is None else self.classes.tolist()

    def __repr__(self) -> str:
        target = "values" if self.classes is None else f"{len(self.classes)} classes"
        return f"Predictor({self.model.kind}, {len(self.schema)} features, {target})"


def bill_ceiling(model: Frozen, prices: BoundPrices) -> float:
    """Return the price of the dearest path that a row may take through a model.

    No bill exceeds it, whatever a row holds.

    Examples
    --------
    >>> from thrifty.bundle.predictor import bill_ceiling
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Average, Branch, Forest
    >>> import numpy as np
    >>> def reading(*features):
    ...     constant = Forest.constant([0.0], "sum", n_features=3)
    ...     return Average.of([constant], [0.0], reads=np.isin(np.arange(3), features))
    >>> branch = Branch.of(reading(1), reading(2), feature=0, prior=[0.0], threshold=5.0)
    >>> bill_ceiling(branch, Prices([1, 10, 20]).bind(3))  # 1 and 10, or 1 and 20; never all three
    21.0
    """
    return model.largest_bill(prices.bill, np.zeros(model.n_features, dtype=bool))


def match_problems(
    schema: Schema,
    prices: BoundPrices,
    classes: NDArray[Any] | None,
    decision: Decision | None,
) -> Iterator[str]:
    """Yield what keeps these from being the schema, prices, classes and decision of one model."""
    d, n_classes = len(schema), 0 if classes is None else len(classes)
    if len(prices.own) != d:
        yield f"there are {len(prices.own)} prices for {d} columns"
    elif prices.names is not None and prices.names != schema.names:
        yield "the prices are bound to other columns than those of the schema"
    if decision is not None and decision.n_classes != n_classes:
        yield f"the decision is for {decision.n_classes} classes, the model has {n_classes}"


def read_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return class labels as an array of one of the four types that a model file can hold.

    Raises
    ------
    DataError
        If they are not distinct labels of one of these types.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle.predictor import read_classes
    >>> read_classes(np.array(["no", "yes"], dtype=object))
    array(['no', 'yes'], dtype='<U3')
    """
    array = np.asarray(classes)
    if array.size > MAX_OUTPUTS:
        raise DataError(f"classes: there are {array.size}, a model has at most {MAX_OUTPUTS}")
    labels = array.tolist()
    kind = _label_type(labels) if array.ndim == 1 else None
    if kind is None or len(set(labels)) < len(labels):
        raise DataError("classes: labels must be distinct and all bool, int, finite float or str")
    return np.array(labels, dtype=LABEL_TYPES[kind])


def plain_classes(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return what a model file keeps of the result of `read_classes`."""
    if classes is None:
        return None
    labels = classes.tolist()
    return {"type": _label_type(labels), "labels": labels}


def build_classes(plain: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Check what a model file holds and build the classes from it.

    Raises
    ------
    BundleError
        If they are not distinct labels of the type that the file states.
    """
    if plain is None:
        return None
    if plain.keys() != {"type", "labels"} or not isinstance(plain["labels"], list):
        raise BundleError("the classes must have a type and a list of labels")
    labels = plain["labels"]
    if len(labels) > MAX_OUTPUTS:
        raise BundleError(f"there are {len(labels)} classes, a model has at most {MAX_OUTPUTS}")
    kind = _label_type(labels)
    if kind is None or kind != plain["type"] or len(set(labels)) < len(labels):
        raise BundleError("the classes must be distinct labels of the stated type")
    return np.array(labels, dtype=LABEL_TYPES[kind])


def _label_type(labels: list[Any]) -> str | None:
    """Return the name of the type that all labels have; None if a model file cannot hold them."""
    kinds = {type(label).__name__ for label in labels}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind == "int" and not all(-(2**63) <= label < 2**63 for label in labels):
        return None
    if kind == "float" and not all(map(is_number, labels)):
        return None
    if kind == "str":
        # In the array all labels take as much room as the longest, and have no zeros at the end.
        if len(labels) * max(map(len, labels)) > MAX_CHARACTERS:
            return None
        if not all(is_text(label, controls=True) and label[-1:] != "\0" for label in labels):
            return None
    return kind if kind in LABEL_TYPES else None
