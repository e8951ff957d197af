"""A frozen kernel machine: vectors, and how much each speaks in the decision of each pair.

Every row is compared with every vector, so every row reads the same features and takes as many
evaluations as there are vectors. Scaling and the encoding of categories are part of the model.

One example before a kernel machine: all features are needed, so all are asked for at once.

What must hold before arrays from a file become a kernel machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.base import Frozen, Price, Walk
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_functions import KernelFunction, build_kernel
from thrifty.model.pairwise import couple
from thrifty.model.products import weighted_sums

__all__ = ["ENCODING", "OWN", "SupportSet", "SupportWalk", "audit_support_set"]


class SupportWalk(Walk):
    """The walk of a `SupportSet`; until all is told, what is not counts as missing.

    Parameters
    ----------
    features : tuple of int
        What the machine reads.
    n_features : int
        Columns of the table.
    vectors : int
        Kernel evaluations of a whole row.
    score : callable
        Scores of a table of one row.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        features: tuple[int, ...],
        n_features: int,
        vectors: int,
        score: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        price: Price,
    ) -> None:
        self._wanted = dict.fromkeys(features)
        self._row = np.full((1, n_features), np.nan)
        self._vectors = vectors
        self._score = score
        self._price = price
        self._read: dict[int, None] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """All features not yet told, the cheapest first."""
        return tuple(sorted(self._wanted, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; the others are kept as unread by the bundle."""
        for feature, value in values.items():
            if feature in self._wanted:
                del self._wanted[feature]
                self._read[feature] = None
                self._row[0, feature] = value

    @property
    def touched(self) -> tuple[int, ...]:
        """Features told so far."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the row as far as it is known."""
        return np.asarray(self._score(self._row)[0])

    @property
    def evaluations(self) -> int:
        """None before the row is whole: nothing has been answered then."""
        return 0 if self._wanted else self._vectors


OWN = ("vectors", "coefficients", "intercepts", "slopes")
ENCODING = ("columns", "codes", "centers", "scales", "fills")
WHOLE = ("columns", "codes")
FLAT = dict.fromkeys((*OWN[2:], *ENCODING), 1)
DIMENSIONS = {"vectors": 2, "coefficients": 2, **FLAT}
ENTRIES = {"kernel", "parameters", "n_classes", "n_features"}
MOST = 2**20


def audit_support_set(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `SupportSet` can be built from these and can be read."""
    raise_all(BundleError, "support vectors", list(_layout(plain, arrays)))
    build_kernel(plain["kernel"], plain["parameters"])
    raise_all(BundleError, "support vectors", list(_shapes(plain, arrays)))
    raise_all(BundleError, "support vectors", list(_values(plain, arrays)))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != ENTRIES:
        yield f"expected the entries {sorted(ENTRIES)}, got {sorted(map(str, plain))}"
        return
    for name, least in {"n_classes": 2, "n_features": 1}.items():
        if type(plain[name]) is not int or not least <= plain[name] <= MOST:
            yield f"{name} is {plain[name]!r}"
    if set(arrays) != set(DIMENSIONS):
        yield f"expected the arrays {sorted(DIMENSIONS)}, got {sorted(arrays)}"
        return
    for name, ndim in DIMENSIONS.items():
        dtype = np.dtype("<i8" if name in WHOLE else "<f8")
        if arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    m, q = arrays["vectors"].shape
    pairs = plain["n_classes"] * (plain["n_classes"] - 1) // 2
    due = {"coefficients": (m, pairs), "intercepts": (pairs,), "slopes": (pairs,)}
    due |= dict.fromkeys(ENCODING, (q,))
    for name, shape in due.items():
        if arrays[name].shape != shape:
            yield f"{name} have shape {arrays[name].shape} where {shape} is due"


def _values(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for name in DIMENSIONS:
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    columns, codes = arrays["columns"], arrays["codes"]
    if np.any((columns < 0) | (columns >= plain["n_features"])):
        yield f"a slot reads a column beyond the {plain['n_features']} of the table"
    if np.any(codes < -1):
        yield "a slot stands for a category that does not exist"
    for name in ("scales", "slopes"):
        if np.any(arrays[name] <= 0):
            yield f"{name} must be positive"


Floats = NDArray[np.float64]
# Few enough rows that their kernel values stay near the processor.
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class SupportSet(Frozen):
    """A support vector machine, one class against one.

    Parameters
    ----------
    vectors : array (m, q)
        In the slots of `encoding`.
    coefficients : array (m, pairs)
        What each vector adds to the decision of each pair of classes, times its kernel value.
    intercepts : array (pairs,)
        Where the decisions start; a positive decision speaks for the first class of the pair.
    slopes : array (pairs,)
        A decision times its slope is the log-odds of the pair; positive.
    encoding : Encoding
        How rows become what the kernel reads.
    kernel : KernelFunction
    n_classes, n_features : int

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import SupportSet
    >>> from thrifty.model.encoding import Encoding
    >>> from thrifty.model.kernel_functions import RBFKernel
    >>> slot = Encoding(np.array([1]), np.array([-1]), *np.array([[0.0], [1.0], [0.0]]))
    >>> model = SupportSet(np.array([[0.0]]), np.array([[2.0]]), np.array([-1.0]),
    ...                    np.array([3.0]), slot, RBFKernel(1.0), n_classes=2, n_features=2)
    >>> model.decisions(np.array([[7.0, 0.0], [7.0, 9.0]])).ravel()
    array([ 1., -1.])
    >>> model.used(np.zeros((1, 2)))
    array([[False,  True]])
    """

    kind: ClassVar[str] = "support"

    vectors: Floats
    coefficients: Floats
    intercepts: Floats
    slopes: Floats
    encoding: Encoding
    kernel: KernelFunction
    n_classes: int
    n_features: int

    def __post_init__(self) -> None:
        for name in OWN:
            object.__setattr__(self, name, _sealed(getattr(self, name)))
        slots = [_sealed(getattr(self.encoding, name)) for name in ENCODING]
        object.__setattr__(self, "encoding", Encoding(*slots))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_scores(self) -> int:
        """One probability a class."""
        return self.n_classes

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Class probabilities (n, K): the pairs' log-odds, coupled."""
        scores = np.empty((len(X), self.n_classes))

        def task(first: int, last: int) -> None:
            logits = self._decide(X[first:last]) * self.slopes
            scores[first:last] = couple(logits, self.n_classes)

        self._run(X, task)
        return scores

    def decisions(self, X: NDArray[np.floating]) -> Floats:
        """Decision of each pair of classes, (n, pairs)."""
        found = np.empty((len(X), len(self.intercepts)))

        def task(first: int, last: int) -> None:
            found[first:last] = self._decide(X[first:last])

        self._run(X, task)
        return found

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Every row reads all that the vectors are compared in."""
        return np.tile(self.support, (len(X), 1))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """The columns of the slots, if there is a vector at all."""
        support = np.zeros(self.n_features, dtype=bool)
        if len(self.vectors):
            support[self.encoding.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """One kernel value for every vector."""
        return np.full(len(X), len(self.vectors), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of vectors."""
        return len(self.vectors)

    def walk(self, price: Price | None = None) -> SupportWalk:
        """Start one example."""
        features = tuple(np.flatnonzero(self.support).tolist())
        return SupportWalk(
            features, self.n_features, len(self.vectors), self.score, price or (lambda j: 0.0)
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain = {
            "kernel": self.kernel.name,
            "parameters": self.kernel.parameters,
            "n_classes": self.n_classes,
            "n_features": self.n_features,
        }
        arrays = {name: getattr(self, name) for name in OWN}
        return plain, arrays | {name: getattr(self.encoding, name) for name in ENCODING}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        audit_support_set(plain, arrays)
        return cls(
            **{name: arrays[name] for name in OWN},
            encoding=Encoding(**{name: arrays[name] for name in ENCODING}),
            kernel=build_kernel(plain["kernel"], plain["parameters"]),
            n_classes=plain["n_classes"],
            n_features=plain["n_features"],
        )

    def _decide(self, X: NDArray[np.floating]) -> Floats:
        with np.errstate(over="ignore"):
            values = self.kernel.value(self.encoding.apply(X), self.vectors)
        return weighted_sums(values, self.coefficients, self.intercepts)

    def _run(self, X: NDArray[np.floating], task: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        ranges = [(i, min(i + ROWS_PER_BLOCK, len(X))) for i in range(0, len(X), ROWS_PER_BLOCK)]
        if len(ranges) < 2 or not find_spec("numba"):
            for first, last in ranges:
                task(first, last)
            return
        from thrifty.kernels.threads import run

        run(task, ranges)


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
