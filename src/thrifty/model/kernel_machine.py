"""A frozen support vector machine with a kernel: its vectors, and their coefficients for each pair.

Classes are compared one against one. Every row is compared with every vector, so every row reads
the same features and takes as many evaluations as there are vectors. That is why `CompressedSVC`
(Xu 2014, ch. 4) keeps few of them. Standardization and one-hot encoding are part of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.kernels.threads import blocks, run
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, Walk, sealed
from thrifty.model.encoding import Encoding
from thrifty.model.file_checks import (
    ENCODING_LAYOUT,
    count_problems,
    encoding_arrays,
    encoding_problems,
    entry_problems,
    finite_problems,
    layout_problems,
    magnitude_problems,
    output_problems,
    sealed_encoding,
    shape_problems,
)
from thrifty.model.kernel_functions import KernelFunction, build_kernel
from thrifty.model.pairwise import couple
from thrifty.model.products import weighted_sums
from thrifty.untrusted import LARGEST

__all__ = ["KernelMachine", "KernelMachineWalk", "audit_kernel_machine"]

Floats = NDArray[np.float64]

ARRAYS = ("vectors", "coefficients", "intercepts", "slopes")
LAYOUT = {
    "vectors": ("<f8", 2),
    "coefficients": ("<f8", 2),
    "intercepts": ("<f8", 1),
    "slopes": ("<f8", 1),
    **ENCODING_LAYOUT,
}
# Few enough rows that their kernel values stay in the processor's cache.
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class KernelMachine(Frozen):
    """A support vector machine, one class against one.

    Parameters
    ----------
    vectors : float array (m, q)
        The vectors, in encoded columns.
    coefficients : float array (m, pairs)
        Weight of each vector's kernel value in the decision of each pair of classes.
    intercepts : float array (pairs,)
        Constant of each decision. A positive decision is for the first class of the pair.
    slopes : float array (pairs,)
        Positive; a decision times its slope is the log-odds of the pair (Platt scaling without an
        offset).
    encoding : Encoding
        Maps the columns of the table to the q encoded columns that the kernel reads.
    kernel : KernelFunction
    n_classes : int
    n_features : int
        Number of columns of the table.

    Examples
    --------
    One vector at 0 in the second column: rows near it belong to the first class.

    >>> import numpy as np
    >>> from thrifty.model import KernelMachine
    >>> from thrifty.model.encoding import Encoding
    >>> from thrifty.model.kernel_functions import RBFKernel
    >>> second = Encoding(np.array([1]), np.array([-1]), *np.array([[0.0], [1.0], [0.0]]))
    >>> model = KernelMachine(np.array([[0.0]]), np.array([[2.0]]), np.array([-1.0]),
    ...                       np.array([3.0]), second, RBFKernel(1.0), n_classes=2, n_features=2)
    >>> X = np.array([[7.0, 0.0], [7.0, 9.0]])
    >>> model.decisions(X).ravel()
    array([ 1., -1.])
    >>> model.score(X).round(2)
    array([[0.95, 0.05],
           [0.05, 0.95]])
    >>> model.used(X[:1])
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
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))
        object.__setattr__(self, "encoding", sealed_encoding(encoding_arrays(self.encoding)))

    @property
    def n_scores(self) -> int:
        """Number of classes."""
        return self.n_classes

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), coupled from the log-odds of the pairs."""
        return self._in_blocks(
            X, lambda rows: couple(self._decide(rows) * self.slopes, self.n_classes), self.n_classes
        )

    def decisions(self, X: NDArray[np.floating]) -> Floats:
        """Return the decision of each pair of classes, (n, pairs)."""
        return self._in_blocks(X, self._decide, len(self.intercepts))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads, (n, n_features): the same for all rows."""
        return np.tile(self.support, (len(X), 1))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Columns that the encoding reads, (n_features,); none if there is no vector."""
        support = np.zeros(self.n_features, dtype=bool)
        if len(self.vectors):
            support[self.encoding.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the number of kernel evaluations of each row, (n,): one for each vector."""
        return np.full(len(X), len(self.vectors), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of vectors."""
        return len(self.vectors)

    def walk(self, price: Price | None = None) -> KernelMachineWalk:
        """Start one example; it asks for all features at once, the cheapest first."""
        return KernelMachineWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: plain entries, and arrays by name."""
        plain = {
            "kernel": self.kernel.name,
            "parameters": self.kernel.parameters,
            "n_classes": self.n_classes,
            "n_features": self.n_features,
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return plain, arrays | encoding_arrays(self.encoding)

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        audit_kernel_machine(plain, arrays)
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            encoding=sealed_encoding(arrays),
            kernel=build_kernel(plain["kernel"], plain["parameters"]),
            n_classes=plain["n_classes"],
            n_features=plain["n_features"],
        )

    def _decide(self, X: NDArray[np.floating]) -> Floats:
        """Return the decisions (n, pairs) of one block of rows."""
        with np.errstate(over="ignore"):
            values = self.kernel.value(self.encoding.apply(X), self.vectors)
        # A power may be infinite, and the difference of two such would be no number.
        np.clip(values, -LARGEST, LARGEST, out=values)
        return weighted_sums(values, self.coefficients, self.intercepts)

    def _in_blocks(
        self,
        X: NDArray[np.floating],
        compute: Callable[[NDArray[np.floating]], Floats],
        width: int,
    ) -> Floats:
        """Return ``compute(X)``, (n, width), computed block by block, in threads."""
        self.check_columns(X)
        out = np.empty((len(X), width))

        def fill(first: int, last: int) -> None:
            out[first:last] = compute(X[first:last])

        run(fill, blocks(len(X), ROWS_PER_BLOCK))
        return out


class KernelMachineWalk(Walk):
    """The walk of a `KernelMachine`. Values that have not arrived count as missing.

    Parameters
    ----------
    model : KernelMachine
    price : callable or None
        What a feature would cost now; cheaper features are asked for first.
    """

    def __init__(self, model: KernelMachine, price: Price | None) -> None:
        self._model = model
        self._price: Price = price or (lambda feature: 0.0)
        self._missing = set(np.flatnonzero(model.support).tolist())
        self._row = np.full((1, model.n_features), np.nan)
        self._read: list[int] = []

    @property
    def asks(self) -> tuple[int, ...]:
        """All features that have no value yet, the cheapest first."""
        return tuple(sorted(self._missing, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; those of features that the model does not read are ignored."""
        for feature, value in values.items():
            if feature in self._missing:
                self._missing.remove(feature)
                self._read.append(feature)
                self._row[0, feature] = value

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of arrival."""
        return tuple(self._read)

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) of the values known so far."""
        return np.asarray(self._model.score(self._row)[0])

    @property
    def evaluations(self) -> int:
        """Kernel evaluations: none until the row is complete."""
        return 0 if self._missing else len(self._model.vectors)

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return those of a complete row if these features complete it; else none."""
        return len(self._model.vectors) if self._missing.issubset(features) else 0


def audit_kernel_machine(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `KernelMachine` can be built from these and be scored."""
    heading = "kernel machine"
    names = ("kernel", "parameters", "n_classes", "n_features")
    raise_all(BundleError, heading, [*entry_problems(plain, names)])
    problems = [*count_problems(plain, {"n_classes": 2, "n_features": 1})]
    raise_all(BundleError, heading, [*problems, *layout_problems(arrays, LAYOUT)])
    build_kernel(plain["kernel"], plain["parameters"])
    m, q = arrays["vectors"].shape
    pairs = plain["n_classes"] * (plain["n_classes"] - 1) // 2
    shapes = {"coefficients": (m, pairs), "intercepts": (pairs,), "slopes": (pairs,)}
    shapes |= dict.fromkeys(ENCODING_LAYOUT, (q,))
    raise_all(BundleError, heading, [*shape_problems(arrays, shapes)])
    problems = [*finite_problems(arrays, LAYOUT), *output_problems(plain["n_classes"])]
    problems += magnitude_problems(arrays, ARRAYS, LARGEST)
    problems += encoding_problems(arrays, plain["n_features"])
    if np.any(arrays["slopes"] <= 0):
        problems.append("slopes must be positive")
    raise_all(BundleError, heading, problems)
