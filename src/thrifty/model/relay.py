"""Walks through several models, one after the other: each starts when the one before is done.

All values are kept, so a later model requests only what is new. A value counts as read, and is
paid for, once a model that the example has reached reads it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Generic, TypeVar

from thrifty.model.base import Walk
from thrifty.model.motive import End, Motive

__all__ = ["RelayWalk"]

Part = TypeVar("Part", bound=Walk)


class RelayWalk(Walk, Generic[Part]):
    """Base class for the walks of models that pass an example from part to part.

    Attributes
    ----------
    _told : dict
        All values given so far, by feature.
    _walks : list of Walk
        The walks of the parts visited so far; the last one is in progress.
    """

    def __init__(self, first: Part) -> None:
        self._told: dict[int, float] = {}
        self._walks: list[Part] = [first]
        self._pass_on()

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the current part needs; empty when the walk is done."""
        return self._walks[-1].asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""
        self._told.update(values)
        if self._walks[-1].asks:  # a walk that is done reads nothing more
            self._walks[-1].tell(values)
            self._pass_on()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(dict.fromkeys(j for walk in self._walks for j in walk.touched))

    @property
    def evaluations(self) -> int:
        """Evaluations of all parts so far."""
        return sum(walk.evaluations for walk in self._walks)

    @property
    def motive(self) -> Motive:
        """That of the current part."""
        return self._walks[-1].motive

    @property
    def end(self) -> End:
        """That of the last part."""
        return self._walks[-1].end

    def evaluations_after(self, features: Collection[int]) -> int | None:
        """Return the most evaluations made once these features have a value.

        Parts may follow each other as long as all that they ask for is among the values.
        """
        current = self._walks[-1]
        most = current.evaluations_after(features)
        if most is None:
            return None
        most += sum(walk.evaluations for walk in self._walks[:-1])
        known = self._told.keys() | set(features)
        if not current.asks or not known.issuperset(current.asks):
            return most
        largest = 0
        for path in self._paths():
            total = 0
            for walk in path:
                evaluations = None if walk is None else walk.evaluations_after(known)
                if walk is None or evaluations is None:
                    return None
                total += evaluations
                if not known.issuperset(walk.asks):
                    break
            largest = max(largest, total)
        return most + largest

    def _paths(self) -> list[Iterator[Walk | None]]:
        """Return the walks that may follow the current one, by each way that the row may take.

        A walk that is not known is None; by default none is.
        """
        return [iter([None])]

    @abstractmethod
    def _next(self) -> Part | None:
        """Start the walk that follows the last one, which is done; None if it was the last."""

    def _pass_on(self) -> None:
        """Start further walks as long as the values at hand complete them."""
        while not self._walks[-1].asks:
            follower = self._next()
            if follower is None:
                return
            if self._told:
                follower.tell(self._told)
            self._walks.append(follower)
