"""Which columns each device reads: as the user says, or by the groups of the prices.

What devices and cloud compute together, and the slopes of its losses (Nan 2018, sec. 7.1).

The outputs of an example are ``base + sum over devices k of act(z_k) * h_k``, with the values of
the gates ``z_k = w_k x_k + b_k`` and the answers ``h_k = v_k x_k + a_k``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError, raise_all

__all__ = ["Devices", "GatedSum", "Loss", "device_columns", "log_loss", "squared_loss"]

Columns = dict[str, list[int]]


def device_columns(
    devices: Mapping[Any, Any] | None, schema: Schema, prices: BoundPrices
) -> Columns:
    """Columns of each device by its name.

    Without `devices`, each group of the prices is one, and each feature in no group.

    Raises
    ------
    DataError
        If a device reads nothing, or what is not in the table, or what another device reads.
    """
    if devices is None:
        return _grouped(schema, prices)
    raise_all(DataError, "devices", list(_problems(devices, schema)))
    return {
        str(name): [schema.index(_plain(feature)) for feature in members]
        for name, members in devices.items()
    }


def _grouped(schema: Schema, prices: BoundPrices) -> Columns:
    found: Columns = {}
    for j in range(len(schema)):
        group = int(prices.group[j])
        name = str(schema.name(j)) if group < 0 else prices.group_names[group]
        # A feature may have the name of a group: it is a device of its own all the same.
        name = f"feature {name}" if group < 0 and name in prices.group_names else name
        found.setdefault(name, []).append(j)
    return found


def _problems(devices: Mapping[Any, Any], schema: Schema) -> Iterator[str]:
    owner: dict[int, str] = {}
    if not devices:
        yield "there are none; give the features of each"
    for name, members in devices.items():
        if isinstance(members, str | bytes) or not hasattr(members, "__iter__"):
            yield f"{name!r} has {members!r}; give a list of features"
            continue
        if not len(list(members)):
            yield f"{name!r} reads no feature"
        for feature in members:
            try:
                j = schema.index(_plain(feature))
            except DataError as error:
                yield f"{name!r}: {error}"
                continue
            if j in owner:
                yield f"{feature!r} is read by {owner[j]!r} and by {name!r}; give it to one"
            owner[j] = str(name)


def _plain(feature: Any) -> Any:
    return feature.item() if isinstance(feature, np.generic) else feature


Floats = NDArray[np.float64]
# Outputs (n, M) -> loss of each row (n,), and its slope (n, M).
Loss = Callable[[Floats], tuple[Floats, Floats]]


def log_loss(codes: NDArray[np.int64]) -> Loss:
    """Minus the log-probability of the class of each row."""
    rows = np.arange(len(codes))

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        # Column by column: rows are long, and classes are few.
        shifted = outputs - reduce(np.maximum, outputs.T)[:, np.newaxis]
        powers = np.exp(shifted)
        totals = powers @ np.ones(outputs.shape[1])
        values = np.log(totals) - shifted[rows, codes]
        slope = powers / totals[:, np.newaxis]
        slope[rows, codes] -= 1.0
        return values, slope

    return loss


def squared_loss(targets: Floats) -> Loss:
    """Half the squared error of one output."""

    def loss(outputs: Floats) -> tuple[Floats, Floats]:
        error = outputs - targets[:, np.newaxis]
        return 0.5 * np.square(error[:, 0]), error

    return loss


@dataclass(frozen=True, eq=False)
class Devices:
    """The rows as the devices see them.

    Slots `Z` (n, q) lie in the order of the devices, of which each has those from its start to the
    next. `mass` (n,) holds the weights of the rows, which add up to 1; `heard` (n, K) is 0 where a
    device gives no sign, else 1.
    """

    Z: Floats
    starts: NDArray[np.int64]
    mass: Floats
    heard: Floats

    def part(self, rows: NDArray[np.bool_]) -> Devices:
        """Some of the rows."""
        mass = self.mass[rows]
        return Devices(self.Z[rows], self.starts, mass / mass.sum(), self.heard[rows])

    @property
    def count(self) -> int:
        """Number of devices."""
        return len(self.starts) - 1

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """Device of each slot."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))

    @cached_property
    def members(self) -> Floats:
        """1 where a slot (q,) belongs to a device (K,)."""
        return np.asarray(self.owner[:, np.newaxis] == np.arange(self.count), dtype=np.float64)

    def spread(self, per_device: Floats) -> Floats:
        """Slots (n, q), each times the number of its device (n, K)."""
        return self.Z * per_device[:, self.owner]

    def within(self, per_slot: Floats) -> Floats:
        """Sums (n, K) over the slots of each device."""
        return np.asarray(per_slot @ self.members)


class GatedSum(NamedTuple):
    """Answers `v` (q, M) and `a` (K, M), gates `w` (q,) and `b` (K,), the cloud's `base` (M,)."""

    v: Floats
    a: Floats
    w: Floats
    b: Floats
    base: Floats

    @classmethod
    def unpack(cls, flat: Floats, like: GatedSum) -> Self:
        """The parameters that lie one after the other in `flat`."""
        ends = np.cumsum([part.size for part in like])[:-1]
        pieces = np.split(flat, ends)
        return cls(*(piece.reshape(part.shape) for piece, part in zip(pieces, like, strict=True)))

    @property
    def flat(self) -> Floats:
        """All parameters, one after the other."""
        return np.concatenate([part.ravel() for part in self])

    def values(self, devices: Devices) -> Floats:
        """Values of the gates, (n, K)."""
        return np.asarray(devices.Z @ (devices.members * self.w[:, np.newaxis]) + self.b)

    def outputs(self, devices: Devices, act: Floats) -> Floats:
        """Outputs (n, M) where the answers count as much as `act` (n, K) says."""
        return np.asarray(devices.spread(act) @ self.v + act @ self.a + self.base)

    def answer_slopes(self, devices: Devices, act: Floats, slope: Floats) -> tuple[Floats, ...]:
        """Slopes by `v`, `a` and `base`, from the slope by the outputs."""
        return devices.spread(act).T @ slope, act.T @ slope, slope.sum(axis=0)

    def act_slopes(self, devices: Devices, slope: Floats) -> Floats:
        """Slope (n, K) by how much each answer counts: what it agrees with the outputs' slope."""
        return devices.within(devices.Z * (slope @ self.v.T)) + slope @ self.a.T

    def gate_slopes(self, devices: Devices, slope: Floats) -> tuple[Floats, Floats]:
        """Slopes by `w` and `b`, from the slope (n, K) by the values of the gates."""
        return (devices.Z.T @ slope * devices.members).sum(axis=1), slope.sum(axis=0)
