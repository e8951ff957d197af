"""What can be bought where, and for how much."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import fsum, isclose

import numpy as np

from thrifty.bundle import Predictor
from thrifty.costs.money import money
from thrifty.errors import DataError, did_you_mean, raise_all
from thrifty.serve.sources.base import AsyncSource
from thrifty.serve.sources.client import CLIENT, ClientSource
from thrifty.serve.sources.rows import Feature

__all__ = ["Catalog", "Offer", "client_item"]


@dataclass(frozen=True, eq=False)
class Offer:
    """One thing that can be bought: all features of a source, or one of them.

    Parameters
    ----------
    item : str
        Its name in the ledger: that of the source, with that of the feature if it sells each.
    source : AsyncSource
    features : tuple of str or int
        What a purchase delivers.
    indices : tuple of int
        Their columns.
    price : float or None
        What the source charges; None: as the model's prices say.
    """

    item: str
    source: AsyncSource
    features: tuple[Feature, ...]
    indices: tuple[int, ...]
    price: float | None


class Catalog:
    """The offers of some sources to one predictor.

    Parameters
    ----------
    predictor : Predictor
    sources : sequence of AsyncSource
    given : collection of str or int
        Features that come with a case.
    asked : collection of str or int
        Features that the client is asked for.

    Attributes
    ----------
    by_feature : dict of feature to Offer
        Where to get each feature.
    by_item : dict of str to Offer
        What sources offer.
    of_client : dict of feature to Offer
        Every feature as the client delivers it.
    max_age : float
        The oldest value that any source lets a case reuse, in seconds.

    Raises
    ------
    DataError
        If a feature is unknown, has two sources, or has none although the model reads it.
    """

    def __init__(
        self,
        predictor: Predictor,
        sources: Sequence[AsyncSource],
        given: Collection[Feature] = (),
        asked: Collection[Feature] = (),
    ) -> None:
        self._prices = prices = predictor.prices
        self._own, self._group, self._shared = (
            prices.own.tolist(), prices.group.tolist(), prices.shared.tolist()
        )  # fmt: skip
        schema = predictor.schema
        problems = _problems(predictor, sources, given, asked)
        raise_all(DataError, "sources", problems)
        self.by_feature: dict[Feature, Offer] = {}
        self.by_item: dict[str, Offer] = {}
        for source in sources:
            terms = source.terms
            lots = [terms.features] if terms.sold == "together" else [(f,) for f in terms.features]
            for lot in lots:
                price = terms.price
                if price is not None and not isinstance(price, float):
                    price = price[lot[0]]
                item = terms.name if terms.sold == "together" else _item(terms.name, lot[0])
                indices = tuple(schema.index(feature) for feature in lot)
                offer = Offer(item, source, lot, indices, price)
                self.by_item[item] = offer
                self.by_feature.update(dict.fromkeys(lot, offer))
        self._warn_of_prices(predictor.prices.unit)
        self.max_age = max((source.terms.max_age for source in sources), default=0.0)
        names = [name for j, name in enumerate(schema.names) if j not in schema.calls]
        client = ClientSource(names)
        # A client may answer any feature, asked for or not.
        self.of_client: dict[Feature, Offer] = {
            name: Offer(client_item(name), client, (name,), (schema.index(name),), None)
            for name in names
        }
        self._client_items = {offer.item: offer for offer in self.of_client.values()}
        self.by_feature |= {feature: self.of_client[feature] for feature in asked}

    def offer(self, item: str) -> Offer | None:
        """Return what a ledger calls by this name; None if there is no such thing any more."""
        return self.by_item.get(item) or self._client_items.get(item)

    def quote(self, offers: Sequence[Offer], entered: Collection[int]) -> list[float]:
        """Return what offers of one source cost, one after the other.

        Parameters
        ----------
        offers : sequence of Offer
        entered : collection of int
            Groups of which something was charged before: a shared price is paid once.
        """
        seen = set(entered)
        quotes = []
        for offer in offers:
            fresh = self.groups_of(offer) - seen
            if offer.price is not None:
                quotes.append(offer.price)
            else:
                parts = [self._own[j] for j in offer.indices]
                quotes.append(fsum([*parts, *(self._shared[g] for g in fresh)]))
            seen |= fresh
        return quotes

    def groups_of(self, offer: Offer) -> set[int]:
        """Return the groups that the features of an offer are in."""
        return {g for g in (self._group[j] for j in offer.indices) if g >= 0}

    def paid_groups(self, offer: Offer, paid: float) -> set[int]:
        """Return the groups whose shared price was paid with an offer.

        None if only the features themselves were: then another offer has paid it, unless the
        client has taken that one back.
        """
        own = fsum(self._own[j] for j in offer.indices)
        return self.groups_of(offer) if offer.price is not None or paid > own else set()

    def bill(self, columns: Collection[int]) -> float:
        """Return the price of columns that are bought without a source: calls in the file."""
        return self._prices.total(columns, with_required=False)

    def _warn_of_prices(self, unit: str) -> None:
        """Say where a price is not the one that the model was trained with."""
        for offer in self.by_item.values():
            (trained,) = self.quote([replace(offer, price=None)], ())
            if offer.price is not None and not isclose(offer.price, trained, rel_tol=1e-9):
                warnings.warn(
                    f"{offer.item!r} costs {money(offer.price, unit)}, the model was trained with "
                    f"{money(trained, unit)}: its choices rest on that; train it again with the "
                    "new price",
                    UserWarning,
                    stacklevel=4,
                )


def client_item(feature: Feature) -> str:
    """Return how a ledger calls the client's answer for a feature."""
    return _item(CLIENT, feature)


def _item(source: str, feature: Feature) -> str:
    """Return how a ledger calls one feature of a source."""
    label = str(feature)
    if not label.isprintable():  # a database may not hold it
        label = label.encode("unicode_escape").decode()
    return f"{source}/{label}"


def _problems(
    predictor: Predictor,
    sources: Sequence[AsyncSource],
    given: Collection[Feature],
    asked: Collection[Feature],
) -> list[str]:
    """Return what keeps these sources from serving a predictor."""
    names = predictor.schema.names
    problems = []
    origin: dict[Feature, str] = dict.fromkeys(given, "given") | dict.fromkeys(asked, CLIENT)
    seen: set[str] = set()
    for source in sources:
        name = source.terms.name
        if name in seen:
            problems.append(f"two sources are named {name!r}")
        if name == CLIENT:
            problems.append(f"a source is named {CLIENT!r}: that is what clients answer under")
        seen.add(name)
        for feature in source.terms.features:
            if feature in origin:
                problems.append(f"{feature!r} comes from {origin[feature]!r} and from {name!r}")
            origin[feature] = name
    for feature in origin:
        if feature not in names:
            problems.append(f"there is no feature {feature!r}{did_you_mean(feature, names)}")
        elif predictor.schema.index(feature) in predictor.schema.calls:
            problems.append(f"{feature!r} is a call that the model makes itself")
    reads = np.flatnonzero(predictor.reads).tolist()
    if predictor.prices.structure is not None:
        reads = sorted(predictor.prices.structure.closure(reads))
    lacking = [names[j] for j in reads if names[j] not in origin
               and j not in predictor.schema.calls]  # fmt: skip
    if lacking:
        listed = ", ".join(map(repr, lacking[:12])) + (", ..." if len(lacking) > 12 else "")
        problems.append(
            f"no source delivers {listed}; add one, or pass asked=... to ask the client, or "
            "given=... if they come with a case"
        )
    return problems
