"""Devices that answer for a cloud: each reads its own features and speaks only if its gate opens.

A device weighs its features twice: for its gate, and for an answer of one number a class. The cloud
adds up the answers that it receives. A device that gives no sign, because all its features are
missing, counts as closed. Every row pays for what the devices sense, and one *evaluation* is one
transmission: a device that sends its answer.

One example before a mixture: device after device is asked for all that it senses.

A device that has not told everything yet counts as closed, as one does that does not answer.

What must hold before arrays from a file become a mixture of devices.

One device of a mixture: what it senses, whether it speaks, and what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
from thrifty.model.base import Frozen, Price, Walk, sealed
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_machine import ENCODING
from thrifty.model.links import ACTIVATIONS, apply_link
from thrifty.model.products import weighted_sums

__all__ = ["OWN", "Device", "Heard", "Mixture", "MixtureWalk", "audit_mixture"]

OWN = ("starts", "gate", "offsets", "weights", "bias", "base")
WHOLE = ("starts", "columns", "codes")
DIMENSIONS = {**dict.fromkeys((*OWN, *ENCODING), 1), "weights": 2, "bias": 2}
ENTRIES = {"activation", "limit", "n_features"}
MOST = 2**20
# Numbers reach 1e30 at most (see Encoding): a gate's value times an answer stays finite.
LARGEST = 1e100


def audit_mixture(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless a `Mixture` can be built from these and can be read."""
    for problems in (_layout, _shapes, _values):
        raise_all(BundleError, "mixture of devices", list(problems(plain, arrays)))


def _layout(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(plain) != ENTRIES:
        yield f"expected the entries {sorted(ENTRIES)}, got {sorted(map(str, plain))}"
        return
    if not isinstance(plain["activation"], str) or plain["activation"] not in ACTIVATIONS:
        yield f"unknown activation {plain['activation']!r}"
    if type(plain["limit"]) not in (int, float) or not math.isfinite(plain["limit"]):
        yield f"limit is {plain['limit']!r}"
    if type(plain["n_features"]) is not int or not 0 < plain["n_features"] <= MOST:
        yield f"n_features is {plain['n_features']!r}"
    if set(arrays) != set(DIMENSIONS):
        yield f"expected the arrays {sorted(DIMENSIONS)}, got {sorted(arrays)}"
        return
    for name, ndim in DIMENSIONS.items():
        dtype = np.dtype("<i8" if name in WHOLE else "<f8")
        if arrays[name].dtype != dtype or arrays[name].ndim != ndim:
            yield f"{name} must be {ndim}-d of {dtype}"


def _shapes(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    devices, classes, slots = len(arrays["offsets"]), len(arrays["base"]), len(arrays["gate"])
    due: dict[str, tuple[int, ...]] = dict.fromkeys(ENCODING, (slots,))
    due |= {"starts": (devices + 1,), "weights": (slots, classes), "bias": (devices, classes)}
    for name, shape in due.items():
        if arrays[name].shape != shape:
            yield f"{name} has shape {arrays[name].shape} where {shape} is due"
    if classes < 2:
        yield "there must be at least two classes"


def _values(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for name in DIMENSIONS:
        if not np.isfinite(arrays[name]).all():
            yield f"{name} must be finite"
    for name in ("gate", "offsets", "weights", "bias", "base"):
        if np.any(np.abs(arrays[name]) > LARGEST):
            yield f"{name} must be at most {LARGEST:g}"
    starts, columns = arrays["starts"], arrays["columns"]
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 1):
        yield "every device must read a slot, and every slot belong to a device"
        return
    if np.any((columns < 0) | (columns >= plain["n_features"])):
        yield f"a slot reads a column beyond the {plain['n_features']} of the table"
    device = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    readers = {*zip(columns.tolist(), device.tolist(), strict=True)}
    if len(readers) > len(np.unique(columns)):
        yield "a column is read by two devices"
    if np.any(arrays["codes"] < -1):
        yield "a slot stands for a category that does not exist"
    if np.any(arrays["scales"] <= 0):
        yield "scales must be positive"


Floats = NDArray[np.float64]


class Heard(NamedTuple):
    """Which rows (n,) a device transmits for, and its answers (n, K) to all rows."""

    opens: NDArray[np.bool_]
    answers: Floats


class Device(NamedTuple):
    """Columns, how they become slots, and the weights of slots for the gate and for the answer."""

    columns: NDArray[np.int64]
    encoding: Encoding
    weights: Floats
    start: Floats
    activation: str
    limit: float

    def hear(self, X: NDArray[np.floating]) -> Heard:
        """What the device does with rows of the table; one that senses nothing stays closed."""
        found = weighted_sums(self.encoding.apply(X), self.weights, self.start)
        values = found[:, 0]
        silent = np.isnan(X[:, self.columns]).all(axis=1)
        act = ACTIVATIONS[self.activation](values)
        return Heard((values > self.limit) & ~silent, act[:, np.newaxis] * found[:, 1:])


class MixtureWalk(Walk):
    """The walk of a `Mixture`; the device that costs least is asked first."""

    def __init__(self, model: Mixture, price: Price | None) -> None:
        self._model = model
        self._price: Price = price or (lambda feature: 0.0)
        columns = [device.columns.tolist() for device in model.devices]
        self._missing = {k: dict.fromkeys(own) for k, own in enumerate(columns)}
        self._device = {column: k for k, own in enumerate(columns) for column in own}
        self._row = np.full((1, model.n_features), np.nan)
        self._read: dict[int, None] = {}
        self._heard: dict[int, Heard] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """What the cheapest device that has not told everything still has to tell."""
        if not self._missing:
            return ()
        due = {k: sum(map(self._price, own)) for k, own in self._missing.items()}
        device = min(due, key=lambda k: (due[k], k))
        return tuple(sorted(self._missing[device], key=lambda j: (self._price(j), j)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; a device is heard once all of its own are told."""
        for feature, value in values.items():
            if feature in self._device and feature not in self._read:
                self._read[feature] = None
                self._row[0, feature] = value
                self._take(self._device[feature], feature)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features told so far that a device reads."""
        return tuple(self._read)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores from the devices that have told everything."""
        heard = [self._heard[k] for k in sorted(self._heard)]
        return np.asarray(self._model.add_up(heard, 1)[0])

    @property
    def evaluations(self) -> int:
        """Transmissions so far."""
        return sum(bool(heard.opens[0]) for heard in self._heard.values())

    def _take(self, device: int, feature: int) -> None:
        missing = self._missing[device]
        del missing[feature]
        if not missing:
            del self._missing[device]
            self._heard[device] = self._model.devices[device].hear(self._row)


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
