"""Additive scores: every feature adds a term of its own to the score of each class.

Linear classifiers and boosted stumps are both of this form, so a margin can be read from any part
of the features: what is not bought adds nothing. A term is a step function plus a slope; the
categories of a column are the steps between their codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import sealed

__all__ = ["Terms"]

Floats = NDArray[np.float64]

# Farther out a value has the term of this distance: sums stay finite whatever is told.
FAR = 1e100


@dataclass(frozen=True, eq=False)
class Terms:
    """What each feature adds to the scores.

    Two classes have one score, which speaks for the second one if it is positive; more classes
    have one score each.

    Parameters
    ----------
    offset : array (c,)
        Scores before any feature.
    center : array (d,)
        Where the slopes start.
    slope : array (d, c)
        Score per unit of the feature.
    starts : int array (d + 1,)
        Where the edges of each feature start.
    edges : array (e,)
        Between the steps; a value on an edge belongs to the step before it.
    steps : array (e + d, c)
        Score of each step; a feature has one more than it has edges.
    absent : array (d, c)
        Score of a value that was bought and came back empty.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.sequential.additive_terms import Terms
    >>> terms = Terms.linear(np.array([[2.0], [-1.0]]), np.array([0.5]), np.array([1.0, 0.0]))
    >>> terms.of(np.array([[3.0, 1.0], [np.nan, -4.0]]))[:, :, 0]
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
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(self.state().values())

    @classmethod
    def linear(cls, slope: Floats, offset: Floats, center: Floats) -> Terms:
        """Slopes only: a missing value adds nothing."""
        d = len(slope)
        nothing = np.zeros_like(slope)
        starts = np.zeros(d + 1, dtype=np.int64)
        return cls(offset, center, slope, starts, np.empty(0), nothing, nothing)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.slope)

    @property
    def n_classes(self) -> int:
        """Two for one score."""
        return max(len(self.offset), 2)

    def of(self, X: NDArray[np.floating]) -> Floats:
        """Terms of every value of a table, (n, d, c)."""
        found = np.empty((len(X), self.n_features, len(self.offset)))
        for j in range(self.n_features):
            found[:, j] = self.column(j, X[:, j])
        return found

    def column(self, feature: int, values: NDArray[np.floating]) -> Floats:
        """Terms of values of one feature, (n, c)."""
        first, last = self.starts[feature : feature + 2]
        step = first + feature + np.searchsorted(self.edges[first:last], values)
        missing = np.isnan(values)
        # NaN sorts last: its step exists, and is not the one that counts.
        away = np.clip(values - self.center[feature], -FAR, FAR)
        found: Floats = self.steps[step] + self.slope[feature] * away[:, np.newaxis]
        found[missing] = self.absent[feature]
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(field.name for field in fields(Terms))

    def problems(self) -> Iterator[str]:
        """Why these arrays are no terms."""
        d, c = self.slope.shape
        shapes = {
            "offset": (c,), "center": (d,), "starts": (d + 1,), "absent": (d, c),
            "steps": (len(self.edges) + d, c),
        }  # fmt: skip
        wrong = [name for name, shape in shapes.items() if getattr(self, name).shape != shape]
        yield from (f"{name} has shape {getattr(self, name).shape}" for name in wrong)
        if d < 1 or c < 1 or c == 2:
            yield f"there are {c} scores of {d} features; two classes have one score"
        for name, array in self.state().items():
            if not np.isfinite(array).all():
                yield f"{name} must be finite"
        if not wrong:
            yield from self._step_problems()

    def _step_problems(self) -> Iterator[str]:
        ends = self.starts[0] == 0 and self.starts[-1] == len(self.edges)
        if not ends or np.any(np.diff(self.starts) < 0):
            yield "starts must go from 0 to the number of edges"
        elif any(np.any(np.diff(part) <= 0) for part in np.split(self.edges, self.starts[1:-1])):
            yield "the edges of a feature must increase"
