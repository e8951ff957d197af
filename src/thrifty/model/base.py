"""The seam that every frozen model shares: three faces and a state.

A frozen model knows columns by position and values as floats (categories are codes,
a missing value is NaN). Names, classes and prices belong to the bundle.

Arrays that no one writes to any more.

Models inside a model: their states side by side in one state.

The arrays of part k are named ``k/name``, so a model file holds them flat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError

__all__ = ["Frozen", "Price", "Walk", "pack", "sealed", "unpack"]

# What feature j would cost now: the walk orders its questions by it. The model
# itself never learns the prices, so whoever starts the walk hands them in.
Price = Callable[[int], float]


class Walk(ABC):
    """One example asking for features by position; it does no input or output.

    A walk is deterministic: the values told so far are its whole state.
    """

    @property
    @abstractmethod
    def asks(self) -> tuple[int, ...]:
        """Features wanted now, the most useful per price first; empty when done."""

    @abstractmethod
    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, asked for or not, and move on as far as they allow."""

    @property
    @abstractmethod
    def touched(self) -> tuple[int, ...]:
        """Features the evaluation has read so far, in the order of first reading."""

    @property
    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """Scores (k,) of the best answer so far; once done, the row of `Frozen.score`."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Evaluations made so far; once done, the row of `Frozen.evaluations`."""


class Frozen(ABC):
    """A trained model that only reads: arrays that no one writes to any more."""

    kind: ClassVar[str]
    """Name of this kind of model in a model file."""

    n_features: int
    """Number of columns of the table."""

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """Number of classes that `score` tells apart; 1 for a model of values."""

    @abstractmethod
    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,) for regression and ranking."""

    @abstractmethod
    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""

    @property
    @abstractmethod
    def support(self) -> NDArray[np.bool_]:
        """Which features any example may touch at all, (n_features,)."""

    @abstractmethod
    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """How many evaluations (trees, kernels) each row took, (n,)."""

    @property
    @abstractmethod
    def most_evaluations(self) -> int:
        """How many evaluations an example takes at most."""

    @abstractmethod
    def walk(self, price: Price | None = None) -> Walk:
        """Start one example; `price` tells what a feature would cost now."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps: plain JSON values, and arrays by name."""

    @classmethod
    @abstractmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds and build the model from it.

        Raises
        ------
        BundleError
            If anything is missing, out of range, cyclic, misshapen or not finite.
        """


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


# A file may nest models, but not so deep that building it exhausts the stack.
DEEPEST = 8


def pack(parts: Sequence[Frozen]) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Kinds and plain states of the parts, and all their arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest
    >>> from thrifty.model.base import pack, unpack
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> constant = Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([2.5]), "sum", 3)
    >>> parts = unpack(*pack([constant, constant]))
    >>> [part.score(np.zeros((1, 3))).item() for part in parts]
    [2.5, 2.5]
    """
    plains, arrays = [], {}
    for k, part in enumerate(parts):
        plain, own = part.state()
        plains.append({"kind": part.kind, "model": plain})
        arrays.update({f"{k}/{name}": array for name, array in own.items()})
    return plains, arrays


def unpack(plains: Any, arrays: Mapping[str, NDArray[Any]]) -> list[Frozen]:
    """Audit and build what `pack` wrote.

    Raises
    ------
    BundleError
        If a part is of no known kind, an array belongs to no part, or a part is not sound.
    """
    if not isinstance(plains, list) or not all(map(_is_part, plains)):
        raise BundleError("the parts of the model are not described")
    if _depth(plains) > DEEPEST:
        raise BundleError(f"models are nested more than {DEEPEST} deep")
    strangers = sorted(name for name in arrays if not _belongs(name, len(plains)))
    if strangers:
        raise BundleError(f"arrays that belong to no part of the model: {strangers[:5]}")
    return [_build(part, k, arrays) for k, part in enumerate(plains)]


def _build(part: dict[str, Any], k: int, arrays: Mapping[str, NDArray[Any]]) -> Frozen:
    from thrifty.model import KINDS  # here: the kinds themselves nest

    if part["kind"] not in KINDS:
        raise BundleError(f"there is no model of kind {part['kind'][:200]!r}")
    start = f"{k}/"
    own = {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
    return KINDS[part["kind"]].build(part["model"], own)


def _is_part(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"kind", "model"}
        and isinstance(part["kind"], str)
        and isinstance(part["model"], dict)
    )


def _belongs(name: str, parts: int) -> bool:
    k, slash, _ = name.partition("/")
    return bool(slash) and k.isascii() and k.isdigit() and int(k) < parts and str(int(k)) == k


def _depth(plain: Any) -> int:
    """How many lists of parts lie within each other."""
    if isinstance(plain, list):
        return 1 + max((_depth(item) for item in plain), default=0)
    if isinstance(plain, dict):
        return max((_depth(item) for item in plain.values()), default=0)
    return 0
