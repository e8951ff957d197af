"""A training set that is read from files in batches, and kept as bins in a memory map.

Two passes over the files: the first learns categories, target and ranges, and takes the sample that
places the bins; the second bins every value. What is kept in memory is the target, and what a
learner needs for each row.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Column, Schema
from thrifty.bundle.columns import (
    MAX_CATEGORIES,
    NO_VALUES,
    check_exact,
    check_finite,
    each_column,
    is_number,
    join_rarest,
    learn_categories,
    read_column,
    to_numbers,
)
from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.kernels.binning import SAMPLE, bin_table, find_edges, most_bins
from thrifty.learn.binned import BinnedParts
from thrifty.learn.dataset import TrainingSet, bind_prices, read_target
from thrifty.learn.weights import comparable_weights
from thrifty.long_table import Batch, Table

__all__ = [
    "MAX_KEPT",
    "Contents",
    "LongTrainingSet",
    "Report",
    "append_part",
    "check_room",
    "naming_file",
    "read_first",
    "weights_of",
    "write_bins",
]

# Is told which share of the rows was read.
Report = Callable[[float], None]

# Rows of a part of the memory map: while it is filled, it is held in memory.
PART_ROWS = 1 << 18
# Training rows that are kept as they are, to say what a model depends on.
MAX_KEPT = 500


@dataclass(frozen=True, eq=False)
class LongTrainingSet(TrainingSet):
    """A `TrainingSet` of which only the bins of the rows are kept.

    `X` holds some of the rows, evenly spaced. Rows and columns cannot be taken from it.

    Parameters
    ----------
    binned : BinnedParts
        The bins of all rows, in a temporary file that is removed when they are no longer used.
    ranges : list of d pairs or None
        Smallest and largest value of each column; None for categories.
    random : RandomState
        What drew the sample that places the bins, as it was left.
    """

    binned: BinnedParts = field(kw_only=True)
    ranges: list[list[float] | None] = field(kw_only=True)
    random: np.random.RandomState = field(kw_only=True)

    @classmethod
    def read_files(
        cls, task: str, table: Table, prices: PriceList | None, random: np.random.RandomState
    ) -> Self:
        """Read a table from its files; `random` draws the sample that places the bins.

        The bins are those of the same table in memory, and so is every model.

        Raises
        ------
        DataError
            If anything cannot be used; it names the file, the column, the row and the remedy.
        OSError
            If the temporary folder has no room for the bins.
        """
        found = read_first(task, table, random)
        contents, rows, weight = found.contents, found.rows, found.weight
        schema = contents.schema()
        bound = bind_prices(prices, schema)
        target, classes = contents.read_target(table.n_rows)
        categorical = np.array([column.categories is not None for column in schema.columns])
        most = most_bins(len(rows), len(categorical))
        edges = [
            np.empty(0) if categorical[j] else find_edges(contents.sample[str(name)], most)
            for j, name in enumerate(schema.names)
        ]
        bins, shown = write_bins(table, schema, edges, categorical, rows)
        return cls(
            task, None, schema, bound, shown, target if weight is None else target[rows],
            None if weight is None else weight[rows], classes,
            binned=BinnedParts(bins, edges, categorical, len(rows)),
            ranges=contents.ranges(schema), random=random,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.y)

    def value_ranges(self) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        return self.ranges

    def _weighted_rows(self) -> Self:
        if self.weight is not None and not np.all(self.weight > 0):
            raise DataError("class_weight: a class has weight 0; drop its rows from the files")
        return self


class FirstPass(NamedTuple):
    """What the first pass over the files finds; `rows` and `sample` are numbers of rows."""

    contents: Contents
    weight: NDArray[np.float64] | None
    rows: NDArray[np.intp]
    sample: NDArray[np.intp]


def read_first(
    task: str,
    table: Table,
    random: np.random.RandomState,
    frames: list[Any] | None = None,
    report: Report | None = None,
) -> FirstPass:
    """Read all rows once; `frames` gets the rows of the sample, if they are wanted."""
    n_rows = table.n_rows
    if n_rows < 2:
        raise DataError(f"table: {n_rows} rows in {len(table.files)} files; give at least 2 rows")
    weight, rows = None, np.arange(n_rows)
    if table.weight is not None:
        weight = _read_weights(table)
        rows = np.flatnonzero(weight)
    n = len(rows)
    # By the numbers of rows, not by files: the draw is that of the same table in memory.
    sample = rows if n <= SAMPLE else rows[np.sort(random.choice(n, SAMPLE, replace=False))]
    contents = Contents(task, table, len(sample))
    first = 0
    for batch in table.batches():
        last = first + len(batch.frame)
        begin, end = np.searchsorted(sample, [first, last])
        kept = None if weight is None else weight[first:last] > 0
        contents.add(batch, sample[begin:end] - first, int(begin), kept)
        if frames is not None:
            frames.append(batch.frame.iloc[sample[begin:end] - first])
        first = last
        if report is not None:
            report(first / n_rows)
    return FirstPass(contents, weight, rows, sample)


class Columns(Protocol):
    """The columns of a table: features, the target, and which of them hold text or categories."""

    @property
    def features(self) -> list[str]: ...
    @property
    def target(self) -> str: ...
    @property
    def text_columns(self) -> set[str]: ...


class Contents:
    """What the first pass finds: categories, the sample, ranges and the target."""

    def __init__(self, task: str, table: Columns, n_sample: int) -> None:
        self.task, self.table = task, table
        self.counts: dict[str, Counter[Any]] = {}
        self.declared: dict[str, tuple[Any, ...] | None] = {}
        # Where each column of text holds what is not a number for the first time, for messages.
        self.first_text: dict[str, str] = {}
        self.sample = {name: np.full(n_sample, np.nan) for name in table.features}
        self.low = dict.fromkeys(table.features, np.nan)
        self.high = dict.fromkeys(table.features, np.nan)
        self.codes: list[NDArray[Any]] = []
        self.labels: dict[Any, int] = {}

    def add(
        self,
        batch: Batch,
        sampled: NDArray[np.intp],
        place: int,
        kept: NDArray[np.bool_] | None = None,
    ) -> None:
        """Read a batch; its rows `sampled` come to `place` in the sample.

        `kept` are the rows that are trained on, if not all of them.
        """

        def read(j: int) -> None:
            name = self.table.features[j]
            cells, declared = read_column(batch.frame[name])
            if name in self.table.text_columns:
                counts = batch.frame[name].value_counts()
                found = Counter({label: count for label, count in counts.items() if count})
                self.counts.setdefault(name, Counter()).update(found)
                if name not in self.first_text:
                    self._note_text(batch, name, found)
                if self.declared.setdefault(name, declared) != declared:
                    self.declared[name] = None  # the files disagree: sort the categories
                return
            numbers = check_finite(to_numbers(cells))
            check_exact(cells)
            self.sample[name][place : place + len(sampled)] = numbers[sampled]
            if kept is not None:
                numbers = numbers[kept]
            if not len(numbers):
                return
            self.low[name] = np.fmin(self.low[name], np.fmin.reduce(numbers))
            self.high[name] = np.fmax(self.high[name], np.fmax.reduce(numbers))

        with naming_file(batch):
            each_column(self.table.features, read, batch.first_row)
            self.add_target(batch)

    def _note_text(self, batch: Batch, name: str, found: Counter[Any]) -> None:
        """Remember the first cell of a column that is text, and no number."""
        words = [label for label in found if isinstance(label, str) and not is_number(label)]
        if words:
            row = batch.first_row + int(batch.frame[name].isin(words).to_numpy().argmax())
            self.first_text[name] = f"{batch.path}, row {row}"

    def add_target(self, batch: Batch) -> None:
        """Add class codes in the order of their first rows, or numbers."""
        name = self.table.target
        column = batch.frame[name]
        missing = column.isna().to_numpy()
        if missing.any():
            row = batch.first_row + int(missing.argmax())
            raise DataError(f"target {name!r} has no value in row {row}; drop such rows")
        if name not in self.table.text_columns:
            text = [isinstance(label, str) for label in column] if column.dtype == object else []
            if any(text):
                row = text.index(True)
                shown = f"{column.iloc[row]!r} in row {batch.first_row + row}"
                raise DataError(f"target {name!r} holds {shown}, but numbers in the first rows")
        if self.task != "classification":
            self.codes.append(read_target(self.task, column.to_numpy(), len(column))[0])
            return
        codes, labels = column.factorize()
        known = [self.labels.setdefault(label, len(self.labels)) for label in labels.tolist()]
        self.codes.append(np.array(known, dtype=np.int32)[codes])

    def merge(self, other: Contents) -> None:
        """Add what was found in other rows, but neither their sample nor their target."""
        for name, counts in other.counts.items():
            self.counts.setdefault(name, Counter()).update(counts)
            declared = other.declared[name]
            if self.declared.setdefault(name, declared) != declared:
                self.declared[name] = None
        self.first_text = {**other.first_text, **self.first_text}
        for name in self.table.features:
            self.low[name] = np.fmin(self.low[name], other.low[name])
            self.high[name] = np.fmax(self.high[name], other.high[name])
        for label in other.labels:
            self.labels.setdefault(label, len(self.labels))

    def schema(self) -> Schema:
        """Return the schema of the whole table, sorted by name."""

        def learn(j: int) -> Column:
            name = self.table.features[j]
            if name not in self.counts:
                if np.isnan(self.low[name]):
                    raise DataError(NO_VALUES)
                return Column(name)
            counts, declared = self.counts[name], self.declared[name]
            cells = np.fromiter(counts, dtype=object, count=len(counts))
            try:
                categories = learn_categories(cells, declared, counts)
            except DataError as error:
                where = f" (text in {self.first_text[name]})" if name in self.first_text else ""
                raise DataError(f"{error}{where}") from None
            if categories is None or len(categories) <= MAX_CATEGORIES:
                return Column(name, categories)
            kept, other, n_rows = join_rarest(counts, categories)
            warnings.warn(
                f"table: column {name!r} has {len(categories)} categories: the {len(kept) - 1} "
                f"most frequent are kept, all others ({n_rows} rows) become {other!r}",
                stacklevel=2,
            )
            return Column(name, kept, other)

        return Schema(tuple(each_column(self.table.features, learn)), named=True).sort()

    def read_target(self, n: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return class codes and classes, or numbers and None."""
        codes = np.concatenate(self.codes)
        if self.task != "classification":
            return read_target(self.task, codes, n)
        # Each label once: the order of the classes, and what is wrong with them.
        order, classes = read_target(self.task, np.array([*self.labels]), len(self.labels))
        return order[codes], classes

    def ranges(self, schema: Schema) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        return [
            [float(self.low[str(c.name)]), float(self.high[str(c.name)])]
            if c.categories is None
            else None
            for c in schema.columns
        ]


