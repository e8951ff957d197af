"""Two models of which each row gets one: a mixture that spends what lies between them.

Which one is decided by a hash of a few features, the keys, which every row buys. A hash of the
whole row would buy the whole row; a random draw would not give the same row the same answer
twice.

One example walking through a blend: the keys first, then the model that they lead to.

Lots: a number in [0, 1) for each row, from nothing but its values and a seed.

The mixing steps are those of SplitMix64 (Steele, Lea and Flood, 2014). Equal values draw equal
lots on every machine: a missing value is one value whatever its bits, and so is zero whatever
its sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack

__all__ = ["Blend", "BlendWalk", "draw_lots"]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
MASK = (1 << 64) - 1


def draw_lots(values: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    """Draw the lot of each row of `values` (n, k); without columns all rows draw the same.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.blend import draw_lots
    >>> draw_lots(np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, np.nan]]), seed=0).round(3)
    array([0.1  , 0.1  , 0.279])
    """
    # A sum with +0.0 turns -0.0 to 0.0; float32 values are exact in float64.
    columns = np.asarray(values, dtype=np.float64).T + 0.0
    columns[np.isnan(columns)] = np.nan
    lots = np.full(values.shape[0], (seed + int(STEP)) & MASK, dtype=np.uint64)
    for column in np.ascontiguousarray(columns).view(np.uint64):
        lots = _mix(lots) ^ column
    return np.asarray((_mix(_mix(lots)) >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + STEP
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


class BlendWalk(Walk):
    """The walk of a `Blend`."""

    def __init__(
        self,
        first: Frozen,
        second: Frozen,
        keys: NDArray[np.int64],
        share: float,
        seed: int,
        price: Price | None,
    ) -> None:
        self._second = second
        self._keys = keys
        self._share = share
        self._seed = seed
        self._price = price
        self._told: dict[int, float] = {}
        self._missing = set(keys.tolist())
        # Until the keys are known, the first model has the word: it is the cheaper one.
        self._walk = first.walk(price)
        self._settle()

    @property
    def asks(self) -> tuple[int, ...]:
        """The keys not told yet, the cheapest first; then what the model asks."""
        if not self._missing:
            return self._walk.asks
        price = self._price or (lambda feature: 0.0)
        return tuple(sorted(self._missing, key=lambda feature: (price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and move on as far as they allow."""
        self._told.update(values)
        self._walk.tell(values)
        if self._missing:
            self._missing.difference_update(values)
            self._settle()

    @property
    def touched(self) -> tuple[int, ...]:
        """The keys told, then what the model has read beyond them."""
        keys = set(self._keys.tolist())
        read = [feature for feature in self._told if feature in keys]
        if not self._missing:
            read += [feature for feature in self._walk.touched if feature not in keys]
        return tuple(read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the model of the row; of the first while keys are missing."""
        return self._walk.scores

    @property
    def evaluations(self) -> int:
        """Those of the model of the row; none while keys are missing."""
        return 0 if self._missing else self._walk.evaluations

    def _settle(self) -> None:
        """Once all keys are told, go on with the model that they lead to."""
        if self._missing:
            return
        row = np.array([[self._told[key] for key in self._keys.tolist()]])
        if draw_lots(row.reshape(1, -1), self._seed)[0] < self._share:
            self._walk = self._second.walk(self._price)
            self._walk.tell(self._told)


ENTRIES = {"parts", "share", "seed"}
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Blend(Frozen):
    """A share of the rows is answered by the second model, the others by the first.

    Parameters
    ----------
    first, second : Frozen
        Models of the same table and the same classes.
    keys : int array
        Features that decide, increasing; every row buys them.
    share : float
        Share of the key values, from 0 to 1, that go to the second model. Raised, it sends
        more rows there and takes none back.
    seed : int
        Another one sends other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Blend, Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> def constant(value):
    ...     return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([value]), "sum", 2)
    >>> blend = Blend.of(constant(0.0), constant(1.0), keys=[0], share=0.25)
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

    @classmethod
    def of(
        cls, first: Frozen, second: Frozen, keys: ArrayLike, share: float, seed: int = 0
    ) -> Self:
        """Blend two models.

        Raises
        ------
        DataError
            If the models do not fit each other, or keys, share or seed are out of range.
        """
        found = np.asarray(keys)
        found = found.astype(np.int64) if found.size == 0 else found
        raise_all(DataError, "blend", _problems(first, second, found, share, seed))
        return cls(first, second, _sealed(found), float(share), seed)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.first.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model of values."""
        return self.first.n_scores

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,)."""
        shape = (len(X),) if self.n_scores == 1 else (len(X), self.n_scores)
        return self._joined(X, "score", np.empty(shape))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """The keys, and what the model of the row touches."""
        used = self._joined(X, "used", np.empty((len(X), self.n_features), dtype=bool))
        used[:, self.keys] = True
        return used

    @property
    def support(self) -> NDArray[np.bool_]:
        """The keys, and what the models that rows can come to may touch."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.keys] = True
        for part in self._reachable:
            support |= part.support
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Those of the model of the row."""
        return self._joined(X, "evaluations", np.empty(len(X), dtype=np.int64))

    @property
    def most_evaluations(self) -> int:
        """The larger number of those that rows can come to."""
        return max(part.most_evaluations for part in self._reachable)

    def goes_second(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which rows are answered by the second model, (n,)."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        return np.asarray(draw_lots(X[:, self.keys], self.seed) < self.share)

    def walk(self, price: Price | None = None) -> BlendWalk:
        """Start one example."""
        return BlendWalk(self.first, self.second, self.keys, self.share, self.seed, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        parts, arrays = pack([self.first, self.second])
        plain = {"parts": parts, "share": self.share, "seed": self.seed}
        return plain, {**arrays, "keys": self.keys}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if set(plain) != ENTRIES or "keys" not in arrays:
            raise BundleError(f"blend: expected the entries {sorted(ENTRIES)} and the array keys")
        parts = unpack(plain["parts"], {name: a for name, a in arrays.items() if name != "keys"})
        if len(parts) != 2:
            raise BundleError(f"blend: two models are needed, the file has {len(parts)}")
        first, second = parts
        keys, share, seed = arrays["keys"], plain["share"], plain["seed"]
        raise_all(BundleError, "blend", _problems(first, second, keys, share, seed))
        return cls(first, second, _sealed(keys), float(share), seed)

    @property
    def _reachable(self) -> tuple[Frozen, ...]:
        if self.share in (0, 1):
            return (self.second if self.share else self.first,)
        return self.first, self.second

    def _joined(self, X: NDArray[np.floating], face: str, out: NDArray[Any]) -> NDArray[Any]:
        """One face of both models, each asked about its own rows only."""
        second = self.goes_second(X)
        for part, rows in ((self.first, ~second), (self.second, second)):
            if rows.any():
                out[rows] = getattr(part, face)(X[rows])
        return out


def _problems(
    first: Frozen, second: Frozen, keys: NDArray[Any], share: Any, seed: Any
) -> list[str]:
    problems = []
    for what in ("n_features", "n_scores"):
        one, other = getattr(first, what), getattr(second, what)
        if one != other:
            problems.append(f"the models differ in {what}: {one} and {other}")
    if keys.dtype != np.int64 or keys.ndim != 1 or np.any(np.diff(keys) <= 0):
        problems.append("keys must be increasing whole numbers")
    elif len(keys) and not 0 <= keys[0] <= keys[-1] < first.n_features:
        problems.append(f"keys must be features, from 0 to {first.n_features - 1}")
    if type(share) not in (int, float) or not math.isfinite(share) or not 0 <= share <= 1:
        problems.append(f"share must be a number from 0 to 1, got {share!r}")
    if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
        problems.append(f"seed must be a whole number from 0 to {LARGEST_SEED}, got {seed!r}")
    return problems


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
