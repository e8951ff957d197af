"""Find the columns that a model of another library was trained on in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = ["find_columns", "renumber"]


def find_columns(
    argument: str,
    n_features: int,
    names: Sequence[str | int] | None,
    table: Schema,
    *,
    numeric: bool,
) -> NDArray[np.intp]:
    """Return where the columns of a model that was trained elsewhere are in the schema of a table.

    They go by name if both have names, else by position in the training table.

    Parameters
    ----------
    argument : str
        Argument that the model was given as; it heads the message.
    n_features : int
        Number of columns that the model was trained on.
    names : sequence of str or int, or None
        Their names; None if the model does not know them.
    table : Schema
        Columns of the table.
    numeric : bool
        Whether the model reads numbers only.

    Raises
    ------
    DataError
        If the model cannot read the table.

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.adopt.columns import find_columns
    >>> table = Schema.of({"age": [63, 41], "sex": ["m", "f"]})
    >>> find_columns("forest", 2, ["sex", "age"], table, numeric=False)
    array([1, 0])
    >>> find_columns("forest", 2, ["age", "sex"], table, numeric=True)
    Traceback (most recent call last):
        ...
    thrifty.errors.DataError: forest: trained on numbers, but column 'sex' holds categories
    """
    problems = []
    known = table.table_names if names is None or not table.named else tuple(names)
    if n_features != len(table):
        problems.append(f"trained on {n_features} columns, the table has {len(table)}")
    elif set(known) != set(table.names):
        j = next(j for j, name in enumerate(known) if name not in table.names)
        ours = table.table_names[j]
        problems.append(
            f"trained on other columns: column {j} was {known[j]!r}, in the table it is {ours!r}"
        )
    elif numeric:
        problems += [
            f"trained on numbers, but column {column.name!r} holds categories"
            for column in table.columns
            if column.categories is not None
        ]
    raise_all(DataError, argument, problems)
    return np.array([table.index(name) for name in known], dtype=np.intp)


def renumber(forest: Forest, columns: NDArray[np.intp]) -> Forest:
    """Return a forest that reads column ``columns[j]`` where it has read column j."""
    if (columns == np.arange(len(columns))).all():
        return forest
    nodes = forest.nodes.copy()
    splits = ~is_leaf(nodes)
    feature = nodes["feature"][splits]
    nodes["feature"][splits] = (feature & ~INDEX) | columns[feature & INDEX]
    return replace(forest, nodes=nodes)
