"""How an amount is written for people."""

from __future__ import annotations

import math

__all__ = ["money"]


def money(amount: float, unit: str = "") -> str:
    """Write an amount with two decimals, or with as many as six digits need.

    Examples
    --------
    >>> from thrifty.costs.money import money
    >>> money(17.27, "CAD"), money(2.0999999999999996), money(0.00125, "ms")
    ('CAD 17.27', '2.10', 'ms 0.00125')
    """
    text = f"{amount:.2f}" if amount < 1e15 else f"{amount:.6g}"
    if not math.isclose(float(text), amount, rel_tol=1e-6):
        text = f"{amount:.6g}"
    return f"{unit} {text}" if unit else text
