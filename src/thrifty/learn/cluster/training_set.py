"""A training set whose rows stay on the workers of a Dask cluster, as bins.

Three passes over the partitions: the first learns categories, labels and ranges, the second takes
the sample that places the bins, the third bins every value. Weights are looked at before. A frame
that fits into the memory of the cluster is read once if it was persisted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from thrifty.bundle import Schema
from thrifty.bundle.columns import read_column, to_numbers
from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.kernels.binning import SAMPLE, bin_table, find_edges, most_bins
from thrifty.learn.binned import BinnedParts
from thrifty.learn.cluster.partitions import partition_names
from thrifty.learn.cluster.parts import Parts, finish_tasks
from thrifty.learn.dataset import TrainingSet, bind_prices, read_target
from thrifty.learn.long_training_set import MAX_KEPT, Contents, weights_of
from thrifty.learn.targets import Labels
from thrifty.learn.weights import least_weight
from thrifty.long_table import Batch

__all__ = [
    "BinnedRows", "ClusterTrainingSet", "FrameColumns", "bin_rows", "by_partition", "is_dask",
    "join_rows", "tasks_of",
]  # fmt: skip

Floats = NDArray[np.float64]


def is_dask(table: Any) -> bool:
    """Return whether a table is a collection of Dask, without importing it."""
    return type(table).__module__.split(".")[0] in ("dask", "dask_expr")


class FrameColumns(NamedTuple):
    """The columns of a frame: features, the target, and which of them hold text or categories.

    `weight` is None, or a column of weights; rows below `least_weight` are not trained on.
    """

    features: list[str]
    target: str
    text_columns: set[str]
    weight: str | None = None
    least_weight: float = 0.0


@dataclass(frozen=True, eq=False)
class ClusterTrainingSet(TrainingSet):
    """A `TrainingSet` of which the workers keep the bins, the target and the weights.

    `X` holds some of the rows, evenly spaced; `y` is empty, and `weight` is None.

    Parameters
    ----------
    client : distributed.Client
    tasks : list of Delayed
        Each computes the `BinnedRows` of one partition.
    n_rows : list of int
        Number of rows of each partition.
    names : list of str
        How messages refer to each partition.
    class_counts : int array of shape (K,)
        Rows of each class.
    weight_range : array of shape (K, 2)
        Smallest and largest weight of the rows of each class.
    binned : BinnedParts
        What the bins mean, without rows.
    ranges : list of d pairs or None
        Smallest and largest value of each column; None for categories.
    random : RandomState
        What drew the sample that places the bins, as it was left.
    is_weighted : bool
        Whether rows have weights.
    class_weight : array of shape (K,) or None
        What the weights of the rows of each class are multiplied by.
    """

    client: Any = field(kw_only=True)
    tasks: list[Any] = field(kw_only=True)
    n_rows: list[int] = field(kw_only=True)
    names: list[str] = field(kw_only=True)
    class_counts: NDArray[np.int64] = field(kw_only=True)
    weight_range: Floats = field(kw_only=True)
    binned: BinnedParts = field(kw_only=True)
    ranges: list[list[float] | None] = field(kw_only=True)
    random: np.random.RandomState = field(kw_only=True)
    is_weighted: bool = field(kw_only=True)
    class_weight: Floats | None = field(kw_only=True, default=None)

    @classmethod
    def read_frame(
        cls,
        task: str,
        frame: Any,
        y: Any,
        prices: PriceList | None,
        random: np.random.RandomState,
        sample_weight: Any = None,
    ) -> Self:
        """Read a Dask DataFrame, its target and weights: Dask Series with the same partitions.

        Raises
        ------
        DataError
            If anything cannot be used; it names the partition, the column, the row and the remedy.
        """
        client, columns, partitions = _open_frame(frame, y, sample_weight)

        def run(function: Callable[..., Any], about: Any, *each: Sequence[Any]) -> list[Any]:
            """Run a function on every partition, with further arguments for all and for each."""
            futures = client.compute(tasks_of(partitions, function, about, *each))
            finish_tasks(client, futures, names)
            return list(client.gather(futures))

        names = partition_names(partitions)
        found = run(summarize, (task, columns), names)
        n_rows = [part.n_rows for part in found]
        total = sum(n_rows)
        if total < 2:
            raise DataError(f"table: {total} rows; give at least 2 rows")
        whole, classes = _merge(task, columns, found)
        schema = whole.contents.schema()
        _check_text(schema, columns)
        bound = bind_prices(prices, schema)
        # By the number of the row in the whole table: the sample of the same table in memory.
        sample = np.arange(total)
        if total > SAMPLE:
            sample = np.sort(random.choice(total, SAMPLE, replace=False))
        shown = np.arange(0, total, -(-total // MAX_KEPT))
        rows = by_partition(sample, n_rows), by_partition(shown, n_rows)
        taken = run(take_rows, (schema, columns), *rows)
        values = np.concatenate([rows for rows, _ in taken])
        categorical = np.array([column.categories is not None for column in schema.columns])
        most = most_bins(total, len(schema))
        edges = [
            np.empty(0) if is_text else find_edges(np.ascontiguousarray(column), most)
            for column, is_text in zip(values.T, categorical, strict=True)
        ]
        tasks = tasks_of(partitions, bin_rows, (task, columns, schema, edges, classes), names)
        none = np.empty((0, len(schema), 1), np.uint8)
        return cls(
            task, None, schema, bound, np.concatenate([rows for _, rows in taken]), np.empty(0),
            None, classes, client=client, class_counts=whole.class_counts,
            weight_range=whole.weight_range, is_weighted=columns.weight is not None,
            tasks=[one for one, rows in zip(tasks, n_rows, strict=True) if rows],
            names=[name for name, rows in zip(names, n_rows, strict=True) if rows],
            n_rows=[rows for rows in n_rows if rows],
            binned=BinnedParts(none, edges, categorical, total),
            ranges=whole.contents.ranges(schema), random=random,
        )  # fmt: skip

    def __len__(self) -> int:
        return sum(self.n_rows)

    def value_ranges(self) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        return self.ranges

    @cached_property
    def rows(self) -> list[Any]:
        """Futures of the `BinnedRows` of each partition, which the workers keep."""
        futures = self.client.compute(self.tasks)
        finish_tasks(self.client, futures, self.names)
        return list(futures)

    @cached_property
    def class_shares(self) -> Floats:
        """Weighted share of each class, (K,)."""
        counts = self.class_counts
        if self.is_weighted:
            # Of floats, in the order of the rows, as in memory: by one worker.
            sums = self.client.submit(weigh_classes, self.rows, self.class_weight, self.n_classes)
            counts = sums.result()
        return np.asarray(counts / counts.sum())

    def with_class_weight(self, class_weight: dict[Any, float] | str | None) -> Self:
        """Multiply the weights of the rows by those of their classes, as scikit-learn does."""
        if class_weight is None:
            return self
        assert self.classes is not None
        present = self.class_counts > 0
        factors = np.ones(len(present))
        if class_weight == "balanced":
            counts = self.class_counts[present]
            factors[present] = counts.sum() / (len(counts) * counts)
        else:
            labels = self.classes[present]
            factors[present] = compute_class_weight(class_weight, classes=labels, y=labels)
        extremes = (factors[:, np.newaxis] * self.weight_range)[present]
        least = least_weight("class_weight", float(extremes.max()))
        if extremes.min() < least:
            raise DataError("class_weight: a class has weight 0; drop its rows from the table")
        return replace(self, class_weight=factors, is_weighted=True)

    def place(self, make: Callable[[list[Any], Any], Any], setup: Any) -> Parts:
        """Bin all rows on the workers, and make a part of type `make` on each of them."""
        return Parts(self.client, self.tasks, self.n_rows, self.names, make, setup)


def _open_frame(frame: Any, y: Any, weight: Any) -> tuple[Any, FrameColumns, list[Any]]:
    """Return the client, the columns, and the partitions with their target and weights."""
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
    names = list(frame.columns)
    other = [name for name in names if not isinstance(name, str)]
    if other:
        raise DataError(f"table: the column name {other[0]!r} is not text; rename it")
    series = {"target": y} if weight is None else {"target": y, "sample_weight": weight}
    for what, values in series.items():
        if not isinstance(values, dd.Series):
            raise DataError(f"{what}: give a Dask Series, such as a column of the same DataFrame")
        if frame.npartitions != values.npartitions:
            raise DataError(
                f"{what}: {values.npartitions} partitions, but {frame.npartitions} of the table; "
                "take it from the same DataFrame"
            )
        name = values.name if isinstance(values.name, str) and values.name not in names else what
        while name in names:
            name += "_"
        names.append(name)
    features, target = names[: len(frame.columns)], names[len(frame.columns)]
    kinds = {**dict(frame.dtypes), target: y.dtype}
    text = {name for name, kind in kinds.items() if kind.kind not in "biuf"}
    columns = FrameColumns(features, target, text)
    if weight is not None:
        columns = columns._replace(weight=names[-1], least_weight=_least_weight(client, weight))
    joined = frame.map_partitions(
        _join, *series.values(), names=names[len(features) :], align_dataframes=False,
        enforce_metadata=False,
    )  # fmt: skip
    return client, columns, joined.to_delayed()


def _join(frame: Any, *series: Any, names: list[str]) -> Any:
    """Return the rows of a partition with their target and weights."""
    for name, values in zip(names, series, strict=True):
        if len(frame) != len(values):
            raise DataError(
                f"{name}: {len(values)} values for the {len(frame)} rows of a partition"
            )
    columns = zip(names, series, strict=True)
    return frame.assign(**{name: values.to_numpy() for name, values in columns})


def _least_weight(client: Any, weight: Any) -> float:
    """Check the weights of all rows; return the smallest one that counts."""
    partitions = weight.to_delayed()
    names = partition_names(partitions)
    futures = client.compute(tasks_of(partitions, largest_weight, None, names))
    finish_tasks(client, futures, names)
    largest = max(client.gather(futures))
    if largest == 0:
        raise DataError("sample_weight: every weight is zero; give a row a positive one")
    return least_weight("sample_weight", largest)


def largest_weight(weight: Any, about: None, name: str) -> float:
    """Return the largest weight of a partition; raise a DataError for what is none."""
    column = weight.name or "sample_weight"
    return float(weights_of(_batch(weight.to_frame(column), name), column).max(initial=0.0))


def tasks_of(
    partitions: list[Any], function: Callable[..., Any], about: Any, *each: Sequence[Any]
) -> list[Any]:
    """Return a task for each partition, with further arguments for all of them and for each."""
    from dask.delayed import delayed

    call = delayed(function, pure=False)
    shared = delayed(about, pure=False, traverse=False)  # a task of its own: sent once
    return [call(part, shared, *rest) for part, *rest in zip(partitions, *each, strict=True)]


class Summary(NamedTuple):
    """What is found in a partition: rows that are trained on, contents, and weights by label.

    `class_counts` (labels,) are the rows of each label, and `weight_range` (labels, 2) their
    smallest and largest weight; where the target holds numbers, there are no labels.
    """

    n_rows: int
    contents: Contents
    class_counts: NDArray[np.int64]
    weight_range: Floats


def summarize(frame: Any, about: tuple[str, FrameColumns], name: str) -> Summary:
    """Look at the rows of a partition."""
    task, columns = about
    kept, contents = _kept(frame, columns), Contents(task, columns, 0)
    contents.add(_batch(frame, name), np.empty(0, np.intp), 0, kept)
    n_rows = len(frame) if kept is None else int(kept.sum())
    codes, contents.codes, contents.sample = np.concatenate(contents.codes), [], {}
    if task != "classification":
        return Summary(n_rows, contents, np.empty(0, np.int64), np.empty((0, 2)))
    extremes = np.ones((len(contents.labels), 2))
    if kept is not None:
        codes, weight = codes[kept], frame[columns.weight].to_numpy(np.float64)[kept]
        extremes[:] = np.inf, 0.0
        np.minimum.at(extremes[:, 0], codes, weight)
        np.maximum.at(extremes[:, 1], codes, weight)
    return Summary(n_rows, contents, np.bincount(codes, minlength=len(extremes)), extremes)


def _merge(
    task: str, columns: FrameColumns, found: Sequence[Summary]
) -> tuple[Summary, NDArray[Any] | None]:
    """Return the summary of all partitions, in the order of the classes, and the classes."""
    n_rows, contents = sum(part.n_rows for part in found), Contents(task, columns, 0)
    for part in found:
        contents.merge(part.contents)
    counts = np.zeros(len(contents.labels), np.int64)
    extremes = np.tile([np.inf, 0.0], (len(counts), 1))
    if task != "classification":
        return Summary(n_rows, contents, counts, extremes), None
    place, classes = read_target(task, np.array([*contents.labels]), len(counts))
    code = dict(zip(contents.labels, place, strict=True))
    for part in found:
        codes = [code[label] for label in part.contents.labels]
        counts[codes] += part.class_counts
        extremes[codes, 0] = np.minimum(extremes[codes, 0], part.weight_range[:, 0])
        extremes[codes, 1] = np.maximum(extremes[codes, 1], part.weight_range[:, 1])
    return Summary(n_rows, contents, counts, extremes), classes


def by_partition(rows: NDArray[np.intp], n_rows: Sequence[int]) -> list[NDArray[np.intp]]:
    """Return the rows of each partition, numbered within it, of rows of the whole table in order.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cluster.training_set import by_partition
    >>> by_partition(np.array([0, 3, 4]), [3, 2])
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
    frame: Any,
    about: tuple[Schema, FrameColumns],
    sample: NDArray[np.intp],
    shown: NDArray[np.intp],
) -> tuple[Floats, Floats]:
    """Return some rows of a partition, encoded: to place the bins by, and to keep."""
    schema, columns = about
    frame, names = _trained_on(frame, columns), [str(name) for name in schema.names]
    values = np.full((len(sample), len(names)), np.nan)
    for j, column in enumerate(schema.columns):
        if column.categories is None:
            values[:, j] = to_numbers(read_column(frame[names[j]])[0])[sample]
    return values, schema.encode(frame[names].iloc[shown]) if len(shown) else values[:0]


