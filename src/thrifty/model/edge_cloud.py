"""A frozen edge/cloud model: devices with gates, and a cloud that adds up what they transmit.

Each device reads its own features. It computes a gate value, and a contribution of one number for
each output, and transmits the contribution only if the gate value is above the threshold (Nan 2018,
sec. 7.1). The outputs are the cloud's constants plus the contributions received. One output is the
predicted value; the softmax of several is the probability of each class. A device whose features
are all missing counts as closed.

Every row pays for what the devices measure, since a gate must read its features to stay closed. One
*evaluation* is one transmission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, raise_all
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
from thrifty.model.links import ACTIVATIONS, apply_link
from thrifty.model.products import weighted_sums
from thrifty.untrusted import LARGEST, is_number, shown

__all__ = ["Device", "DeviceOutput", "EdgeCloud", "EdgeCloudWalk", "audit_edge_cloud"]

Floats = NDArray[np.float64]

ARRAYS = ("starts", "gate", "offsets", "weights", "bias", "base")
LAYOUT = {
    "starts": ("<i8", 1),
    "gate": ("<f8", 1),
    "offsets": ("<f8", 1),
    "weights": ("<f8", 2),
    "bias": ("<f8", 2),
    "base": ("<f8", 1),
    **ENCODING_LAYOUT,
}


class DeviceOutput(NamedTuple):
    """What one device computes for n rows."""

    transmits: NDArray[np.bool_]
    """(n,): whether the gate is open."""

    contribution: Floats
    """(n, K): what is added to the cloud's sums where the gate is open."""


class Device(NamedTuple):
    """One device of an `EdgeCloud` model."""

    columns: NDArray[np.int64]
    """Columns of the table that the device measures, in increasing order."""

    encoding: Encoding
    """The q encoded columns of the device."""

    weights: Floats
    """(q, 1 + K): weights of the encoded columns for the gate value, then for each class."""

    start: Floats
    """(1 + K,): constants of the gate value and of each class."""

    activation: str
    threshold: float

    def evaluate(self, X: NDArray[np.floating]) -> DeviceOutput:
        """Return the output for rows (n, n_features) of the table."""
        sums = weighted_sums(self.encoding.apply(X), self.weights, self.start)
        gate = sums[:, 0]
        all_missing = np.isnan(X[:, self.columns]).all(axis=1)
        factor = ACTIVATIONS[self.activation](gate)
        transmits = (gate > self.threshold) & ~all_missing
        return DeviceOutput(transmits, factor[:, np.newaxis] * sums[:, 1:])


