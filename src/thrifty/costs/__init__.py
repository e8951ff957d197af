"""What features cost: price lists as people write them, and the bills they lead to.

`Prices` (prices.py) is the list as the user wrote it, in Python or in a file (files.py).
`Prices.bind` checks it against the columns of a table (binding.py) and returns `BoundPrices`
(bound.py), the same list as arrays, which computes bills. Nothing in this package knows about
models.
"""

from __future__ import annotations

from thrifty.costs.bound import BoundPrices
from thrifty.costs.prices import PriceList, Prices

__all__ = ["BoundPrices", "PriceList", "Prices"]
