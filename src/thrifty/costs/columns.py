"""The columns of a table, as the keys of a price list find them."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty.costs.faults import near
from thrifty.errors import PriceError

__all__ = ["Columns"]

# Near matches are searched for this many wrong names only: a price list for another
# table can hold thousands, and each search reads all names.
HINTS = 20


class Columns:
    """Columns by name or, where the table has no names, by position.

    Parameters
    ----------
    names : sequence of str, or int
        The names; or the number of columns of a table without names.

    Examples
    --------
    >>> from thrifty.costs.columns import Columns
    >>> Columns(["age", "chol"]).find("chol"), Columns(2).find(1)
    (1, 1)
    >>> Columns(["age", "chol"]).find(1)
    Traceback (most recent call last):
    ...
    thrifty.errors.PriceError: 1 is a position, but the table has names: write 'chol'
    """

    def __init__(self, names: Sequence[str] | int) -> None:
        if isinstance(names, str | bytes):
            raise PriceError(f"names: {names!r} is one text; give the list of column names")
        self.names = None if isinstance(names, int | np.integer) else tuple(map(_text, names))
        self.count = int(names) if isinstance(names, int | np.integer) else len(names)
        self._position = {name: j for j, name in enumerate(self.names or ())}
        self._hints = HINTS

    def problems(self) -> list[str]:
        """List what is wrong with the columns themselves."""
        names = self.names or ()
        odd = [n for n in names if not isinstance(n, str)]
        twice = [n for n, times in Counter(names).items() if times > 1]
        return [f"the column name {n!r} is not text: rename the column" for n in odd] + [
            f"the table has two columns named {n!r}: rename one" for n in twice
        ]

    def label(self, position: int) -> str:
        """Name a column in a message."""
        return f"feature {position}" if self.names is None else repr(self.names[position])

    def find(self, key: object) -> int:
        """Give the position of a feature; PriceError says why there is none."""
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise PriceError(f"{reprlib.repr(key)} is not a feature: use its {self._right}")
        return self._by_position(key) if self.names is None else self._by_name(key)

    @property
    def _right(self) -> str:
        return f"position, 0 to {self.count - 1}" if self.names is None else "name"

    def _by_position(self, key: str | int) -> int:
        # A file holds text only, so "3" is position 3 where there are no names.
        if isinstance(key, str) and not (key.isascii() and key.isdecimal()):
            raise PriceError(f"{key!r} is a name, but the table has none: use its {self._right}")
        if not 0 <= int(key) < self.count:
            raise PriceError(f"{key!r} is outside the table: use its {self._right}")
        return int(key)

    def _by_name(self, key: str | int) -> int:
        if key in self._position:
            return self._position[key]
        if isinstance(key, str):
            raise PriceError(f"{key!r} is not a column of the table{self._near(key)}")
        inside = self.names is not None and 0 <= key < self.count
        right = f"write {self.label(key)}" if inside else "use a name"
        raise PriceError(f"{key} is a position, but the table has names: {right}")

    def _near(self, key: str) -> str:
        self._hints -= 1
        return near(key, self._position) if self._hints >= 0 else ""


def _text(name: Any) -> Any:
    return str(name) if isinstance(name, str) else name  # numpy has its own kind of text
