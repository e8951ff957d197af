"""The interface of frozen models: `Frozen` for a trained model, `Walk` for one example in it.

A frozen model knows columns by position and values as floats: categories are codes, a missing
value is NaN. Names, classes and prices belong to the bundle.

A model may contain models. `pack` flattens their states into one, as a model file keeps them, and
`unpack` checks such a state and builds the models again.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.motive import End, Motive
from thrifty.model.path_bounds import PathBounds
from thrifty.model.rounds import Path, Round
from thrifty.untrusted import claim, shown

__all__ = [
    "Bill",
    "Frozen",
    "Price",
    "Walk",
    "build_part",
    "pack",
    "sealed",
    "shared_parts",
    "unpack",
]

# What a feature, given by its position, would cost now. Walks order their requests by it. A model
# never knows the prices, so whoever starts the walk passes this function in.
Price = Callable[[int], float]
# What rows pay for used features (n, d) and numbers of evaluations (n,).
Bill = Callable[[NDArray[np.bool_], NDArray[np.int64]], NDArray[np.float64]]

# Models may be nested in a file, but not so deeply that building them exhausts the stack.
MAX_DEPTH = 8
# What a part takes besides its arrays, in bytes: a part may be nothing but a word in a header.
PART_BYTES = 4096


class Walk(ABC):
    """One example that requests features by position; does no input or output of its own.

    A walk is deterministic: the values passed to `tell` so far are its whole state.
    """

    @property
    @abstractmethod
    def asks(self) -> tuple[int, ...]:
        """Features needed now, the most useful per price first; empty when the walk is done."""

    @abstractmethod
    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""

    @property
    @abstractmethod
    def touched(self) -> tuple[int, ...]:
        """Features that the evaluation has read so far, in the order of first reading."""

    @property
    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """Best scores (k,) so far; when the walk is done, the row of `Frozen.score`."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Evaluations made so far; when the walk is done, the row of `Frozen.evaluations`."""

    @property
    def motive(self) -> Motive:
        """Why the walk asks for what it asks; computed when it is read.

        By default all that is asked for is bought together, in the order of the model.
        """
        return Motive(self.asks)

    @property
    def end(self) -> End:
        """Why the walk asks for nothing more; only for a walk that is done."""
        return "complete"

    def evaluations_after(self, features: Collection[int]) -> int | None:
        """Return the most evaluations made once these features have a value, whatever it is.

        None if the walk knows no bound but that of its model.
        """
        return None


class Frozen(ABC):
    """A trained model whose arrays are never written to again.

    Scores, used features and evaluations of a row are the same to the bit when it is alone, in a
    batch, and at the end of its walk.
    """

    kind: ClassVar[str]
    """Name of this kind of model in a model file."""

    n_features: int
    """Number of columns of the table."""

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""

    @abstractmethod
    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return class probabilities (n, K), or values (n,) for regression and ranking."""

    @abstractmethod
    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features)."""

    @property
    @abstractmethod
    def support(self) -> NDArray[np.bool_]:
        """Which features any row could touch, (n_features,)."""

    @abstractmethod
    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return how many evaluations (trees, kernels) each row takes, (n,)."""

    @property
    @abstractmethod
    def most_evaluations(self) -> int:
        """The largest number of evaluations that a row can take."""

    def path_bounds(self) -> PathBounds:
        """Return sets of features and numbers of evaluations, one of which every row stays within.

        By default one set: all features that any row could touch, and the most evaluations.
        """
        return PathBounds.of(self.support, self.most_evaluations)

    def largest_bill(self, bill: Bill, bought: NDArray[np.bool_]) -> float:
        """Return a bound on the bill of any row that has bought some features (d,) before."""
        bounds = self.path_bounds()
        return float(bill(bounds.used | bought, bounds.evaluations).max())

    @property
    def asks_at_once(self) -> bool:
        """Whether every row asks for all of `support` in one round, whatever it holds."""
        return not self.support.any()

    def rounds(self, X: NDArray[np.floating]) -> Iterator[Round] | None:
        """Return in which rounds rows ask for features; None if only their walks can tell."""
        return iter([Round(np.arange(len(X)), self.support)]) if self.asks_at_once else None

    def longest_paths(self) -> list[Path] | None:
        """Return the rounds of all paths that no other path goes beyond; None if not known."""
        return [[self.support]] if self.asks_at_once else None

    @abstractmethod
    def walk(self, price: Price | None = None) -> Walk:
        """Start one example; `price` returns what a feature would cost now."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: plain JSON values, and arrays by name."""

    @classmethod
    @abstractmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds and build the model from it.

        Raises
        ------
        BundleError
            If anything is missing, out of range, cyclic, misshapen or not finite.
        """

    def probability_problems(self) -> Iterator[str]:
        """Yield why the scores of some row would not be class probabilities.

        Most kinds make probabilities of whatever their numbers are.
        """
        return iter(())

    def check_columns(self, X: NDArray[np.floating]) -> None:
        """Raise `ValueError` unless X is a table (n, n_features)."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")

    def __reduce__(self) -> str | tuple[Any, ...]:
        model: Any = self
        if not is_dataclass(model):
            return super().__reduce__()
        # A copy is built by the constructor, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(model))


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous read-only view of `array`, or of a copy if it is not contiguous.

    Kernels are compiled for read-only arrays, so one compiled version serves all tables.
    """
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def pack(parts: Sequence[Frozen]) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Return kind and plain state of each part, and the arrays of all parts.

    Array ``name`` of part k becomes ``k/name``, so that a model file holds all arrays flat.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest
    >>> from thrifty.model.base import pack, unpack
    >>> small, large = (Forest.constant([value], "sum", n_features=3) for value in (2.5, 40.0))
    >>> plains, arrays = pack([small, large])
    >>> plains[0]["kind"], sorted(arrays)[:2]
    ('forest', ['0/base', '0/nodes'])
    >>> [part.score(np.zeros((1, 3))).item() for part in unpack(plains, arrays)]
    [2.5, 40.0]
    """
    plains, arrays = [], {}
    for k, part in enumerate(parts):
        plain, own = part.state()
        plains.append({"kind": part.kind, "model": plain})
        arrays.update({f"{k}/{name}": array for name, array in own.items()})
    return plains, arrays


