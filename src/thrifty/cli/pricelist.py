"""The price list that a verb was given, or none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thrifty.costs import Prices

__all__ = ["read_prices"]


def read_prices(path: Path | None, unit: str | None) -> Prices:
    """Read a price list; without a file each feature costs 1."""
    from thrifty.costs import Prices

    return Prices(unit=unit or "") if path is None else Prices.read(path, unit=unit)
