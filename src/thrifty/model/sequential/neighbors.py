"""FMCC: training rows near an example choose its next feature and decide when it stops.

An additive classifier predicts from whatever is bought (eq. 2.1). The training rows nearest to the
example on the bought features, the partial neighborhood, estimate how often such a prediction is
correct (eqs. 2.2 and 2.4) and how often it would be with one more feature (eqs. 2.3 and 2.5). The
labels of the neighbors are never the prediction itself. Equations as in Nan 2018, ch. 2.

`NeighborState` is algorithm 1 in NumPy, for walks and as the reference of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.neighbors import Examples, Rule, Steps, TrainingRows, follow_rows
from thrifty.kernels.threads import blocks, run
from thrifty.lazy import cached_property
from thrifty.model.base import sealed
from thrifty.model.sequential.additive_terms import AdditiveTerms
from thrifty.model.sequential.audit import audit_neighbors
from thrifty.model.sequential.base import (
    SequentialModel,
    SequentialState,
    SequentialStates,
    Step,
)

__all__ = ["NeighborState", "Neighbors", "has_positive_margin"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows that one thread of the kernel takes at a time.
ROWS_PER_BLOCK = 64
# Most terms of near rows that a walk looks at together.
MAX_CELLS = 2**20
# Coordinates are clipped to this, so that their squares stay within single precision.
MAX_COORDINATE = 1e9
# Fields of `Neighbors` that are arrays, and what a model file calls them.
FILE_ARRAYS = {
    "rows": "rows",
    "labels": "labels",
    "unit": "unit",
    "category": "category",
    "weighted_price": "toll",
    "group": "group",
    "weighted_group_price": "entry",
    "order": "order",
}


@dataclass(frozen=True, eq=False)
class Neighbors(SequentialModel):
    """An additive classifier that buys features until it is correct for most of the near rows.

    The near rows are the `k` training rows with the smallest distance on the bought features, and
    all that are as close as the last of them. The estimate is the share of the near rows that have
    a positive margin on the bought features.

    Parameters
    ----------
    terms : AdditiveTerms
        The classifier: what each feature adds to the scores of the classes.
    rows : float array (n, d)
        Training rows, NaN for missing values.
    labels : int array (n,)
        Classes of the training rows.
    unit : float array (d,)
        Distance per unit of a feature; for categories, squared distance of two unequal ones.
    category : bool array (d,)
        Which features hold categories. A missing training value lies at the center of its column,
        or at half a mismatch from any category. A missing value of an example adds no distance.
    weighted_price : float array (d,)
        What a feature loses in the choice (alpha times its price in algorithm 1).
    group : int array (d,)
        Group of each feature; -1 for none.
    weighted_group_price : float array (g,)
        What the first feature of a group loses in addition.
    order : int array (m,)
        Features that may be bought. The first one is always bought first; later, earlier ones win
        ties.
    k : int
        Smallest number of near rows.
    threshold : float
        A row stops when its estimate is above. Before the first purchase the estimate is the
        frequency of the largest class.
    adaptive : bool
        Whether the near rows choose the next feature; otherwise it is the next one in `order`.

    Examples
    --------
    A row at 3 has two near rows that are both classified correctly by the first feature. For a row
    at -1 only one of two is, so it buys the second feature too.

    >>> import numpy as np
    >>> from thrifty.model.sequential import AdditiveTerms, Neighbors
    >>> rows = np.array([[-1.0, 2.0], [-1.0, -2.0], [3.0, 5.0], [3.0, -5.0]])
    >>> model = Neighbors(
    ...     AdditiveTerms.linear(np.array([[1.0], [0.1]]), np.zeros(1), np.zeros(2)),
    ...     rows, np.array([1, 0, 1, 1]), np.ones(2), np.zeros(2, bool), np.zeros(2),
    ...     np.full(2, -1), np.zeros(0), np.array([0, 1]), k=2, threshold=0.9)
    >>> model.used(np.array([[3.0, 0.0], [-1.0, 0.0]]))
    array([[ True, False],
           [ True,  True]])
    """

    kind: ClassVar[str] = "neighbors"

    terms: AdditiveTerms
    rows: Floats
    labels: Ints
    unit: Floats
    category: NDArray[np.bool_]
    weighted_price: Floats
    group: Ints
    weighted_group_price: Floats
    order: Ints
    k: int
    threshold: float
    adaptive: bool = True

    def __post_init__(self) -> None:
        for name in FILE_ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    def with_changes(self, **changes: Any) -> Self:
        """Return the same model with other settings; shares what is computed from the rows.

        `terms`, `rows`, `labels`, `unit` and `category` must not be changed.
        """
        model = replace(self, **changes)
        for name in ("row_terms", "coordinates", "prior"):
            vars(model)[name] = getattr(self, name)
        return model

    def with_threshold(self, threshold: float) -> Self:
        """Return the same model with another threshold."""
        return self.with_changes(threshold=float(threshold))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.terms.n_features

    def start(self) -> NeighborState:
        """Return the state of a new example."""
        return NeighborState(self)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps; it calls the weighted prices "toll" and "entry"."""
        plain = {"k": self.k, "threshold": self.threshold, "adaptive": self.adaptive}
        arrays = {key: getattr(self, name) for name, key in FILE_ARRAYS.items()}
        return plain, {**arrays, **self.terms.state()}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        audit_neighbors(plain, arrays)
        terms = AdditiveTerms(**{field.name: arrays[field.name] for field in fields(AdditiveTerms)})
        own: dict[str, Any] = {name: arrays[key] for name, key in FILE_ARRAYS.items()}
        return cls(terms, **own, **plain)

    @cached_property
    def prior(self) -> Floats:
        """(K,): class frequencies of the training rows."""
        return sealed(np.bincount(self.labels, minlength=self.terms.n_classes) / len(self.labels))

    @cached_property
    def row_terms(self) -> Floats:
        """(n, d, c): terms of the training rows."""
        return sealed(self.terms.evaluate(self.rows))

    @cached_property
    def coordinates(self) -> NDArray[np.float32]:
        """(d, n): coordinates of the training rows; -1 for a missing category."""
        found = self.to_coordinates(self.rows)
        return sealed(np.where(np.isnan(found), -self.category.astype(np.float32), found).T)

    @cached_property
    def mismatch(self) -> NDArray[np.float32]:
        """(d,): squared distance of two unequal categories; 0 for a feature without categories."""
        return sealed(np.where(self.category, self.unit, 0.0).astype(np.float32))

    def to_coordinates(self, X: Floats) -> NDArray[np.float32]:
        """Return the coordinates of rows, (n, d): standardized numbers, codes, NaN for missing."""
        with np.errstate(over="ignore"):  # numbers are clipped
            scaled = (X - self.terms.center) * self.unit
            numbers = np.clip(scaled, -MAX_COORDINATE, MAX_COORDINATE)
            return np.where(self.category, X, numbers).astype(np.float32)

    def squared_distances(self, feature: int, value: float) -> NDArray[np.float32]:
        """Return the squared distance (n,) of each training row to a value along one feature."""
        row = np.zeros(self.n_features)
        row[feature] = value
        here, there = self.to_coordinates(row[np.newaxis])[0, feature], self.coordinates[feature]
        mismatch = self.mismatch[feature]
        if mismatch > 0:
            unequal = np.where(there >= 0, mismatch, mismatch / np.float32(2.0))
            return np.where(there == here, np.float32(0.0), unequal)
        return np.asarray((there - here) ** 2)

    def _run(self, X: Floats) -> SequentialStates:
        """Return every step of every row, by the kernel."""
        states = SequentialStates.empty(len(X), len(self.order))
        correct, sizes = np.zeros((2, *states.feature.shape), dtype=np.int64)
        outputs = (states.feature, correct, sizes, states.predicted, states.steps)
        rows = TrainingRows(
            self.coordinates, self.mismatch, _flat(self.row_terms), self.terms.offset, self.labels
        )
        rule = Rule(
            self.order, self.weighted_price, self.group, self.weighted_group_price, self.adaptive,
            self.k, self.threshold,
        )  # fmt: skip

        def follow(first: int, last: int) -> None:
            batch = X[first:last]
            coordinates = np.ascontiguousarray(self.to_coordinates(batch))
            examples = Examples(coordinates, _flat(self.terms.evaluate(batch)))
            steps = Steps(*(output[first:last] for output in outputs))
            follow_rows(rows, rule, examples, steps)

        run(follow, blocks(len(X), ROWS_PER_BLOCK))
        taken = sizes > 0
        states.estimate[taken] = correct[taken] / sizes[taken]
        # Smoothed as in `NeighborState`.
        states.p_correct[taken] = (correct[taken] + 1) / (sizes[taken] + self.n_scores)
        return states


