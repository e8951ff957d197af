"""Multiple Features, six descriptors of digits, which stand in for Scene-15.

A descriptor has a price of the number of its features and is paid once, as those of Scene-15 are.
"""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import train_test_split

from thrifty import Prices
from thrifty.data import load


def split(seed: int) -> tuple[Prices, list[tuple[Any, Any]]]:
    """Return prices, and 1,000 training, 300 validation and 700 test rows."""
    table = load("mfeat")
    groups = table.prices.groups
    prices = Prices(
        dict.fromkeys(table.X.columns, 0.0),
        groups=groups,
        shared={name: float(len(members)) for name, members in groups.items()},
    )
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=700, stratify=table.y, random_state=seed
    )
    X, X_val, y, y_val = train_test_split(X, y, test_size=300, stratify=y, random_state=seed)
    return prices, [(X, y), (X_val, y_val), (X_test, y_test)]
