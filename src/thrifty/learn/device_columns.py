"""Which columns each device reads: as the user says, or by the groups of the prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError, raise_all

__all__ = ["device_columns"]

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
