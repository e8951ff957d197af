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
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.costs.bound import BoundPrices
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
        own = self._own_prices()
        group = self._group_indices()
        for name in prices.shared:
            if name not in prices.groups:
                hint = did_you_mean(name, prices.groups) or "; add it to groups"
                self.problems.append(f"shared price for the unknown group {name!r}{hint}")
        # A member of a group that has a shared price needs no price of its own.
        covered = {g for g, name in enumerate(prices.groups) if name in prices.shared}
        unpriced = [
            self._label(j) for j in range(self.count) if own[j] is None and group[j] not in covered
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
        if not isinstance(prices.unit, str):
            self.problems.append(f"unit: {prices.unit!r} is not text")
        # If a column has no price, another name may be meant for it.
        others = [f"{name} is not a column of the table{hint}" for name, hint in self.others]
        raise_all(PriceError, "prices", self.problems and [*others, *self.problems])
        if self.others:
            listed = [name + hint.replace("; ", " (", 1) + ")" * bool(hint)
                      for name, hint in self.others[:MAX_LISTED]]  # fmt: skip
            n_more = len(self.others) - MAX_LISTED
            more = f" and {n_more} more" if n_more > 0 else ""
            warnings.warn(
                f"prices: ignored, as the table has no such column: {', '.join(listed)}{more}",
                stacklevel=3,
            )
        names = list(prices.groups)
        kept = [g for g in range(len(names)) if g in group]  # the others have no column here
        new_index = {-1: -1} | {g: k for k, g in enumerate(kept)}
        return BoundPrices(
            names=self.names,
            own=np.array([price or 0.0 for price in own], dtype=np.float64),
            group=np.array([new_index[g] for g in group], dtype=np.int64),
            shared=np.array([prices.shared.get(names[g], 0.0) for g in kept], dtype=np.float64),
            group_names=tuple(names[g] for g in kept),
            evaluation=prices.evaluation,
            calls=dict(prices.calls),
            unit=prices.unit,
        )

    def _refuse_names(self) -> None:
        """Raise an error if the list goes by names and the table has none."""
        own = self.prices.own
        keys = list(own) if isinstance(own, Mapping) else []
        keys += [member for members in self.prices.groups.values() for member in members]
        names = [key for key in keys if isinstance(key, str) and not _is_position(key)]
        if self.names is None and names:
            shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
            raise PriceError(f"prices: they go by names ({shown}), {NO_NAMES}")

    def _own_prices(self) -> list[float | None]:
        """Return the own price of each column; None where the list has none."""
        listed = self.prices.own
        if listed is None:
            return [1.0] * self.count
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
            if 0 <= int(key) < self.count:
                return int(key)
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
    return key.isascii() and key.isdecimal()
