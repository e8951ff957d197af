"""Walks that follow one another: each starts when the one before it is complete.

All values told are kept, so a later walk asks only for what is new. A value is read, and paid,
when a walk that the example has come to reads it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from thrifty.model.base import Walk

__all__ = ["RelayWalk"]

Part = TypeVar("Part", bound=Walk)


class RelayWalk(Walk, Generic[Part]):
    """Base of the walks of models that send an example from part to part."""

    def __init__(self, first: Part) -> None:
        self._told: dict[int, float] = {}
        self._walks: list[Part] = [first]
        self._go()

    @property
    def asks(self) -> tuple[int, ...]:
        """What the part where the example stands asks for; nothing once it is answered."""
        return self._walks[-1].asks

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, and go on as far as they allow."""
        self._told.update(values)
        if self._walks[-1].asks:  # an example that is answered reads nothing more
            self._walks[-1].tell(values)
            self._go()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading."""
        return tuple(dict.fromkeys(j for walk in self._walks for j in walk.touched))

    @property
    def evaluations(self) -> int:
        """Evaluations of all parts so far."""
        return sum(walk.evaluations for walk in self._walks)

    @abstractmethod
    def _next(self) -> Part | None:
        """The walk that follows the one just completed; None when the example is answered."""

    def _go(self) -> None:
        """Pass from walk to walk as long as they are complete."""
        while not self._walks[-1].asks:
            follows = self._next()
            if follows is None:
                return
            if self._told:
                follows.tell(self._told)
            self._walks.append(follows)
