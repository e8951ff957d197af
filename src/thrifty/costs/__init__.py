"""What features cost: price lists as people write them, and bills.

`Prices` is the list, `BoundPrices` the same list as arrays over the columns of one
table. Nothing here knows a model.
"""

from __future__ import annotations

from thrifty.costs.bound import BoundPrices
from thrifty.costs.prices import Prices

__all__ = ["BoundPrices", "Prices"]