def _flat(terms: Floats) -> Floats:
    """Return terms (n, d, c) as the kernel reads them, (n, d * c)."""
    n, d, c = terms.shape
    return np.ascontiguousarray(terms).reshape(n, d * c)


class NeighborState(SequentialState):
    """Algorithm 1 of Nan 2018, ch. 2, for one example.

    Parameters
    ----------
    model : Neighbors
    """

    def __init__(self, model: Neighbors) -> None:
        super().__init__(model.prior, int(model.order[0]) if model.buys_anything else None)
        self._model = model
        self._distances = np.zeros(len(model.labels), dtype=np.float32)
        self._scores = model.terms.offset.copy()

    def observe(self, value: float) -> None:
        """Take the value of the next feature, find the near rows anew, and stop or choose again."""
        model, feature = self._model, self.next_feature
        assert feature is not None
        self.bought.append(feature)
        self._scores += model.terms.evaluate_column(feature, np.array([value]))[0]
        if not np.isnan(value):
            self._distances += model.squared_distances(feature, value)

        # The partial neighborhood: the k nearest rows, and all that are as near as the last.
        farthest = np.partition(self._distances, model.k - 1)[model.k - 1]
        near = np.flatnonzero(self._distances <= farthest)
        # Scores of the near rows (eq. 2.2), added in the order of purchase as the kernel does.
        near_scores = np.tile(model.terms.offset, (len(near), 1))
        for j in self.bought:
            near_scores += model.row_terms[near, j]

        correct = int(has_positive_margin(near_scores, model.labels[near]).sum())
        estimate = correct / len(near)  # eq. 2.4
        # As if there had been one more near row of each class, so that nothing is certain.
        p_correct = (correct + 1) / (len(near) + len(self.prior))
        scores = self._scores
        predicted = int(scores[0] > 0) if len(scores) == 1 else int(np.argmax(scores))  # eq. 2.1
        self.history.append(Step(estimate, p_correct, predicted))
        self.next_feature = None
        if not estimate > model.threshold and len(self.bought) < len(model.order):
            self.next_feature = self._choose(near, near_scores)

    def _choose(self, near: NDArray[np.intp], near_scores: Floats) -> int:
        """Return the next feature: largest estimate minus weighted price (eqs. 2.3 and 2.5).

        `near` holds the indices of the near rows, `near_scores` (len(near), c) their scores on
        what is bought. A model that is not adaptive takes the next feature in `order`.
        """
        model = self._model
        if not model.adaptive:
            return int(model.order[len(self.bought)])
        rest = model.order[~np.isin(model.order, self.bought)]
        labels, correct = model.labels[near][:, np.newaxis], []
        # All rows may be equally near: then only some features are looked at together.
        size = max(1, MAX_CELLS // near_scores.size)
        for first in range(0, len(rest), size):
            terms = model.row_terms[near[:, np.newaxis], rest[first : first + size]]
            is_correct = has_positive_margin(near_scores[:, np.newaxis] + terms, labels)
            correct.append(is_correct.sum(axis=0))
        estimate = np.concatenate(correct) / len(near)
        return int(rest[np.argmax(estimate - model.price_now(rest, self.bought))])


def has_positive_margin(scores: Floats, labels: Ints) -> NDArray[np.bool_]:
    """Return whether the own class of each row has a larger score than every other class.

    Parameters
    ----------
    scores : float array (..., c)
        One score for two classes, positive for the second class; or one for each class.
    labels : int array (...)
        Own classes; broadcast to the leading dimensions of `scores`.
    """
    if scores.shape[-1] == 1:
        return np.asarray(scores[..., 0] * np.where(labels == 1, 1.0, -1.0) > 0)
    labels = np.broadcast_to(labels, scores.shape[:-1])[..., np.newaxis]
    others = scores.copy()
    np.put_along_axis(others, labels, -np.inf, axis=-1)
    return np.asarray(np.take_along_axis(scores, labels, axis=-1)[..., 0] > others.max(axis=-1))
