"""Predictors and the model file: a frozen model with names, classes and prices.

`Schema` (schema.py) encodes tables of any type (tables.py, columns.py), `Predictor`
(predictor.py) predicts and bills them, `NamedWalk` (walk.py) does so for one example, feature by
feature, with a `Reason` (reason.py) for each request and a `Receipt` (receipt.py) at the end. A
`Decision` says which label to predict, `Evidence` (evidence.py) how often a predictor was right.
`score_batches` (score_batches.py) scores a long table part by part.
`save` and `load` (file.py) write and read model files (archive.py), `OperatingPoints` (points.py)
are several predictors of one model in one file (points_file.py). Everything here needs only NumPy.
"""

from __future__ import annotations

from thrifty.bundle.columns import Column
from thrifty.bundle.evidence import Evidence, States
from thrifty.bundle.file import describe, load, save
from thrifty.bundle.points import OperatingPoints
from thrifty.bundle.points_file import load_points
from thrifty.bundle.predictor import Predictor
from thrifty.bundle.reason import Alternative, Reason
from thrifty.bundle.receipt import Purchase, Receipt
from thrifty.bundle.schema import Schema
from thrifty.bundle.score_batches import score_batches, unpack_used
from thrifty.bundle.walk import NamedWalk
from thrifty.model.decision import Decision

__all__ = [
    "Alternative",
    "Column",
    "Decision",
    "Evidence",
    "NamedWalk",
    "OperatingPoints",
    "Predictor",
    "Purchase",
    "Reason",
    "Receipt",
    "Schema",
    "States",
    "describe",
    "load",
    "load_points",
    "save",
    "score_batches",
    "unpack_used",
]
