"""One example before a mixture: device after device is asked for all that it senses.

A device that has not told everything yet counts as closed, as one does that does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.model.device import Heard
from thrifty.model.frozen import Price, Walk

if TYPE_CHECKING:
    from thrifty.model.mixture import Mixture

__all__ = ["MixtureWalk"]


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
