"""Devices that answer for a cloud: each reads its own features and speaks only if its gate opens.

A device weighs its features twice: for its gate, and for an answer of one number a class. The cloud
adds up the answers that it receives. A device that gives no sign, because all its features are
missing, counts as closed. Every row pays for what the devices sense, and one *evaluation* is one
transmission: a device that sends its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.device import Device, Heard
from thrifty.model.encoding import Encoding
from thrifty.model.frozen import Frozen, Price
from thrifty.model.links import apply_link
from thrifty.model.mixture_audit import OWN, audit_mixture
from thrifty.model.mixture_walk import MixtureWalk
from thrifty.model.sealed import sealed
from thrifty.model.support_audit import ENCODING

__all__ = ["Mixture"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture(Frozen):
    """A mixture of devices with gates.

    Device k reads the slots ``starts[k]:starts[k + 1]``; no column is read by two devices.

    Parameters
    ----------
    starts : array (devices + 1,) of int64
    gate : array (q,)
        Weights of the slots in the value of their device's gate.
    offsets : array (devices,)
        Where the values of the gates start.
    weights : array (q, K)
        Weights of the slots in the answer of their device.
    bias : array (devices, K)
        Where the answers start.
    base : array (K,)
        What the cloud knows without any device: log-odds of the classes.
    encoding : Encoding
        How rows become slots, in the order of the devices.
    activation : {"step", "sigmoid", "relu"}
        What the gate's value does to the answer of a device that sends it.
    limit : float
        A device transmits if the value of its gate is above.
    n_features : int

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Mixture
    >>> from thrifty.model.encoding import Encoding
    >>> slots = Encoding(np.arange(2), np.full(2, -1), np.zeros(2), np.ones(2), np.zeros(2))
    >>> model = Mixture(np.array([0, 1, 2]), np.array([1.0, 1.0]), np.zeros(2),
    ...                 np.array([[0.0, 2.0], [3.0, 0.0]]), np.zeros((2, 2)), np.zeros(2),
    ...                 slots, "step", limit=0.0, n_features=2)
    >>> X = np.array([[1.0, -1.0], [-1.0, np.nan]])
    >>> model.transmits(X)
    array([[ True, False],
           [False, False]])
    >>> model.score(X).round(2)
    array([[0.12, 0.88],
           [0.5 , 0.5 ]])
    """

    kind: ClassVar[str] = "mixture"

    starts: NDArray[np.int64]
    gate: Floats
    offsets: Floats
    weights: Floats
    bias: Floats
    base: Floats
    encoding: Encoding
    activation: str
    limit: float
    n_features: int

    def __post_init__(self) -> None:
        for name in OWN:
            object.__setattr__(self, name, sealed(getattr(self, name)))
        slots = [sealed(getattr(self.encoding, name)) for name in ENCODING]
        object.__setattr__(self, "encoding", Encoding(*slots))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_scores(self) -> int:
        """One probability a class."""
        return len(self.base)

    @property
    def n_devices(self) -> int:
        """How many devices sense and may transmit."""
        return len(self.offsets)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Each device on its own."""
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return tuple(self._device(k, slice(*pair)) for k, pair in enumerate(ends))

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Class probabilities (n, K) of the answers that the cloud has received."""
        return self.add_up(self._heard(X), len(X))

    def add_up(self, heard: Iterable[Heard], rows: int) -> Floats:
        """Class probabilities of what the devices say, in their order."""
        raw = np.tile(self.base, (rows, 1))
        for opens, answers in heard:
            raw += np.where(opens[:, np.newaxis], answers, 0.0)
        return apply_link("softmax", raw)

    def transmits(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which devices send their answer for each row, (n, devices)."""
        opens = [opens for opens, _ in self._heard(X)]
        return np.array(opens, dtype=bool).reshape(self.n_devices, len(X)).T

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Every device senses every row, whether it transmits or not."""
        return np.tile(self.support, (len(X), 1))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """The columns of all devices."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.encoding.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Transmissions: how many devices send their answer."""
        return np.asarray(self.transmits(X).sum(axis=1), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of devices."""
        return self.n_devices

    def walk(self, price: Price | None = None) -> MixtureWalk:
        """Start one example; it asks one device after the other."""
        return MixtureWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain = {name: getattr(self, name) for name in ("activation", "limit", "n_features")}
        arrays = {name: getattr(self, name) for name in OWN}
        return plain, arrays | {name: getattr(self.encoding, name) for name in ENCODING}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        audit_mixture(plain, arrays)
        return cls(
            **{name: arrays[name] for name in OWN},
            encoding=Encoding(**{name: arrays[name] for name in ENCODING}),
            activation=plain["activation"],
            limit=float(plain["limit"]),
            n_features=plain["n_features"],
        )

    def _device(self, k: int, slots: slice) -> Device:
        own = np.zeros(len(self.gate), dtype=bool)
        own[slots] = True
        return Device(
            np.unique(self.encoding.columns[slots]),
            self.encoding.keep(own),
            np.column_stack([self.gate[slots], self.weights[slots]]),
            np.append(self.offsets[k], self.bias[k]),
            self.activation,
            self.limit,
        )

    def _heard(self, X: NDArray[np.floating]) -> Iterator[Heard]:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        return (device.hear(X) for device in self.devices)
