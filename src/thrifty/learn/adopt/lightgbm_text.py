"""LightGBM's text model file as a frozen forest; LightGBM itself is not needed.

LightGBM compares doubles, x <= threshold, but it has three notions of what is missing, it reads
numbers within 1e-35 of zero as zero, and where zero is missing a split may send it away from its
neighbors. Such a split becomes a chain of plain ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.errors import DataError, raise_all
from thrifty.learn.adopt.lightgbm_splits import Blob, unfold
from thrifty.learn.adopt.source import Source, columns_of
from thrifty.learn.adopt.trees import freeze

__all__ = ["read_lightgbm"]

# Objectives whose prediction is the sum itself.
VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank",
          "rank_xendcg")  # fmt: skip
LINKS = {**dict.fromkeys(VALUES, "sum"), "binary": "sigmoid", "multiclass": "softmax", "": "sum"}


def read_lightgbm(text: str, classes: list[Any] | None = None) -> Source:
    """Read the text of a model file; `classes` are labels that the file does not hold.

    Raises
    ------
    DataError
        If the text is damaged, or the model does what a frozen forest cannot.
    """
    try:
        header, blobs = _parts(text)
        link, scale = _link(header)
        columns = _Columns.of(header, text)
        trees = [unfold(blob, columns.codes) for blob in blobs]
        forest = freeze(
            [tree.scaled(scale / _rounds(header, len(trees))) for tree in trees],
            np.zeros(int(header["num_class"])), link, columns.count,
            [k % int(header["num_tree_per_iteration"]) for k in range(len(trees))],
        )  # fmt: skip
    except (KeyError, ValueError, IndexError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a sound LightGBM model: {type(error).__name__} {error}") from error
    return Source(
        forest=forest,
        columns=columns_of(columns.names, columns.count, columns.labels),
        named=columns.names is not None,
        classes=classes,
        origin=f"LightGBM {header.get('objective') or 'custom objective'}",
    )


@dataclass(frozen=True)
class _Columns:
    """Names, and for each categorical feature its labels and the place of each raw code."""

    count: int
    names: list[str] | None
    labels: dict[int, tuple[Any, ...]]
    codes: dict[int, dict[int, int]]

    @classmethod
    def of(cls, header: Mapping[str, str], text: str) -> _Columns:
        names, infos = header["feature_names"].split(" "), header["feature_infos"].split(" ")
        nameless = names == [f"Column_{j}" for j in range(len(names))]
        labels = _labels(infos, _pandas_categories(text))
        codes = {j: {int(raw): code for code, raw in enumerate(_seen(infos[j]))} for j in labels}
        if any(isinstance(found, list) for found in labels.values()):
            # pandas counts its categories: the raw code is the place.
            codes = {j: {code: code for code in range(len(found))} for j, found in labels.items()}
        tuples = {j: tuple(found) for j, found in labels.items()}
        return cls(len(names), None if nameless else names, tuples, codes)


def _labels(infos: list[str], categories: list[list[Any]] | None) -> dict[int, Any]:
    """Labels by feature: tuples of raw codes, or lists of the categories of a data frame."""
    found = {j: _seen(info) for j, info in enumerate(infos) if _is_categorical(info)}
    if not categories:
        return dict(found)
    # A column with one category is of no use to LightGBM, which then forgets its kind.
    none = [j for j, info in enumerate(infos) if info == "none"]
    for columns in (sorted(found), sorted([*found, *none])):
        if len(columns) == len(categories):
            return dict(zip(columns, categories, strict=True))
    raise DataError(
        f"the model has {len(found)} categorical features and the categories of "
        f"{len(categories)} data frame columns; it cannot be told which is which"
    )


def _is_categorical(info: str) -> bool:
    return info != "none" and not info.startswith("[")


def _seen(info: str) -> tuple[int, ...]:
    """Raw codes that training has seen; a negative one stands for missing."""
    return tuple(sorted(code for code in map(int, info.split(":")) if code >= 0))


def _pandas_categories(text: str) -> list[list[Any]] | None:
    _, found, tail = text.rpartition("\npandas_categorical:")
    categories = json.loads(tail.split("\n")[0]) if found else None
    if categories is not None and not all(isinstance(labels, list) for labels in categories):
        raise DataError("the categories of the data frame are damaged")
    return categories or None


def _parts(text: str) -> tuple[dict[str, str], list[Blob]]:
    """The header and the trees, each as a mapping of words to words."""
    head, *rest = text.replace("\r\n", "\n").split("\nTree=")
    header = _pairs(head)
    if not head.startswith("tree") or "num_tree_per_iteration" not in header:
        raise DataError("not a LightGBM model: its text begins with the line 'tree'")
    if rest and "\nend of trees" not in rest[-1]:
        raise DataError("the LightGBM model ends in the middle of its trees")
    return header, [_pairs(block.split("\nend of trees")[0]) for block in rest]


def _pairs(block: str) -> dict[str, str]:
    return {word: rest for word, _, rest in (line.partition("=") for line in block.split("\n"))}


def _link(header: Mapping[str, str]) -> tuple[str, float]:
    """The link, and what the sums are multiplied by first."""
    name, *options = header.get("objective", "").split(" ")
    classes = int(header["num_class"])
    problems = []
    if name not in LINKS or "sqrt" in options:
        taken = ", ".join([*VALUES, "binary", "multiclass"])
        problems.append(f"objective {' '.join([name, *options])!r} is none of {taken}")
    elif LINKS[name] != "softmax" and classes != 1:
        problems.append(f"objective {name!r} with {classes} outputs")
    elif int(header["num_tree_per_iteration"]) != classes:
        problems.append(f"{header['num_tree_per_iteration']} trees a round, {classes} classes")
    raise_all(DataError, "this LightGBM model cannot be adopted", problems)
    sigmoid = [float(word.split(":")[1]) for word in options if word.startswith("sigmoid:")]
    return LINKS[name], sigmoid[0] if sigmoid and math.isfinite(sigmoid[0]) else 1.0


def _rounds(header: Mapping[str, str], trees: int) -> int:
    """What the sums are divided by: the rounds of a forest, 1 of boosted trees."""
    return (
        max(trees // int(header["num_tree_per_iteration"]), 1) if "average_output" in header else 1
    )
