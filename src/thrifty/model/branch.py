"""A split on one feature, with a model on each side: which features follow depends on the row.

Every row buys the feature of the split, then whatever the model on its side needs. A side may be a
`Branch` again. Unlike the split of a `Forest`, this one leads to whole models, such as ladders.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Bill, Frozen, Price, Walk, pack, sealed, unpack
from thrifty.model.file_checks import entry_problems, layout_problems, prior_problems
from thrifty.model.motive import Motive
from thrifty.model.path_bounds import PathBounds
from thrifty.model.relay import RelayWalk
from thrifty.model.rounds import MAX_PATHS, Path, Round
from thrifty.untrusted import is_count, is_number, shown

__all__ = ["Branch", "BranchWalk"]

Floats = NDArray[np.float64]

ENTRIES = ("parts", "feature", "threshold", "missing_left")
LAYOUT = {"codes": ("<i8", 1), "prior": ("<f8", 1)}


@dataclass(frozen=True, eq=False)
class Branch(Frozen):
    """Two models, one for the rows on each side of a split.

    Parameters
    ----------
    left, right : Frozen
        Models with the same columns and classes.
    feature : int
        Feature of the split; every row buys it.
    threshold : float or None
        A value up to the threshold goes left, a larger one right. None if the feature is
        categorical.
    codes : int array (c,)
        Codes of a categorical feature that go left, increasing; all other codes, also those that
        training has not seen, go right. Empty if the feature is a number.
    missing_left : bool
        Whether a missing value goes left.
    prior : float array (K,), or (1,) for values
        The scores before the split is known.

    Examples
    --------
    Rows whose feature 0 is at most 0 go on to feature 1, the others to feature 2:

    >>> import numpy as np
    >>> from thrifty.model import Branch, Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> def stump(feature):
    ...     nodes = empty_nodes(3)
    ...     nodes[0] = (0.0, 1, feature)
    ...     return Forest(nodes, np.array([[0.0], [-1.0], [1.0]]), np.array([0]), np.array([0]),
    ...                   np.zeros(1), "sum", n_features=3)
    >>> model = Branch.of(stump(1), stump(2), feature=0, prior=[0.5], threshold=0.0)
    >>> model.used(np.array([[-7.0, 3.0, 3.0], [7.0, 3.0, 3.0]]))
    array([[ True,  True, False],
           [ True, False,  True]])
    >>> walk = model.walk()
    >>> walk.asks, walk.scores
    ((0,), array([0.5]))
    >>> walk.tell({0: 7.0})
    >>> walk.asks
    (2,)
    """

    kind: ClassVar[str] = "branch"

    left: Frozen
    right: Frozen
    feature: int
    threshold: float | None
    codes: NDArray[np.int64]
    missing_left: bool
    prior: Floats

    def __post_init__(self) -> None:
        for name in LAYOUT:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @classmethod
    def of(
        cls,
        left: Frozen,
        right: Frozen,
        feature: int,
        prior: ArrayLike,
        threshold: float | None = None,
        codes: ArrayLike = (),
        missing_left: bool = False,
    ) -> Self:
        """Split on a number by a threshold, or on a category by the codes that go left.

        Raises
        ------
        DataError
            If the models do not fit together, or not exactly one of threshold and codes is given.
        """
        plain = {"feature": feature, "threshold": threshold, "missing_left": missing_left}
        given = np.asarray(codes)
        arrays: dict[str, NDArray[Any]] = {
            "codes": np.unique(given.astype(np.int64) if given.size == 0 else given),
            "prior": np.array(prior, dtype=float),
        }
        raise_all(DataError, "branch", [*layout_problems(arrays, LAYOUT)])
        raise_all(DataError, "branch", [*_problems([left, right], plain, arrays)])
        return cls(left, right, feature, threshold, missing_left=missing_left, **arrays)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.left.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.left.n_scores

    @property
    def may_fail(self) -> bool:
        """Whether a row can be left without a prediction: if either side can fail."""
        return any(getattr(side, "may_fail", False) for side in (self.left, self.right))

    def goes_left(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which rows the left model scores, (n,)."""
        self.check_columns(X)
        # As float64, so that a float32 table is compared like the values of a walk.
        x = X[:, self.feature].astype(np.float64)
        left = np.isin(x, self.codes) if self.threshold is None else x <= self.threshold
        return np.asarray(np.where(np.isnan(x), self.missing_left, left))

    def side(self, x: float) -> Frozen:
        """Return the model that scores a row whose feature has the value `x`."""
        if math.isnan(x):
            left = self.missing_left
        else:
            left = x in self._code_set if self.threshold is None else x <= self.threshold
        return self.left if left else self.right

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), or values (n,), of the model on each row's side."""
        shape = (len(X),) if self.n_scores == 1 else (len(X), self.n_scores)
        return self._join("score", X, np.empty(shape))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, that of the split included, (n, n_features)."""
        used = self._join("used", X, np.empty((len(X), self.n_features), dtype=bool))
        used[:, self.feature] = True
        return used

    @property
    def support(self) -> NDArray[np.bool_]:
        """The feature of the split, and what either side could touch, (n_features,)."""
        support = self.left.support | self.right.support
        support[self.feature] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of the model on each row's side, (n,)."""
        return self._join("evaluations", X, np.empty(len(X), dtype=np.int64))

    @property
    def most_evaluations(self) -> int:
        """The larger number of the two sides."""
        return max(self.left.most_evaluations, self.right.most_evaluations)

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: the split, and a path of one side."""
        return self.left.path_bounds().either(self.right.path_bounds()).reading([self.feature])

    def largest_bill(self, bill: Bill, bought: NDArray[np.bool_]) -> float:
        """Return the larger bound of both sides, for rows that have bought the split."""
        bought = bought.copy()
        bought[self.feature] = True
        return max(side.largest_bill(bill, bought) for side in (self.left, self.right))

    def rounds(self, X: NDArray[np.floating]) -> Iterator[Round] | None:
        """Return the round of the split, then those of each side; None if only walks can tell."""
        if any(side.rounds(X[:0]) is None for side in (self.left, self.right)):
            return None
        return self._rounds(X)

    def longest_paths(self) -> list[Path] | None:
        """Return the paths of both sides, after the split; None if only walks can tell."""
        paths: list[Path] = []
        for side in (self.left, self.right):
            further = side.longest_paths()
            if further is None or len(paths) + len(further) > MAX_PATHS:
                return None
            paths += [[self._is_split, *path] for path in further]
        return paths

    def walk(self, price: Price | None = None) -> BranchWalk:
        """Start one example; it asks for the feature of the split, then for what its side needs."""
        return BranchWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        parts, arrays = pack([self.left, self.right])
        own = {"feature": self.feature, "threshold": self.threshold}
        plain = {"parts": parts, **own, "missing_left": self.missing_left}
        return plain, {**arrays, **{name: getattr(self, name) for name in LAYOUT}}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        own = {name: array for name, array in arrays.items() if "/" not in name}
        problems = [*entry_problems(plain, ENTRIES), *layout_problems(own, LAYOUT)]
        raise_all(BundleError, "branch", problems)
        parts = unpack(plain["parts"], {name: arrays[name] for name in arrays if "/" in name})
        if len(parts) != 2:
            raise BundleError(f"branch: two models are needed, the file has {len(parts)}")
        raise_all(BundleError, "branch", [*_problems(parts, plain, own)])
        left, right = parts
        threshold = plain["threshold"]
        return cls(
            left,
            right,
            plain["feature"],
            None if threshold is None else float(threshold),
            missing_left=plain["missing_left"],
            **own,
        )

    def _rounds(self, X: NDArray[np.floating]) -> Iterator[Round]:
        """Yield the round of the split, then those of each side."""
        yield Round(np.arange(len(X)), self._is_split)
        left = self.goes_left(X)
        for side, rows in ((self.left, np.flatnonzero(left)), (self.right, np.flatnonzero(~left))):
            for each in side.rounds(X[rows]) or ():
                yield each.of(rows)

    @cached_property
    def _is_split(self) -> NDArray[np.bool_]:
        """Which feature is split on, (n_features,)."""
        return np.asarray(np.arange(self.n_features) == self.feature)

    @cached_property
    def _code_set(self) -> frozenset[int]:
        return frozenset(self.codes.tolist())

    def _join(self, method: str, X: NDArray[np.floating], out: NDArray[Any]) -> NDArray[Any]:
        """Fill `out` with what a method of each side returns for the rows of that side."""
        left = self.goes_left(X)
        for side, rows in ((self.left, left), (self.right, ~left)):
            if rows.all():
                return np.asarray(getattr(side, method)(X)) if len(rows) else out
            if rows.any():
                out[rows] = getattr(side, method)(X[rows])
        return out


class BranchWalk(RelayWalk[Walk]):
    """The walk of a `Branch`: the feature of the split, then the walk of its side.

    Parameters
    ----------
    model : Branch
    price : callable or None
        What a feature would cost now.
    """

    def __init__(self, model: Branch, price: Price | None) -> None:
        self._model, self._price = model, price
        super().__init__(_SplitWalk(model.feature, model.prior))

    @property
    def scores(self) -> Floats:
        """Scores of the side so far; the prior before the split is known."""
        return self._walks[-1].scores

    def _next(self) -> Walk | None:
        """Return the walk of the side after the split; None after that."""
        if len(self._walks) > 1:
            return None
        return self._model.side(self._told[self._model.feature]).walk(self._price)

    def _paths(self) -> list[Iterator[Walk | None]]:
        """Return both sides before the split is known; nothing after it."""
        if len(self._walks) > 1:
            return []
        return [iter([side.walk(self._price)]) for side in (self._model.left, self._model.right)]


class _SplitWalk(Walk):
    """The part of a walk that waits for the feature of a split."""

    def __init__(self, feature: int, prior: Floats) -> None:
        self._features, self._prior = (feature,), prior
        self._is_told = False

    @property
    def asks(self) -> tuple[int, ...]:
        return () if self._is_told else self._features

    def tell(self, values: Mapping[int, float]) -> None:
        self._is_told = self._is_told or self._features[0] in values

    @property
    def touched(self) -> tuple[int, ...]:
        return self._features if self._is_told else ()

    @property
    def scores(self) -> Floats:
        return self._prior

    @property
    def evaluations(self) -> int:
        return 0

    @property
    def motive(self) -> Motive:
        return Motive(self.asks, note="it decides which model follows")

    def evaluations_after(self, features: Collection[int]) -> int:
        return 0


def _problems(
    sides: list[Frozen], plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    """Yield what keeps these from being the split and the sides of a branch."""
    left, right = sides
    if (left.n_features, left.n_scores) != (right.n_features, right.n_scores):
        yield "the sides differ in columns or scores"
    feature, threshold, codes = plain["feature"], plain["threshold"], arrays["codes"]
    if not is_count(feature, 0, left.n_features - 1):
        last = left.n_features - 1
        yield f"feature is {shown(feature)}, expected a whole number from 0 to {last}"
    if threshold is not None and not is_number(threshold):
        yield f"threshold is {shown(threshold)}, expected a finite number, or none for categories"
    if (threshold is None) != (len(codes) > 0):
        yield "a split needs either a threshold or codes that go left"
    if np.any(codes < 0) or np.any(np.diff(codes) <= 0):
        yield "codes must be increasing, from 0 up"
    if type(plain["missing_left"]) is not bool:
        yield f"missing_left is {shown(plain['missing_left'])}, expected true or false"
    yield from prior_problems(arrays["prior"], left.n_scores)