@dataclass(frozen=True, eq=False)
class EdgeCloud(Frozen):
    """Devices with gates, and a cloud that adds up their contributions.

    Device k reads the encoded columns ``starts[k]:starts[k + 1]``. No column of the table is read
    by two devices.

    Parameters
    ----------
    starts : int array (devices + 1,)
        Where the encoded columns of each device start.
    gate : float array (q,)
        Weight of each encoded column in the gate value of its device.
    offsets : float array (devices,)
        Constants of the gate values.
    weights : float array (q, K)
        Weight of each encoded column in the contribution of its device to each of K outputs: one
        for values, else one for each class.
    bias : float array (devices, K)
        Constants of the contributions.
    base : float array (K,)
        The cloud's own constants: the outputs without any device.
    encoding : Encoding
        The encoded columns, in the order of the devices.
    activation : {"step", "sigmoid", "relu"}
        Function of the gate value that multiplies the contribution of an open device.
    threshold : float
        A device transmits if its gate value is above.
    n_features : int
        Number of columns of the table.

    Examples
    --------
    Two devices with one feature each, whose gates open above 0. In the second row the first gate is
    closed and the second device has no value, so the cloud has to do without both.

    >>> import numpy as np
    >>> from thrifty.model import EdgeCloud
    >>> from thrifty.model.encoding import Encoding
    >>> columns = Encoding(np.arange(2), np.full(2, -1), np.zeros(2), np.ones(2), np.zeros(2))
    >>> model = EdgeCloud(np.array([0, 1, 2]), np.array([1.0, 1.0]), np.zeros(2),
    ...                   np.array([[0.0, 2.0], [3.0, 0.0]]), np.zeros((2, 2)), np.zeros(2),
    ...                   columns, "step", threshold=0.0, n_features=2)
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
    threshold: float
    n_features: int

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))
        object.__setattr__(self, "encoding", sealed_encoding(encoding_arrays(self.encoding)))

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for values."""
        return len(self.base)

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.offsets)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Each device by itself, with its part of the arrays."""
        devices = []
        for k in range(self.n_devices):
            own = slice(int(self.starts[k]), int(self.starts[k + 1]))
            devices.append(
                Device(
                    columns=np.unique(self.encoding.columns[own]),
                    encoding=self.encoding.keep(own),
                    weights=np.column_stack([self.gate[own], self.weights[own]]),
                    start=np.append(self.offsets[k], self.bias[k]),
                    activation=self.activation,
                    threshold=self.threshold,
                )
            )
        return tuple(devices)

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), or values (n,), from what the cloud receives."""
        self.check_columns(X)
        return self.combine((device.evaluate(X) for device in self.devices), len(X))

    def combine(self, outputs: Iterable[DeviceOutput], n_rows: int) -> Floats:
        """Return the scores of rows from outputs in the order of the devices."""
        raw = np.tile(self.base, (n_rows, 1))
        for transmits, contribution in outputs:
            raw += np.where(transmits[:, np.newaxis], contribution, 0.0)
        return apply_link("sum" if len(self.base) == 1 else "softmax", raw)

    def transmits(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which devices transmit for each row, (n, devices)."""
        self.check_columns(X)
        transmits = [device.evaluate(X).transmits for device in self.devices]
        return np.array(transmits, dtype=bool).reshape(self.n_devices, len(X)).T

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads: all devices measure, whether open or closed."""
        return np.tile(self.support, (len(X), 1))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """The columns of all devices, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.encoding.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the number of transmissions of each row, (n,)."""
        return np.asarray(self.transmits(X).sum(axis=1), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """The number of devices."""
        return self.n_devices

    def walk(self, price: Price | None = None) -> EdgeCloudWalk:
        """Start one example; it goes from device to device, the cheapest first."""
        return EdgeCloudWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps; the file calls the threshold "limit"."""
        plain = {
            "activation": self.activation,
            "limit": self.threshold,
            "n_features": self.n_features,
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return plain, arrays | encoding_arrays(self.encoding)

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        audit_edge_cloud(plain, arrays)
        return cls(
            **{name: arrays[name] for name in ARRAYS},
            encoding=sealed_encoding(arrays),
            activation=plain["activation"],
            threshold=float(plain["limit"]),
            n_features=plain["n_features"],
        )


class EdgeCloudWalk(Walk):
    """The walk of an `EdgeCloud` model: one device after another, the cheapest first.

    A device counts as closed until all its features have a value.

    Parameters
    ----------
    model : EdgeCloud
    price : callable or None
        What a feature would cost now.
    """

    def __init__(self, model: EdgeCloud, price: Price | None) -> None:
        self._model = model
        self._price: Price = price or (lambda feature: 0.0)
        columns = [device.columns.tolist() for device in model.devices]
        self._missing = {k: set(own) for k, own in enumerate(columns)}
        self._device_of = {column: k for k, own in enumerate(columns) for column in own}
        self._row = np.full((1, model.n_features), np.nan)
        self._read: dict[int, None] = {}
        self._outputs: dict[int, DeviceOutput] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the cheapest incomplete device still needs, the cheapest first."""
        if not self._missing:
            return ()
        remaining = {k: sum(map(self._price, sorted(own))) for k, own in self._missing.items()}
        device = min(remaining, key=lambda k: (remaining[k], k))
        return tuple(sorted(self._missing[device], key=lambda j: (self._price(j), j)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; a device is evaluated once all its features have one."""
        for feature, value in values.items():
            if feature not in self._device_of or feature in self._read:
                continue
            self._read[feature] = None
            self._row[0, feature] = value
            device = self._device_of[feature]
            self._missing[device].remove(feature)
            if not self._missing[device]:
                del self._missing[device]
                self._outputs[device] = self._model.devices[device].evaluate(self._row)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of arrival."""
        return tuple(self._read)

    @property
    def scores(self) -> Floats:
        """Scores (K,), or one value, from the devices that are complete."""
        outputs = [self._outputs[k] for k in sorted(self._outputs)]
        return np.atleast_1d(self._model.combine(outputs, 1)[0])

    @property
    def evaluations(self) -> int:
        """Transmissions so far."""
        return sum(bool(output.transmits[0]) for output in self._outputs.values())

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the transmissions if all devices transmit that these features complete."""
        return self.evaluations + sum(own.issubset(features) for own in self._missing.values())


def audit_edge_cloud(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `BundleError` unless an `EdgeCloud` can be built from these and be scored."""
    heading = "edge/cloud model"
    raise_all(BundleError, heading, [*entry_problems(plain, ("activation", "limit", "n_features"))])
    problems = [*count_problems(plain, {"n_features": 1}), *layout_problems(arrays, LAYOUT)]
    if not isinstance(plain["activation"], str) or plain["activation"] not in ACTIVATIONS:
        problems.append(f"unknown activation {shown(plain['activation'])}")
    if not is_number(plain["limit"]):
        problems.append(f"limit is {shown(plain['limit'])}, expected a finite number")
    raise_all(BundleError, heading, problems)

    devices, classes, q = len(arrays["offsets"]), len(arrays["base"]), len(arrays["gate"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(ENCODING_LAYOUT, (q,))
    shapes |= {"starts": (devices + 1,), "weights": (q, classes), "bias": (devices, classes)}
    problems = [*shape_problems(arrays, shapes), *output_problems(classes)]
    if not classes:
        problems.append("there must be at least one output")
    raise_all(BundleError, heading, problems)

    # Encoded numbers are at most 1e30, so a gate value times a contribution stays finite.
    parameters = ("gate", "offsets", "weights", "bias", "base")
    problems = [*finite_problems(arrays, LAYOUT)]
    problems += magnitude_problems(arrays, parameters, LARGEST)
    problems += encoding_problems(arrays, plain["n_features"])
    starts, columns = arrays["starts"], arrays["columns"]
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 1):
        problems.append("every device must read an encoded column, and every one have a device")
    else:
        device = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        readers = {*zip(columns.tolist(), device.tolist(), strict=True)}
        if len(readers) > len(np.unique(columns)):
            problems.append("a column is read by two devices")
    raise_all(BundleError, heading, problems)
