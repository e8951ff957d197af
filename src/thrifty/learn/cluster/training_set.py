"""A training set whose rows stay on the workers of a Dask cluster, as bins.

Three passes over the partitions: the first learns categories, labels and ranges, the second takes
the sample that places the bins, the third bins every value. A frame that fits into the memory of
the cluster is read once if it was persisted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Schema
from thrifty.bundle.columns import read_column, to_numbers
from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.kernels.binning import SAMPLE, bin_table, find_edges
from thrifty.learn.binned import BinnedParts
from thrifty.learn.cluster.parts import Parts, finish_tasks
from thrifty.learn.dataset import TrainingSet, bind_prices, read_target
from thrifty.learn.long_training_set import MAX_KEPT, Contents
from thrifty.learn.targets import Labels
from thrifty.long_table import Batch

__all__ = ["ClusterTrainingSet", "is_dask"]

Floats = NDArray[np.float64]


def is_dask(table: Any) -> bool:
    """Return whether a table is a collection of Dask, without importing it."""
    return type(table).__module__.split(".")[0] in ("dask", "dask_expr")


class FrameColumns(NamedTuple):
    """The columns of a frame: features, the target, and which of them hold text or categories."""

    features: list[str]
    target: str
    text_columns: set[str]


@dataclass(frozen=True, eq=False)
class ClusterTrainingSet(TrainingSet):
    """A `TrainingSet` of which the workers keep the bins and the target.

    `X` holds some of the rows, evenly spaced; `y` is empty.

    Parameters
    ----------
    client : distributed.Client
    tasks : list of Delayed
        Each computes the bins (d, m) and the target (m,) of one partition.
    n_rows : list of int
        Number of rows of each partition.
    class_counts : int array of shape (K,) or None
        Rows of each class.
    binned : BinnedParts
        What the bins mean, without rows.
    ranges : list of d pairs or None
        Smallest and largest value of each column; None for categories.
    """

    client: Any = field(kw_only=True)
    tasks: list[Any] = field(kw_only=True)
    n_rows: list[int] = field(kw_only=True)
    class_counts: NDArray[np.int64] | None = field(kw_only=True)
    binned: BinnedParts = field(kw_only=True)
    ranges: list[list[float] | None] = field(kw_only=True)

    @classmethod
    def read_frame(
        cls,
        task: str,
        frame: Any,
        y: Any,
        prices: PriceList | None,
        random: np.random.RandomState,
    ) -> Self:
        """Read a Dask DataFrame and its target, a Dask Series with the same partitions.

        Raises
        ------
        DataError
            If anything cannot be used; it names the partition, the column, the row and the remedy.
        """
        client, partitions, columns = _open_frame(frame, y)

        def run(function: Callable[..., Any], about: Any, *each: Sequence[Any]) -> list[Any]:
            """Run a function on every partition, with further arguments for all and for each."""
            futures = client.compute(_tasks(partitions, function, about, *each))
            finish_tasks(client, futures)
            return list(client.gather(futures))

        numbers = range(len(partitions))
        found = run(summarize, (task, columns), numbers)
        n_rows = [rows for rows, _, _ in found]
        total = sum(n_rows)
        if total < 2:
            raise DataError(f"table: {total} rows; give at least 2 rows")
        contents, classes, class_counts = _merge(task, columns, found)
        schema = contents.schema()
        _check_text(schema, columns)
        bound = bind_prices(prices, schema)
        # By the number of the row in the whole table: the sample of the same table in memory.
        sample = np.arange(total)
        if total > SAMPLE:
            sample = np.sort(random.choice(total, SAMPLE, replace=False))
        shown = np.arange(0, total, -(-total // MAX_KEPT))
        taken = run(take_rows, schema, _by_partition(sample, n_rows), _by_partition(shown, n_rows))
        values = np.concatenate([rows for rows, _ in taken])
        categorical = np.array([column.categories is not None for column in schema.columns])
        edges = [
            np.empty(0) if categorical[j] else find_edges(np.ascontiguousarray(values[:, j]))
            for j in range(len(schema))
        ]
        tasks = _tasks(partitions, bin_rows, (task, columns, schema, edges, classes), numbers)
        none = np.empty((0, len(schema), 1), np.uint8)
        return cls(
            task, None, schema, bound, np.concatenate([rows for _, rows in taken]), np.empty(0),
            None, classes, client=client, class_counts=class_counts,
            tasks=[one for one, rows in zip(tasks, n_rows, strict=True) if rows],
            n_rows=[rows for rows in n_rows if rows],
            binned=BinnedParts(none, edges, categorical, total), ranges=contents.ranges(schema),
        )  # fmt: skip

    def __len__(self) -> int:
        return sum(self.n_rows)

    def value_ranges(self) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        return self.ranges

    def place(self, make: Callable[[list[Any], Any], Any], setup: Any) -> Parts:
        """Bin all rows on the workers, and make a part of type `make` on each of them."""
        return Parts(self.client, self.tasks, self.n_rows, make, setup)


def _open_frame(frame: Any, y: Any) -> tuple[Any, list[Any], FrameColumns]:
    """Return the client, the partitions with their target, and the columns of a Dask DataFrame."""
    import dask.dataframe as dd
    from distributed import get_client

    try:
        client = get_client()
    except ValueError:
        raise DataError(
            "table: a Dask DataFrame is trained on by a cluster; start one, such as by "
            "dask.distributed.Client()"
        ) from None
    if not isinstance(frame, dd.DataFrame):
        raise DataError(f"table: {type(frame).__name__}; give a Dask DataFrame")
    if not isinstance(y, dd.Series):
        raise DataError("target: give a Dask Series, such as a column of the same DataFrame")
    if frame.npartitions != y.npartitions:
        raise DataError(
            f"target: {y.npartitions} partitions, but {frame.npartitions} of the table; take the "
            "target from the same DataFrame"
        )
    features = list(frame.columns)
    other = [name for name in features if not isinstance(name, str)]
    if other:
        raise DataError(f"table: the column name {other[0]!r} is not text; rename it")
    target = y.name if isinstance(y.name, str) and y.name not in features else "target"
    while target in features:
        target += "_"
    kinds = {**dict(frame.dtypes), target: y.dtype}
    text = {name for name, kind in kinds.items() if kind.kind not in "biuf"}
    joined = frame.map_partitions(_join, y, target, align_dataframes=False, enforce_metadata=False)
    return client, joined.to_delayed(), FrameColumns(features, target, text)


def _join(frame: Any, y: Any, name: str) -> Any:
    """Return the rows of a partition with their target."""
    if len(frame) != len(y):
        raise DataError(f"target: {len(y)} values for the {len(frame)} rows of a partition")
    return frame.assign(**{name: y.to_numpy()})


def _tasks(
    partitions: list[Any], function: Callable[..., Any], about: Any, *each: Sequence[Any]
) -> list[Any]:
    """Return a task for each partition, with further arguments for all of them and for each."""
    from dask.delayed import delayed

    call = delayed(function, pure=False)
    shared = delayed(about, pure=False, traverse=False)  # a task of its own: sent once
    return [call(part, shared, *rest) for part, *rest in zip(partitions, *each, strict=True)]


def summarize(
    frame: Any, about: tuple[str, FrameColumns], number: int
) -> tuple[int, Contents, NDArray[np.int64]]:
    """Return the number of rows of a partition, its contents, and how many rows each label has."""
    task, columns = about
    contents = Contents(task, columns, 0)
    contents.add(_batch(frame, number), np.empty(0, np.intp), 0)
    counts = np.zeros(0, np.int64)
    if task == "classification":
        counts = np.bincount(np.concatenate(contents.codes), minlength=len(contents.labels))
    contents.codes, contents.sample = [], {}
    return len(frame), contents, counts


def _merge(
    task: str, columns: FrameColumns, found: Sequence[tuple[int, Contents, NDArray[np.int64]]]
) -> tuple[Contents, NDArray[Any] | None, NDArray[np.int64] | None]:
    """Return the contents of all partitions, the classes, and how many rows each class has."""
    contents = Contents(task, columns, 0)
    for _, other, _ in found:
        contents.merge(other)
    if task != "classification":
        return contents, None, None
    place, classes = read_target(task, np.array([*contents.labels]), len(contents.labels))
    code = dict(zip(contents.labels, place, strict=True))
    counts = np.zeros(len(code), np.int64)
    for _, other, own in found:
        counts[[code[label] for label in other.labels]] += own
    return contents, classes, counts


def _by_partition(rows: NDArray[np.intp], n_rows: Sequence[int]) -> list[NDArray[np.intp]]:
    """Return the rows of each partition, numbered within it, of rows of the whole table in order.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cluster.training_set import _by_partition
    >>> _by_partition(np.array([0, 3, 4]), [3, 2])
    [array([0]), array([0, 1])]
    """
    ends = np.cumsum(n_rows)
    starts = ends - n_rows
    return [
        rows[np.searchsorted(rows, start) : np.searchsorted(rows, end)] - start
        for start, end in zip(starts, ends, strict=True)
    ]


def _check_text(schema: Schema, columns: FrameColumns) -> None:
    """Raise a DataError for a column of numbers that Dask takes for text."""
    for column in schema.columns:
        if column.categories is None and column.name in columns.text_columns:
            raise DataError(
                f"table: column {column.name!r} holds numbers as objects; convert it, such as by "
                f"frame.astype({{{column.name!r}: float}})"
            )


def take_rows(
    frame: Any, schema: Schema, sample: NDArray[np.intp], shown: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Return some rows of a partition, encoded: to place the bins by, and to keep."""
    names = [str(name) for name in schema.names]
    values = np.full((len(sample), len(names)), np.nan)
    for j, column in enumerate(schema.columns):
        if column.categories is None:
            values[:, j] = to_numbers(read_column(frame[names[j]])[0])[sample]
    return values, schema.encode(frame[names].iloc[shown]) if len(shown) else values[:0]


def bin_rows(frame: Any, about: tuple[Any, ...], number: int) -> tuple[NDArray[np.uint8], Any]:
    """Return the bins (d, m) of the rows of a partition, and their class codes or numbers."""
    task, columns, schema, edges, classes = about
    contents = Contents(task, columns, 0)
    contents.add_target(_batch(frame, number))
    target = np.concatenate(contents.codes)
    if task == "classification":
        labels = np.array([*contents.labels])
        codes = Labels(classes, np.empty(0, np.int64)).recode(labels, len(labels))
        target = codes[target]
    X = schema.encode(frame[columns.features])
    categorical = np.array([column.categories is not None for column in schema.columns])
    return bin_table(X, categorical, edges=edges)[0], target


def _batch(frame: Any, number: int) -> Batch:
    """Return a partition as a batch whose errors name it."""
    return Batch(Path(f"partition {number}"), 0, frame.reset_index(drop=True))
