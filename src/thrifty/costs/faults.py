"""What is wrong with a price, in words, and the name that was probably meant.

Price lists come from dictionaries, from files and from model files. All three are
judged here, so that a price is refused for the same reasons everywhere.
"""

from __future__ import annotations

import difflib
import math
import numbers
import reprlib
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

__all__ = ["fault", "near", "number"]

# Far above any price, and far enough below the largest float that no bill overflows.
LARGEST = 1e100


def number(value: object) -> object:
    """Give a number as a float, and anything else back as it is.

    A Python `bool` is no price: it is a flag that ended up in the wrong place.

    Examples
    --------
    >>> from thrifty.costs.faults import number
    >>> number(3), number(True), number("3")
    (3.0, True, '3')
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real | np.bool_ | Decimal):
        return value
    try:
        return float(value) + 0.0  # -0.0 becomes 0.0
    except (OverflowError, ValueError):
        return value


def fault(value: object) -> str | None:
    """Say why `value` cannot be a price; None when it can.

    Examples
    --------
    >>> from thrifty.costs.faults import fault
    >>> fault(7.27)
    >>> fault(-1.0)
    '-1.0 is negative; a price is 0 or more'
    """
    price = number(value)
    if isinstance(price, int) and not isinstance(price, bool):
        return "the number is too large; count in a bigger unit"
    if not isinstance(price, float):
        return f"{reprlib.repr(value)} is not a number"
    if math.isnan(price):
        return "nan is not a price; write 0 for what is free"
    if math.isinf(price):
        return f"{price} is not finite; leave out of the table what cannot be bought"
    if price < 0:
        return f"{price} is negative; a price is 0 or more"
    if price > LARGEST:
        return f"{price} is too large; count in a bigger unit"
    return None


def near(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to `name`, as the end of a message.

    Examples
    --------
    >>> from thrifty.costs.faults import near
    >>> near("Chol", ["age", "chol"])
    "; did you mean 'chol'?"
    >>> near("zzz", ["age", "chol"])
    ''
    """
    spelled = {other.casefold(): other for other in known}
    found = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f"; did you mean {spelled[found[0]]!r}?" if found else ""
