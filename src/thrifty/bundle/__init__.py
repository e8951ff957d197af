"""Predictors and the model file: a frozen model with names, classes and prices.

`Schema` (schema.py) encodes tables of any type (tables.py, columns.py), `Predictor`
(predictor.py) predicts and bills them, `NamedWalk` (walk.py) does so for one example, feature by
feature. A `Decision` says which label to predict. `save` and `load` (file.py) write and read model
files (archive.py). Everything here needs only NumPy.
"""

from __future__ import annotations

from thrifty.bundle.file import describe, load, save
from thrifty.bundle.predictor import Predictor
from thrifty.bundle.schema import Column, Schema
from thrifty.bundle.walk import NamedWalk, Purchase, Receipt
from thrifty.model.decision import Decision

__all__ = [
    "Column",
    "Decision",
    "NamedWalk",
    "Predictor",
    "Purchase",
    "Receipt",
    "Schema",
    "describe",
    "load",
    "save",
]
