"""What every source gives: a frozen forest, and what its columns and classes are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.bundle import Column
from thrifty.model import Forest

__all__ = ["Source", "columns_of"]


@dataclass(frozen=True, eq=False)
class Source:
    """A model of another library, read.

    Parameters
    ----------
    forest : Forest
    columns : tuple of Column
        In the order of the model's features.
    named : bool
        Whether the columns have names of their own.
    classes : list or None
        Labels, in the order of the scores; None for a model of values.
    origin : str
        What the model was, for its provenance.
    unlabeled : tuple of int
        Features whose categories the source knows as bare codes.
    """

    forest: Forest
    columns: tuple[Column, ...]
    named: bool
    classes: list[Any] | None
    origin: str
    unlabeled: tuple[int, ...] = ()


def columns_of(
    names: Sequence[str] | None, n_features: int, categories: dict[int, tuple[Any, ...]]
) -> tuple[Column, ...]:
    """Columns by name, or by position where there are no names."""
    called: Sequence[str | int] = range(n_features) if names is None else names
    return tuple(Column(name, categories.get(j)) for j, name in enumerate(called))
