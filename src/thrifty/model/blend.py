"""Two models, one of which is chosen for each row: a blend costs something in between on average.

The choice depends on a hash of a few features, the keys, which every row buys. A hash of the whole
row would have to buy the whole row, and with random numbers the same row could get two different
predictions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, sealed, unpack
from thrifty.model.file_checks import number_problems
from thrifty.model.motive import End, Motive
from thrifty.model.path_bounds import PathBounds
from thrifty.model.row_hash import uniform_hash
from thrifty.untrusted import is_count, shown

__all__ = ["Blend", "BlendWalk"]

ENTRIES = {"parts", "share", "seed"}
# Seeds must fit in a signed 64-bit integer.
MAX_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Blend(Frozen):
    """A model that passes a share of the rows to its second model, and the others to the first.

    Parameters
    ----------
    first, second : Frozen
        Models with the same columns and classes.
    keys : int array (k,)
        Features whose hash decides, increasing; every row buys them.
    share : float
        Share of the key values, from 0 to 1, that go to the second model. A larger share sends
        more rows there, and all those that a smaller share sends.
    seed : int
        Seed of the hash.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Blend, Forest
    >>> zero, one = (Forest.constant([value], "sum", n_features=2) for value in (0.0, 1.0))
    >>> blend = Blend.of(zero, one, keys=[0], share=0.25)
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> blend.score(X).mean().round(2).item()
    0.25
    >>> blend.used(X[:1])
    array([[ True, False]])
    """

    kind: ClassVar[str] = "blend"

    first: Frozen
    second: Frozen
    keys: NDArray[np.int64]
    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", sealed(self.keys))

    @classmethod
    def of(
        cls, first: Frozen, second: Frozen, keys: ArrayLike, share: float, seed: int = 0
    ) -> Self:
        """Blend two models.

        Raises
        ------
        DataError
            If the models do not fit together, or keys, share or seed are out of range.
        """
        features = np.asarray(keys)
        features = features.astype(np.int64) if features.size == 0 else features
        raise_all(DataError, "blend", _problems(first, second, features, share, seed))
        return cls(first, second, features, float(share), seed)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.first.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.first.n_scores

    def goes_second(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which rows the second model scores, (n,)."""
        self.check_columns(X)
        return np.asarray(uniform_hash(X[:, self.keys], self.seed) < self.share)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return class probabilities (n, K), or values (n,)."""
        shape = (len(X),) if self.n_scores == 1 else (len(X), self.n_scores)
        return self._join("score", X, np.empty(shape))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, the keys included, (n, n_features)."""
        used = self._join("used", X, np.empty((len(X), self.n_features), dtype=bool))
        used[:, self.keys] = True
        return used

    @property
    def support(self) -> NDArray[np.bool_]:
        """The keys, and the features that the models within reach could touch, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.keys] = True
        for part in self._reachable:
            support |= part.support
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of the model of each row, (n,)."""
        return self._join("evaluations", X, np.empty(len(X), dtype=np.int64))

    @property
    def most_evaluations(self) -> int:
        """The larger number of the models within reach."""
        return max(part.most_evaluations for part in self._reachable)

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: the keys, and a path of one model within reach."""
        bounds = [part.path_bounds() for part in self._reachable]
        return reduce(PathBounds.either, bounds).reading(self.keys)

    def walk(self, price: Price | None = None) -> BlendWalk:
        """Start one example; it requests the keys, then what the chosen model needs."""
        return BlendWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        parts, arrays = pack([self.first, self.second])
        plain = {"parts": parts, "share": self.share, "seed": self.seed}
        return plain, {**arrays, "keys": self.keys}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        if set(plain) != ENTRIES or "keys" not in arrays:
            raise BundleError(f"blend: expected the entries {sorted(ENTRIES)} and the array keys")
        parts = unpack(plain["parts"], {name: a for name, a in arrays.items() if name != "keys"})
        if len(parts) != 2:
            raise BundleError(f"blend: two models are needed, the file has {len(parts)}")
        first, second = parts
        keys, share, seed = arrays["keys"], plain["share"], plain["seed"]
        raise_all(BundleError, "blend", _problems(first, second, keys, share, seed))
        return cls(first, second, keys, float(share), seed)

    @property
    def _reachable(self) -> tuple[Frozen, ...]:
        """The models that some row could be passed to."""
        if self.share in (0, 1):
            return (self.second if self.share else self.first,)
        return self.first, self.second

    def _join(self, method: str, X: NDArray[np.floating], out: NDArray[Any]) -> NDArray[Any]:
        """Fill `out` with what a method of each model returns for the rows of that model."""
        second = self.goes_second(X)
        for part, rows in ((self.first, ~second), (self.second, second)):
            if rows.any():
                out[rows] = getattr(part, method)(X[rows])
        return out


class BlendWalk(Walk):
    """The walk of a `Blend`: the keys first, then the model that they lead to."""

    def __init__(self, blend: Blend, price: Price | None) -> None:
        self._blend, self._price = blend, price
        self._told: dict[int, float] = {}
        self._missing = set(blend.keys.tolist())
        # While keys are missing, the first model, the cheaper one, provides the best scores so far.
        self._walk = blend.first.walk(price)
        self._choose_model()

    @property
    def asks(self) -> tuple[int, ...]:
        """The missing keys, cheapest first; then what the chosen model needs."""
        if not self._missing:
            return self._walk.asks
        price = self._price or (lambda feature: 0.0)
        return tuple(sorted(self._missing, key=lambda feature: (price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""
        self._told.update(values)
        self._walk.tell(values)
        if self._missing:
            self._missing.difference_update(values)
            self._choose_model()

    @property
    def touched(self) -> tuple[int, ...]:
        """The keys told so far, then the other features that the chosen model has read."""
        keys = set(self._blend.keys.tolist())
        read = [feature for feature in self._told if feature in keys]
        if not self._missing:
            read += [feature for feature in self._walk.touched if feature not in keys]
        return tuple(read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the chosen model; of the first model while keys are missing."""
        return self._walk.scores

    @property
    def evaluations(self) -> int:
        """Evaluations of the chosen model; none while keys are missing."""
        return 0 if self._missing else self._walk.evaluations

    @property
    def motive(self) -> Motive:
        """That of the chosen model; the keys decide which model it is."""
        if self._missing:
            return Motive(self.asks, note="it decides which of two models is used")
        return self._walk.motive

    @property
    def end(self) -> End:
        """That of the chosen model."""
        return self._walk.end

    def evaluations_after(self, features: Collection[int]) -> int | None:
        """Return those of the chosen model; None while keys are missing, unless they stay so."""
        if self._missing:
            return None if self._missing.issubset(features) else 0
        return self._walk.evaluations_after(features)

    def _choose_model(self) -> None:
        """Once all keys are known, switch to the second model if their hash says so."""
        blend = self._blend
        if self._missing:
            return
        row = np.array([[self._told[key] for key in blend.keys.tolist()]]).reshape(1, -1)
        if uniform_hash(row, blend.seed)[0] < blend.share:
            self._walk = blend.second.walk(self._price)
            self._walk.tell(self._told)


def _problems(
    first: Frozen, second: Frozen, keys: NDArray[Any], share: Any, seed: Any
) -> list[str]:
    """Return what keeps these from being a blend."""
    problems = []
    for what in ("n_features", "n_scores"):
        one, other = getattr(first, what), getattr(second, what)
        if one != other:
            problems.append(f"the models differ in {what}: {one} and {other}")
    if keys.dtype != np.int64 or keys.ndim != 1 or np.any(np.diff(keys) <= 0):
        problems.append("keys must be increasing whole numbers")
    elif len(keys) and not 0 <= keys[0] <= keys[-1] < first.n_features:
        problems.append(f"keys must be features, from 0 to {first.n_features - 1}")
    problems += number_problems({"share": share}, {"share": (0, 1)})
    if not is_count(seed, 0, MAX_SEED):
        problems.append(f"seed must be a whole number from 0 to {MAX_SEED}, got {shown(seed)}")
    return problems
