"""Kernel functions of support vector machines: their values, and the gradient in the vectors.

A model file names the kernel and its parameters and never holds code. A program that reads a model
with a custom kernel must call `register_kernel` first.
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
from thrifty.untrusted import LARGEST, is_count, is_number, shown

__all__ = [
    "KERNELS",
    "KernelFunction",
    "PolynomialKernel",
    "RBFKernel",
    "build_kernel",
    "register_kernel",
]

Floats = NDArray[np.float64]
# A file with a larger degree is damaged; powers are computed by repeated multiplication.
MAX_DEGREE = 64


class KernelFunction(ABC):
    """A similarity of rows and vectors.

    A custom kernel is a frozen dataclass whose fields are numbers, passed to `register_kernel`. Its
    `value` must give a row the same bits alone and in a batch. `thrifty.model.products` and
    ``np.einsum`` do; ``@`` does not, because BLAS rounds differently for different shapes.

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
    """Name of the kernel in a model file."""

    skips_zeros: ClassVar[bool] = False
    """Whether a feature that is 0 in a vector has no influence on the kernel value."""

    @abstractmethod
    def value(self, X: Floats, V: Floats) -> Floats:
        """Return the kernel of each row of X (n, q) and each vector of V (m, q), as (n, m)."""

    @abstractmethod
    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Return the gradient (m, q) in V of the sum of ``weights * value(X, V)``."""

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """Return what `value` returns, up to rounding, as fast as possible; used in training."""
        return self.value(X, V)

    def __call__(self, X: Floats, V: Floats) -> Floats:
        """Return `matrix`: lets the kernel be passed to scikit-learn's ``SVC(kernel=...)``."""
        return self.matrix(X, V)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields by name, as a model file keeps them."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


Kind = TypeVar("Kind", bound=type[KernelFunction])
KERNELS: dict[str, type[KernelFunction]] = {}


def register_kernel(kind: Kind) -> Kind:
    """Add a kernel class to those that model files may name; also works as a class decorator.

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
    >>> RBFKernel(0.5).value(np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    gamma: float
    name = "rbf"

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)

    def value(self, X: Floats, V: Floats) -> Floats:
        """Return the kernel values (n, m)."""
        distances = squared_distances(X, V)
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Return the gradient (m, q) in V of the weighted sum."""
        pull = 2.0 * self.gamma * weights * self.matrix(X, V)
        return np.asarray(pull.T @ X - pull.sum(axis=0)[:, np.newaxis] * V)

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """Return the kernel values (n, m) from |x|^2 + |v|^2 - 2 x.v, by BLAS."""
        distances: Floats = (
            np.square(X).sum(axis=1)[:, np.newaxis] + np.square(V).sum(axis=1) - 2.0 * X @ V.T
        )
        np.maximum(distances, 0.0, out=distances)
        distances *= -self.gamma
        return np.exp(distances, out=distances)


@register_kernel
@dataclass(frozen=True)
class PolynomialKernel(KernelFunction):
    """(gamma x.v + coef0)^degree.

    Parameters
    ----------
    degree : int
        From 1 to 64.
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
        _check_positive("gamma", self.gamma)
        if not is_count(self.degree, 1, MAX_DEGREE):
            raise ValueError(
                f"degree is {shown(self.degree)}: give a whole number from 1 to {MAX_DEGREE}"
            )
        if not abs(self.coef0) <= LARGEST:
            raise ValueError(f"coef0 is {shown(self.coef0)}: give a finite number")

    def value(self, X: Floats, V: Floats) -> Floats:
        """Return the kernel values (n, m)."""
        return self._power(dot_products(X, V), self.degree)

    def gradient(self, X: Floats, V: Floats, weights: Floats) -> Floats:
        """Return the gradient (m, q) in V of the weighted sum."""
        derivative = self._power(X @ V.T, self.degree - 1)
        return np.asarray((self.degree * self.gamma * weights * derivative).T @ X)

    def matrix(self, X: Floats, V: Floats) -> Floats:
        """Return the kernel values (n, m), by BLAS."""
        return self._power(X @ V.T, self.degree)

    def _power(self, products: Floats, power: int) -> Floats:
        """Return ``(gamma * products + coef0) ** power``."""
        # By multiplication: pow may round the same number differently from array to array.
        base = self.gamma * products + self.coef0
        raised = np.ones_like(base)
        with np.errstate(over="ignore"):
            for _ in range(power):
                raised *= base
        return raised


def build_kernel(name: Any, parameters: Any) -> KernelFunction:
    """Build the kernel that a model file names.

    Raises
    ------
    BundleError
        If the kernel is not registered, or the parameters are not valid for it.
    """
    if not isinstance(name, str) or name not in KERNELS:
        raise BundleError(
            f"the kernel {shown(name)} is not known here; register a custom kernel "
            "with thrifty.model.kernel_functions.register_kernel before loading"
        )
    kind = KERNELS[name]
    expected = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(parameters, Mapping) or parameters.keys() != expected:
        raise BundleError(f"the kernel {name!r} needs the parameters {sorted(expected)}")
    if not all(map(is_number, parameters.values())):
        raise BundleError(f"the parameters of the kernel {name!r} must be numbers")
    # NumPy does not compute with whole numbers beyond 64 bits.
    exact = {
        name: value if abs(value) < 2**53 else float(value) for name, value in parameters.items()
    }
    try:
        return kind(**exact)
    except ValueError as error:
        raise BundleError(f"the kernel {name!r}: {error}") from None


def _check_positive(name: str, value: float) -> None:
    """Raise `ValueError` unless `value` is positive and finite."""
    if not 0 < value <= LARGEST:
        raise ValueError(f"{name} is {shown(value)}: give a positive number")
