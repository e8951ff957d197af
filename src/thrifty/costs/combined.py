"""One price list in place of several currencies, for learners that weigh one price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thrifty.costs.bound import BoundPrices
from thrifty.costs.prices import Prices

__all__ = ["combine"]


def combine(bound: BoundPrices, weights: Mapping[str, float]) -> Prices:
    """Return a price list whose bills are weighted sums of the bills in several currencies.

    Parameters
    ----------
    bound : BoundPrices
    weights : mapping of str to float
        Weight of each currency that counts, by name.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.costs.combined import combine
    >>> prices = Prices([1, 20], unit="CAD", also={"ms": Prices([100, 0])}).bind(2)
    >>> combine(prices, {"CAD": 1.0, "ms": 0.25})
    Prices({0: 26.0, 1: 20.0})
    """
    keys: list[Any] = list(range(len(bound.own)) if bound.names is None else bound.names)
    lists = {name: each for name, each in bound.currencies.items() if name in weights}
    own = np.sum([weights[name] * each.own for name, each in lists.items()], axis=0)
    shared = np.sum([weights[name] * each.shared for name, each in lists.items()], axis=0)
    members = {
        name: [keys[j] for j in np.flatnonzero(bound.group == g)]
        for g, name in enumerate(bound.group_names)
    }
    requires, panels = {}, []
    if bound.structure is not None:
        entries = bound.structure.requires.items()
        requires = {keys[j]: [keys[k] for k in needed] for j, needed in entries}
        panels = [bound.group_names[bound.group[panel[0]]] for panel in bound.structure.panels]
    delays = None if bound.delays is None else dict(zip(keys, bound.delays.tolist(), strict=True))
    return Prices(
        dict(zip(keys, own.tolist(), strict=True)),
        groups=members,
        shared=dict(zip(bound.group_names, shared.tolist(), strict=True)),
        evaluation=sum(weights[name] * each.evaluation for name, each in lists.items()),
        calls={
            call: sum(weights[name] * each.calls[call] for name, each in lists.items())
            for call in bound.calls
        },
        requires=requires,
        panels=panels,
        delays=delays,
        delay_unit=bound.delay_unit,
    )
