"""Additive classifiers: every feature adds a term of its own to the score of each class.

Linear classifiers and boosted stumps are both of this form, so they can classify from any subset of
the features: a feature that is not bought adds nothing. A term is a step function plus a linear
function. The categories of a column are the steps between their codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import sealed
from thrifty.model.file_checks import (
    finite_problems,
    magnitude_problems,
    output_problems,
    shape_problems,
)
from thrifty.untrusted import LARGEST

__all__ = ["AdditiveTerms"]

Floats = NDArray[np.float64]

# Values are clipped to this distance from the center, so that sums of scores stay finite.
MAX_DISTANCE = 1e100


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """What each of d features adds to the c scores of a classifier.

    Two classes have one score, which is positive for the second class; K > 2 classes have one score
    each.

    Parameters
    ----------
    offset : float array (c,)
        Scores before any feature.
    center : float array (d,)
        Value of each feature where the linear part of its term is 0.
    slope : float array (d, c)
        Score per unit of the feature.
    starts : int array (d + 1,)
        Where the edges of each feature start.
    edges : float array (e,)
        Between the steps, increasing for each feature; a value on an edge is on the step below it.
    steps : float array (e + d, c)
        Score of each step; a feature has one step more than edges.
    absent : float array (d, c)
        Score of a value that was bought and is missing.

    Examples
    --------
    Two linear terms, 2 (x0 - 1) and -x1. A missing value adds nothing.

    >>> import numpy as np
    >>> from thrifty.model.sequential import AdditiveTerms
    >>> slope, center = np.array([[2.0], [-1.0]]), np.array([1.0, 0.0])
    >>> terms = AdditiveTerms.linear(slope, offset=np.array([0.5]), center=center)
    >>> terms.evaluate(np.array([[3.0, 1.0], [np.nan, -4.0]]))[:, :, 0]
    array([[ 4., -1.],
           [ 0.,  4.]])
    """

    offset: Floats
    center: Floats
    slope: Floats
    starts: NDArray[np.int64]
    edges: Floats
    steps: Floats
    absent: Floats

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, sealed(getattr(self, field.name)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built by the constructor, so that its arrays are read-only too.
        return type(self), tuple(self.state().values())

    @classmethod
    def linear(cls, slope: Floats, offset: Floats, center: Floats) -> AdditiveTerms:
        """Return terms without steps, to which a missing value adds nothing."""
        d = len(slope)
        nothing = np.zeros_like(slope)
        starts = np.zeros(d + 1, dtype=np.int64)
        return cls(offset, center, slope, starts, np.empty(0), nothing, nothing)

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return len(self.slope)

    @property
    def n_classes(self) -> int:
        """Number of classes: two for one score."""
        return max(len(self.offset), 2)

    def evaluate(self, X: NDArray[np.floating]) -> Floats:
        """Return the terms of every value of a table X (n, d), as (n, d, c)."""
        terms = np.empty((len(X), self.n_features, len(self.offset)))
        for j in range(self.n_features):
            terms[:, j] = self.evaluate_column(j, X[:, j])
        return terms

    def evaluate_column(self, feature: int, values: NDArray[np.floating]) -> Floats:
        """Return the terms of values (n,) of one feature, as (n, c)."""
        first, last = self.starts[feature : feature + 2]
        # NaN sorts last, so it has a step too; its term is replaced below.
        step = first + feature + np.searchsorted(self.edges[first:last], values)
        distance = np.clip(values - self.center[feature], -MAX_DISTANCE, MAX_DISTANCE)
        terms: Floats = self.steps[step] + self.slope[feature] * distance[:, np.newaxis]
        terms[np.isnan(values)] = self.absent[feature]
        return terms

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, as a model file keeps them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the shapes and values; the types must be right."""
        arrays = self.state()
        d, c = self.slope.shape
        shapes: dict[str, tuple[int, ...]] = {
            "offset": (c,), "center": (d,), "starts": (d + 1,), "absent": (d, c),
            "steps": (len(self.edges) + d, c),
        }  # fmt: skip
        wrong_shapes = list(shape_problems(arrays, shapes))
        yield from wrong_shapes
        if d < 1 or c < 1 or c == 2:
            yield f"there are {c} scores of {d} features; two classes have one score"
        yield from finite_problems(arrays, arrays)
        yield from magnitude_problems(arrays, ("offset", "slope", "steps", "absent"), LARGEST)
        yield from output_problems(c)
        if wrong_shapes:
            return
        starts, n_edges = self.starts, len(self.edges)
        if starts[0] != 0 or starts[-1] != n_edges or np.any(np.diff(starts) < 0):
            yield "starts must increase from 0 to the number of edges"
        elif np.any((np.diff(self.edges) <= 0) & ~np.isin(np.arange(1, n_edges), starts)):
            yield "the edges of a feature must increase"
