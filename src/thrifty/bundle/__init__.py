"""The model file and its reader: a frozen model with names, classes and prices.

Everything here needs NumPy only. pandas and polars tables are read by what they can do.
"""

from __future__ import annotations

from thrifty.bundle.file import describe, load, save
from thrifty.bundle.predictor import Predictor
from thrifty.bundle.receipt import Purchase, Receipt
from thrifty.bundle.schema import Column, Schema
from thrifty.bundle.walk import NamedWalk

__all__ = [
    "Column",
    "NamedWalk",
    "Predictor",
    "Purchase",
    "Receipt",
    "Schema",
    "describe",
    "load",
    "save",
]
