"""Kernel functions of support vector machines: a value, and its gradient in the vectors.

A model file names the kernel and its parameters, never code: a kernel of one's own must be
registered by the program that reads the file, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError
from thrifty.model.products import dot_products, squared_distances

__all__ = [
    "KERNELS",
    "KernelFunction",
    "PolynomialKernel",
    "RBFKernel",
    "build_kernel",
    "register_kernel",
]

Floats = NDArray[np.float64]
HIGHEST_DEGREE = 64


class KernelFunction(ABC):
    """A similarity of rows and vectors.

    One's own is a frozen dataclass whose fields are numbers, passed to `register_kernel`. Its
    `value` must treat each row alone: ``@`` does not (it rounds a row alone otherwise than in a
    batch), `thrifty.model.products` and ``np.einsum`` do.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from thrifty.model.kernel_functions import KernelFunction
    >>> from thrifty.model.products import squared_distances
    >>> @dataclass(frozen=True)
    ... class Cauchy(KernelFunction):
    ...     width: float
    ...     name = "cauchy"
    ...     def value(self, X, V):
    ...         return 1.0 / (1.0 + squared_distances(X, V) / self.width**2)
    ...     def gradient(self, X, V, weights):
    ...         pull = weights * 2.0 * self.value(X, V) ** 2 / self.width**2
    ...         return pull.T @ X - pull.sum(axis=0)[:, None] * V
    >>> Cauchy(2.0).value(np.zeros((1, 1)), np.array([[2.0]]))
    array([[0.5]])
    """

    name: ClassVar[str]
    """What a model file calls the kernel."""

    skips_zeros: ClassVar[bool] = False
    """Whether a feature that is 0 in a vector plays no part in its value."""

    @abstractmethod
    def value(self, X: Floats, V: Floats) -> Floats:
        """Kernel of each row of X (n, q) and each vector of V (m, q), as (n, m)."""

    @abstractmethod
    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Gradient (m, q) in V of the sum of ``weights * value(X, V)``."""

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """As `value`, as fast as can be, to rounding: what learning uses."""
        return self.value(X, V)

    def __call__(self, X: Floats, V: Floats) -> Floats:
        """What scikit-learn calls when it is given as the kernel of an SVC."""
        return self.matrix(X, V)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a model file keeps of it."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


Kind = TypeVar("Kind", bound=type[KernelFunction])
KERNELS: dict[str, type[KernelFunction]] = {}


def register_kernel(kind: Kind) -> Kind:
    """Let model files name a kernel of one's own; also a class decorator.

    Raises
    ------
    ValueError
        If another kernel has the name already.
    """
    known = KERNELS.get(kind.name)
    if known is not None and known.__qualname__ != kind.__qualname__:
        raise ValueError(f"there is a kernel {kind.name!r} already, {known.__qualname__}")
    KERNELS[kind.name] = kind
    return kind


@register_kernel
@dataclass(frozen=True)
class RBFKernel(KernelFunction):
    """exp(-gamma |x - v|^2).

    Parameters
    ----------
    gamma : float
        1 / (2 sigma^2), positive.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.kernel_functions import RBFKernel
    >>> RBFKernel(0.5).value(np.zeros((1, 2)), np.zeros((1, 2)))
    array([[1.]])
    """

    gamma: float
    name = "rbf"

    def __post_init__(self) -> None:
        _positive("gamma", self.gamma)

    def value(self, X: Floats, V: Floats) -> Floats:
        """Kernel (n, m)."""
        return _exp(squared_distances(X, V), self.gamma)

    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Gradient (m, q) in V of the weighted sum."""
        pull = 2.0 * self.gamma * weights * self.matrix(X, V)
        return np.asarray(pull.T @ X - pull.sum(axis=0)[:, np.newaxis] * V)

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """By the binomial formula and BLAS."""
        apart = np.square(X).sum(axis=1)[:, np.newaxis] + np.square(V).sum(axis=1) - 2.0 * X @ V.T
        return _exp(np.maximum(apart, 0.0, out=apart), self.gamma)


@register_kernel
@dataclass(frozen=True)
class PolynomialKernel(KernelFunction):
    """(gamma x.v + coef0)^degree.

    Parameters
    ----------
    degree : int
    gamma : float
        Positive.
    coef0 : float

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.kernel_functions import PolynomialKernel
    >>> PolynomialKernel(2, coef0=1.0).value(np.array([[1.0, 1.0]]), np.array([[1.0, 2.0]]))
    array([[16.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0
    name = "polynomial"
    skips_zeros = True

    def __post_init__(self) -> None:
        _positive("gamma", self.gamma)
        if type(self.degree) is not int or not 1 <= self.degree <= HIGHEST_DEGREE:
            raise ValueError(f"degree is {self.degree!r}: give a whole number from 1 up")
        if not np.isfinite(self.coef0):
            raise ValueError(f"coef0 is {self.coef0!r}: give a finite number")

    def value(self, X: Floats, V: Floats) -> Floats:
        """Kernel (n, m)."""
        return self._power(dot_products(X, V), self.degree)

    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Gradient (m, q) in V of the weighted sum."""
        slope = self._power(X @ V.T, self.degree - 1)
        return np.asarray((self.degree * self.gamma * weights * slope).T @ X)

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """By BLAS."""
        return self._power(X @ V.T, self.degree)

    def _power(self, products: Floats, power: int) -> Floats:
        # Multiplied out: pow of the same number may round otherwise from array to array.
        base = self.gamma * products + self.coef0
        raised = np.ones_like(base)
        with np.errstate(over="ignore"):
            for _ in range(power):
                raised *= base
        return raised


def build_kernel(name: Any, parameters: Any) -> KernelFunction:
    """The kernel that a model file names.

    Raises
    ------
    BundleError
        If it is not registered, or its parameters are not fit.
    """
    if not isinstance(name, str) or name not in KERNELS:
        raise BundleError(
            f"the kernel {str(name)[:200]!r} is not known here; a kernel of one's own must be "
            "registered with thrifty.model.kernel_functions.register_kernel before loading"
        )
    kind = KERNELS[name]
    wanted = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(parameters, Mapping) or parameters.keys() != wanted:
        raise BundleError(f"the kernel {name!r} needs the parameters {sorted(wanted)}")
    if not all(type(value) in (int, float) for value in parameters.values()):
        raise BundleError(f"the parameters of the kernel {name!r} must be numbers")
    try:
        return kind(**parameters)
    except ValueError as error:
        raise BundleError(f"the kernel {name!r}: {error}") from None


def _exp(apart: Floats, gamma: float) -> Floats:
    apart *= -gamma
    return np.exp(apart, out=apart)


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value!r}: give a positive number")