def unpack(
    plains: Any, arrays: Mapping[str, NDArray[Any]], raw: Collection[int] = ()
) -> list[Frozen]:
    """Check and build the parts that `pack` flattened.

    Parameters
    ----------
    plains : list of dict
    arrays : mapping of str to array
    raw : collection of int
        Parts whose outputs are read as they are, so that they need not be class probabilities.

    Raises
    ------
    BundleError
        If a part is of no known kind, an array belongs to no part, or a part is not sound.
    """
    if not isinstance(plains, list) or not all(
        isinstance(part, dict)
        and part.keys() == {"kind", "model"}
        and isinstance(part["kind"], str)
        and isinstance(part["model"], dict)
        for part in plains
    ):
        raise BundleError("the parts of the model are not described")
    arrays_of: dict[str, dict[str, NDArray[Any]]] = {str(k): {} for k in range(len(plains))}
    unknown = []
    for name, array in arrays.items():
        k, slash, own_name = name.partition("/")
        if slash and k in arrays_of:
            arrays_of[k][own_name] = array
        else:
            unknown.append(name)
    if unknown:
        raise BundleError(f"arrays that belong to no part of the model: {shown(sorted(unknown))}")
    described = enumerate(zip(plains, arrays_of.values(), strict=True))
    return [build_part(part["kind"], part["model"], own, k in raw) for k, (part, own) in described]


def build_part(
    kind: str, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], is_raw: bool = False
) -> Frozen:
    """Check and build one model; the same one again if `shared_parts` has seen it.

    If its outputs are read as they are, they need not be class probabilities.

    Raises
    ------
    BundleError
        If there is no such kind, or the model is not sound.
    """
    from thrifty.model import KINDS  # here, as the kinds themselves import this module

    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise BundleError(f"there is no model of kind {shown(kind)}; the kinds are {known}")
    depth, seen = _DEPTH.get(), _SEEN_PARTS.get()
    if depth > MAX_DEPTH:
        raise BundleError(f"models are nested more than {MAX_DEPTH} deep")
    claim(PART_BYTES, "a part of the model")
    token = _DEPTH.set(depth + 1)
    try:
        build = KINDS[kind].build if seen is None else partial(seen.build, kind)
        model = build(plain, arrays)
    finally:
        _DEPTH.reset(token)
    if not is_raw:
        raise_all(BundleError, kind, [*model.probability_problems()])
    # For each part there are tables of the features that a row may use.
    claim(model.n_features + 8 * model.n_scores, "the columns of a part of the model")
    return model


@contextmanager
def shared_parts(max_bytes: int) -> Iterator[None]:
    """Within this context, equal parts of models are checked and built once, and are one object.

    Parts are equal if they are of one kind, with the same plain values and the very same arrays.

    Parameters
    ----------
    max_bytes : int
        A BundleError is raised once the arrays of all parts built have more bytes together: arrays
        may be shared, so a small file could describe any number of large models.

    Examples
    --------
    >>> from thrifty.model import Forest
    >>> from thrifty.model.base import pack, shared_parts, unpack
    >>> plains, arrays = pack([Forest.constant([2.5], "sum", n_features=3)])
    >>> with shared_parts(max_bytes=1000):
    ...     unpack(plains, arrays)[0] is unpack(plains, arrays)[0]
    True
    """
    token = _SEEN_PARTS.set(_SeenParts(max_bytes))
    try:
        yield
    finally:
        _SEEN_PARTS.reset(token)


class _SeenParts:
    """Builds parts, and keeps them by what they were built from."""

    def __init__(self, bytes_left: int) -> None:
        self._bytes_left = bytes_left
        # The arrays are kept too: as long as they live, their ids are theirs.
        self._known: dict[object, tuple[Frozen, list[NDArray[Any]]]] = {}

    def build(
        self, kind: str, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Frozen:
        """Return the part; build it if it is new."""
        from thrifty.model import KINDS

        places = tuple((name, id(arrays[name])) for name in sorted(arrays))
        key = kind, json.dumps(plain, sort_keys=True), places
        if key not in self._known:
            # Those of parts within this one, which have a path as name, are counted there.
            self._bytes_left -= sum(a.nbytes for name, a in arrays.items() if "/" not in name)
            if self._bytes_left < 0:
                raise BundleError("the models are too large together")
            self._known[key] = KINDS[kind].build(plain, arrays), list(arrays.values())
        return self._known[key][0]


_SEEN_PARTS: ContextVar[_SeenParts | None] = ContextVar("_SEEN_PARTS", default=None)
# How many models the one that is being built is a part of.
_DEPTH: ContextVar[int] = ContextVar("_DEPTH", default=0)
