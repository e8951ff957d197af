"""All rows of a table in files, read and binned by the workers of a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.binned import BinnedParts
from thrifty.learn.cluster.training_set import (
    BinnedRows,
    ClusterTrainingSet,
    FrameColumns,
    bin_rows,
    by_partition,
    tasks_of,
)
from thrifty.learn.long_training_set import MAX_KEPT
from thrifty.learn.sampled_training_set import SampledTrainingSet
from thrifty.learn.weights import least_weight
from thrifty.long_table import Table, read_file

__all__ = ["share_files", "workers_see"]


def workers_see(client: Any, table: Table) -> bool:
    """Return whether all workers of a cluster can read the files of a table."""
    paths = [str(path.absolute()) for path in table.files]
    found = client.run(_can_read, paths)
    return bool(found) and all(found.values())


def _can_read(paths: list[str]) -> bool:
    return all(os.access(path, os.R_OK) for path in paths)


def share_files(
    train: SampledTrainingSet, held_out: NDArray[np.intp], client: Any
) -> ClusterTrainingSet:
    """Let workers bin all rows of the files but those with some numbers.

    The rows and bins are those of `SampledTrainingSet.all_rows`.

    Parameters
    ----------
    train : SampledTrainingSet
        Its schema and rows say what the bins are.
    held_out : int array
        Numbers of rows that are left out.
    client : distributed.Client
    """
    table, (_, _, weight) = train.source, train.others
    rows, codes = train.rows_without(held_out)
    n_rows = [len(own) for own in by_partition(rows, table.file_rows)]
    columns = FrameColumns(table.features, table.target, table.text_columns)
    if weight is not None:
        least = least_weight("weight", float(weight.max()))
        columns = columns._replace(weight=table.weight, least_weight=least)
    edges = train.find_edges()
    paths = [str(path.absolute()) for path in table.files]
    about = table, (train.task, columns, train.schema, edges, train.classes)
    tasks = tasks_of(paths, bin_file, about, by_partition(np.sort(held_out), table.file_rows))
    counts, weight_range = np.zeros(train.n_classes, np.int64), np.ones((train.n_classes, 2))
    for k in range(train.n_classes):
        own = codes[rows] == k
        counts[k] = own.sum()
        if weight is not None and counts[k]:
            weight_range[k] = weight[rows][own].min(), weight[rows][own].max()
    none = np.empty((0, train.n_features, 1), np.uint8)
    return ClusterTrainingSet(
        train.task, None, train.schema, train.prices, train.X[:: -(-len(train) // MAX_KEPT)],
        np.empty(0), None, train.classes, client=client, class_counts=counts,
        weight_range=weight_range, is_weighted=weight is not None,
        tasks=[task for task, n in zip(tasks, n_rows, strict=True) if n],
        names=[path for path, n in zip(paths, n_rows, strict=True) if n],
        n_rows=[n for n in n_rows if n],
        binned=BinnedParts(none, edges, train.categorical, len(rows)),
        ranges=train.value_ranges(), random=np.random.RandomState(0),
    )  # fmt: skip


def bin_file(
    path: str, about: tuple[Table, tuple[Any, ...]], held_out: NDArray[np.intp]
) -> BinnedRows:
    """Read and bin a file without some of its rows, and without those of unknown classes."""
    table, how = about
    frame = read_file(Path(path), table).drop(index=held_out)
    *_, classes = how
    if classes is not None:
        frame = frame[frame[table.target].isin(classes.tolist())]
    return bin_rows(frame, how, path)
