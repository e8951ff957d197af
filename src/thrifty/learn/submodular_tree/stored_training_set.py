"""A training set that is read from files in batches, and kept as rows in a memory map."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from thrifty.costs import PriceList
from thrifty.learn.dataset import TrainingSet, bind_prices
from thrifty.learn.long_training_set import append_part, check_room, naming_file, read_first
from thrifty.long_table import Table

__all__ = ["StoredTrainingSet"]


@dataclass(frozen=True, eq=False)
class StoredTrainingSet(TrainingSet):
    """A `TrainingSet` whose rows `X` are a memory map of a temporary file, which has no name.

    Parameters
    ----------
    ranges : list of d pairs or None
        Smallest and largest value of each column; None for categories.
    """

    ranges: list[list[float] | None] = field(kw_only=True)

    @classmethod
    def read_files(
        cls, task: str, table: Table, prices: PriceList | None, random: np.random.RandomState
    ) -> Self:
        """Read a table from its files; see `LongTrainingSet.read_files`."""
        contents = read_first(task, table, random).contents
        schema = contents.schema()
        bound = bind_prices(prices, schema)
        n, d = table.n_rows, len(schema)
        target, classes = contents.read_target(n)
        folder = check_room(8 * n * d)
        with tempfile.TemporaryFile(prefix="thrifty-rows-", dir=folder, buffering=0) as file:
            for batch in table.batches():
                with naming_file(batch):
                    rows = schema.encode(batch.frame[list(table.features)], None, batch.first_row)
                append_part(file, np.ascontiguousarray(rows, dtype=np.float64), folder)
            stored = np.memmap(file, np.float64, "r", shape=(n, d))
        return cls(
            task, None, schema, bound, stored, target, None, classes,
            ranges=contents.ranges(schema),
        )  # fmt: skip

    def value_ranges(self) -> list[list[float] | None]:
        """Return the smallest and the largest value of each column; None for categories."""
        return self.ranges
