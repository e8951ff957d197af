"""Binding a price list to the columns of a table: find every feature, miss no column.

All problems are collected and raised together, so that a user can repair a price list in one go.
A list may cover more features than the table has, for example if it was written for several tables;
a warning then names the others, since one of them may be misspelled.
"""

from __future__ import annotations

import reprlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thrifty.costs.bound import LATENCY, MAIN, BoundPrices
from thrifty.costs.structure import Structure
from thrifty.errors import PriceError, did_you_mean, raise_all

if TYPE_CHECKING:
    from thrifty.costs.prices import Prices

__all__ = ["Binding"]

# Columns listed in one message before "and 12 more".
MAX_LISTED = 20
# What to do if prices have names and the table has none.
NO_NAMES = (
    "but the table has none; pass a DataFrame (in a scikit-learn pipeline, use thrifty.Pipeline, "
    'or call set_output(transform="pandas") on it), or give prices by position'
)
# Unknown names for which the closest column is searched. A price list written for another table
# can have thousands of unknown names, and each search compares with all columns.
MAX_SUGGESTIONS = 20


class Binding:
    """One price list while it is bound to the columns of one table.

    Parameters
    ----------
    prices : Prices
    names : sequence of str, or int
        Names of the columns, or the number of columns of a table without names.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns; None for a table without names.
    count : int
        Number of columns, d.
    problems : list of str
        What was found to be wrong so far.
    others : list of (str, str)
        Features of the list that the table does not have, each with the column that may be meant.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.costs.binding import Binding
    >>> Binding(Prices({"age": 1.0}), ["age"]).bound()
    BoundPrices(1 feature, 1.00 in full)
    """

    def __init__(self, prices: Prices, names: Sequence[str] | int) -> None:
        if isinstance(names, str | bytes):
            raise PriceError(f"names: {names!r} is a single text; pass a list of column names")
        self.prices = prices
        self.names: tuple[Any, ...] | None
        self.problems: list[str] = []
        self.others: list[tuple[str, str]] = []
        if isinstance(names, int | np.integer):
            self.names, self.count = None, int(names)
        else:
            # NumPy has its own type of text.
            self.names = tuple(str(name) if isinstance(name, str) else name for name in names)
            self.count = len(self.names)
        for name, times in Counter(self.names or ()).items():
            if not isinstance(name, str):
                self.problems.append(f"the column name {name!r} is not text; rename the column")
            if times > 1:
                self.problems.append(f"the table has two columns named {name!r}; rename one")
        self._index = {name: j for j, name in enumerate(self.names or ())}
        self._suggestions_left = MAX_SUGGESTIONS

    def bound(self) -> BoundPrices:
        """Return the prices as arrays.

        Raises
        ------
        PriceError
            If the list does not fit the table; the message lists every problem.
        """
        prices = self.prices
        self._refuse_names()
        self._group = self._group_indices()
        # Groups without a column in the table are left out.
        self._groups = [name for g, name in enumerate(prices.groups) if g in self._group]
        amounts = self._amounts(prices)
        structure, delays = self._structure(), self._delays()
        for name in ("unit", "delay_unit"):
            if not isinstance(getattr(prices, name), str):
                self.problems.append(f"{name}: {getattr(prices, name)!r} is not text")
        currencies = {name: self._other_currency(name, each) for name, each in prices.also.items()}
        # If a column has no price, another name may be meant for it.
        others = [f"{name} is not a column of the table{hint}" for name, hint in self.others]
        raise_all(PriceError, "prices", self.problems and [*others, *self.problems])
        self._warn_of_others()
        place = {-1: -1} | {list(prices.groups).index(n): k for k, n in enumerate(self._groups)}
        main = BoundPrices(
            names=self.names,
            group=np.array([place[g] for g in self._group], dtype=np.int64),
            group_names=tuple(self._groups),
            unit=prices.unit,
            structure=structure,
            delays=delays,
            delay_unit=prices.delay_unit,
            **amounts,
        )
        also = {name: main.in_currency(name, **each) for name, each in currencies.items()}
        return replace(main, also=also) if also else main

    def _refuse_names(self) -> None:
        """Raise an error if the list goes by names and the table has none."""
        own = self.prices.own
        keys = list(own) if isinstance(own, Mapping) else []
        keys += [member for members in self.prices.groups.values() for member in members]
        names = [key for key in keys if isinstance(key, str) and not _is_position(key)]
        if self.names is None and names:
            shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
            raise PriceError(f"prices: they go by names ({shown}), {NO_NAMES}")

    def _warn_of_others(self) -> None:
        """Warn of the features of the list that the table does not have."""
        if not self.others:
            return
        others = dict.fromkeys(self.others)  # each once, though several currencies may list it
        listed = [name + hint.replace("; ", " (", 1) + ")" * bool(hint)
                  for name, hint in list(others)[:MAX_LISTED]]  # fmt: skip
        n_more = len(others) - MAX_LISTED
        more = f" and {n_more} more" if n_more > 0 else ""
        warnings.warn(
            f"prices: ignored, as the table has no such column: {', '.join(listed)}{more}",
            stacklevel=4,
        )

    def _amounts(self, prices: Prices) -> dict[str, Any]:
        """Return the prices of features, groups, evaluations and calls of a list."""
        own, groups = self._own_prices(prices), self.prices.groups
        for name in prices.shared:
            if name not in groups:
                hint = did_you_mean(name, groups) or "; add it to groups"
                self.problems.append(f"shared price for the unknown group {name!r}{hint}")
        # A member of a group that has a shared price needs no price of its own.
        covered = {g for g, name in enumerate(groups) if name in prices.shared}
        unpriced = [
            self._label(j)
            for j in range(self.count)
            if own[j] is None and self._group[j] not in covered and prices is self.prices
        ]
        if unpriced:
            n_more = len(unpriced) - MAX_LISTED
            more = f" and {n_more} more" if n_more > 0 else ""
            self.problems.append(
                f"no price for {', '.join(unpriced[:MAX_LISTED])}{more}; add it (0 if it is free)"
            )
        for name in prices.calls:
            if not isinstance(name, str):
                self.problems.append(f"call {name!r}: the name of a call must be text")
        paid = [price or 0.0 for price in own]
        shared = [prices.shared.get(name, 0.0) for name in self._groups]
        for k, name in enumerate(self._groups):
            if name in self.prices.panels:  # one price: whoever pays for a member has the others
                g = list(groups).index(name)
                members = [j for j in range(self.count) if self._group[j] == g]
                shared[k] = fsum([shared[k], *(paid[j] for j in members)])
                paid = [0.0 if j in members else price for j, price in enumerate(paid)]
        return {
            "own": np.array(paid, dtype=np.float64),
            "shared": np.array(shared, dtype=np.float64),
            "evaluation": prices.evaluation,
            "calls": dict(prices.calls),
        }

    def _other_currency(self, name: object, prices: Prices) -> dict[str, Any]:
        """Return the prices in another currency, in which what is not listed costs nothing."""
        n_before = len(self.problems)
        main = self.prices.unit or MAIN
        if not isinstance(name, str) or name in (main, LATENCY, ""):
            self.problems.append(f"the name must be text, and neither {main!r} nor {LATENCY!r}")
        for part in ("groups", "requires", "panels", "delays", "also"):
            if getattr(prices, part):
                self.problems.append(f"{part} belongs to the main price list; move it there")
        amounts = self._amounts(prices)
        unknown = [call for call in amounts["calls"] if call not in self.prices.calls]
        self.problems += [f"call {call!r} has no price in the main list" for call in unknown]
        amounts["calls"] = {**dict.fromkeys(self.prices.calls, 0.0), **amounts["calls"]}
        self.problems[n_before:] = [f"{name}: {each}" for each in self.problems[n_before:]]
        return amounts

    def _own_prices(self, prices: Prices) -> list[float | None]:
        """Return the own price of each column; None where the list has none."""
        listed = prices.own
        if listed is None:
            return [1.0 if prices is self.prices else 0.0] * self.count
        if isinstance(listed, Mapping):
            own: list[float | None] = [None] * self.count
            for key, price in listed.items():
                j = self._find(key)
                if j is not None:
                    if own[j] is not None:
                        self.problems.append(f"{self._label(j)} has two prices; keep one")
                    own[j] = price
            return own
        if len(listed) != self.count:
            self.problems.append(
                f"{len(listed)} prices for a table of {self.count} columns; "
                "give one price per column"
            )
            return [0.0] * self.count
        return list(listed)

    def _group_indices(self) -> list[int]:
        """Return the group of each column; -1 where it is in none."""
        group = [-1] * self.count
        names = list(self.prices.groups)
        for g, (name, members) in enumerate(self.prices.groups.items()):
            if not isinstance(name, str):
                self.problems.append(f"group {name!r}: the name of a group must be text")
            if not members:
                self.problems.append(f"group {name!r} has no members; list them, or leave it out")
            for member in members:
                j = self._find(member, f"group {name!r}: ")
                if j is None:
                    continue
                if group[j] == g:
                    self.problems.append(f"group {name!r}: {self._label(j)} is listed twice")
                elif group[j] >= 0:
                    both = f"{names[group[j]]!r} and {name!r}"
                    self.problems.append(f"{self._label(j)} is in two groups, {both}; keep one")
                else:
                    group[j] = g
        return group

    def _structure(self) -> Structure | None:
        """Return what requires what, and which groups come whole; None if there is neither."""
        requires: dict[int, set[int]] = {}
        for key, needed in self.prices.requires.items():
            features = self._members(key, "requires: ")
            before = [j for each in needed for j in self._members(each, f"requires of {key!r}: ")]
            for j in features:
                requires.setdefault(j, set()).update(before)
        panels = []
        names = list(self.prices.groups)
        for k, name in enumerate(self.prices.panels):
            if name in self.prices.panels[:k]:
                continue
            if name not in names:  # a list, as a name may be anything
                hint = did_you_mean(name, self.prices.groups) or "; add it to groups"
                self.problems.append(f"panel of the unknown group {name!r}{hint}")
                continue
            panels.append(tuple(self._members(name, "panels: ")))
        structure = Structure(
            {j: tuple(sorted(before)) for j, before in sorted(requires.items()) if before},
            tuple(panel for panel in panels if len(panel) > 1),
        )
        if structure.is_large:
            self.problems.append("requires: too many features come along with others; drop some")
            return None
        for cycle in structure.cycles():
            labels = " and ".join(self._label(j) for j in sorted(cycle))
            self.problems.append(
                f"requires: {labels} would have to be bought before itself"
                if len(cycle) == 1
                else f"requires: {labels} would have to be bought before each other; drop one entry"
            )
        return structure if structure.requires or structure.panels else None

    def _delays(self) -> NDArray[np.float64] | None:
        """Return the delay of each column: its own, or that of its group; None if there are none.

        An entry for a feature precedes that for its group.
        """
        if not self.prices.delays:
            return None
        delays, groups = np.zeros(self.count), self.prices.groups
        for key in sorted(self.prices.delays, key=lambda key: key not in groups):
            delays[self._members(key, "delays: ")] = self.prices.delays[key]
        return delays

    def _members(self, key: object, where: str) -> list[int]:
        """Return the features that a name stands for: a feature, or all members of a group."""
        groups = list(self.prices.groups)
        if key in groups:
            if key in self._index:
                self.problems.append(f"{where}{key!r} is a column and a group; rename the group")
            g = groups.index(key)
            return [j for j in range(self.count) if self._group[j] == g]
        if self.names is not None and isinstance(key, str) and key not in self._index:
            hint = did_you_mean(key, [*self._index, *groups])
            self.problems.append(f"{where}{key!r} is neither a column nor a group{hint}")
            return []
        j = self._find(key, where)
        return [] if j is None else [j]

    def _label(self, index: int) -> str:
        """Return how a message refers to a column."""
        return f"feature {index}" if self.names is None else repr(self.names[index])

    def _find(self, key: object, where: str = "") -> int | None:
        """Return the index of a feature; note why and return None if there is none."""
        remedy = "use its name" if self.names else f"use its position, 0 to {self.count - 1}"
        if isinstance(key, bool) or not isinstance(key, str | int):
            problem = f"{reprlib.repr(key)} is not a feature; {remedy}"
        elif self.names is None:
            # A file holds only text, so "3" is position 3 if the table has no names.
            if isinstance(key, str) and not _is_position(key):
                problem = f"{key!r} is a name, but the table has none; {remedy}"
            elif 0 <= int(key) < self.count:
                return int(key)
            else:
                problem = f"{key!r} is outside the table; {remedy}"
        elif key in self._index:
            return self._index[key]
        elif isinstance(key, str):
            self._suggestions_left -= 1
            hint = did_you_mean(key, self._index) if self._suggestions_left >= 0 else ""
            self.others.append((f"{where}{key!r}", hint))
            return None
        else:
            remedy = f"write {self._label(key)}" if 0 <= key < self.count else "use a name"
            problem = f"{key} is a position, but the table has names; {remedy}"
        self.problems.append(f"{where}{problem}")
        return None


def _is_position(key: str) -> bool:
    """Return whether a text, such as "3", is the position of a column."""
    return key.isascii() and key.isdecimal()
