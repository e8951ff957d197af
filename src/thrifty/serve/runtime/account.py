"""The account of one case: what was paid, what is under way, and what fits under the cap."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum

from thrifty.bundle import NamedWalk, Schema
from thrifty.serve.runtime.catalog import Catalog, Offer
from thrifty.serve.sources.rows import Feature

__all__ = ["Account", "by_source"]


class Account:
    """Counts all charges of a case, and says what more it may cost.

    Sums are rounded once, so that a sum of smaller amounts is never larger: what was within the
    cap when it was quoted is within the cap when it is paid.

    Parameters
    ----------
    catalog : Catalog
    schema : Schema
    cap : float or None

    Attributes
    ----------
    paid : dict of str to float
        What each item costs; the quoted price of one that is under way.
    entered : set of int
        Groups of which something was paid for.
    """

    def __init__(self, catalog: Catalog, schema: Schema, cap: float | None) -> None:
        self._catalog, self._schema, self.cap = catalog, schema, cap
        self.paid: dict[str, float] = {}
        self.entered: set[int] = set()

    def calls(self, walk: NamedWalk, more: Collection[Feature] = ()) -> float:
        """Return the price of calls that a walk has made itself, and of some more."""
        calls = self._schema.calls
        if not calls:
            return 0.0
        columns = {self._schema.index(feature) for feature in (*walk.told, *more)}
        return self._catalog.bill(columns & calls)

    def spent(self, walk: NamedWalk) -> float:
        """Return what the case has cost so far."""
        return fsum([*self.paid.values(), self.calls(walk), walk.evaluation])

    def allows(
        self,
        walk: NamedWalk,
        told: Collection[Feature] = (),
        quotes: dict[str, float] | None = None,
        calls: Collection[Feature] = (),
    ) -> bool:
        """Return whether the cap allows a step.

        Parameters
        ----------
        walk : NamedWalk
        told : collection of str or int
            Features that the walk would be told, or skip: they lead to evaluations.
        quotes : dict of str to float
            What would be bought, by item.
        calls : collection of str or int
            Calls that the walk would make itself.
        """
        if self.cap is None:
            return True
        amounts = {**self.paid, **(quotes or {})}.values()
        evaluation = walk.largest_evaluation([*told, *calls])
        return fsum([*amounts, self.calls(walk, calls), evaluation]) <= self.cap

    def quotes(self, offers: Sequence[Offer]) -> dict[str, float]:
        """Return what each item costs at most; those of one source share their groups."""
        quotes: dict[str, float] = {}
        for group in by_source(offers):
            found = self._catalog.quote(group, self.entered)
            quotes |= {offer.item: quote for offer, quote in zip(group, found, strict=True)}
        return quotes

    def charge(self, offer: Offer) -> float:
        """Note that an item was charged, and return what it costs."""
        (price,) = self._catalog.quote([offer], self.entered)
        self.entered |= self._catalog.groups_of(offer)
        return price


def by_source(offers: Sequence[Offer]) -> list[list[Offer]]:
    """Return offers, those of one source together."""
    found: dict[str, list[Offer]] = {}
    for offer in offers:
        found.setdefault(offer.source.terms.name, []).append(offer)
    return list(found.values())
