"""Check that a model of another library was trained on the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all

__all__ = ["check_columns"]


def check_columns(
    argument: str,
    n_features: int,
    names: Sequence[str | int] | None,
    table: Schema,
    *,
    numeric: bool,
) -> None:
    """Raise a DataError unless a model that was trained elsewhere can read a table.

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

    Examples
    --------
    >>> from thrifty.bundle import Schema
    >>> from thrifty.learn.adopt.columns import check_columns
    >>> table = Schema.of({"age": [63, 41], "sex": ["m", "f"]})
    >>> check_columns("forest", 2, ["age", "sex"], table, numeric=True)
    Traceback (most recent call last):
        ...
    thrifty.errors.DataError: forest: trained on numbers, but column 'sex' holds categories
    """
    problems = []
    if n_features != len(table):
        problems.append(f"trained on {n_features} columns, the table has {len(table)}")
    elif names is not None and table.named and tuple(names) != table.names:
        pairs = enumerate(zip(names, table.names, strict=True))
        j, (theirs, ours) = next((j, pair) for j, pair in pairs if pair[0] != pair[1])
        problems.append(
            f"trained on other columns: column {j} was {theirs!r}, in the table it is {ours!r}"
        )
    elif numeric:
        problems += [
            f"trained on numbers, but column {column.name!r} holds categories"
            for column in table.columns
            if column.categories is not None
        ]
    raise_all(DataError, argument, problems)
