"""What comes along with a feature: what it requires, and the panel that it is sold in.

"An MRI only after an X-ray" and "the blood panel is sold whole" are one thing to a buyer: whoever
buys the one has bought the others. What a row buys is the closure of what it uses. They differ in
time: what is required comes in an earlier round, the members of a panel come in the same one.

The price of a panel is a shared price: binding adds the own prices of its members to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy import cached_property
from thrifty.untrusted import is_count, is_list

__all__ = ["Structure", "structure_problems"]

Bools = NDArray[np.bool_]

# Members of all closures together.
MAX_ALONG = 2**19


@dataclass(frozen=True)
class Structure:
    """Precedence between the features of one table, and panels of features that come whole.

    Parameters
    ----------
    requires : dict of int to tuple of int
        Features that must be bought before a feature.
    panels : tuple of tuples of int
        Features that are only sold together; no feature is in two panels.

    Examples
    --------
    >>> from thrifty.costs.structure import Structure
    >>> clinic = Structure({2: (1,)}, panels=((3, 4),))  # 2 only after 1; 3 and 4 together
    >>> sorted(clinic.bought_with(2)), sorted(clinic.bought_with(3))
    ([1, 2], [3, 4])
    >>> clinic.next_round([2, 3], at_hand=())
    (3, 1, 4)
    """

    requires: dict[int, tuple[int, ...]]
    panels: tuple[tuple[int, ...], ...]

    def bought_with(self, feature: int) -> frozenset[int]:
        """Return all that is bought by whoever buys a feature, itself included."""
        return self._bought_with.get(feature) or frozenset((feature,))

    def before(self, feature: int) -> frozenset[int]:
        """Return what must be at hand before a feature can be bought: what its panel requires."""
        return self._before.get(feature, frozenset())

    def panel_members(self, feature: int) -> tuple[int, ...]:
        """Return the panel of a feature; the feature alone if it is in none."""
        return self._panel.get(feature, (feature,))

    def bought(self, used: Bools) -> Bools:
        """Return the features that rows buy, (n, d), if they use some (n, d)."""
        bought = used.copy()
        for members, needed in self._bundles.items():
            bought[:, sorted(needed)] |= used[:, members].any(axis=1, keepdims=True)
        return bought

    def closure(self, features: Iterable[int], free: Collection[int] = ()) -> frozenset[int]:
        """Return some features and all that must be bought with them.

        What is `free`, known beforehand, need not be bought, nor what it would require.
        """
        seen = set(features)
        stack = list(seen)
        panels: set[int] = set()
        while stack:
            j = stack.pop()
            first = self.panel_members(j)[0]
            if first not in panels:  # its members all bring the same
                panels.add(first)
                fresh = {*self.panel_members(j), *self.before(j)}.difference(seen, free)
                seen |= fresh
                stack.extend(fresh)
        return frozenset(seen)

    def dependents(self, features: Collection[int]) -> frozenset[int]:
        """Return some features and all that cannot be had without them."""
        lost = {j for j, needed in self._bought_with.items() if not needed.isdisjoint(features)}
        return frozenset(lost.union(features))

    def requiring(self, features: Collection[int]) -> frozenset[int]:
        """Return what cannot be bought after some features were not to be had.

        The other members of their panels can: a laboratory may lose one value.
        """
        lost = set(features)
        while fresh := {j for j in self._before if not self._before[j].isdisjoint(lost)} - lost:
            lost |= fresh
        return frozenset(lost)

    def next_round(
        self, wanted: Iterable[int], at_hand: Collection[int], free: Collection[int] = ()
    ) -> tuple[int, ...]:
        """Return what to ask for now, so that `wanted` will be at hand: what requires nothing more.

        What is wanted comes first, in the order given; then what it requires, by position.
        """
        order = dict.fromkeys(wanted)
        order |= dict.fromkeys(sorted(self.closure(order, free)))
        ready = set(at_hand)
        return tuple(j for j in order if j not in ready and self.before(j) <= ready)

    def ready(self, missing: Bools) -> Bools:
        """Return what rows can ask for now, (n, d), of what they miss: what requires none of it."""
        ready = missing.copy()
        for feature, before in self._before.items():
            ready[:, feature] &= ~missing[:, sorted(before)].any(axis=1)
        return ready

    def in_order(self, features: Iterable[int], first: Collection[int] = ()) -> list[int]:
        """Return features such that each comes after all that it requires.

        In a panel, those that are in `first` come first.
        """
        return sorted(features, key=lambda j: (len(self.bought_with(j)), j not in first, j))

    @cached_property
    def _panel(self) -> dict[int, tuple[int, ...]]:
        """The panel of each feature that is in one."""
        return {j: panel for panel in self.panels for j in panel}

    @cached_property
    def _before(self) -> dict[int, frozenset[int]]:
        """What must be at hand before each feature that requires something, or whose panel does."""
        before: dict[int, frozenset[int]] = {}
        for j in self.requires:
            if j not in before:
                members = self.panel_members(j)
                needed = frozenset().union(*(self.requires.get(member, ()) for member in members))
                before |= dict.fromkeys(members, needed)
        return before

    @cached_property
    def _bundles(self) -> dict[tuple[int, ...], frozenset[int]]:
        """The closure of each panel, and of each other feature that does not come alone."""
        structured = sorted({*self.requires, *self._panel})
        wholes = dict.fromkeys(self.panel_members(j) for j in structured)
        return {members: self.closure(members[:1]) for members in wholes}

    @cached_property
    def _bought_with(self) -> dict[int, frozenset[int]]:
        """The closure of each feature that does not come alone."""
        return {j: needed for members, needed in self._bundles.items() for j in members}

    @property
    def is_large(self) -> bool:
        """Whether the closures of all panels and features have too many members together.

        In a chain in which each feature requires the one before, they grow with its square.
        """
        total = 0
        for members in dict.fromkeys(self.panel_members(j) for j in {*self.requires, *self._panel}):
            total += len(self.closure(members[:1]))
            if total > MAX_ALONG:
                return True
        return False

    @property
    def has_cycle(self) -> bool:
        """Whether a feature must be bought before itself; found in linear time."""
        # By the first member of a panel, which stands for all: what waits for it, and how many
        # others it waits for.
        follows: dict[int, list[int]] = {}
        waits: dict[int, int] = {}
        for j in {self.panel_members(j)[0] for j in self._before}:
            needed = {self.panel_members(k)[0] for k in self.before(j)}
            waits[j] = len(needed)
            for k in needed:
                follows.setdefault(k, []).append(j)
        ready = [k for k in follows if k not in waits]
        while ready:
            for j in follows.get(ready.pop(), ()):
                waits[j] -= 1
                if not waits[j]:
                    ready.append(j)
        return any(waits.values())

    def cycles(self) -> list[frozenset[int]]:
        """Return sets of features each of which must be bought before itself."""
        found: list[frozenset[int]] = []
        for j in sorted(self._before) if self.has_cycle else ():
            if any(j in self.bought_with(needed) for needed in self.before(j)):
                cycle = frozenset(k for k in self.bought_with(j) if j in self.bought_with(k))
                if cycle not in found:
                    found.append(cycle)
        return found

    def renumber(self, place: Sequence[int]) -> Structure:
        """Return the structure of the same features, where feature j has become ``place[j]``."""
        pairs = (
            (place[j], tuple(sorted(place[k] for k in needed)))
            for j, needed in self.requires.items()
        )
        panels = (tuple(sorted(place[j] for j in panel)) for panel in self.panels)
        return Structure(dict(sorted(pairs)), tuple(panels))

    def plain(self) -> dict[str, Any]:
        """Return the structure as values that JSON can hold; keys without a value are absent."""
        plain: dict[str, Any] = {}
        if self.requires:
            plain["requires"] = [[j, *needed] for j, needed in sorted(self.requires.items())]
        if self.panels:
            plain["panels"] = [list(panel) for panel in self.panels]
        return plain

    @classmethod
    def build(cls, plain: Mapping[str, Any]) -> Structure | None:
        """Build what `plain` returned, checked by `structure_problems`; None if there is none."""
        requires = {first: tuple(rest) for first, *rest in plain.get("requires", [])}
        panels = tuple(tuple(panel) for panel in plain.get("panels", []))
        return cls(requires, panels) if requires or panels else None


def structure_problems(plain: Mapping[str, Any], n_features: int) -> list[str]:
    """List why what a model file holds cannot be what `Structure.plain` returned."""

    def is_feature(j: Any) -> bool:
        return is_count(j, 0, n_features - 1)

    for field in {"requires", "panels"} & plain.keys():
        if not is_list(plain[field], lambda each: is_list(each, is_feature, least=2), least=1):
            return [f"{field} is not a list of lists of features"]
    firsts = [each[0] for each in plain.get("requires", [])]
    members = [j for panel in plain.get("panels", []) for j in panel]
    if len(set(firsts)) < len(firsts) or len(set(members)) < len(members):
        return ["a feature is in requires, or in panels, twice"]
    structure = Structure.build(plain)
    if structure is None:
        return []
    if structure.has_cycle:
        return ["requires has a cycle"]
    return ["requires is too large: features come along with too many others"] * structure.is_large
