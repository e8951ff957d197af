"""A training set of rows drawn from files, which can give all other rows as well.

Models are compared on the sample, in memory; the one that is chosen is trained on all rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.kernels.binning import find_edges
from thrifty.learn.binned import BinnedParts
from thrifty.learn.dataset import Rows, TrainingSet
from thrifty.learn.long_training_set import (
    LongTrainingSet,
    Report,
    check_room,
    read_first,
    write_bins,
)
from thrifty.long_table import Table

__all__ = ["SampledTrainingSet"]


class LongTarget(NamedTuple):
    """The target of all rows of a table in files.

    `codes` are class codes or numbers, `classes` the labels or None; `weight` is None or that of
    each row.
    """

    codes: NDArray[Any]
    classes: NDArray[Any] | None
    weight: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """Number of rows with a positive weight."""
        return len(self.codes) if self.weight is None else int(np.count_nonzero(self.weight))


@dataclass(frozen=True, eq=False)
class SampledTrainingSet(TrainingSet):
    """A `TrainingSet` of rows that were drawn from a table in files.

    Parameters
    ----------
    source : Table
        The table.
    numbers : int array of shape (n,)
        Number of each row in the files.
    drawn : int array
        Numbers of all rows that were drawn; this set may be a part of them.
    others : LongTarget
        The target and the weights of all rows in the files.
    """

    source: Table = field(kw_only=True)
    numbers: NDArray[np.intp] = field(kw_only=True)
    drawn: NDArray[np.intp] = field(kw_only=True)
    others: LongTarget = field(kw_only=True)

    @classmethod
    def draw(
        cls,
        task: str,
        table: Table,
        prices: PriceList | None,
        random: np.random.RandomState,
        report: Report | None = None,
    ) -> Self:
        """Draw up to 100,000 rows by their numbers; check all rows of the files.

        Raises
        ------
        DataError
            If anything cannot be used; it names the file, the column, the row and the remedy.
        """
        frames: list[Any] = []
        found = read_first(task, table, random, frames, report)
        import pandas as pd  # not before a table is read from files

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of categories in rows that are not drawn
            found.contents.schema()  # what is wrong is reported with the name of the file
        frame = pd.concat(frames, ignore_index=True)
        codes, labels = found.contents.read_target(table.n_rows)
        weight = None if found.weight is None else found.weight[found.sample]
        target = codes[found.sample] if labels is None else labels[codes[found.sample]]
        train = TrainingSet.read(task, frame[table.features], target, prices, weight)
        return cls(
            **{each.name: getattr(train, each.name) for each in fields(train)},
            source=table, numbers=found.sample, drawn=found.sample,
            others=LongTarget(codes, labels, found.weight),
        )  # fmt: skip

    def take(self, rows: Rows) -> Self:
        """Keep some of the rows, with the schema as it is."""
        return replace(super().take(rows), numbers=self.numbers[rows])

    @property
    def has_others(self) -> bool:
        """Whether the files have more rows than were drawn."""
        return self.others.n_rows > len(self.drawn)

    def check_room(self) -> None:
        """Raise an OSError if the temporary folder has no room for the bins of all rows."""
        check_room(self.others.n_rows * self.n_features)

    def all_rows(self, held_out: NDArray[np.intp], report: Report | None = None) -> LongTrainingSet:
        """Bin all rows of the files but those with some numbers, by the schema of this set."""
        rows, codes = self.rows_without(held_out)
        edges, weight = self.find_edges(), self.others.weight
        bins, shown = write_bins(self.source, self.schema, edges, self.categorical, rows, report)
        return LongTrainingSet(
            self.task, None, self.schema, self.prices, shown, codes[rows],
            None if weight is None else weight[rows], self.classes,
            binned=BinnedParts(bins, edges, self.categorical, len(rows)),
            ranges=self.value_ranges(), random=np.random.RandomState(0),
        )  # fmt: skip

    def find_edges(self) -> list[NDArray[np.float64]]:
        """Return the edges of the bins of each column, placed by the rows of this set."""
        return [
            np.empty(0) if is_text else find_edges(np.ascontiguousarray(column, dtype=np.float64))
            for column, is_text in zip(self.X.T, self.categorical, strict=True)
        ]

    def rows_without(self, held_out: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the numbers of the rows of the files to train on, and the target of all rows.

        Rows of classes that this set does not have are left out, with a warning.
        """
        codes, labels, weight = self.others
        kept = np.ones(len(codes), dtype=bool) if weight is None else weight > 0
        kept[held_out] = False
        if labels is not None and self.classes is not None:
            place = {label: code for code, label in enumerate(self.classes.tolist())}
            codes = np.array([place.get(label, -1) for label in labels.tolist()])[codes]
            if (n_unknown := int(np.count_nonzero(kept & (codes < 0)))) > 0:
                names = sorted(set(labels.tolist()) - set(place), key=str)
                warnings.warn(
                    f"table: {n_unknown} rows of class {names[:5]} are left out, as none is among "
                    f"the {len(self.drawn)} rows that were drawn",
                    stacklevel=2,
                )
                kept &= codes >= 0
        return np.flatnonzero(kept), codes