class BinnedRows(NamedTuple):
    """Bins (d, m), class codes or numbers (m,), and weights (m,), or None, of some rows."""

    bins: NDArray[np.uint8]
    target: NDArray[Any]
    weight: Floats | None


def bin_rows(frame: Any, about: tuple[Any, ...], name: str) -> BinnedRows:
    """Bin the rows of a partition."""
    task, columns, schema, edges, classes = about
    frame = _trained_on(frame, columns)
    contents = Contents(task, columns, 0)
    contents.add_target(_batch(frame, name))
    target = np.concatenate(contents.codes)
    if task == "classification":
        labels = np.array([*contents.labels])
        codes = Labels(classes, np.empty(0, np.int64)).recode(labels, len(labels))
        target = codes[target]
    # Of files, only some rows were looked at: a category that is not known counts as missing.
    X = schema.encode(frame[columns.features], unknown={})
    categorical = np.array([column.categories is not None for column in schema.columns])
    weight = None if columns.weight is None else frame[columns.weight].to_numpy(np.float64)
    return BinnedRows(bin_table(X, categorical, edges=edges)[0], target, weight)


def join_rows(partitions: Sequence[BinnedRows], class_weight: Floats | None) -> BinnedRows:
    """Return the rows of several partitions, with weights times those of their classes."""
    bins, targets, weights = zip(*partitions, strict=True)
    target = np.concatenate(targets)
    weight = None if weights[0] is None else np.concatenate(weights)
    if class_weight is not None:
        balance = class_weight[target]
        weight = balance if weight is None else weight * balance
    return BinnedRows(np.concatenate(bins, axis=1), target, weight)


def weigh_classes(
    partitions: Sequence[BinnedRows], class_weight: Floats | None, n_classes: int
) -> Floats:
    """Return the weight of each class, (K,), of the rows of all partitions."""
    _, codes, weight = join_rows(partitions, class_weight)
    return np.asarray(np.bincount(codes, weight, n_classes), dtype=np.float64)


def _kept(frame: Any, columns: FrameColumns) -> NDArray[np.bool_] | None:
    """Return which rows are trained on; None for all."""
    if columns.weight is None:
        return None
    return np.asarray(frame[columns.weight].to_numpy(np.float64) >= columns.least_weight)


def _trained_on(frame: Any, columns: FrameColumns) -> Any:
    """Return the rows that are trained on."""
    kept = _kept(frame, columns)
    return frame if kept is None else frame[kept]


def _batch(frame: Any, name: str) -> Batch:
    """Return a partition as a batch whose errors name it."""
    return Batch(Path(name), 0, frame.reset_index(drop=True))
