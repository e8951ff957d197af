"""Devices: which columns each one measures, and the training rows as the devices see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError, raise_all
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.edge_cloud.losses import Loss, log_loss, squared_loss
from thrifty.learn.encoding import standardize
from thrifty.learn.folds import merge_duplicates
from thrifty.model.encoding import Encoding

__all__ = ["DeviceRows", "DeviceTable", "device_columns"]

# Keeps the logarithm of the share of a class without weight finite.
MIN_CLASS_SHARE = 1e-9
# Most devices: each has a gate and a model of its own, all of which are trained together.
MAX_DEVICES = 1000

Floats = NDArray[np.float64]


def device_columns(
    devices: Mapping[Any, Any] | None, schema: Schema, prices: BoundPrices
) -> dict[str, list[int]]:
    """Return the columns of each device by its name.

    Without `devices`, each group of the prices is a device, and so is each feature in no group.

    Raises
    ------
    DataError
        If a device has no feature, an unknown one, or one that another device has, too.
    """
    columns: dict[str, list[int]] = {}
    if devices is None:
        for j in range(len(schema)):
            group = int(prices.group[j])
            name = str(schema.name(j)) if group < 0 else prices.group_names[group]
            # A feature may have the name of a group; it is a device of its own all the same.
            name = f"feature {name}" if group < 0 and name in prices.group_names else name
            columns.setdefault(name, []).append(j)
        return columns
    problems: list[str] = []
    owner: dict[int, str] = {}
    if not devices:
        problems.append("there are none; give the features of each")
    for name, members in devices.items():
        if isinstance(members, str | bytes) or not hasattr(members, "__iter__"):
            problems.append(f"{name!r} has {members!r}; give a list of features")
            continue
        own = columns[str(name)] = []
        members = list(members)
        if not members:
            problems.append(f"{name!r} reads no feature")
        for feature in members:
            try:
                j = schema.index(feature.item() if isinstance(feature, np.generic) else feature)
            except DataError as error:
                problems.append(f"{name!r}: {error}")
                continue
            if j in owner:
                both = f"{owner[j]!r} and by {name!r}"
                problems.append(f"{feature!r} is read by {both}; give it to one")
            owner[j] = str(name)
            own.append(j)
    raise_all(DataError, "devices", problems)
    return columns


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows as K devices see them.

    Parameters
    ----------
    Z : array of shape (n, q)
        Encoded columns, in the order of the devices.
    starts : int64 array of shape (K + 1,)
        Device k reads the encoded columns ``starts[k]:starts[k + 1]``.
    weights : array of shape (n,)
        Weights of the rows; they sum to 1.
    present : array of shape (n, K)
        1 where a device has a value, 0 where all its features are missing: there it counts as
        closed.
    """

    Z: Floats
    starts: NDArray[np.int64]
    weights: Floats
    present: Floats

    def take(self, rows: NDArray[np.bool_]) -> DeviceRows:
        """Keep some of the rows, with weights that sum to 1 again."""
        weights = self.weights[rows]
        return DeviceRows(self.Z[rows], self.starts, weights / weights.sum(), self.present[rows])

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.starts) - 1

    @cached_property
    def device_of(self) -> NDArray[np.int64]:
        """Device of each encoded column, (q,)."""
        return np.repeat(np.arange(self.n_devices), np.diff(self.starts))

    @cached_property
    def membership(self) -> Floats:
        """1 where an encoded column belongs to a device, (q, K)."""
        return np.asarray(
            self.device_of[:, np.newaxis] == np.arange(self.n_devices), dtype=np.float64
        )

    def scaled(self, factors: Floats) -> Floats:
        """Multiply the encoded columns by a factor (n, K) of their device, (n, q)."""
        return self.Z * factors[:, self.device_of]

    def sum_by_device(self, values: Floats) -> Floats:
        """Sum values (n, q) over the encoded columns of each device, (n, K)."""
        return np.asarray(values @ self.membership)


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """A training set divided among devices; equal rows of equal target are merged into one.

    Parameters
    ----------
    names : list of str
        Names of the devices. Devices without a column that varies are left out.
    encoding : Encoding
        The encoded columns, in the order of the devices.
    rows : DeviceRows
    y : array of shape (n,)
        Class codes of the rows, or standardized values.
    total_weight : float
        Sum of the sample weights, before they were scaled to sum to 1.
    constant : array of shape (outputs,)
        Weighted share of each class, or the weighted mean of the values.
    spread : float or None
        Standard deviation of the values; None for classes.
    """

    names: list[str]
    encoding: Encoding
    rows: DeviceRows
    y: NDArray[Any]
    total_weight: float
    constant: Floats
    spread: float | None

    @classmethod
    def of(cls, train: TrainingSet, devices: Mapping[Any, Any] | None) -> Self:
        """Merge equal rows, standardize them, and sort the encoded columns by device."""
        columns = device_columns(devices, train.schema, train.prices)
        if len(columns) > MAX_DEVICES:
            raise DataError(
                f"devices: {len(columns)} of them, and the limit is {MAX_DEVICES}. A feature in no "
                "group of the prices is a device of its own: give devices, or groups"
            )
        X, y, weight = merge_duplicates(train.X, train.y, train.weight)
        encoding = standardize(train.schema, X, weight)
        owned = {name: np.flatnonzero(np.isin(encoding.columns, c)) for name, c in columns.items()}
        owned = {name: own for name, own in owned.items() if len(own)}
        if not owned:
            raise DataError("devices: no feature of any device varies")
        starts = np.cumsum([0, *map(len, owned.values())]).astype(np.int64)
        encoding = encoding.keep(np.concatenate(list(owned.values())))
        measured = np.split(encoding.columns, starts[1:-1])
        present = [~np.isnan(X[:, own]).all(axis=1) for own in measured]
        total = float(weight.sum())
        rows = DeviceRows(
            encoding.apply(X),
            starts,
            weight / weight.sum(),
            np.column_stack(present).astype(np.float64),
        )
        if train.classes is not None:
            shares = np.bincount(y, rows.weights, train.n_classes).astype(np.float64)
            return cls(list(owned), encoding, rows, y, total, shares, None)
        mean = float(rows.weights @ y)
        spread = float(np.sqrt(rows.weights @ np.square(y - mean))) or 1.0
        return cls(
            list(owned), encoding, rows, (y - mean) / spread, total, np.array([mean]), spread
        )

    @property
    def base(self) -> Floats:
        """Constants of the cloud with which training starts, (outputs,)."""
        if self.spread is not None:
            return np.zeros(1)
        return np.asarray(np.log(np.maximum(self.constant, MIN_CLASS_SHARE)))

    def loss(self, rows: NDArray[np.bool_] | None = None) -> Loss:
        """Return the loss of the outputs for some of the rows: the log loss or squared error."""
        y = self.y if rows is None else self.y[rows]
        return log_loss(y) if self.spread is None else squared_loss(y)
