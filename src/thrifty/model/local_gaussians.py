"""Class-wise Gaussian models of what is not bought, fitted anew around each example.

The rival of `Neighbors` in 000 sec. 2.4: the value of a classifier (T. Gao and D. Koller, 2011).
For each class, the features not bought are regressed on the bought ones, with weights that fall
with the distance to the example. The Gaussians around these lines tell how likely a value is in
each class, so they update the class probabilities when it comes, and before that how sure one can
expect to be with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.asking import Asking
from thrifty.model.gaussian_trail import GaussianTrail
from thrifty.model.neighbors_audit import layout_problems, order_problems, plain_problems
from thrifty.model.sealed import sealed

__all__ = ["LocalGaussians"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LAYOUT = {
    **{"places": ("<f8", 2), "labels": ("<i8", 1), "center": ("<f8", 1), "unit": ("<f8", 1)},
    **{"toll": ("<f8", 1), "group": ("<i8", 1), "entry": ("<f8", 1), "order": ("<i8", 1)},
}


@dataclass(frozen=True, eq=False)
class LocalGaussians(Asking):
    """A classifier that buys the feature with which it expects to be surest.

    Parameters
    ----------
    places : array (n, d)
        Training rows as standard scores, 0 for missing values.
    labels : int array (n,)
        Their classes.
    center, unit : arrays (d,)
        How a value becomes a standard score: (value - center) * unit.
    toll, group, entry : arrays (d,), (d,), (g,)
        What a feature, and the first of a group (-1: in none), loses in the choice.
    order : int array (m,)
        Features that may be bought; earlier ones win ties.
    ridge : float
        Regularization of the regressions.
    threshold : float
        A row stops when its class is more probable than this.
    """

    kind: ClassVar[str] = "local-gaussians"

    places: Floats
    labels: Whole
    center: Floats
    unit: Floats
    toll: Floats
    group: Whole
    entry: Floats
    order: Whole
    ridge: float
    threshold: float

    def __post_init__(self) -> None:
        for name in LAYOUT:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return len(self.center)

    @cached_property
    def prior(self) -> Floats:  # type: ignore[override]
        """Shares of the classes."""
        return sealed(np.bincount(self.labels) / len(self.labels))

    @cached_property
    def members(self) -> list[tuple[NDArray[np.intp], Floats]]:
        """Positions and standard scores of the rows of each class."""
        rows = [np.flatnonzero(self.labels == label) for label in range(len(self.prior))]
        return [(some, self.places[some]) for some in rows]

    def trail(self) -> GaussianTrail:
        """Start one example."""
        return GaussianTrail(self)

    def until(self, threshold: float) -> Self:
        """The same with another threshold."""
        return replace(self, threshold=float(threshold))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain = {"ridge": self.ridge, "threshold": self.threshold}
        return plain, {name: getattr(self, name) for name in LAYOUT}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        raise_all(BundleError, "local gaussians", list(layout_problems(arrays, LAYOUT)))
        raise_all(BundleError, "local gaussians", list(_problems(plain, arrays)))
        return cls(**{**arrays, **plain})


def _problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    n, d = arrays["places"].shape
    labels = arrays["labels"]
    if labels.shape != (n,) or n < 2 or len(np.unique(labels)) != labels.max() + 1:
        yield "every class needs a row, and every row a class from 0 on"
    elif labels.min() < 0 or labels.max() < 1:
        yield "there must be two classes at least"
    for name in ("center", "unit", "toll", "group"):
        if arrays[name].shape != (d,):
            yield f"{name} has {len(arrays[name])} entries for {d} features"
    for name in ("places", "center"):
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    yield from order_problems(arrays, d)
    yield from plain_problems(plain, ("ridge", "threshold"))
