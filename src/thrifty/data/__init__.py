"""Data sets with prices: shipped, from scikit-learn, from the papers, or a folder of Parquet files.

Every function returns a `Table`: features, target and prices. Importing this package loads
neither pandas nor scikit-learn.
"""

from __future__ import annotations

from thrifty.data.acquisition import context_blocks, cube, switched_logits
from thrifty.data.folder import load, names
from thrifty.data.plane import four_clusters, ring, synthetic_1
from thrifty.data.puzzles import binary_points, noisy_xor, quadrants
from thrifty.data.shipped import (
    breast_cancer,
    diabetes,
    digits,
    heart,
    heart_files,
    heart_model,
    wine,
)
from thrifty.data.table import Table

__all__ = [
    "Table",
    "binary_points",
    "breast_cancer",
    "context_blocks",
    "cube",
    "diabetes",
    "digits",
    "four_clusters",
    "heart",
    "heart_files",
    "heart_model",
    "load",
    "names",
    "noisy_xor",
    "quadrants",
    "ring",
    "switched_logits",
    "synthetic_1",
    "wine",
]
