"""Names of the partitions of a Dask DataFrame: the files that they are read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from thrifty.table_files import CSV_SUFFIXES, PARQUET_SUFFIXES

__all__ = ["partition_names"]

# Files of a partition that a message lists.
MAX_LISTED = 3
SUFFIXES = (*PARQUET_SUFFIXES, *CSV_SUFFIXES)


def partition_names(partitions: Sequence[Any]) -> list[str]:
    """Return how messages refer to each partition.

    By its file, if it is the only partition of it. Dask has no call that says which files a
    partition is read from, so they are looked for in its tasks; where none is found, such as in a
    frame that is in memory, a partition is named by its number.

    Parameters
    ----------
    partitions : sequence of Delayed
        Those of one DataFrame, as ``to_delayed`` returns them.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> from thrifty.learn.cluster.partitions import partition_names
    >>> frame = dd.from_pandas(pd.DataFrame({"age": [63, 41]}), npartitions=2)
    >>> partition_names(frame.to_delayed())
    ['partition 0 of 2', 'partition 1 of 2']
    """
    from dask.optimization import cull

    # Partitions of a frame share one graph: it is copied once.
    graphs = {id(graph): dict(graph) for graph in (one.__dask_graph__() for one in partitions[:1])}
    files = []
    for partition in partitions:
        graph = partition.__dask_graph__()
        tasks, _ = cull(graphs.get(id(graph)) or dict(graph), [partition.key])
        # Dask makes paths whole; a text without a folder is something else.
        paths = {text for text in _texts_in(tasks, {}) if len(PurePath(text).parts) > 1}
        files.append(sorted(path for path in paths if path.lower().endswith(SUFFIXES)))
    n_partitions = Counter(name for some in files for name in some)
    names = []
    for i, own in enumerate(files):
        if len(own) == 1 and n_partitions[own[0]] == 1:
            names.append(own[0])
            continue
        more = f" and {len(own) - MAX_LISTED} more" if len(own) > MAX_LISTED else ""
        where = f" ({', '.join(own[:MAX_LISTED])}{more})" if own else ""
        names.append(f"partition {i} of {len(files)}{where}")
    return names


def _texts_in(value: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Yield the texts in a task: in containers, in objects of Dask, and paths of anything."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    parts: list[Any] = []
    if isinstance(value, str | PurePath):
        yield str(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(getattr(value, "path", None), str):  # of a part of a file, or an open file
        yield value.path
    elif type(value).__module__.split(".")[0] == "dask":
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [getattr(value, name, None) for name in slots]
        parts += getattr(value, "__dict__", {}).values()
    for part in parts:
        yield from _texts_in(part, seen)