def _read_weights(table: Table) -> NDArray[np.float64]:
    """Return the weight of each row; those too small to count are 0."""
    assert table.weight is not None
    weight = np.concatenate(
        [weights_of(batch, table.weight) for batch in table.batches([table.weight])]
    )
    if not weight.any():
        raise DataError(f"table: column {table.weight!r}: every weight is zero")
    return comparable_weights(f"table: column {table.weight!r}", weight)


def weights_of(batch: Batch, name: str) -> NDArray[np.float64]:
    """Return the weights in a column of a batch; raise a DataError for what is none."""
    import pandas as pd  # not before a table is read from files

    cells = batch.frame[name]
    found = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{batch.path}: column {name!r}: {cells.iloc[row]} in row {batch.first_row + row} is "
            "not a weight; give a finite number of 0 or more"
        )
    return np.asarray(found)


def write_bins(
    table: Table,
    schema: Schema,
    edges: list[NDArray[np.float64]],
    categorical: NDArray[np.bool_],
    rows: NDArray[np.intp],
    report: Report | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Bin some rows into a temporary file; return its memory map, and some encoded rows.

    `rows` are the numbers of the rows, increasing. Categories that the schema does not know count
    as missing.
    """
    n, d = len(rows), len(schema)
    size = min(n, PART_ROWS)
    n_parts, step = -(-n // size), -(-n // MAX_KEPT)
    part, shown = np.zeros((d, size), dtype=np.uint8), np.empty((-(-n // step), d))
    folder = check_room(n_parts * d * size)
    # Written, not mapped: a disk that is full is an error here, and the end of the process there.
    with tempfile.TemporaryFile(prefix="thrifty-bins-", dir=folder, buffering=0) as file:
        first = read = 0
        for batch in table.batches():
            with naming_file(batch):
                X = schema.encode(batch.frame[table.features], None, batch.first_row, {})
            begin, end = np.searchsorted(rows, [read, read + len(X)])
            if end - begin < len(X):
                X = X[rows[begin:end] - read]
            read += len(batch.frame)
            shown[-(-first // step) : -(-(first + len(X)) // step)] = X[-first % step :: step]
            bins, _ = bin_table(X, categorical, edges=edges)
            done = 0
            while done < len(X):
                place = first % size
                taken = min(size - place, len(X) - done)
                part[:, place : place + taken] = bins[:, done : done + taken]
                first, done = first + taken, done + taken
                if first % size == 0 or first == n:
                    append_part(file, part, folder)
            if report is not None:
                report(read / table.n_rows)
        stored = np.memmap(file, np.uint8, "r", shape=(n_parts, d, size))
    return stored, shown


def check_room(size: int) -> str:
    """Return the temporary folder; raise an OSError if it has no room for so many bytes."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < size:
        raise _no_room(folder, size)
    return folder


def append_part(file: FileIO, part: NDArray[Any], folder: str) -> None:
    """Append a part to the temporary file, which has no buffer that is left to write."""
    data = memoryview(part.tobytes())
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        raise _no_room(folder, part.nbytes, error.errno) from error


def _no_room(folder: str, size: int, number: int | None = None) -> OSError:
    """Return the error that the temporary folder is full."""
    return OSError(
        number or errno.ENOSPC,
        f"no room for {-(-size >> 20)} MB of the table; make room, or name another folder in "
        "the environment variable TMPDIR",
        folder,
    )


@contextmanager
def naming_file(batch: Batch) -> Iterator[None]:
    """Let a `DataError` of the block name the file of a batch."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{batch.path}: {str(error).removeprefix('table: ')}") from error
