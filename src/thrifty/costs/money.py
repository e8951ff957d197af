"""One amount: how it is read from whatever the user wrote, checked, and printed.

Price lists come from Python, from files and from model files. All three are checked here, so
that a price is refused for the same reasons everywhere.
"""

from __future__ import annotations

import math
import numbers
import re
import reprlib
import unicodedata
from decimal import Decimal

import numpy as np

__all__ = ["as_float", "duration", "format_mean", "money", "price_fault", "with_unit"]

# Far above any real price, and far enough below the largest float that no bill overflows.
MAX_PRICE = 1e100
# The codes of ISO 4217 that are in use.
CURRENCIES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD "
    "CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS "
    "GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW "
    "KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR "
    "MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR "
    "SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"
)


def as_float(value: object) -> object:
    """Convert a number of any type to a float; return anything else unchanged.

    A Python `bool` is returned unchanged: as a price it is a mistake, not a number.

    Examples
    --------
    >>> from thrifty.costs.money import as_float
    >>> as_float(3), as_float(True), as_float("3")
    (3.0, True, '3')
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real | np.bool_ | Decimal):
        return value
    try:
        return float(value) + 0.0  # turns -0.0 into 0.0
    except (OverflowError, ValueError):
        return value


def price_fault(value: object, noun: str = "price") -> str | None:
    """Return why `value` cannot be a price, or another amount, with the remedy; None if it can.

    Examples
    --------
    >>> from thrifty.costs.money import price_fault
    >>> price_fault(7.27)
    >>> price_fault(-1.0)
    '-1.0 is negative; a price is 0 or more'
    """
    price = as_float(value)
    if isinstance(price, int) and not isinstance(price, bool):
        return "the number is too large; use a bigger unit"
    if not isinstance(price, float):
        return f"{reprlib.repr(value)} is not a number"
    if math.isnan(price):
        remedy = "write 0 if the feature is free" if noun == "price" else "write 0 if there is none"
        return f"nan is not a {noun}; {remedy}"
    if math.isinf(price):
        return f"{price} is not finite; drop from the table what cannot be bought"
    if price < 0:
        return f"{price} is negative; a {noun} is 0 or more"
    if price > MAX_PRICE:
        return f"{price} is too large; use a bigger unit"
    return None


def money(amount: float, unit: str = "") -> str:
    """Format an amount with two decimals, or with six significant digits if it needs them.

    A currency, such as "CAD" or "$", goes before the amount, any other unit after it.

    Examples
    --------
    >>> from thrifty.costs.money import money
    >>> money(17.27, "CAD"), money(2.0999999999999996), money(0.00125, "ms")
    ('CAD 17.27', '2.10', '0.00125 ms')
    """
    text = f"{amount:.2f}" if amount < 1e15 else f"{amount:.6g}"
    if not math.isclose(float(text), amount, rel_tol=1e-6):
        text = f"{amount:.6g}"
    return with_unit(text, unit)


def duration(amount: float, unit: str = "") -> str:
    """Format a duration with at most six significant digits.

    Examples
    --------
    >>> from thrifty.costs.money import duration
    >>> duration(35.0, "min"), duration(0.125)
    ('35 min', '0.125')
    """
    return f"{amount:.6g} {unit}".rstrip()


def format_mean(amount: float, unit: str = "") -> str:
    """Format a mean amount: two decimals from 1 on, three significant digits below.

    Examples
    --------
    >>> from thrifty.costs.money import format_mean
    >>> format_mean(29.131858, "CAD"), format_mean(0.0012345, "ms")
    ('CAD 29.13', '0.00123 ms')
    """
    return money(round(amount, 2) if amount >= 1 else float(f"{amount:.3g}"), unit)


def with_unit(number: str, unit: str) -> str:
    """Write a number with its unit as people do: currencies before it, other units after it.

    Examples
    --------
    >>> from thrifty.costs.money import with_unit
    >>> with_unit("3.20", "CAD"), with_unit("3.20", "US$"), with_unit("3.22", "min")
    ('CAD 3.20', 'US$3.20', '3.22 min')
    """
    if not unit:
        return number
    if re.fullmatch("[A-Z]{0,3}.", unit) and unicodedata.category(unit[-1]) == "Sc":
        return f"{unit}{number}"
    if unit in CURRENCIES.split() or unicodedata.category(unit[0]) == "Sc":
        return f"{unit} {number}"
    return f"{number} {unit}"
